// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_HOLD_HOST_HPP
#define LEASEHOLD_TESTS_SIMULATION_HOLD_HOST_HPP

#include "clock.hpp"
#include "hold_judge.hpp"
#include "network.hpp"
#include "program.hpp"
#include "stopwatch.hpp"
#include "store.hpp"
#include "world.hpp"

#include <leasehold/error.hpp>
#include <leasehold/store/name_holding.hpp>

#include <cstdint>
#include <string>
#include <system_error>

namespace sim {

// What a person does in a small world of leases, at times since its beginning.
struct hold_plan {
    std::int64_t at = 0;
    std::int64_t period = 0;
    std::int64_t opens_after = 0;  // unhold(), so long after the hold was made; 0: never
};

// A store with hold() and unhold().
class holding_store final : public store, public leasehold::name_holding<holding_store> {
public:
    holding_store(world& w, network& net, process& of) : store{w, net, of}, clock_{of, w.planned.at_clock} {}

    [[nodiscard]] const sim::clock& clock() const noexcept { return clock_; }

private:
    sim::clock clock_;
};

// One who holds the name of a lease closed.
class hold_host final : public program {
public:
    hold_host(world& w, network& net, hold_judge& judge, process& self, const hold_plan& does)
        : world_{w}, judge_{judge}, self_{self}, plan_{does}, store_{w, net, self}
    {
        w.time.start(self, [this] { main(); });
    }

    [[nodiscard]] bool done() const noexcept override { return done_; }
    [[nodiscard]] const process& self() const noexcept override { return self_; }
    void cancel_all() override {}

private:
    // More than long enough, in spite of a few faults.
    [[nodiscard]] std::int64_t patience() const { return world_.planned.ttl * 20; }
    void sleep(std::int64_t how_long)
    {
        world_.time.sleep_until(self_.clock.when(self_.clock.at(world_.time.now()) + how_long));
    }

    void main()
    {
        sleep(plan_.at);
        if (hold() && plan_.opens_after > 0) open();
        done_ = true;
    }

    // A call that fails has looked whether it was carried out. So it is made again.
    bool hold()
    {
        const stopwatch watch{world_, self_};
        std::error_code ec;
        while (watch.elapsed() < patience()) {
            const bool held = store_.hold(lease_names[hold_judge::name], leasehold::duration{plan_.period}, "migration",
                                          leasehold::hold_options{.wait_at_most = leasehold::duration{patience()}}, ec);
            if (world_.time.draining()) return false;
            world_.tell(self_, 'h', ec.value(),
                        [&] { return held ? std::string{"holds it closed"} : "does not hold it: " + ec.message(); });
            if (held) judge_.made();
            if (ec == leasehold::errc::held_closed) judge_.refused(self_.label + ": " + ec.message());
            if (held || ec == leasehold::errc::held_closed) return held;
            sleep(world_.planned.ttl / 4);
        }
        judge_.never_made(self_.label + ": " + ec.message());
        return false;
    }

    void open()
    {
        sleep(plan_.opens_after);
        judge_.asks_to_open();
        std::error_code ec;
        const bool opened = store_.unhold(lease_names[hold_judge::name], ec);
        world_.tell(self_, 'o', opened, [&] { return opened ? std::string{"opens it"} : "does not open it: " + ec.message(); });
    }

    world& world_;
    hold_judge& judge_;
    process& self_;
    const hold_plan& plan_;
    holding_store store_;
    bool done_ = false;
};

}  // namespace sim

#endif
