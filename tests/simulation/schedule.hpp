// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_SCHEDULE_HPP
#define LEASEHOLD_TESTS_SIMULATION_SCHEDULE_HPP

#include "guard_monitors.hpp"
#include "network.hpp"
#include "outcome.hpp"
#include "service.hpp"
#include "world.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sim {

// One run of a few hosts against one server, from a seed.
class schedule {
public:
    schedule(std::uint64_t seed, bool told) : world_{seed, told}, net_{world_}, monitors_{world_}, rights_{world_}
    {
        random_source& random = world_.random;
        const plan& p = world_.planned;
        if (told) std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), p.describe().c_str());
        world_.db.clock.ppm = drift();
        for (int host = 0; host < p.hosts; ++host) {
            clocks_.push_back({random.between(1, 1'000'000) * ms, drift()});
            start(host);
        }
        draw(p.freezes, trouble::process_freezes);
        draw(p.crashes, trouble::process_crashes);
        draw(p.server_freezes, trouble::server_freezes);
        draw(p.server_restarts, trouble::server_restarts);
        if (p.jump != 0) draw(1, trouble::clock_jumps);
    }

    outcome run()
    {
        while (!world_.judge.broken() && !all_done()) {
            if (!world_.time.step())
                world_.fail("somebody holds in the end", "nobody can go on");
            else if (world_.random.chance(170)) {
                monitors_.check();
                rights_.check();
            }
            if (world_.time.steps() > most_steps) world_.fail("it comes to an end", "still busy after so many steps");
        }
        for (const auto& s : services_) s->cancel_all();
        world_.time.drain();
        return {world_.judge.rule(), world_.judge.details(), world_.log.hash(), world_.log.events(), world_.faults};
    }

private:
    enum class trouble : std::uint8_t {
        process_freezes,
        process_crashes,
        process_starts,
        server_freezes,
        server_restarts,
        clock_jumps
    };

    static constexpr std::uint64_t most_steps = 200'000;

    // Often at the bound, where the margin is used up.
    std::int64_t drift()
    {
        random_source& random = world_.random;
        const std::int64_t bound = world_.planned.drift_ppm;
        if (random.chance(300)) return bound;
        return random.chance(400) ? -bound : random.between(-bound, bound);
    }

    void draw(int how_many, trouble what)
    {
        for (int i = 0; i < how_many; ++i) {
            const instant when = world_.random.below(world_.planned.fault_end);
            const auto host = static_cast<std::uint64_t>(world_.random.below(world_.planned.hosts));
            world_.time.at(when, &strike, this, static_cast<std::uint64_t>(what) * 16 + host);
        }
    }

    static void strike(void* self, std::uint64_t code)
    {
        static_cast<schedule*>(self)->make(static_cast<trouble>(code / 16), static_cast<int>(code % 16));
    }

    void make(trouble what, int host)
    {
        random_source& random = world_.random;
        scheduler& time = world_.time;
        const plan& p = world_.planned;
        const std::int64_t how_long = random.between(ms, p.ttl * 2);
        process& self = *current_[static_cast<std::size_t>(host)];
        switch (what) {
        case trouble::process_freezes:
            if (self.dead) return;
            ++world_.faults.process_freezes;
            world_.tell(self, 'F', how_long, [&] { return "is stopped for " + seconds(how_long); });
            time.freeze(self, how_long);
            break;
        case trouble::process_crashes:
            if (self.dead) return;
            ++world_.faults.crashes;
            world_.tell(self, 'K', how_long, [&] { return "crashes, and is started again after " + seconds(how_long); });
            self.dead = true;
            net_.locks().process_died(self);
            time.at(time.now() + how_long, &strike, this,
                    static_cast<std::uint64_t>(trouble::process_starts) * 16 + static_cast<std::uint64_t>(host));
            break;
        case trouble::process_starts: start(host); break;
        case trouble::server_freezes:
            ++world_.faults.server_freezes;
            world_.tell("db", 'f', how_long, [&] { return "is stopped for " + seconds(how_long); });
            world_.db.frozen_until = std::max(world_.db.frozen_until, time.now() + how_long);
            break;
        case trouble::server_restarts:
            ++world_.faults.server_restarts;
            world_.tell("db", 'k', how_long, [&] { return "is killed, and back after " + seconds(how_long); });
            world_.db.down_until = std::max(world_.db.down_until, time.now() + how_long);
            world_.db.frozen_until = 0;
            net_.break_all();
            break;
        case trouble::clock_jumps:
            ++world_.faults.clock_jumps;
            world_.tell("db", 'j', p.jump, [&] { return "its clock jumps by " + seconds(p.jump); });
            world_.db.clock.offset += p.jump;
            break;
        }
    }

    void start(int host)
    {
        auto p = std::make_unique<process>();
        p->index = static_cast<int>(world_.processes.size());
        p->host = host;
        p->clock = clocks_[static_cast<std::size_t>(host)];
        const auto before = std::ranges::count(world_.processes, host, &process_host);
        p->label = "n" + std::to_string(host + 1) + (before == 0 ? "" : "." + std::to_string(before + 1));
        process& self = *p;
        world_.processes.push_back(std::move(p));
        current_.resize(std::max(current_.size(), static_cast<std::size_t>(host) + 1));
        current_[static_cast<std::size_t>(host)] = &self;
        world_.tell(self, 's', self.index, [] { return std::string{"starts"}; });
        services_.push_back(std::make_unique<service>(world_, net_, monitors_, rights_, self));
    }

    static int process_host(const std::unique_ptr<process>& p) { return p->host; }

    [[nodiscard]] bool all_done() const
    {
        if (world_.faults_go_on()) return false;
        return std::ranges::all_of(services_, [](const auto& s) { return s->done() || s->self().dead; }) &&
               std::ranges::none_of(current_, [](const process* p) { return p->dead; });
    }

    world world_;
    network net_;
    guard_monitors monitors_;
    right_monitors rights_;
    std::vector<drifting_clock> clocks_;  // of hosts
    std::vector<process*> current_;       // of hosts
    std::vector<std::unique_ptr<service>> services_;
};

inline outcome play(std::uint64_t seed, bool told = false) { return schedule{seed, told}.run(); }

}  // namespace sim

#endif
