// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_OBSERVED_HOSTS_HPP
#define LEASEHOLD_TESTS_SIMULATION_OBSERVED_HOSTS_HPP

#include "clock.hpp"
#include "message.hpp"
#include "network.hpp"
#include "observed_judge.hpp"
#include "program.hpp"
#include "store.hpp"
#include "world.hpp"

#include <leasehold/detail/hold_text.hpp>
#include <leasehold/detail/lease_changes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace sim {

// One changes a name, a step at a time, in each way in which it can be changed then; another looks at it.
struct observed_plan {
    int steps = 0;
    std::int64_t step = 0;
    std::int64_t term = 0;   // of leases and holds
    std::int64_t every = 0;  // a look
};

// Who looks. What a lease_observer decides is the library's; the thread around it is not.
class observed_observer final : public program {
public:
    observed_observer(world& w, network& net, observed_judge& judge, process& self, const observed_plan& of)
        : world_{w}, judge_{judge}, self_{self}, plan_{of}, store_{w, net, self}, clock_{self, w.planned.at_clock}
    {
        w.time.start(self, [this] { main(); });
    }

    [[nodiscard]] bool done() const noexcept override { return done_; }
    [[nodiscard]] const process& self() const noexcept override { return self_; }
    void cancel_all() override {}

private:
    static constexpr int last_looks = 3;  // more than there are faults

    void main()
    {
        for (int last = 0; last < last_looks && !world_.time.draining();) {
            const instant begun = world_.time.now();
            const bool is_last = judge_.is_at_rest();
            if (const bool succeeded = look(); is_last) last = succeeded ? last_looks : last + 1;
            if (last < last_looks) world_.time.sleep_until(begun + plan_.every);
        }
        done_ = true;
    }

    bool look()
    {
        judge_.looks();
        const leasehold::time_point sent = clock_.now();
        std::error_code ec;
        const std::optional<leasehold::lease_record> found = store_.inspect(lease_names[observed_judge::name], ec);
        if (ec || world_.time.draining()) return false;
        const std::vector<leasehold::lease_change> changes =
            latest_.changes_to(found, sent, clock_.now(), &leasehold::detail::lease_changes);
        latest_.replace_by(found, sent);
        for (const leasehold::lease_change& each : changes) {
            const std::int64_t token = each.record.token.value();
            world_.tell(self_, 'c', token, [&] { return std::string{to_string(each.kind)} + ", token " + std::to_string(token); });
            judge_.tells(each);
        }
        judge_.has_looked(found);
        return true;
    }

    world& world_;
    observed_judge& judge_;
    process& self_;
    const observed_plan& plan_;
    store store_;
    clock clock_;
    leasehold::detail::latest_look<std::optional<leasehold::lease_record>> latest_;
    bool done_ = false;
};

// Who changes it, at the server: what messages may do to that has worlds of its own.
class observed_changer final : public program {
    enum class act : std::uint8_t { nothing, first_takes, second_takes, renews, publishes, releases, keeps_closed, holds, opens };

public:
    observed_changer(world& w, observed_judge& judge, process& self, const observed_plan& of)
        : world_{w}, judge_{judge}, self_{self}, plan_{of}, owners_{w.owner("first"), w.owner("second")},
          hold_{w.owner(leasehold::detail::owner_of_hold("0123456789abcdef", "migration"))}, data_{w.owner("blue"), w.owner("green")}
    {
        w.time.start(self, [this] { main(); });
    }

    [[nodiscard]] bool done() const noexcept override { return done_; }
    [[nodiscard]] const process& self() const noexcept override { return self_; }
    void cancel_all() override {}

private:
    void main()
    {
        for (int step = 0; step < plan_.steps && !world_.time.draining(); ++step) {
            const instant begun = world_.time.now();
            const std::vector<act> possible = all_possible();
            const std::size_t chosen = world_.choose.one_of(possible.size());
            world_.time.observe(chosen);
            does(possible[chosen]);
            world_.time.sleep_until(begun + plan_.step);
        }
        judge_.nothing_begins_any_more();
        done_ = true;
    }

    [[nodiscard]] row_view row() const { return world_.db.look(observed_judge::name); }

    [[nodiscard]] std::vector<act> all_possible() const
    {
        const row_view now = row();
        if (now.live && now.owner == nobody) return {act::nothing};
        if (now.live && now.owner == hold_) return {act::nothing, act::opens};
        const act takes_again = now.owner == owners_[0] ? act::first_takes : act::second_takes;
        if (now.live) return {act::nothing, act::renews, act::publishes, act::releases, act::keeps_closed, takes_again};
        if (last_ == nobody) return {act::nothing, act::first_takes, act::holds};
        return {act::nothing, act::first_takes, act::second_takes, act::holds};
    }

    void does(act what)
    {
        const row_view now = row();
        const auto ask_for = [&](ask asked, int owner, std::int64_t time, int text = nobody) {
            const request of{asked, {}, observed_judge::name, owner, asked == ask::try_acquire ? 0 : now.token, time, text};
            const reply said = world_.db.execute(of);
            last_ = owner;
            world_.tell(self_, 'd', static_cast<std::int64_t>(what), [&] {
                return network::describe(of) + " of " + world_.owners[static_cast<std::size_t>(owner)] +
                       (said.yes || said.acquired.granted() ? ": done" : ": refused");
            });
        };
        switch (what) {
        case act::nothing: break;
        case act::first_takes: ask_for(ask::try_acquire, owners_[0], plan_.term); break;
        case act::second_takes: ask_for(ask::try_acquire, owners_[1], plan_.term); break;
        case act::holds: ask_for(ask::try_acquire, hold_, plan_.term); break;
        case act::renews: ask_for(ask::renew, now.owner, plan_.term); break;
        case act::publishes: {
            const bool is_blue = world_.db.data_of(observed_judge::name) == world_.owners[static_cast<std::size_t>(data_[0])];
            ask_for(ask::publish, now.owner, 0, data_[is_blue ? 1 : 0]);
            break;
        }
        case act::releases:
        case act::opens: ask_for(ask::release, now.owner, 0); break;
        case act::keeps_closed: ask_for(ask::release, now.owner, plan_.step * 3 / 2);
        }
    }

    world& world_;
    observed_judge& judge_;
    process& self_;
    const observed_plan& plan_;
    const int owners_[2];
    const int hold_;
    const int data_[2];
    int last_ = nobody;  // who has changed it last
    bool done_ = false;
};

}  // namespace sim

#endif
