// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_SMALL_WORLD_HPP
#define LEASEHOLD_TESTS_SIMULATION_SMALL_WORLD_HPP

#include "contender.hpp"
#include "enumerator.hpp"
#include "fire_host.hpp"
#include "guard_monitors.hpp"
#include "hold_host.hpp"
#include "hold_judge.hpp"
#include "network.hpp"
#include "observed_hosts.hpp"
#include "observed_judge.hpp"
#include "outcome.hpp"
#include "permit_host.hpp"
#include "visited.hpp"
#include "world.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sim {

// A world that is small enough to be explored whole.
struct world_plan {
    const char* name;
    const char* what;
    plan rules;
    std::array<contender_plan, 2> contenders;
    choice_bounds bounds;
    bool quick = false;  // whole within seconds: each full run of the tests has it
    std::optional<fire_plan> fires{};      // what both do, instead of contending for a lease
    std::optional<permit_plan> permits{};  // the same
    std::optional<hold_plan> hold{};       // what a third process does, besides
    std::optional<observed_plan> observed{};  // what both do, instead: one looks, the other changes what it sees

    // On purpose: a rule must break.
    [[nodiscard]] bool is_broken() const noexcept { return rules.takes_blindly || rules.saves_blindly || rules.fences_hold_nothing; }
};

// What keeps an exploration from trying what would lead to nothing else.
struct reductions {
    bool states = true;  // a run ends in a state that has been seen
    bool orders = true;  // scheduler::processes_meet_at_server_only
};

// One run of two or three processes against one server; an enumerator decides what is left open.
class small_world {
public:
    small_world(const world_plan& of, enumerator& by, bool told, const reductions& reduced = {})
        : plan_{of}, choose_{by}, world_{of.rules, by, told}, net_{world_}, monitors_{world_},
          rights_{world_, of.permits ? of.permits->most : 1}
    {
        world_.time.before_time_goes_on = [this] { check(); };
        world_.time.seen_from_outside = [this] {
            return monitors_.beliefs() + rights_.beliefs() + (permits_ ? permits_->beliefs() : 0);
        };
        world_.time.processes_meet_at_server_only = reduced.orders && !plan_.rules.notifies && !plan_.observed;
        world_.time.strikes = [this](process& p) { return strikes(p); };
        world_.db.clock.ppm = drift();
        if (plan_.fires) expect_fires(*plan_.fires);
        if (plan_.permits) expect_permits(*plan_.permits);
        if (plan_.hold) hold_.emplace(world_, plan_.hold->period);
        if (plan_.observed) observed_.emplace(world_);
        for (const char* count : {"1 permits", "1 readers", "2 permits"}) static_cast<void>(world_.owner(count));
        for (std::size_t host = 0; host < hosts(); ++host) {
            clocks_.push_back({0, drift()});
            start(host);
        }
    }

    // Until it ends, breaks a rule, or comes to a state that is among those seen (null: none is looked at).
    outcome run(visited_states* seen)
    {
        while (!world_.judge.broken()) {
            known_ = seen != nullptr && choose_.on_new_ground() && !seen->add(fingerprint());
            if (known_) break;
            if (!world_.time.step()) {
                if (!all_done()) world_.fail("somebody holds in the end", "nobody can go on");
                if (fires_) fires_->in_the_end(plan_.bounds.faults <= 1 && world_.faults.crashes + world_.faults.process_freezes == 0);
                if (observed_) observed_->in_the_end();
                break;
            }
            check();
            if (world_.time.steps() > most_steps) world_.fail("it comes to an end", "still busy after so many steps");
        }
        rows_ = world_.db.fingerprint();
        choose_.end_run();
        for (const auto& each : programs_) each->cancel_all();
        world_.time.drain();
        return {world_.judge.rule(), world_.judge.details(), world_.log.hash(), world_.log.events(), world_.faults};
    }

    // It ended because it came to a state that had been seen.
    [[nodiscard]] bool known() const noexcept { return known_; }
    // Stands for all that was written to the rows, and when.
    [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }

private:
    static constexpr std::uint64_t most_steps = 20'000;

    // A clock that is wrong is wrong by as much as the margin covers: there, where it is used up.
    std::int64_t drift()
    {
        if (!choose_.happens(fault_kind::clock, 0)) return 0;
        return choose_.one_of(2) == 0 ? world_.planned.drift_ppm : -world_.planned.drift_ppm;
    }

    void check()
    {
        monitors_.check();
        rights_.check();
        if (fires_) fires_->check();
        if (permits_) permits_->check();
        if (hold_) hold_->check(somebody_waits());
        if (observed_) observed_->check();
    }

    // One that only tries now and then does not.
    [[nodiscard]] bool somebody_waits() const
    {
        return std::ranges::any_of(programs_, [this](const auto& each) {
            const auto host = static_cast<std::size_t>(each->self().host);
            const bool waits = host < plan_.contenders.size() && plan_.contenders[host].does == role::waits;
            return waits && !each->done() && !each->self().dead;
        });
    }

