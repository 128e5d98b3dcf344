// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_SHARDS_TIMED_HPP
#define LEASEHOLD_TESTS_SIMULATION_SHARDS_TIMED_HPP

#include "random.hpp"
#include "shards_small.hpp"

#include <leasehold/group/shard_machine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Members and shards in simulated time, in milliseconds: for figures, and for schedules drawn at random.
namespace shards {

inline constexpr std::int64_t ttl_ms = 10'000;
inline constexpr std::int64_t cycle_ms = ttl_ms / 3;

// In so many of 1,024 cases; all 0: nothing but what the scene does.
struct trouble_chances {
    std::int64_t lost_answers = 0;
    std::int64_t late_attempts = 0;
    std::int64_t old_looks = 0;
    std::int64_t drain_ms = 0;  // work takes up to this long to drain
};

class timed_world {
public:
    timed_world(std::size_t shards, std::uint64_t seed, const trouble_chances& chances = {})
        : rows_(shards), random_{seed}, chances_{chances}
    {
    }

    std::size_t join(std::uint32_t capacity = 1)
    {
        const std::size_t m = members_.size();
        members_.push_back({});
        member& joined = members_.back();
        joined.capacity = capacity;
        joined.machine.emplace(rows_.size(), group::shard_pacing{.drain_timeout = std::chrono::milliseconds{30'000},
                                                                 .retry_min = std::chrono::milliseconds{1'000},
                                                                 .retry_max = std::chrono::milliseconds{60'000},
                                                                 .patience = std::chrono::milliseconds{2 * cycle_ms}});
        // All that start together see each other before they take anything.
        at(now_ + random_.between(cycle_ms / 10, cycle_ms * 3 / 10), [this, m] { look(m); });
        return m;
    }

    // Its rows and its own lease last until a ttl has passed since its last renewal.
    void kill(std::size_t m)
    {
        members_[m].alive = false;
        members_[m].machine.reset();
        const std::int64_t over = now_ + random_.between(ttl_ms * 2 / 3, ttl_ms);
        at(over + random_.below(200), [this, m] { members_[m].listed = false; });
        at(over, [this, m] { expire(m); });
    }

    void pause(std::size_t m, bool paused) { members_[m].paused = paused; }

    // It looks no more, while its leases are renewed and its work goes on.
    void hang(std::size_t m) { members_[m].hangs = true; }

    // SIGTERM: gives everything away at once, then goes.
    void leave(std::size_t m)
    {
        member& of = members_[m];
        of.paused = of.leaving = true;
        for (const std::size_t i : of.machine->mine()) {
            if (of.machine->state_of(i) != group::shard_machine::state::working) continue;
            of.machine->give_up(i, time());
            drain(m, i);
        }
        go_if_done(m);
    }

    void run_until(std::int64_t until)
    {
        while (!events_.empty() && events_.begin()->first <= until) {
            now_ = events_.begin()->first;
            const auto what = std::move(events_.begin()->second);
            events_.erase(events_.begin());
            what();
        }
        now_ = until;
    }

    // When `done` is true for the first time; throws if that takes longer than `at_most`.
    template <class Done>
    std::int64_t run_until(Done done, std::int64_t at_most, const char* what)
    {
        const std::int64_t begun = now_;
        while (!done()) {
            if (events_.empty() || events_.begin()->first > begun + at_most)
                throw broken_rule{std::string{"never "} + what + ": " + text()};
            run_until(events_.begin()->first);
        }
        return now_ - begun;
    }

    [[nodiscard]] bool all_owned() const
    {
        std::size_t owned = 0;
        for (const member& m : members_)
            if (m.alive) owned += working(m);
        return owned == rows_.size();
    }

    // No move makes the spread smaller, and nothing is on its way.
    [[nodiscard]] bool fair() const
    {
        if (!all_owned()) return false;
        for (const member& a : members_) {
            if (a.alive && a.paused && working(a) > 0) return false;
            for (const member& b : members_) {
                if (!a.alive || !b.alive || a.paused || b.paused) continue;
                if (working(a) * b.capacity > (working(b) + 1) * a.capacity) return false;
            }
        }
        return true;
    }

    [[nodiscard]] std::int64_t now() const noexcept { return now_; }
    [[nodiscard]] std::size_t moves() const noexcept { return moves_; }
    [[nodiscard]] std::size_t members() const noexcept { return members_.size(); }
    [[nodiscard]] bool alive(std::size_t m) const { return members_[m].alive; }
    [[nodiscard]] bool paused(std::size_t m) const { return members_[m].paused; }
    [[nodiscard]] std::size_t working(std::size_t m) const { return members_[m].alive ? working(members_[m]) : 0; }
    sim::random_source& random() noexcept { return random_; }
    void calm() noexcept { chances_.lost_answers = chances_.late_attempts = chances_.old_looks = 0; }

    [[nodiscard]] std::string text() const
    {
        std::string all;
        for (std::size_t m = 0; m < members_.size(); ++m)
            if (members_[m].alive)
                all += " m" + std::to_string(m) + (members_[m].paused ? " paused" : "") + ":" + std::to_string(working(m));
        for (std::size_t i = 0; i < rows_.size(); ++i)
            all += (i % 16 == 0 ? "\n   " : "") + std::string{" "} + std::to_string(i) + ":" +
                   (rows_[i].holder == group::nobody ? "-" : std::to_string(rows_[i].holder)) +
                   (rows_[i].request ? "?" + std::to_string(rows_[i].request->asker) : "");
        return std::to_string(now_) + " ms, shares" + all;
    }

private:
    struct timed_row {
        std::size_t holder = group::nobody;
        std::size_t last_owner = group::nobody;
        std::int64_t token = 0;
        std::optional<group::shard_request> request;  // with the asker's number
    };

    struct member {
        bool alive = true;
        bool listed = true;
        bool paused = false;
        bool leaving = false;
        bool hangs = false;
        std::uint32_t capacity = 1;
        std::optional<group::shard_machine> machine;
    };

    static std::size_t working(const member& m)
    {
        std::size_t count = 0;
        for (const std::size_t i : m.machine->mine())
            if (m.machine->state_of(i) == group::shard_machine::state::working) ++count;
        return count;
    }

    void expire(std::size_t m)
    {
        for (timed_row& row : rows_)
            if (row.holder == m) row.holder = group::nobody;
    }

    void at(std::int64_t when, std::function<void()> what) { events_.emplace(when, std::move(what)); }

    void look(std::size_t m)
    {
        if (!members_[m].alive || members_[m].hangs) return;
        group::shard_look seen;
        std::vector<std::size_t> index(members_.size(), group::nobody);
        for (std::size_t each = 0; each < members_.size(); ++each) {
            if (!members_[each].listed) continue;
            index[each] = seen.members.size();
            seen.members.push_back({.order = (each + 1) * 0x9E3779B97F4A7C15ULL, .capacity = members_[each].capacity,
                                    .most = group::nobody, .paused = members_[each].paused});
        }
        seen.me = index[m];
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            const timed_row& row = rows_[i];
            if (row.holder == group::nobody) continue;
            group::seen_row shown{i, row.token, index[row.holder], {}};
            if (row.request && index[row.request->asker] != group::nobody)
                shown.request = group::shard_request{index[row.request->asker], row.request->after};
            seen.rows.push_back(shown);
        }
        const std::int64_t late = random_.chance(chances_.old_looks) ? random_.below(cycle_ms / 2) : random_.between(1, 5);
        at(now_ + late, [this, m, seen = std::move(seen)]() mutable { act(m, std::move(seen)); });
    }

    void act(std::size_t m, group::shard_look seen)
    {
        member& of = members_[m];
        if (!of.alive || of.hangs) return;
        seen.members[seen.me].paused = of.paused;
        const group::shard_actions todo = of.machine->looked(seen, time());
        for (const std::size_t i : todo.drain) drain(m, i);
        const bool late = random_.chance(chances_.late_attempts);
        const bool lost = random_.chance(chances_.lost_answers);
        if (late)
            at(now_ + random_.between(1, 2 * cycle_ms), [this, m, take = todo.take] { carry_out(m, take); });
        else
            for (const std::size_t i : todo.take)
                if (grant(m, i) && !lost) {
                    of.machine->taken(i, rows_[i].token);
                    check_owner(i);
                }
        if (!late)
            for (const group::shard_ask& each : todo.ask)
                if (rows_[each.shard].holder != group::nobody) rows_[each.shard].request = group::shard_request{m, each.after};
        go_if_done(m);
        if (!of.alive) return;
        const std::int64_t pause = random_.between(cycle_ms * 3 / 4, cycle_ms);
        at(now_ + (todo.moving ? pause / 2 : pause), [this, m] { look(m); });
    }

    bool grant(std::size_t m, std::size_t i)
    {
        timed_row& row = rows_[i];
        if (row.holder != group::nobody && row.holder != m) return false;
        row.request.reset();
        row.holder = m;
        ++row.token;
        if (row.last_owner != m && row.last_owner != group::nobody) ++moves_;
        row.last_owner = m;
        at(now_ + ttl_ms, [this, m, i, token = row.token] {  // nobody renews what its holder does not know of
            if (rows_[i].token == token && rows_[i].holder == m && members_[m].alive && !members_[m].machine->state_of(i))
                rows_[i].holder = group::nobody;
        });
        return true;
    }

    void carry_out(std::size_t m, const std::vector<std::size_t>& take)
    {
        for (const std::size_t i : take) {
            if (!members_[m].alive || !grant(m, i) || !members_[m].machine->state_of(i)) continue;
            // Its own later attempt has superseded the term that it works under: it learns of that with a renewal.
            members_[m].machine->give_up(i, time());
            drained(m, i);
        }
    }

    void drain(std::size_t m, std::size_t i)
    {
        at(now_ + random_.between(1, std::max<std::int64_t>(chances_.drain_ms, 2)), [this, m, i] { drained(m, i); });
    }

    void drained(std::size_t m, std::size_t i)
    {
        member& of = members_[m];
        if (!of.alive || of.machine->state_of(i) != group::shard_machine::state::draining) return;
        of.machine->ended(i, false, time());
        of.machine->over(i);
        if (rows_[i].holder == m) {
            rows_[i].holder = group::nobody;
            rows_[i].request.reset();
        }
        go_if_done(m);
    }

    void go_if_done(std::size_t m)
    {
        member& of = members_[m];
        if (!of.alive || !of.leaving || of.machine->owned() > 0) return;
        of.alive = of.listed = false;
        at(now_ + ttl_ms, [this, m] { expire(m); });  // what it was granted by answers that were lost
    }

    void check_owner(std::size_t i) const
    {
        std::size_t owners = 0;
        for (const member& m : members_)
            if (m.alive && m.machine->state_of(i)) ++owners;
        if (owners > 1) throw broken_rule{"two own shard " + std::to_string(i)};
    }

    [[nodiscard]] leasehold::time_point time() const { return leasehold::time_point{std::chrono::milliseconds{now_}}; }

    std::vector<timed_row> rows_;
    std::vector<member> members_;
    std::multimap<std::int64_t, std::function<void()>> events_;
    std::int64_t now_ = 0;
    std::size_t moves_ = 0;
    sim::random_source random_;
    trouble_chances chances_;
};

}  // namespace shards

#endif
