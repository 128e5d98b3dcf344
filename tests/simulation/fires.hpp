// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_FIRES_HPP
#define LEASEHOLD_TESTS_SIMULATION_FIRES_HPP

#include "fire_judge.hpp"
#include "policy.hpp"
#include "stopped_hosts.hpp"

#include <leasehold/fire_record.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/recurring.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sim {

// Hosts that run one job once per fire, while messages get lost, come late or twice, clocks drift, hosts stop or are killed, and the store
// fails over. One host may have another schedule for the name: the one that makes the record is right, and the other is refused. See
// fire_judge for what is checked after each step. In the end the last fire is done.
struct fires_result {
    std::string what;  // the rule that is broken
    int begun = 0;
    int completed = 0;
    int failed = 0;
    int missed = 0;
    int lost = 0;              // runs whose lease was lost, or whose completion was not known
    int killed_at_work = 0;    // after a fire was begun, and before its completion was sent
    int killed_completed = 0;  // after its completion was sent, and before the answer came; the fire is completed
    int killed_open = 0;       // the same, and it is not completed by that
    int failed_over = 0;       // completions that were under way when the store failed over
    int refused = 0;           // attempts with another schedule than the record's
};

// One that may be killed while it completes a fire.
struct fire_player : player {
    using player::player;
    struct attempt {
        leasehold::fire_time fire;
        std::int64_t token;
    };
    std::optional<attempt> works;  // from when the fire was begun until the answer to its completion
    bool completes = false;        // the completion is sent
};

class fires : stopped_hosts<fire_player> {
    using player = fire_player;
    struct grid {
        leasehold::duration period;
        [[nodiscard]] leasehold::fire_time next(leasehold::fire_time after) const noexcept
        {
            return leasehold::fire_time{(after.time_since_epoch() / period + 1) * period};
        }
        [[nodiscard]] std::string text() const { return "each " + std::to_string(period.count()) + " ns"; }
    };
    using job = leasehold::recurring<store, grid, clock, leasehold::fixed_owner_id, any_policy>;
    using judge = fire_judge<grid>;

public:
    fires(std::uint64_t seed, bool calm) : stopped_hosts{seed, calm, 2, 1}
    {
        catch_up_ = random_.chance(500) ? leasehold::catch_up::all : leasehold::catch_up::last;
        schedules_.assign(2, grid{leasehold::duration{ttl() * random_.between(1, 4)}});
        if (random_.chance(300)) schedules_[1].period += leasehold::duration{ttl()};
        judge_.emplace(world_, schedules_[0], judged_fires{.catch_up = catch_up_});
        start("fires", [this](player& of) { play(of); });
        if (!calm) strike_later();
    }

    fires_result run()
    {
        run_until_broken(result_.what, [this] { check(); });
        for (const fire_player::attempt& each : killed_)
            ++(judge_->completed_under(each.fire) == each.token ? result_.killed_completed : result_.killed_open);
        const fires_result result = result_;
        world_.time.drain();
        return result;
    }

private:
    void check()
    {
        const bool first = !judge_->record();
        judge_->check();
        if (first && judge_->record()) judge_->is_of(schedule_of_record());
    }

    [[nodiscard]] const grid& schedule_of_record() const
    {
        const bool other = judge_->record() && judge_->record()->schedule == schedules_[1].text();
        return schedules_[other ? 1 : 0];
    }

    // The last host has another one, in some of the runs.
    [[nodiscard]] const grid& schedule_of(const player& of) const
    {
        return schedules_[of.self.host + 1 == world_.planned.hosts ? 1 : 0];
    }

    void play(player& of)
    {
        while (!world_.time.draining() && world_.time.now() < ends_at()) live(of, ends_at());
        if (of.self.host == 0) in_the_end(of);
        of.ended = true;
    }

    // A program that ends some time, and knows nothing of the one before.
    void live(player& of, std::int64_t until)
    {
        job nightly = made(of, schedule_of(of));
        for (auto rounds = random_.between(1, 20); rounds > 0 && !world_.time.draining() && world_.time.now() < until; --rounds) {
            std::error_code ec;
            sleep(of, random_.below(ttl() / 2));
            auto run = random_.chance(300) ? nightly.try_begin(ec)
                                           : nightly.try_begin_for(leasehold::duration{random_.below(ttl() * 3)}, ec);
            if (world_.time.draining()) return;
            if (ec == leasehold::errc::invalid_terms) is_refused(of, nightly, schedule_of(of));
            if (!run.empty()) work(of, run);
        }
    }

    // The record is of another schedule, and the message says what each is, and who made the record.
    void is_refused(const player& of, job& nightly, const grid& when)
    {
        const auto& record = judge_->record();
        const std::string own = when.text();
        if (!record || record->schedule == own)
            return world_.fail("only another schedule is refused", of.self.label + " has the schedule of the record");
        ++result_.refused;
        try {
            const auto run = nightly.try_begin();
            if (!run.empty()) world_.fail("another schedule is refused", of.self.label + " has begun a fire");
        }
        catch (const std::system_error& refusal) {
            const std::string why = refusal.what();
            const auto says = [&why](const std::string& words) { return why.find(words) != std::string::npos; };
            const bool says_all = says("its record says \"" + record->schedule + '"') && says("made by " + record->made_by) &&
                                  says("this one says \"" + own + '"');
            if (refusal.code() == leasehold::errc::invalid_terms && !says_all)
                world_.fail("a refusal says which schedules there are, and who made the record", why);
        }
    }