    void expect_fires(const fire_plan& of)
    {
        fires_.emplace(world_, schedule_of(world_, of), judged_by(world_, of));
        if (!of.recorded) return;
        const leasehold::fire_time before = fires_->when().first - leasehold::duration{1};
        const leasehold::fire_record none{.schedule = "of its own", .made_by = "n0", .passed = before};
        world_.db.put_checkpoint(fires_of_world::name, world_.owner(leasehold::to_text(none)));
    }

    // All that the record may say has a number from the beginning, so that two runs which write it in another order can be told alike.
    void expect_permits(const permit_plan& of)
    {
        permits_.emplace(world_, of.most);
        static_cast<void>(world_.owner("0 permits"));
        for (std::size_t change = 0; change < 8; ++change)
            for (std::size_t count = 1; count <= of.most; ++count)
                for (std::size_t was = count; was <= of.most; ++was)
                    static_cast<void>(world_.owner(leasehold::detail::agreed_count{count, was > count ? was : 0, change}.text("permits")));
    }

    [[nodiscard]] std::size_t hosts() const
    {
        return plan_.permits ? plan_.permits->hosts.size() : plan_.contenders.size() + (plan_.hold ? 1 : 0);
    }

    // Two runs with the same one go on alike, if they are given the same answers.
    [[nodiscard]] std::uint64_t fingerprint()
    {
        std::uint64_t print = mixed_all(world_.fingerprint(), choose_.faults_left(), choose_.swaps_left(), net_.locks().fingerprint(),
                                        monitors_.fingerprint(), rights_.fingerprint(), world_.db.clock.ppm);
        for (const drifting_clock& each : clocks_) print = mixed_all(print, each.ppm);
        if (observed_) print = mixed(print, observed_->fingerprint());
        return print;
    }

    bool strikes(process& p)
    {
        if (!world_.faults_go_on()) return false;
        if (choose_.happens(fault_kind::stopped, 0)) {
            const std::int64_t how_long = choose_.stop(0, 0);
            ++world_.faults.process_freezes;
            world_.tell(p, 'F', how_long, [&] { return "is stopped for " + seconds(how_long); });
            world_.time.freeze(p, how_long);
            return true;
        }
        if (!choose_.happens(fault_kind::crashed, 0)) return false;
        ++world_.faults.crashes;
        const std::int64_t away = world_.planned.ttl / 4;
        world_.tell(p, 'K', away, [&] { return "crashes, and is started again after " + seconds(away); });
        p.dead = true;
        net_.locks().process_died(p);
        world_.time.at(world_.time.now() + away, &restart, this, static_cast<std::uint64_t>(p.host));
        return true;
    }

    static void restart(void* self, std::uint64_t host) { static_cast<small_world*>(self)->start(static_cast<std::size_t>(host)); }

    void start(std::size_t host)
    {
        auto p = std::make_unique<process>();
        p->index = static_cast<int>(world_.processes.size());
        p->host = static_cast<int>(host);
        p->clock = clocks_[host];
        const auto before = std::ranges::count_if(world_.processes, [&](const auto& each) { return each->host == p->host; });
        p->label = "n" + std::to_string(host + 1) + (before == 0 ? "" : "." + std::to_string(before + 1));
        process& self = *p;
        world_.processes.push_back(std::move(p));
        world_.tell(self, 's', self.index, [] { return std::string{"starts"}; });
        if (fires_)
            programs_.push_back(std::make_unique<fire_host>(world_, net_, monitors_, *fires_, self, *plan_.fires));
        else if (permits_)
            programs_.push_back(std::make_unique<permit_host>(world_, net_, rights_, *permits_, self, *plan_.permits));
        else if (observed_ && host == 0)
            programs_.push_back(std::make_unique<observed_observer>(world_, net_, *observed_, self, *plan_.observed));
        else if (observed_)
            programs_.push_back(std::make_unique<observed_changer>(world_, *observed_, self, *plan_.observed));
        else if (host == plan_.contenders.size())
            programs_.push_back(std::make_unique<hold_host>(world_, net_, *hold_, self, *plan_.hold));
        else
            programs_.push_back(std::make_unique<contender>(world_, net_, monitors_, rights_, self, plan_.contenders[host]));
    }

    [[nodiscard]] bool all_done() const
    {
        return std::ranges::all_of(programs_, [](const auto& each) { return each->done() || each->self().dead; });
    }

    const world_plan& plan_;
    enumerator& choose_;
    world world_;
    network net_;
    guard_monitors monitors_;
    right_monitors rights_;
    std::vector<drifting_clock> clocks_;  // of hosts
    std::optional<fires_of_world> fires_;
    std::optional<permit_judge> permits_;
    std::optional<hold_judge> hold_;
    std::optional<observed_judge> observed_;
    std::vector<std::unique_ptr<program>> programs_;
    bool known_ = false;
    std::uint64_t rows_ = 0;
};

}  // namespace sim

#endif
