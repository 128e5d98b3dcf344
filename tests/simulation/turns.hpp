// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_TURNS_HPP
#define LEASEHOLD_TESTS_SIMULATION_TURNS_HPP

#include "guard_checks.hpp"
#include "network.hpp"
#include "several.hpp"
#include "stopwatch.hpp"
#include "store.hpp"
#include "world.hpp"

#include <leasehold/leader_election.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sim {

enum class turn_right : std::uint8_t { one_lease, permit, read_and_write, leadership };

// Which fault there is, once, a third of the way.
enum class turn_fault : std::uint8_t {
    none,
    waiter_stops,  // for ever, with its place in the queue
    host_is_gone   // while it holds, and its session lives on
};

// Some processes take turns at one right, for a while: each comes back as soon as it has released.
struct turns_plan {
    turn_right right = turn_right::one_lease;
    int hosts = 4;
    std::size_t permits = 2;
    int writers = 1;                         // the others read, as many at once as there are permits
    int keep_permits = 0;                    // so many of the hosts keep a permit all the time
    std::int64_t hold = 2 * ms;
    std::int64_t pause = 0;                  // before a process comes back
    turn_fault fault = turn_fault::none;
    bool one_looks_around = false;           // the first candidate wants to know who leads
    std::int64_t lasts = 4'000 * ms;
    std::int64_t ttl = 3'000 * ms;
};

// What came of it, for those who were there all the time.
struct turns_result {
    std::vector<int> grants;                  // of each process
    std::int64_t longest_wait = 0;
    std::int64_t mean_turn = 0;               // from one grant of a process to its next
    std::vector<std::int64_t> hand_overs;     // from a release, or the end of a dead host's term, to the next grant; sorted
    std::vector<std::int64_t> after_fault;    // those after the fault, without the first of each process; sorted
    const char* broken_rule = nullptr;

    [[nodiscard]] int least() const { return *std::ranges::min_element(grants); }
    [[nodiscard]] int most() const { return *std::ranges::max_element(grants); }
    static std::int64_t of_100(const std::vector<std::int64_t>& sorted, std::size_t part)
    {
        return sorted.empty() ? 0 : sorted[std::min(sorted.size() - 1, sorted.size() * part / 100)];
    }
    [[nodiscard]] std::string figures() const
    {
        std::string text = "grants";
        for (const int each : grants) text += " " + std::to_string(each);
        return text + ", longest wait " + seconds(longest_wait) + ", mean turn " + seconds(mean_turn) + ", hand-over p99 " +
               seconds(of_100(hand_overs, 99)) + ", after the fault at most " + seconds(of_100(after_fault, 100));
    }
};

class turns {
    using semaphore = leasehold::lease_semaphore<store, clock, leasehold::fixed_owner_id, any_policy>;
    using shared = leasehold::shared_lease<store, clock, leasehold::fixed_owner_id, any_policy>;

public:
    turns(const turns_plan& of, std::uint64_t seed) : plan_{of}, random_{seed}, choose_{random_, seed}, world_{rules(of), choose_, false}
    {
        for (const char* count : {"2 permits", "3 permits", "1 readers", "2 readers"}) static_cast<void>(world_.owner(count));
        for (int host = 0; host < plan_.hosts; ++host) {
            auto p = std::make_unique<process>();
            p->index = p->host = host;
            p->label = "n" + std::to_string(host + 1);
            p->clock = {random_.between(1, 1'000'000) * ms, 0};
            world_.processes.push_back(std::move(p));
            players_.push_back(std::make_unique<player>(world_, net_, *world_.processes.back()));
        }
        for (auto& each : players_) world_.time.start(each->self, [this, &of_player = *each] { play(of_player); });
        if (plan_.fault != turn_fault::none) world_.time.at(plan_.lasts / 3, &strike, this, 0);
    }

    turns_result run()
    {
        while (!world_.judge.broken() && world_.time.now() < plan_.lasts && world_.time.step()) {}
        const instant end = world_.time.now();
        turns_result result;
        for (auto& each : players_) {
            if (each.get() == struck_ || keeps(*each)) continue;
            result.grants.push_back(each->grants);
            const std::int64_t waits = each->waits_since == never ? 0 : end - each->waits_since;
            result.longest_wait = std::max({result.longest_wait, each->longest_wait, waits});
        }
        std::int64_t all = 0;
        for (const int each : result.grants) all += each;
        result.mean_turn = all == 0 ? plan_.lasts : plan_.lasts * static_cast<std::int64_t>(result.grants.size()) / all;
        result.hand_overs = std::move(hand_overs_);
        result.after_fault = std::move(after_fault_);
        std::ranges::sort(result.hand_overs);
        std::ranges::sort(result.after_fault);
        result.broken_rule = world_.judge.rule();
        for (auto& each : players_) each->cancellations.cancel_all();
        world_.time.drain();
        return result;
    }

private:
    struct player {
        player(world& w, network& net, process& of)
            : self{of}, owner{of.label + "/turns"}, to{w, net, of}, time{of, w.planned.at_clock}, cancellations{w, of}
        {
            static_cast<void>(w.owner(owner));
        }
        process& self;
        const std::string owner;
        store to;
        clock time;
        sim::cancellations cancellations;
        int grants = 0;
        int grants_after_fault = 0;
        std::int64_t longest_wait = 0;
        instant waits_since = never;
        bool holds = false;
    };

