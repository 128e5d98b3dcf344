// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_PERMIT_HOST_HPP
#define LEASEHOLD_TESTS_SIMULATION_PERMIT_HOST_HPP

#include "guard_checks.hpp"
#include "guard_monitors.hpp"
#include "network.hpp"
#include "permit_judge.hpp"
#include "policy.hpp"
#include "program.hpp"
#include "several.hpp"
#include "store.hpp"
#include "world.hpp"

#include <leasehold/lease_semaphore.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sim {

// What a host does at a time since the world's beginning, or as soon after it as it can.
struct permit_step {
    enum class kind : std::uint8_t {
        takes,  // so many permits, or gets none
        waits,  // for so many permits, until it has them
        resizes
    };
    kind does;
    std::size_t number = 1;
    std::int64_t at = 0;
    std::int64_t hold = 0;
};

struct permit_host_plan {
    std::size_t count = 2;  // that it was made with
    bool follows = false;
    std::vector<permit_step> steps;
};

// What the hosts of a small world of permits do.
struct permit_plan {
    std::vector<permit_host_plan> hosts;
    std::size_t most = 3;   // of all counts
    std::int64_t ends = 0;  // from here on each takes a permit, one after the other, and the first one makes sure of the count
};

// A host that takes permits, and changes their count.
class permit_host final : public program {
    using semaphore = leasehold::lease_semaphore<store, clock, leasehold::fixed_owner_id, any_policy>;
    using kind = permit_step::kind;

public:
    permit_host(world& w, network& net, right_monitors& rights, permit_judge& judge, process& self, const permit_plan& does)
        : world_{w}, rights_{rights}, judge_{judge}, self_{self}, plan_{does.hosts[static_cast<std::size_t>(self.host)]}, ends_{does.ends},
          owner_text_{(w.planned.fixed_owners ? "host" + std::to_string(self.host) : self.label) + "/0"}, owner_{w.owner(owner_text_)},
          restarted_{self.label.find('.') != std::string::npos}, store_{w, net, self}, clock_{self, w.planned.at_clock}
    {
        w.time.start(self, [this] { main(); });
    }

    [[nodiscard]] bool done() const noexcept override { return done_; }
    [[nodiscard]] const process& self() const noexcept override { return self_; }
    void cancel_all() override {}

private:
    [[nodiscard]] std::int64_t ttl() const { return world_.planned.ttl; }
    // More than long enough to get what is not held for ever, in spite of a few faults.
    [[nodiscard]] std::int64_t patience() const { return ttl() * 20; }
    // At no time at which something else happens: that would lead to too many orders.
    [[nodiscard]] std::int64_t pause() const { return ttl() / 4 + 17 * ms; }
    [[nodiscard]] std::int64_t local() const { return self_.clock.at(world_.time.now()); }
    void sleep(std::int64_t how_long) { world_.time.sleep_until(self_.clock.when(local() + how_long)); }

    // One that is started again knows of no change, and follows.
    [[nodiscard]] semaphore made()
    {
        const leasehold::lease_terms terms{.ttl = leasehold::duration{ttl()},
                                           .safety_margin = leasehold::duration{ttl() / world_.planned.margin_part}};
        const bool follows = plan_.follows || follows_;
        return semaphore{store_, lease_names[permit_judge::name], plan_.count, terms, clock_, leasehold::fixed_owner_id{owner_text_},
                         any_policy{},
                         leasehold::semaphore_options{follows ? leasehold::on_other_count::follow : leasehold::on_other_count::refuse}};
    }

    void main()
    {
        lease first{store_, lease_names[0], leasehold::lease_terms{.ttl = leasehold::duration{ttl()}}, clock_,
                    leasehold::fixed_owner_id{owner_text_}, any_policy{}};
        start_engine(first);
        sleep(ms);
        pool_.emplace(made());
        for (const permit_step& each : plan_.steps)
            if (!restarted_ || each.does == kind::resizes) play(each);
        wait({.does = kind::waits, .at = ends_ + self_.host * (ttl() / 2 + 13 * ms)});
        if (self_.host == 0) make_sure();
        pool_.reset();  // here, where its threads can end
        done_ = true;
    }

    void play(const permit_step& step)
    {
        switch (step.does) {
        case kind::resizes: return resize(step);
        case kind::waits: return wait(step);
        case kind::takes:
            sleep_until(step.at);
            static_cast<void>(take(step));
        }
    }

