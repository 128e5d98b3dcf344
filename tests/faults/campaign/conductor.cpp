// SPDX-License-Identifier: BSL-1.0
#include "conductor.hpp"

#include "contenders.hpp"
#include "contention.hpp"
#include "faults.hpp"
#include "fire_judge.hpp"
#include "history.hpp"
#include "records.hpp"
#include "site.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <random>
#include <thread>

namespace campaign {

using namespace std::chrono_literals;

namespace {

constexpr auto beat = 5ms;

// What becomes of the contenders, beside what becomes of their surroundings.
class contenders_thread {
public:
    contenders_thread(const scene& on, std::uint32_t seed) : on_{on}, lane_{fault_lane::sort::processes, on, seed}
    {
        thread_ = std::thread{[this] { run(); }};
    }
    ~contenders_thread() { finish(); }

    void no_more_faults() { faults_over_ = true; }
    void finish()
    {
        over_ = true;
        if (thread_.joinable()) thread_.join();
    }
    [[nodiscard]] std::exception_ptr failure() const { return failure_; }

private:
    void run() noexcept
    {
        try {
            for (std::size_t i = 0; i < contenders::count; ++i) on_.processes.start(i);
            while (!faults_over_ && !over_) {
                lane_.go_on();
                look_on();
            }
            lane_.stop();
            while (!over_) look_on();
            for (std::size_t i = 0; i < contenders::count; ++i) on_.processes.ask_to_leave(i);
            for (std::size_t i = 0; i < contenders::count; ++i) on_.processes.reap(i);
        } catch (...) {
            failure_ = std::current_exception();
        }
    }

    void look_on()
    {
        on_.processes.look_after();
        std::this_thread::sleep_for(beat);
    }

    scene on_;
    fault_lane lane_;
    std::atomic<bool> faults_over_ = false;
    std::atomic<bool> over_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

// How far the servers' clock, which is this host's, moves against the monotonic one of the records.
class clock_watch {
public:
    void look()
    {
        const instant before = now();
        const instant wall =
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
        const instant after = now();
        if (after - before > precision) return;  // this process was held up
        const instant ahead = wall - after;
        least_ = std::min(least_, ahead);
        most_ = std::max(most_, ahead);
    }
    // Databases round to microseconds.
    [[nodiscard]] instant error() const { return (least_ < most_ ? most_ - least_ : 0) + 2 * precision; }

    // Of the monotonic one.
    [[nodiscard]] instant most_ahead() const { return most_; }

private:
    static constexpr instant precision = millisecond / 20;

    instant least_ = std::numeric_limits<instant>::max();
    instant most_ = std::numeric_limits<instant>::min();
};

// Throws where the world is not as it was to be.
void note_circumstances(const record_file& notes, site& at, const circumstances& around)
{
    if (around.tls) notes.write({event::circumstance, "*", at.encrypted_sessions(), now(), 0, "sessions_through_tls"});
    if (const int most = around.crowd ? at.most_connections() : 0; most > 0)
        notes.write({event::circumstance, "*", most, now(), 0, "most_connections"});
    if (const int locks = around.crowd ? at.session_locks() : 0; locks > 0)
        notes.write({event::circumstance, "*", locks, now(), 0, "session_locks"});
    if (!around.language.empty()) notes.write({event::circumstance, "*", 1, now(), 0, "messages_in_" + around.language});
    if (around.name != circumstances{}.name) notes.write({event::circumstance, "*", 1, now(), 0, "names_like_messages"});
}

// What the checker must know of what the contenders contend for.
void note_right(const record_file& notes, const std::string& right, const clock_watch& clocks)
{
    const auto note = [&](std::int64_t what, const char* detail) { notes.write({event::circumstance, "*", what, now(), 0, detail}); };
    if (right == "shards") note(shards_in_a_group, shards_detail);
    if (right != "fires") return;
    note(between_fires.count(), between_fires_detail);
    note(attempts_at_a_fire, attempts_at_a_fire_detail);
    note(clocks.most_ahead(), wall_clock_ahead_detail);
}

}  // namespace

void conduct(const std::string& database, const circumstances& around, std::chrono::seconds length, std::uint32_t seed,
             const std::filesystem::path& records)
{
    const record_file notes{records / ("conductor" + std::string{records_extension})};
    std::mt19937 seeds{seed};
    site at{database, around};
    contenders processes{at, records, around.name, around.right, static_cast<std::uint32_t>(seeds()), notes};
    std::optional<crowd> beside;
    if (around.crowd) beside.emplace(at, records, around.name, notes);
    const scene on{at, processes, beside ? &*beside : nullptr, notes, records, around.only};

    notes.write({event::rules, "conductor", static_cast<std::int64_t>(holders_at_once(around.right)), terms.ttl.count(),
                 terms.margin().count(), database});
    notes.write({event::limits, "conductor", 0, call_timeout.count(), longest_pause_of(around.right).count()});
    notes.write({event::began, "conductor", 0, now(), 0, database});
    fault_lane surroundings{fault_lane::sort::surroundings, on, static_cast<std::uint32_t>(seeds())};
    contenders_thread contending{on, static_cast<std::uint32_t>(seeds())};
    clock_watch clocks;
    const auto calm = calm_of(around.right);
    const auto end = std::chrono::steady_clock::now() + length - calm;
    while (std::chrono::steady_clock::now() < end && !contending.failure()) {
        surroundings.go_on();
        clocks.look();
        std::this_thread::sleep_for(beat);
    }
    contending.no_more_faults();
    surroundings.stop();
    std::this_thread::sleep_for(calm);
    clocks.look();
    notes.write({event::circumstance, "*", clocks.error(), now(), 0, clock_error_detail});
    note_circumstances(notes, at, around);
    note_right(notes, around.right, clocks);
    notes.write({event::ended, "conductor", 0, now(), 0});
    if (beside) beside->finish();
    contending.finish();
    if (contending.failure()) std::rethrow_exception(contending.failure());
}

}  // namespace campaign
