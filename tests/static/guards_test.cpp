// SPDX-License-Identifier: BSL-1.0
// A temporary guard has released when its answer is used: nothing can be asked of one.
#include <leasehold/embedded.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/store/static_memory_store.hpp>

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

// The end of a term asks nothing.
static_assert(requires(lease& free) { free.try_acquire().release(); });

}  // namespace
