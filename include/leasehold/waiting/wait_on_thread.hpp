// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_WAIT_ON_THREAD_HPP
#define LEASEHOLD_WAITING_WAIT_ON_THREAD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <stop_token>
#include <system_error>

namespace leasehold::inline v0::waiting {

/// Does what a wait decides, on this thread, until an attempt grants something or fails, or the wait gives up. `to_wake` is what wakes
/// the wait. May throw what its attempts throw.
template <class Wait, lease_clock Clock>
auto wait_on_thread(Wait& waits, const Clock& clock, waker& to_wake, const std::stop_token& stop, std::error_code& ec)
    -> decltype(waits.attempt(wait_action::attempt, ec))
{
    static_assert(waitable_clock<Clock>, "waiting needs a clock with wait_until (waitable_clock)");
    const std::stop_callback wake_when_cancelled{stop, [&to_wake] { to_wake.wake(); }};
    for (;;) {
        // The clock first, by every compiler, so that a simulated run is the same with each.
        const time_point now = clock.now();
        const wait_step step = waits.next(now, stop.stop_requested());
        if (step.action == wait_action::give_up) {
            ec = waits.error_of_end();
            return {};
        }
        if (step.action == wait_action::sleep) {
            if (clock.wait_until(to_wake, step.at)) waits.woken(clock.now());
            continue;
        }
        auto result = waits.attempt(step.action, ec);
        if (ec || !result.guard.empty()) return result;
    }
}

}  // namespace leasehold::inline v0::waiting

#endif
