// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_FIRE_HOST_HPP
#define LEASEHOLD_TESTS_SIMULATION_FIRE_HOST_HPP

#include "fire_judge.hpp"
#include "guard_checks.hpp"
#include "guard_monitors.hpp"
#include "network.hpp"
#include "policy.hpp"
#include "program.hpp"
#include "stopwatch.hpp"
#include "store.hpp"
#include "user_connection.hpp"
#include "world.hpp"

#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/recurring.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

namespace sim {

// A schedule that ends.
struct few_fires {
    leasehold::fire_time first;
    leasehold::duration period{};
    int count = 1;

    [[nodiscard]] leasehold::fire_time next(leasehold::fire_time after) const noexcept
    {
        if (after < first) return first;
        const auto number = (after - first) / period + 1;
        return number < count ? first + number * period : leasehold::no_fire;
    }
};

enum class completion : std::uint8_t {
    by_run,  // recurring::run() completes the fire when the job returns
    by_job,  // the job completes it, and learns of it
    in_transaction  // of the job's own, together with its work
};

// What the hosts of a small world do, and when. Times are since its beginning, by the server's clock.
struct fire_plan {
    std::int64_t first = 0;  // fire; before the beginning: it was missed
    std::int64_t period = ms;
    int count = 1;
    bool recorded = true;  // the record of the name says that no fire was done
    leasehold::catch_up catch_up = leasehold::catch_up::last;
    int max_attempts = 0;
    std::int64_t begin_within = 0;
    std::int64_t work = 0;
    bool renews = true;
    bool saves = false;  // a checkpoint of its own, before the work
    int failures = 0;    // of the first host's program: it throws so often
    completion completes = completion::by_run;
    std::int64_t ends = 0;  // by then all is done
};

using fires_of_world = fire_judge<few_fires>;

inline judged_fires judged_by(const world& w, const fire_plan& of)
{
    // From the decision to begin a fire until its job is called, a host notes so: a save, and if that fails, a look and one more save.
    const std::int64_t latest_begin = of.begin_within + 3 * w.planned.call_timeout;
    return {of.catch_up, of.max_attempts, latest_begin, of.completes == completion::in_transaction};
}

inline few_fires schedule_of(const world& w, const fire_plan& of)
{
    return {leasehold::fire_time{leasehold::duration{w.db.clock.offset + of.first}}, leasehold::duration{of.period}, of.count};
}

// A host that runs a job once per fire.
class fire_host final : public program {
    using job_type = leasehold::recurring<store, few_fires, clock, leasehold::fixed_owner_id, any_policy>;

public:
    fire_host(world& w, network& net, guard_monitors& all, fires_of_world& judge, process& self, const fire_plan& does)
        : world_{w}, net_{net}, monitors_{all}, judge_{judge}, self_{self}, plan_{does},
          owner_text_{(w.planned.fixed_owners ? "host" + std::to_string(self.host) : self.label) + "/0"}, owner_{w.owner(owner_text_)},
          failures_left_{self.host == 0 ? does.failures : 0}, store_{w, net, self}, clock_{self, w.planned.at_clock},
          cancellations_{w, self}
    {
        w.time.start(self, [this] { main(); });
    }

    [[nodiscard]] bool done() const noexcept override { return done_; }
    [[nodiscard]] const process& self() const noexcept override { return self_; }
    void cancel_all() override { cancellations_.cancel_all(); }

private:
    [[nodiscard]] std::int64_t ttl() const { return world_.planned.ttl; }
    void sleep(std::int64_t how_long)
    {
        world_.time.sleep_until(self_.clock.when(self_.clock.at(world_.time.now()) + how_long));
    }

