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

// Hosts that run one job once per fire, while messages get lost, come late or twice, clocks drift and hosts stop. See fire_judge for what
// is checked after each step. In the end the last fire is done.
struct fires_result {
    std::string what;  // the rule that is broken
    int begun = 0;
    int completed = 0;
    int failed = 0;
    int missed = 0;
    int lost = 0;  // runs whose lease was lost, or whose completion was not known
};

class fires : stopped_hosts<player> {
    struct grid {
        leasehold::duration period;
        [[nodiscard]] leasehold::fire_time next(leasehold::fire_time after) const noexcept
        {
            return leasehold::fire_time{(after.time_since_epoch() / period + 1) * period};
        }
    };
    using job = leasehold::recurring<store, grid, clock, leasehold::fixed_owner_id, any_policy>;
    using judge = fire_judge<grid>;

public:
    fires(std::uint64_t seed, bool calm) : stopped_hosts{seed, calm, 2, 1}
    {
        catch_up_ = random_.chance(500) ? leasehold::catch_up::all : leasehold::catch_up::last;
        judge_.emplace(world_, grid{leasehold::duration{ttl() * random_.between(1, 4)}}, judged_fires{.catch_up = catch_up_});
        start("fires", [this](player& of) { play(of); });
    }

    fires_result run()
    {
        run_until_broken(result_.what, [this] { judge_->check(); });
        world_.time.drain();
        return std::move(result_);
    }

private:
    void play(player& of)
    {
        while (!world_.time.draining() && world_.time.now() < ends_at()) live(of, ends_at());
        if (of.self.index == 0) in_the_end(of);
        of.ended = true;
    }

    // A process of the host, which ends some time, and knows nothing of the one before.
    void live(player& of, std::int64_t until)
    {
        job nightly = made(of);
        for (auto rounds = random_.between(1, 20); rounds > 0 && !world_.time.draining() && world_.time.now() < until; --rounds) {
            std::error_code ec;
            sleep(of, random_.below(ttl() / 2));
            auto run = random_.chance(300) ? nightly.try_begin(ec)
                                           : nightly.try_begin_for(leasehold::duration{random_.below(ttl() * 3)}, ec);
            if (!run.empty()) work(of, run);
        }
    }

    [[nodiscard]] job made(player& of)
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
        return job{of.to, lease_names[judge::name], judge_->when(), options, of.time, leasehold::fixed_owner_id{of.owner}, any_policy{}};
    }

    template <class Run>
    void work(player& of, Run& run)
    {
        ++result_.begun;
        judge_->begun({run.fire(), run.held(), drift_since_the_beginning()});
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
        bool done = false;
        do done = run.complete(ec);
        while (!done && ec && run.held() && !world_.time.draining());
        ++(done ? result_.completed : result_.lost);
        if (done) judge_->completed(run.fire(), run.token().value());
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
        job nightly = made(of);
        for (int i = 0; i < 200 && !world_.time.draining(); ++i) {
            auto run = nightly.try_begin_for(leasehold::duration{ttl()}, ec);
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
    std::optional<judge> judge_;
};

}  // namespace sim

#endif
