// SPDX-License-Identifier: BSL-1.0
#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/clock/steady_clock.hpp>

#include <chrono>
#include <memory>

namespace lh = leasehold;

namespace {

struct archetype {
    lh::time_point now() const noexcept;
};
struct waiting : archetype {
    bool wait_until(lh::waker& w, lh::time_point t) const;
};

static_assert(lh::lease_clock<archetype>);
static_assert(!lh::waitable_clock<archetype>);
static_assert(lh::waitable_clock<waiting>);
static_assert(lh::waitable_clock<lh::steady_clock>);
static_assert(lh::waitable_clock<lh::manual_clock>);

struct of_wall_time {  // a wall clock is another type, so it can't slip in
    std::chrono::system_clock::time_point now() const noexcept;
};
struct changes_itself {
    lh::time_point now() noexcept;
};
struct move_only {
    std::unique_ptr<int> part;
    lh::time_point now() const noexcept;
};
struct may_throw {
    lh::time_point now() const;
};
struct waits_for_a_duration : archetype {
    bool wait_until(lh::waker& w, lh::duration d) const;
};

static_assert(!lh::lease_clock<of_wall_time>);
static_assert(!lh::lease_clock<changes_itself>);
static_assert(!lh::lease_clock<move_only>);
static_assert(!lh::lease_clock<may_throw>);
static_assert(!lh::lease_clock<std::chrono::system_clock>);
static_assert(!lh::waitable_clock<waits_for_a_duration>);

}  // namespace
