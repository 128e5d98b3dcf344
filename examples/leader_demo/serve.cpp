// SPDX-License-Identifier: BSL-1.0

// The service: the part of the demo that a program of your own would resemble.
#include "processes.hpp"
#include "records.hpp"
#include "roles.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stop_token>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace demo {

namespace {

constexpr int tasks_per_term = 3;
constexpr auto task_interval = 1s;

using leadership = lh::basic_lease<lh::odbc_store, lh::steady_clock, lh::fixed_owner_id>;

lh::time_point now() { return lh::steady_clock{}.now(); }

instant to_instant(lh::time_point t) { return t.time_since_epoch().count(); }

// False when it was cut short by a request to stop.
bool sleep_until(const std::stop_token& stop, lh::time_point end)
{
    std::mutex mutex;
    std::condition_variable_any never_notified;
    std::unique_lock lock{mutex};
    never_notified.wait_for(lock, stop, end - now(), [] { return false; });
    return !stop.stop_requested();
}

// Waits for the lead; the guard is empty when asked to stop. The one function to replace once a lease can wait by itself.
leadership::guard_type campaign(leadership& lease, const std::stop_token& stop)
{
    while (!stop.stop_requested()) {
        if (auto guard = lease.try_acquire()) return guard;
        // Until the holder's time is over, but look now and then, because it may step down before.
        const auto holder = lease.inspect();
        const lh::duration remaining = holder ? holder->remaining : lh::duration::zero();
        sleep_until(stop, now() + std::clamp<lh::duration>(remaining, 1ms, 50ms));
    }
    return {};
}

/// One term as leader, and what is written down about it.
///
/// The checker must be right also about a leader that was killed and could not write when it stopped. So a leader writes
/// down first up to when its guard allows it to act, and acts only before the last such instant it has written, and only
/// while held(). What it can have done lies between the first record and that instant, wherever it was killed; the checker
/// takes all of it as the term, though most of it went unused. A renewal moves the instant on; one that was not written down
/// yet when the kill came was not acted upon either.
class tenure {
public:
    tenure(leadership::guard_type guard, std::string process, record_file& records)
        : guard_{std::move(guard)},
          process_{std::move(process)},
          records_{records}
    {
        promise(event::led);
    }

    /// Leads until its tasks are done, it is asked to stop, or the lease is lost.
    void lead(const std::stop_token& asked)
    {
        std::stop_source over;
        const std::stop_callback on_asked{asked, [&over] { over.request_stop(); }};
        const std::stop_callback on_loss{guard_.stop_token(), [&over] { over.request_stop(); }};

        for (int done = 0; done < tasks_per_term && may_act(); ++done) {
            const lh::time_point begin = now();
            work(over.get_token());
            if (!keep_promising(over.get_token(), begin + task_interval)) break;
        }
        // Written after the last act and before the release, so that the next leader can only begin later than this.
        const event how = !may_act() ? event::lost : asked.stop_requested() ? event::stopped : event::stepped_down;
        write(how, now(), now());
        std::error_code ignored;  // where the release fails the ttl frees the lease
        guard_.release(ignored);
    }

private:
    [[nodiscard]] bool may_act() const { return guard_.held() && now() < promised_; }

    // The leader task: whatever only one of the three may do.
    void work(const std::stop_token& over)
    {
        const lh::time_point begin = now();
        sleep_until(over, begin + 20ms);
        write(event::worked, begin, now());
    }

    bool keep_promising(const std::stop_token& over, lh::time_point end)
    {
        while (now() < end) {
            if (!sleep_until(over, std::min(end, now() + 10ms))) return false;
            if (deadline() > promised_ + 1ms) promise(event::extended);
        }
        return true;
    }

    // Read after remaining(), so this is the guard's deadline or an instant later: the stricter side for the library.
    [[nodiscard]] lh::time_point deadline() const
    {
        const lh::duration remaining = guard_.remaining();
        return now() + remaining;
    }

    void promise(event what)
    {
        promised_ = deadline();
        write(what, now(), promised_);
    }

    void write(event what, lh::time_point at, lh::time_point until)
    {
        records_.write({what, process_, guard_.token().value(), to_instant(at), to_instant(until)});
    }

    leadership::guard_type guard_;
    std::string process_;
    record_file& records_;
    lh::time_point promised_{};
};

}  // namespace

int serve(const serve_options& options)
{
    const stop_on_sigterm signals;
    const std::stop_token stop = signals.token();
    record_file records{options.records};
    lh::odbc_store store{options.store, lh::odbc_options{.call_timeout = 2s, .pool_size = 2}};
    leadership lease{store, options.lease, terms, lh::steady_clock{}, lh::fixed_owner_id{options.name}};

    lh::time_point last_success = now();
    while (!stop.stop_requested()) {
        try {
            if (auto guard = campaign(lease, stop)) tenure{std::move(guard), options.name, records}.lead(stop);
            last_success = now();
            sleep_until(stop, last_success + 200ms);  // who stepped down lets the others go first
        }
        catch (const lh::store_error& error) {
            // A database may be away for a while: a service keeps trying.
            std::cerr << options.name + ": " + error.what() + "\n";
            if (now() > last_success + 10s) return 1;
            sleep_until(stop, now() + 500ms);
        }
    }
    return 0;
}

}  // namespace demo