    void sleep_until(std::int64_t at)
    {
        if (const std::int64_t now = world_.time.now(); now < at) sleep(at - now);
    }

    // A resize that has failed may have changed the count or not: it is called again.
    void resize(const permit_step& step)
    {
        sleep_until(step.at);
        for (std::error_code ec; !world_.time.draining(); sleep(pause())) {
            pool_->resize(step.number, ec);
            world_.tell(self_, 'z', static_cast<std::int64_t>(step.number),
                        [&] { return "resize(" + std::to_string(step.number) + "): " + (ec ? ec.message() : std::string{"done"}); });
            if (!world_.time.draining()) judge_.resized(step.number, !ec);
            if (!ec) break;
        }
        agreed_ = true;
    }

    // Until it has them.
    void wait(const permit_step& step)
    {
        sleep_until(step.at);
        const std::int64_t begun = local();
        while (!world_.time.draining()) {
            if (take(step)) return;
            if (local() - begun >= patience()) return judge_.never_got(self_, last_.empty() ? "busy" : last_);
            if (!last_.empty()) sleep(pause());
        }
    }

    bool take(const permit_step& step)
    {
        // Whoever has not agreed on any count may be refused. A person would tell it to follow.
        if (std::exchange(is_refused_, false)) {
            follows_ = true;
            pool_.emplace(made());
        }
        const leasehold::duration at_most{step.does == kind::waits ? patience() : 0};
        std::error_code ec;
        if (step.number == 1)
            return hold(pool_->try_acquire_for(at_most, ec), step, ec, [](const auto& got) { return std::vector{got.index()}; });
        return hold(pool_->try_acquire_for(at_most, step.number, ec), step, ec, [](const auto& got) { return got.indexes(); });
    }

    template <class Guard, class Indexes>
    bool hold(Guard got, const permit_step& step, const std::error_code& ec, Indexes indexes)
    {
        if (world_.time.draining()) return true;
        last_ = ec ? ec.message() : "";
        if (ec && !got.empty()) world_.fail("an error holds nothing", self_.label + ": an attempt failed and gave a guard");
        if (ec == leasehold::errc::invalid_terms && step.number == 1 && agreed_) judge_.refused(self_);
        is_refused_ = ec == leasehold::errc::invalid_terms && !agreed_;
        if (!ec) agreed_ = true;
        if (got.empty()) {
            world_.tell(self_, 'b', ec.value(), [&] { return "gets no permit: " + (ec ? ec.message() : std::string{"busy"}); });
            if (!ec) judge_.took_none(self_, owner_);
            return false;
        }
        const std::vector<std::size_t> which = indexes(got);
        judge_.took(self_, step.number, which);
        std::vector<int> rows;
        for (const std::size_t each : which) rows.push_back(number_of_name("pool/" + std::to_string(each)));
        world_.tell(self_, 'V', static_cast<std::int64_t>(which.size()),
                    [&] { return "holds " + std::to_string(which.size()) + " permits, the first is " + std::to_string(which.front()); });
        {
            const right_monitors::belief believes{rights_, self_, got, right_kind::permit, owner_, rows};
            const permit_judge::belief counts{judge_, self_, got, which.size()};
            sleep(step.hold);
            if (!got.held()) judge_.lost(self_);
        }
        std::error_code failed;
        static_cast<void>(got.release(failed));
        world_.tell(self_, 'u', failed.value(), [&] { return "gives back: " + (failed ? failed.message() : std::string{"done"}); });
        return true;
    }

    // The count becomes final, and as many as it says can be had.
    void make_sure()
    {
        const std::int64_t begun = local();
        while (local() - begun < patience() && !world_.time.draining()) {
            std::error_code ec;
            const auto all = pool_->try_acquire(pool_->count(), ec);
            if (all.held() && judge_.is_final(all.size())) return judge_.in_the_end();
            sleep(ttl() / 2);
        }
        if (!world_.time.draining()) judge_.never_final(self_);
    }

    world& world_;
    right_monitors& rights_;
    permit_judge& judge_;
    process& self_;
    const permit_host_plan& plan_;
    const std::int64_t ends_;
    const std::string owner_text_;
    const int owner_;
    const bool restarted_;
    store store_;
    clock clock_;
    std::optional<semaphore> pool_;
    bool follows_ = restarted_;
    bool is_refused_ = false;
    bool agreed_ = false;  // an attempt or a resize has succeeded
    std::string last_;     // error; empty: none
    bool done_ = false;
};

}  // namespace sim

#endif