    [[nodiscard]] job made(player& of, const grid& when)
    {
        const leasehold::recurring_options options{.ttl = leasehold::duration{ttl()},
                                                   .safety_margin = leasehold::duration{ttl() / world_.planned.margin_part},
                                                   .catch_up = catch_up_,
                                                   .retry_min = leasehold::duration{std::max<std::int64_t>(ttl() / 4, ms)},
                                                   .retry_max = leasehold::duration{ttl() * 2},
                                                   .on_missed =
                                                       [this](leasehold::fire_time fire) {
                                                           ++result_.missed;
                                                           judge_->missed(fire);
                                                       }};
        return job{of.to, lease_names[judge::name], when, options, of.time, leasehold::fixed_owner_id{of.owner}, any_policy{}};
    }

    template <class Run>
    void work(player& of, Run& run)
    {
        ++result_.begun;
        if (schedule_of(of).text() != schedule_of_record().text())
            world_.fail("another schedule is refused", of.self.label + " has begun a fire");
        judge_->begun({run.fire(), run.held(), drift_since_the_beginning()});
        of.works = fire_player::attempt{run.fire(), run.token().value()};
        carry_out(of, run);
        of.works.reset();
    }

    template <class Run>
    void carry_out(player& of, Run& run)
    {
        std::error_code ec;
        for (auto steps = random_.below(3); steps > 0 && run.held() && !world_.time.draining(); --steps) {
            sleep(of, random_.below(ttl()));
            if (random_.chance(300)) static_cast<void>(run.save_checkpoint("step " + std::to_string(steps), ec));
        }
        if (!run.held() || random_.chance(50)) {
            ++result_.lost;  // as if its process had ended: the lease is released, or over
            return;
        }
        if (random_.chance(150)) {
            result_.failed += run.fail(ec) ? 1 : 0;
            return;
        }
        const bool done = complete(of, run);
        ++(done ? result_.completed : result_.lost);
        if (done) judge_->completed(run.fire(), run.token().value());
    }

    // It may be killed, or the store fail over, before it has the answer.
    template <class Run>
    bool complete(player& of, Run& run)
    {
        std::error_code ec;
        bool done = false;
        of.completes = true;
        const std::int64_t soon = random_.below(world_.planned.quick_delay * 2);
        if (trouble() && random_.chance(100)) world_.time.at(world_.time.now() + soon, &kill_who_completes, this, index_of(of));
        if (trouble() && random_.chance(100)) world_.time.at(world_.time.now() + soon, &fail_over_under, this, index_of(of));
        do done = run.complete(ec);
        while (!done && ec && run.held() && !world_.time.draining());
        of.completes = false;
        return done;
    }

    [[nodiscard]] bool trouble() const { return !world_.planned.calm && world_.time.now() < ends_at(); }
    [[nodiscard]] std::uint64_t index_of(const player& of) const { return static_cast<std::uint64_t>(of.self.index); }

    // Faults, besides those of all hosts that stop. -------------------------------------------------------------------------------------
    static void kill_who_completes(void* self, std::uint64_t index)
    {
        auto& of = *static_cast<fires*>(self);
        if (player& who = *of.players_[index]; who.completes) of.kill_and_count(who);
    }

    static void fail_over_under(void* self, std::uint64_t index)
    {
        auto& of = *static_cast<fires*>(self);
        if (of.players_[index]->completes && !of.players_[index]->self.dead) of.fail_over();
    }

    static void strike(void* self, std::uint64_t) { static_cast<fires*>(self)->strike(); }
    void strike()
    {
        if (!trouble()) return;
        if (random_.chance(300)) kill_and_count(on_any_host());
        if (random_.chance(200)) fail_over();
        strike_later();
    }
    void strike_later() { world_.time.at(world_.time.now() + random_.between(ttl() / 2, ttl() * 2), &strike, this, 0); }

    void kill_and_count(player& of)
    {
        if (of.self.dead || of.ended) return;
        if (of.works && !of.completes) ++result_.killed_at_work;
        if (of.works && of.completes) killed_.push_back(*of.works);
        kill(of);
    }

    // It is gone for a while, and has lost nothing that it had carried out. Answers that were under way are lost.
    void fail_over()
    {
        for (const auto& each : players_) result_.failed_over += each->completes && !each->self.dead ? 1 : 0;
        ++world_.faults.server_restarts;
        world_.db.down_until = std::max(world_.db.down_until, world_.time.now() + random_.below(ttl()));
        net_.break_all();
    }

    [[nodiscard]] std::int64_t drift_since_the_beginning() const
    {
        return world_.time.now() / 1'000'000 * (3 * world_.planned.drift_ppm);
    }

    // Nothing goes wrong any more: the fires up to now are done soon.
    void in_the_end(player& of)
    {
        sleep(of, ttl() * 4);
        const leasehold::fire_time now{leasehold::duration{world_.db.now()}};
        std::error_code ec;
        const grid& when = schedule_of_record();
        job nightly = made(of, when);
        for (int i = 0; i < 200 && !world_.time.draining(); ++i) {
            auto run = nightly.try_begin_for(leasehold::duration{ttl()}, ec);
            if (ec == leasehold::errc::invalid_terms) return is_refused(of, nightly, when);
            if (!run.empty()) static_cast<void>(run.complete(ec));
            run = {};
            const auto& record = judge_->record();
            if (record && record->passed && judge_->when().next(*record->passed) > now) return;
            sleep(of, ttl() / 8);
        }
        world_.fail("in the end the fires are done", "fires are open");
    }

    leasehold::catch_up catch_up_{};
    fires_result result_;
    std::vector<grid> schedules_;  // of most hosts, and of the last
    std::optional<judge> judge_;
    std::vector<fire_player::attempt> killed_;  // while they were completing a fire
};

}  // namespace sim

#endif
