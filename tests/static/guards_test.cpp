// SPDX-License-Identifier: BSL-1.0
// A temporary guard has released when its answer is used: nothing can be asked of one.
#include <leasehold/embedded.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/store/static_memory_store.hpp>

#include <system_error>
#include <utility>

namespace lh = leasehold;

namespace {

// Whether `question`, if it is a member at all, can be asked of a guard with a name alone.
#define ASKED_BY_NAME(question)                                                                              \
    template <class Guard>                                                                                   \
    inline constexpr bool asks_##question = requires { std::declval<const Guard&>().question(); };           \
    template <class Guard>                                                                                   \
    inline constexpr bool asks_temporary_##question = requires { std::declval<Guard>().question(); } ||      \
                                                      requires { std::declval<const Guard>().question(); };

ASKED_BY_NAME(held)
ASKED_BY_NAME(remaining)
ASKED_BY_NAME(empty)
ASKED_BY_NAME(index)
ASKED_BY_NAME(size)
ASKED_BY_NAME(guards)
ASKED_BY_NAME(token)
ASKED_BY_NAME(tokens)
ASKED_BY_NAME(name)
ASKED_BY_NAME(owner)
ASKED_BY_NAME(store)
ASKED_BY_NAME(lease)
ASKED_BY_NAME(stop_token)
ASKED_BY_NAME(renewal_error)
ASKED_BY_NAME(handover_requested)
ASKED_BY_NAME(handover_reason)
ASKED_BY_NAME(handover_token)
ASKED_BY_NAME(ensure_held)

template <class Guard>
inline constexpr bool asks_bool = requires(const Guard& named) { static_cast<bool>(named); };
template <class Guard>
inline constexpr bool asks_temporary_bool = requires { static_cast<bool>(std::declval<Guard>()); } ||
                                            requires { static_cast<bool>(std::declval<const Guard>()); };

template <class Guard>
inline constexpr int questions_to_named =
    asks_bool<Guard> + asks_held<Guard> + asks_remaining<Guard> + asks_empty<Guard> + asks_index<Guard> + asks_size<Guard> +
    asks_guards<Guard> + asks_token<Guard> + asks_tokens<Guard> + asks_name<Guard> + asks_owner<Guard> + asks_store<Guard> +
    asks_lease<Guard> + asks_stop_token<Guard> + asks_renewal_error<Guard> + asks_handover_requested<Guard> +
    asks_handover_reason<Guard> + asks_handover_token<Guard> + asks_ensure_held<Guard>;
template <class Guard>
inline constexpr int questions_to_temporary =
    asks_temporary_bool<Guard> + asks_temporary_held<Guard> + asks_temporary_remaining<Guard> + asks_temporary_empty<Guard> +
    asks_temporary_index<Guard> + asks_temporary_size<Guard> + asks_temporary_guards<Guard> + asks_temporary_token<Guard> +
    asks_temporary_tokens<Guard> + asks_temporary_name<Guard> + asks_temporary_owner<Guard> + asks_temporary_store<Guard> +
    asks_temporary_lease<Guard> + asks_temporary_stop_token<Guard> + asks_temporary_renewal_error<Guard> +
    asks_temporary_handover_requested<Guard> + asks_temporary_handover_reason<Guard> + asks_temporary_handover_token<Guard> +
    asks_temporary_ensure_held<Guard>;

using lease = lh::lease<lh::memory_store>;
static_assert(questions_to_named<lease::guard_type> == 14 && questions_to_temporary<lease::guard_type> == 0);
using permit = lh::lease_semaphore<lh::memory_store>::guard_type;
static_assert(questions_to_named<permit> == 15 && questions_to_temporary<permit> == 0);
using share = lh::shared_lease<lh::memory_store>::shared_guard_type;
static_assert(questions_to_named<share> == 15 && questions_to_temporary<share> == 0);
using writer = lh::shared_lease<lh::memory_store>::guard_type;
static_assert(questions_to_named<writer> == 11 && questions_to_temporary<writer> == 0);
using set = lh::lease_set_guard<lease>;
static_assert(questions_to_named<set> == 10 && questions_to_temporary<set> == 0);
using mixed_set = lh::lease_set_guard<lease, lh::basic_lease<lh::memory_store, lh::manual_clock>>;
static_assert(questions_to_named<mixed_set> == 10 && questions_to_temporary<mixed_set> == 0);
using static_guard =
    lh::basic_static_lease<lh::static_memory_store<4>, lh::steady_clock, lh::static_owner_id>::guard_type;
static_assert(questions_to_named<static_guard> == 8 && questions_to_temporary<static_guard> == 0);

// Calls that act: the answer of a temporary is about a term that has ended when it is used.
#define ACTS_BY_NAME(what, call)                                                                   \
    template <class Guard>                                                                         \
    inline constexpr bool what = requires(Guard& guard) { guard.call; };                           \
    template <class Guard>                                                                         \
    inline constexpr bool what##_of_a_temporary = requires(Guard& guard) { std::move(guard).call; };

inline std::error_code reported;
ACTS_BY_NAME(renews, renew())
ACTS_BY_NAME(renews_reporting, renew(reported))
ACTS_BY_NAME(renews_by, renew(lh::duration{}))
ACTS_BY_NAME(renews_by_reporting, renew(lh::duration{}, reported))
ACTS_BY_NAME(renews_if_due, renew_if_due(reported))
ACTS_BY_NAME(publishes, publish("x"))
ACTS_BY_NAME(publishes_reporting, publish("x", reported))
ACTS_BY_NAME(saves, save_checkpoint("x"))
ACTS_BY_NAME(saves_reporting, save_checkpoint("x", reported))
ACTS_BY_NAME(completes, complete())
ACTS_BY_NAME(completes_reporting, complete(reported))
ACTS_BY_NAME(completes_with_reporting, complete(0, reported))
ACTS_BY_NAME(fails, fail())
ACTS_BY_NAME(fails_reporting, fail(reported))

template <class Guard>
inline constexpr int acts_of_named =
    renews<Guard> + renews_reporting<Guard> + renews_by<Guard> + renews_by_reporting<Guard> + renews_if_due<Guard> + publishes<Guard> +
    publishes_reporting<Guard> + saves<Guard> + saves_reporting<Guard> + completes<Guard> + completes_reporting<Guard> +
    completes_with_reporting<Guard> + fails<Guard> + fails_reporting<Guard>;
template <class Guard>
inline constexpr int acts_of_temporary =
    renews_of_a_temporary<Guard> + renews_reporting_of_a_temporary<Guard> + renews_by_of_a_temporary<Guard> +
    renews_by_reporting_of_a_temporary<Guard> + renews_if_due_of_a_temporary<Guard> + publishes_of_a_temporary<Guard> +
    publishes_reporting_of_a_temporary<Guard> + saves_of_a_temporary<Guard> + saves_reporting_of_a_temporary<Guard> +
    completes_of_a_temporary<Guard> + completes_reporting_of_a_temporary<Guard> + completes_with_reporting_of_a_temporary<Guard> +
    fails_of_a_temporary<Guard> + fails_reporting_of_a_temporary<Guard>;

static_assert(acts_of_named<lease::guard_type> == 8 && acts_of_temporary<lease::guard_type> == 0);
static_assert(acts_of_named<permit> == 8 && acts_of_temporary<permit> == 0);
static_assert(acts_of_named<lh::lease_semaphore<lh::memory_store>::several_guard_type> == 4);
static_assert(acts_of_temporary<lh::lease_semaphore<lh::memory_store>::several_guard_type> == 0);
static_assert(acts_of_named<share> == 8 && acts_of_temporary<share> == 0);
static_assert(acts_of_named<writer> == 4 && acts_of_temporary<writer> == 0);
static_assert(acts_of_named<set> == 4 && acts_of_temporary<set> == 0);
static_assert(acts_of_named<mixed_set> == 4 && acts_of_temporary<mixed_set> == 0);
static_assert(acts_of_named<static_guard> == 3 && acts_of_temporary<static_guard> == 0);
using run = lh::recurring_run<lease>;
static_assert(acts_of_named<run> == 13 && acts_of_temporary<run> == 0);

// A lock of a temporary lease is released at once, too.
template <class Lease>
concept locks_temporarily = requires { std::declval<Lease>().lock(); } || requires { std::declval<Lease>().try_lock(); } ||
                            requires { std::declval<Lease>().lock_shared(); } || requires { std::declval<Lease>().try_lock_shared(); };
static_assert(!locks_temporarily<lease> && locks_temporarily<lease&>);
static_assert(!locks_temporarily<lh::shared_lease<lh::memory_store>> && locks_temporarily<lh::shared_lease<lh::memory_store>&>);

// The end of a term asks nothing.
static_assert(requires(lease& free) { free.try_acquire().release(); });

}  // namespace
