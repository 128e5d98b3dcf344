// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_STOPPED_HOSTS_HPP
#define LEASEHOLD_TESTS_SIMULATION_STOPPED_HOSTS_HPP

#include "network.hpp"
#include "store.hpp"
#include "world.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
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

// Some hosts, each with a fiber that plays its part. Until the faults end, one of them is stopped now and then. One that is killed is
// followed by another process.
template <class Player>
class stopped_hosts {
protected:
    stopped_hosts(std::uint64_t seed, bool calm, int fewest_hosts, int names)
        : random_{seed}, choose_{random_, seed}, world_{rules(random_, calm, fewest_hosts, names), choose_, false}
    {
    }

    void start(const std::string& what, std::function<void(Player&)> play)
    {
        what_ = what;
        play_ = std::move(play);
        for (int host = 0; host < world_.planned.hosts; ++host) {
            clocks_.push_back({random_.between(1, 1'000'000) * ms, random_.between(-world_.planned.drift_ppm, world_.planned.drift_ppm)});
            add(host);
        }
        for (auto& each : players_) begin(*each);
        if (!world_.planned.calm) world_.time.at(world_.planned.ttl, &strike, this, 0);
    }

    // Its process is gone from here on. What it has sent may still arrive. Another one, which knows nothing of it, comes in its place.
    void kill(Player& of)
    {
        of.self.dead = true;
        net_.locks().process_died(of.self);
        ++world_.faults.crashes;
        ++successors_to_come_;
        world_.time.at(world_.time.now() + random_.below(ttl() * 2), &succeed, this, static_cast<std::uint64_t>(of.self.host));
    }

    // The last process that was started there.
    [[nodiscard]] Player& on_host(int host)
    {
        const auto is_there = [host](const auto& each) { return each->self.host == host; };
        return **std::find_if(players_.rbegin(), players_.rend(), is_there);
    }
    [[nodiscard]] Player& on_any_host() { return on_host(static_cast<int>(random_.below(world_.planned.hosts))); }

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
        return successors_to_come_ == 0 &&
               std::ranges::all_of(players_, [](const auto& each) { return each->ended || each->self.dead; });
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

    void add(int host)
    {
        const auto before = std::ranges::count_if(world_.processes, [host](const auto& each) { return each->host == host; });
        auto p = std::make_unique<process>();
        p->index = static_cast<int>(world_.processes.size());
        p->host = host;
        p->label = "n" + std::to_string(host + 1) + (before == 0 ? "" : "." + std::to_string(before + 1));
        p->clock = clocks_[static_cast<std::size_t>(host)];
        world_.processes.push_back(std::move(p));
        process& self = *world_.processes.back();
        const std::string where = world_.planned.fixed_owners ? "n" + std::to_string(host + 1) : self.label;
        players_.push_back(std::make_unique<Player>(world_, net_, self, where + "/" + what_));
    }

    void begin(Player& of)
    {
        world_.time.start(of.self, [this, &of] { play_(of); });
    }

    static void succeed(void* self, std::uint64_t host) { static_cast<stopped_hosts*>(self)->succeed(static_cast<int>(host)); }
    void succeed(int host)
    {
        --successors_to_come_;
        add(host);
        begin(*players_.back());
    }

    static void strike(void* self, std::uint64_t) { static_cast<stopped_hosts*>(self)->strike(); }
    void strike()
    {
        if (world_.time.now() >= ends_at()) return;
        if (random_.chance(500)) {
            Player& of = on_any_host();
            world_.time.freeze(of.self, random_.below(ttl() * 3));
        }
        world_.time.at(world_.time.now() + random_.between(ttl() / 2, ttl() * 2), &strike, this, 0);
    }

    std::string what_;
    std::function<void(Player&)> play_;
    std::vector<drifting_clock> clocks_;  // of hosts
    int successors_to_come_ = 0;
};

}  // namespace sim

#endif