    static plan rules(const turns_plan& of)
    {
        plan p;
        p.hosts = of.hosts;
        p.kind = store_kind::single_statement;
        p.notifies = true;
        p.ttl = of.ttl;
        p.call_timeout = of.ttl;
        p.quick_delay = ms / 5;
        return p;
    }

    [[nodiscard]] bool goes_on() const { return !world_.time.draining() && world_.time.now() < plan_.lasts; }
    [[nodiscard]] bool keeps(const player& who) const { return who.self.host < plan_.keep_permits; }
    void sleep(player& of, std::int64_t how_long)
    {
        world_.time.sleep_until(of.self.clock.when(of.self.clock.at(world_.time.now()) + how_long));
    }
    [[nodiscard]] leasehold::lease_terms terms() const
    {
        return {.ttl = leasehold::duration{plan_.ttl}, .safety_margin = leasehold::duration{plan_.ttl / 10}};
    }

    void play(player& of)
    {
        const leasehold::fixed_owner_id owner{of.owner};
        const leasehold::duration at_most{plan_.lasts * 2};
        std::error_code ec;
        switch (plan_.right) {
        case turn_right::one_lease: {
            lease right{of.to, "job", terms(), of.time, owner, any_policy{}};
            return take_turns(of, [&] { return right.try_acquire_for(at_most, ec); });
        }
        case turn_right::permit: {
            semaphore pool{of.to, "pool", plan_.permits, terms(), of.time, owner, any_policy{}};
            return take_turns(of, [&] { return pool.try_acquire_for(at_most, ec); });
        }
        case turn_right::read_and_write: {
            shared doc{of.to, "doc", terms(), of.time, owner, any_policy{}, leasehold::reader_limit{plan_.permits}};
            if (of.self.host < plan_.writers) return take_turns(of, [&] { return doc.try_acquire_for(at_most, ec); });
            return take_turns(of, [&] { return doc.try_acquire_shared_for(at_most, ec); });
        }
        case turn_right::leadership: return lead(of);
        }
    }

    template <class Acquire>
    void take_turns(player& of, Acquire acquire)
    {
        while (goes_on()) {
            of.waits_since = world_.time.now();
            auto got = acquire();
            if (!goes_on()) return;
            if (got.empty()) {
                sleep(of, ms);
                continue;
            }
            granted(of);
            sleep(of, keeps(of) ? plan_.lasts : plan_.hold);
            of.holds = false;
            released_ = world_.time.now();
            std::error_code ec;
            static_cast<void>(got.release(ec));
            if (plan_.pause != 0) sleep(of, plan_.pause);
        }
    }

    void lead(player& of)
    {
        lease right{of.to, "job", terms(), of.time, leasehold::fixed_owner_id{of.owner}, any_policy{}};
        leasehold::leader_election_options options;
        options.cooldown = leasehold::duration{plan_.pause};
        if (plan_.one_looks_around && of.self.host == 0) options.on_leader_observed = [](const leasehold::lease_record&) {};
        leasehold::leader_election election{right, options};
        of.waits_since = world_.time.now();
        election.run(of.cancellations.after(plan_.lasts).token(), [&](leasehold::leader_term<lease>&) {
            granted(of);
            sleep(of, plan_.hold);
            of.holds = false;
            of.waits_since = released_ = world_.time.now();
        });
    }

    void granted(player& of)
    {
        const instant now = world_.time.now();
        ++of.grants;
        of.holds = true;
        if (!keeps(of)) of.longest_wait = std::max(of.longest_wait, now - of.waits_since);
        const bool somebody_waited = released_ != never && of.waits_since < released_;
        of.waits_since = never;
        if (!somebody_waited) return;
        hand_overs_.push_back(now - released_);
        if (faulted_ && ++of.grants_after_fault > 1) after_fault_.push_back(now - released_);
        released_ = never;
    }

    static void strike(void* self, std::uint64_t) { static_cast<turns*>(self)->strike(); }
    void strike()
    {
        const bool stops = plan_.fault == turn_fault::waiter_stops;
        for (auto& each : players_) {
            const bool waits = each->waits_since != never && world_.time.now() > each->waits_since + 2 * ms;
            if (struck_ != nullptr || (stops ? !waits : !each->holds)) continue;
            struck_ = each.get();
            faulted_ = true;
            if (stops)
                world_.time.freeze(each->self, plan_.lasts * 10);
            else
                each->self.dead = true;
            if (!stops) released_ = world_.time.now() + plan_.ttl;
        }
        if (struck_ == nullptr) world_.time.at(world_.time.now() + ms / 3, &strike, this, 0);
    }

    const turns_plan plan_;
    random_source random_;
    random_chooser choose_;
    world world_;
    network net_{world_};
    std::vector<std::unique_ptr<player>> players_;
    player* struck_ = nullptr;
    bool faulted_ = false;
    instant released_ = never;  // the last release that nobody has made use of
    std::vector<std::int64_t> hand_overs_, after_fault_;
};

}  // namespace sim

#endif
