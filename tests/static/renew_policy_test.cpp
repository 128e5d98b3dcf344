// SPDX-License-Identifier: BSL-1.0
#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/renew_policy/concept.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renew_policy/renew_for.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace lh = leasehold;

namespace {

struct archetype {
    std::optional<lh::duration> next(lh::renewal_state) const noexcept;
};
struct by_reference {
    std::optional<lh::duration> next(const lh::renewal_state&) const noexcept;
};

static_assert(lh::renew_policy<archetype>);
static_assert(lh::renew_policy<by_reference>);
static_assert(lh::renew_policy<lh::no_renewal>);
static_assert(lh::renew_policy<lh::renew_at_fraction>);

struct without_next {};
struct a_number {
    int next(lh::renewal_state) const noexcept;
};
struct never_gives_up {  // must be able to
    lh::duration next(lh::renewal_state) const noexcept;
};
struct of_milliseconds {  // another unit is another type
    std::optional<std::chrono::milliseconds> next(lh::renewal_state) const noexcept;
};
struct changes_itself {
    std::optional<lh::duration> next(lh::renewal_state) noexcept;
};
struct without_state {
    std::optional<lh::duration> next() const noexcept;
};
struct move_only {
    std::unique_ptr<int> part;
    std::optional<lh::duration> next(lh::renewal_state) const noexcept;
};
struct may_throw {
    std::optional<lh::duration> next(lh::renewal_state) const;
};

static_assert(!lh::renew_policy<without_next>);
static_assert(!lh::renew_policy<a_number>);
static_assert(!lh::renew_policy<never_gives_up>);
static_assert(!lh::renew_policy<of_milliseconds>);
static_assert(!lh::renew_policy<changes_itself>);
static_assert(!lh::renew_policy<without_state>);
static_assert(!lh::renew_policy<move_only>);
static_assert(!lh::renew_policy<may_throw>);

// A clock that can't be waited on has nothing in the background.
struct tick_clock {
    lh::time_point now() const noexcept;
};
struct at_its_own_pace {
    static constexpr bool never_renews = true;
    std::optional<lh::duration> next(lh::renewal_state) const noexcept;
};
struct says_that_it_renews {
    static constexpr bool never_renews = false;
    std::optional<lh::duration> next(lh::renewal_state) const noexcept;
};

static_assert(lh::renew_policy_on_clock<lh::renew_at_fraction, lh::steady_clock>);
static_assert(lh::renew_policy_on_clock<lh::no_renewal, lh::steady_clock>);
static_assert(lh::renew_policy_on_clock<lh::no_renewal, tick_clock>);
static_assert(lh::renew_policy_on_clock<at_its_own_pace, tick_clock>);
static_assert(!lh::renew_policy_on_clock<says_that_it_renews, tick_clock>);
static_assert(!lh::renew_policy_on_clock<lh::renew_at_fraction, tick_clock>);
static_assert(!lh::renew_policy_on_clock<lh::renew_for, tick_clock>);
static_assert(!lh::renew_policy_on_clock<archetype, tick_clock>);

}  // namespace
