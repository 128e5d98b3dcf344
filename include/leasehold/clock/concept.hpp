// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_CLOCK_CONCEPT_HPP
#define LEASEHOLD_CLOCK_CONCEPT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/time_point.hpp>

#include <concepts>
#include <type_traits>

namespace leasehold::inline v0 {

class waker;

/// Monotonic time of the holder, from which deadlines are counted.
///
/// | expression | returns | does |
/// |---|---|---|
/// | c.now() | lh::time_point | never goes back; runs at nearly the rate of the store's clock, also while the process or the host sleeps; callable from any thread; must not throw |
///
/// Copies show the same time. If clocks of one type can show different times, `==` must tell them apart: leases whose
/// clocks are equal share the threads that renew and watch them. If a clock has data but no `==`, every lease needs
/// threads of its own.
///
/// A store without an operating system calls now() inside its mutex, with interrupts off, and in an interrupt: now() must be right there.
/// If a counter of the hardware is extended to 64 bits by an interrupt at its overflow, that interrupt may be pending. So read high, low,
/// high again until both are the same, and count an overflow that is pending if low is in its lower half. The interrupt clears the flag
/// and adds to high with interrupts off. Otherwise a term's end can be an overflow too early, and two hold.
///
/// Minimal model, for leases with no_renewal, whose loss is not signalled but only seen by held() and remaining():
///
///     struct tick_clock {
///         lh::time_point now() const noexcept { return lh::time_point{std::chrono::milliseconds{ticks()}}; }
///     };
template <class C>
concept lease_clock = std::copy_constructible<C> && requires(const C& c) {
    { c.now() } noexcept -> std::same_as<time_point>;
};

/// A clock that can be waited on. Background renewal, the signal of a loss, and waiting for a busy lease need one; any other
/// clock works only with no_renewal.
///
/// | expression | returns | does |
/// |---|---|---|
/// | c.wait_until(w, t) | bool | returns true when `w` was woken (and takes the wake); false when now() >= t, or earlier for no reason; time_point::max() is never; does not sleep through a wake that came just before |
///
/// `w` is a waker&, whose wait_for() sleeps. A clock that runs like the system's clock needs only one line:
///
///     bool wait_until(lh::waker& w, lh::time_point t) const { return w.wait_for(t - now()); }
template <class C>
concept waitable_clock = lease_clock<C> && requires(const C& c, waker& w, time_point t) {
    { c.wait_until(w, t) } -> std::same_as<bool>;
};

namespace detail {

template <lease_clock C>
bool same_clock(const C& a, const C& b)
{
    if constexpr (std::equality_comparable<C>)
        return a == b;
    else
        return std::is_empty_v<C>;
}

}  // namespace detail

}  // namespace leasehold::inline v0

#endif
