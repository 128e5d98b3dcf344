// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_STOPPED_HOSTS_HPP
#define LEASEHOLD_TESTS_SIMULATION_STOPPED_HOSTS_HPP

#include "network.hpp"
#include "store.hpp"
#include "world.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sim {

// A host that uses the store, and has ended at some time.
struct player {
    player(world& w, network& net, process& of, std::string owner_text)
        : self{of}, owner{std::move(owner_text)}, to{w, net, of}, time{of, w.planned.at_clock}
    {
        static_cast<void>(w.owner(owner));
    }
    process& self;
    const std::string owner;
    store to;
    clock time;
    bool ended = false;
};

// Some hosts, each with a fiber that plays its part. Until the faults end, one of them is stopped now and then.
template <class Player>
class stopped_hosts {
protected:
    stopped_hosts(std::uint64_t seed, bool calm, int fewest_hosts, int names)
        : random_{seed}, choose_{random_, seed}, world_{rules(random_, calm, fewest_hosts, names), choose_, false}
    {
    }

    template <class Play>
    void start(const std::string& what, Play play)
    {
        for (int host = 0; host < world_.planned.hosts; ++host) {
            auto p = std::make_unique<process>();
            p->index = p->host = host;
            p->label = "n" + std::to_string(host + 1);
            p->clock = {random_.between(1, 1'000'000) * ms, random_.between(-world_.planned.drift_ppm, world_.planned.drift_ppm)};
            world_.processes.push_back(std::move(p));
            process& self = *world_.processes.back();
            players_.push_back(std::make_unique<Player>(world_, net_, self, self.label + "/" + what));
        }
        for (auto& each : players_) world_.time.start(each->self, [play, &of = *each] { play(of); });
        if (!world_.planned.calm) world_.time.at(world_.planned.ttl, &strike, this, 0);
    }

    // Until a rule is broken, which `what` names, or all have ended.
    template <class Check>
    void run_until_broken(std::string& what, Check check)
    {
        while (!world_.judge.broken() && what.empty() && !all_ended() && world_.time.now() < ends_at() * 20 && world_.time.step()) check();
        if (world_.judge.broken()) what = world_.judge.rule();
        if (what.empty() && !all_ended()) what = "all hosts come to their end";
    }

    [[nodiscard]] std::int64_t ttl() const { return world_.planned.ttl; }
    [[nodiscard]] std::int64_t ends_at() const { return world_.planned.fault_end; }
    [[nodiscard]] bool all_ended() const
    {
        return std::ranges::all_of(players_, [](const auto& each) { return each->ended; });
    }
    void sleep(player& of, std::int64_t how_long)
    {
        world_.time.sleep_until(of.self.clock.when(of.self.clock.at(world_.time.now()) + how_long));
    }

    random_source random_;
    random_chooser choose_;
    world world_;
    network net_{world_};
    std::vector<std::unique_ptr<Player>> players_;

private:
    static plan rules(random_source& random, bool calm, int fewest_hosts, int names)
    {
        plan p{random};
        p.hosts = static_cast<int>(random.between(fewest_hosts, 4));
        p.names = names;
        p.calm = calm;
        p.in_step = true;
        p.at_clock.of_1024 = 0;
        p.jump = 0;
        p.trust_is_promised = true;
        p.min_hold = 0;
        p.slow_polls = false;
        p.fault_end = p.ttl * 12;
        if (calm) {
            p.lost_request = p.lost_reply = p.duplicate = p.slow = p.broken_connection = p.refused = 0;
            p.quick_delay = p.ttl / 100;
        }
        return p;
    }

    static void strike(void* self, std::uint64_t) { static_cast<stopped_hosts*>(self)->strike(); }
    void strike()
    {
        if (world_.time.now() >= ends_at()) return;
        const auto any = [this] { return static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(players_.size()))); };
        if (random_.chance(500)) world_.time.freeze(players_[any()]->self, random_.below(ttl() * 3));
        world_.time.at(world_.time.now() + random_.between(ttl() / 2, ttl() * 2), &strike, this, 0);
    }
};

}  // namespace sim

#endif