    void main()
    {
        const std::int64_t left = std::max<std::int64_t>(plan_.ends - world_.time.now(), 0);
        const cancellations::one& end = cancellations_.after(left);
        lease first{store_, lease_names[fires_of_world::name], leasehold::lease_terms{.ttl = leasehold::duration{ttl()}}, clock_,
                    leasehold::fixed_owner_id{owner_text_}, any_policy{}};
        start_engine(first);
        sleep(ms);
        any_policy renewals;
        if (!plan_.renews) renewals.which = any_policy::kind::none;
        job_type job{store_, lease_names[fires_of_world::name], judge_.when(), options(), clock_, leasehold::fixed_owner_id{owner_text_},
                     renewals};
        job.run(end.token(), [this](auto& run) { work(run); });
        done_ = true;
    }

    [[nodiscard]] leasehold::recurring_options options()
    {
        return {.ttl = leasehold::duration{ttl()},
                .safety_margin = leasehold::duration{ttl() / world_.planned.margin_part},
                .catch_up = plan_.catch_up,
                .max_attempts = plan_.max_attempts,
                .retry_min = leasehold::duration{ttl() / 4},
                .retry_max = leasehold::duration{ttl()},
                .begin_within = leasehold::duration{plan_.begin_within},
                .on_missed = [this](leasehold::fire_time fire) { judge_.missed(fire); },
                .on_given_up = [this](leasehold::fire_time fire) { judge_.given_up(fire); },
                .on_error = [this](const leasehold::store_error& e) {
                    world_.tell(self_, 'f', e.code().value(), [&] { return "the store fails: " + e.code().message(); });
                }};
    }

    template <class Run>
    void work(Run& run)
    {
        if (world_.time.draining()) return;
        const std::int64_t token = run.token().value();
        world_.tell(self_, 'a', token, [&] { return "begins a fire with token " + std::to_string(token); });
        judge_.begun({run.fire(), run.held(), may_be_ahead()});
        {
            const guard_monitors::belief believes{monitors_, self_, run.guard(), fires_of_world::name, owner_, true};
            std::error_code ec;
            if (plan_.saves) static_cast<void>(run.save_checkpoint("half", ec));
            sleep(plan_.work);
        }
        const bool in_transaction = plan_.completes == completion::in_transaction;
        if (failures_left_-- > 0 || (!run.held() && !in_transaction)) throw std::runtime_error{"the job has failed"};
        if (plan_.completes == completion::by_job) complete(run);
        if (in_transaction) commit(run);
    }

    // What it has done it commits together with the completion, or not at all.
    template <class Run>
    void commit(Run& run)
    {
        user_connection own{world_, net_, self_, self_.index * 100 + ++connections_};
        std::error_code ec;
        const bool ours = own.work(run.fire()) && run.complete(own, ec);
        const bool committed = ours && own.commit();
        world_.tell(self_, 'd', committed, [&] { return std::string{committed ? "committed" : ours ? "may be committed" : "rolls back"}; });
        if (!ours) own.roll_back();
        if (!committed) throw std::runtime_error{"the job has failed"};
        judge_.completed(run.fire(), run.token().value());
        sleep(plan_.work / 2);  // before the lease is released
    }

    // It was told the store's time once, and its clock has run since.
    [[nodiscard]] std::int64_t may_be_ahead() const
    {
        const std::int64_t ppm = std::abs(self_.clock.ppm) + std::abs(world_.db.clock.ppm);
        return ppm == 0 ? 0 : world_.time.now() / 1'000'000 * (ppm + ppm / 4);
    }

    template <class Run>
    void complete(Run& run)
    {
        std::error_code ec;
        while (!run.complete(ec) && ec && run.held() && !world_.time.draining()) {}
        world_.tell(self_, 'd', run.completed(), [&] { return std::string{run.completed() ? "completed" : "not completed"}; });
        if (run.completed()) judge_.completed(run.fire(), run.token().value());
        sleep(plan_.work / 2);  // before the lease is released
    }

    world& world_;
    network& net_;
    guard_monitors& monitors_;
    fires_of_world& judge_;
    process& self_;
    const fire_plan& plan_;
    const std::string owner_text_;
    const int owner_;
    int failures_left_;
    int connections_ = 0;  // of its jobs
    store store_;
    clock clock_;
    cancellations cancellations_;
    bool done_ = false;
};

}  // namespace sim

#endif
