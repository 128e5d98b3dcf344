// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_FIRES_HPP
#define LEASEHOLD_TESTS_SIMULATION_FIRES_HPP

#include "policy.hpp"
#include "stopped_hosts.hpp"

#include <leasehold/fire_record.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/recurring.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sim {

// Hosts that run one job once per fire, while messages get lost, come late or twice, clocks drift and hosts stop. Checked after each
// step: the record never goes back, and leaves out no fire that it should not. No fire is completed twice. In the end the last one is done.
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
    static constexpr int name = 0;  // of lease_names

public:
    fires(std::uint64_t seed, bool calm) : stopped_hosts{seed, calm, 2, 1}
    {
        catch_up_ = random_.chance(500) ? leasehold::catch_up::all : leasehold::catch_up::last;
        when_ = {leasehold::duration{ttl() * random_.between(1, 4)}};
        start("fires", [this](player& of) { play(of); });
    }

    fires_result run()
    {
        run_until_broken(result_.what, [this] { check(); });
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
                                                   .on_missed = [this](leasehold::fire_time fire) { missed(fire); }};
        return job{of.to, lease_names[name], when_, options, of.time, leasehold::fixed_owner_id{of.owner}, any_policy{}};
    }

    template <class Run>
    void work(player& of, Run& run)
    {
        ++result_.begun;
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
        if (done && !completed_.insert(run.fire()).second) broken("a fire is completed once");
    }

    void missed(leasehold::fire_time fire)
    {
        ++result_.missed;
        if (!missed_.insert(fire).second) broken("a missed fire is told once");
        if (completed_.contains(fire)) broken("no fire is completed and missed");
        if (catch_up_ == leasehold::catch_up::all) broken("with catch_up::all no fire is missed");
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
            if (record_ && record_->passed && when_.next(*record_->passed) > now) return;
            sleep(of, ttl() / 8);
        }
        if (!world_.time.draining()) broken("in the end the fires are done");
    }

    void broken(const char* rule)
    {
        if (result_.what.empty()) result_.what = rule;
    }

    void check()
    {
        const int saved = world_.db.checkpoint_of(name);
        if (saved == saved_) return;
        saved_ = saved;
        const std::optional<leasehold::fire_record> next = leasehold::read_fire_record(world_.owners[static_cast<std::size_t>(saved)]);
        if (!next) return broken("the record can be read");
        if (record_) {
            if (next->passed < record_->passed) broken("the record never goes back");
            if (record_->last && (!next->last || next->last->fire < record_->last->fire)) broken("the last fire never goes back");
        }
        const bool passes = record_ && record_->passed && next->passed > record_->passed;
        const bool completes = next->last && next->last->fire == next->passed;
        if (catch_up_ == leasehold::catch_up::all && passes && !(completes && next->passed == when_.next(*record_->passed)))
            broken("with catch_up::all each fire is completed before the next");
        record_ = next;
    }

    leasehold::catch_up catch_up_{};
    grid when_{};
    fires_result result_;
    std::optional<leasehold::fire_record> record_;
    int saved_ = nobody;
    std::set<leasehold::fire_time> completed_, missed_;
};

}  // namespace sim

#endif
