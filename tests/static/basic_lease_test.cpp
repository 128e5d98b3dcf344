// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

// deduction: the arguments in the template's order, each one optional after the name
constexpr lh::lease_terms terms{.ttl = 30s};

template <class... Args>
using deduced = decltype(lh::basic_lease(std::declval<Args>()...));

using one_to_two = deduced<lh::memory_store&, const char*>;
static_assert(std::same_as<one_to_two,
                           lh::basic_lease<lh::memory_store, lh::steady_clock, lh::random_owner_id, lh::renew_at_fraction>>);
static_assert(std::same_as<one_to_two, lh::lease<lh::memory_store>>);
static_assert(std::same_as<deduced<lh::memory_store&, std::string, lh::lease_terms>, one_to_two>);
static_assert(std::same_as<deduced<lh::memory_store&, std::string_view, lh::lease_terms, lh::manual_clock>,
                           lh::basic_lease<lh::memory_store, lh::manual_clock>>);
static_assert(std::same_as<deduced<lh::memory_store&, const char*, lh::lease_terms, lh::manual_clock&, lh::fixed_owner_id>,
                           lh::basic_lease<lh::memory_store, lh::manual_clock, lh::fixed_owner_id>>);
static_assert(std::same_as<deduced<lh::basic_memory_store<lh::manual_clock>&, const char*, lh::lease_terms, lh::manual_clock,
                                   lh::fixed_owner_id, lh::no_renewal>,
                           lh::basic_lease<lh::basic_memory_store<lh::manual_clock>, lh::manual_clock, lh::fixed_owner_id,
                                           lh::no_renewal>>);
static_assert(std::same_as<decltype(lh::basic_lease{std::declval<lh::memory_store&>(), "n", {.ttl = 30s}}), one_to_two>);

// what follows the name comes in any order
static_assert(std::same_as<deduced<lh::memory_store&, const char*, std::chrono::seconds>, one_to_two>);
static_assert(std::same_as<
              deduced<lh::memory_store&, const char*, lh::no_renewal, const lh::fixed_owner_id&, lh::manual_clock&, std::chrono::minutes>,
              lh::basic_lease<lh::memory_store, lh::manual_clock, lh::fixed_owner_id, lh::no_renewal>>);
static_assert(std::same_as<deduced<lh::memory_store&, const char*, lh::fixed_owner_id, lh::lease_terms&>,
                           lh::basic_lease<lh::memory_store, lh::steady_clock, lh::fixed_owner_id>>);
static_assert(std::same_as<decltype(lh::basic_lease{std::declval<lh::memory_store&>(), "n", {.ttl = 30s}, {}, lh::fixed_owner_id{"o"}}),
                           lh::basic_lease<lh::memory_store, lh::steady_clock, lh::fixed_owner_id>>);
static_assert(std::same_as<decltype(lh::basic_memory_store{lh::manual_clock{}}), lh::basic_memory_store<lh::manual_clock>>);
static_assert(std::same_as<lh::memory_store, lh::basic_memory_store<lh::steady_clock>>);

// guards and leases move and do not copy
using lease_type = one_to_two;
using guard_type = lease_type::guard_type;
static_assert(std::is_nothrow_default_constructible_v<guard_type>);
static_assert(std::is_nothrow_move_constructible_v<guard_type> && std::is_nothrow_move_assignable_v<guard_type>);
static_assert(std::is_nothrow_swappable_v<guard_type> && std::is_nothrow_destructible_v<guard_type>);
static_assert(!std::is_copy_constructible_v<guard_type> && !std::is_copy_assignable_v<guard_type>);
static_assert(!std::convertible_to<guard_type, bool> && std::is_constructible_v<bool, const guard_type&>);
static_assert(!std::is_copy_constructible_v<lease_type> && !std::is_copy_assignable_v<lease_type>);
static_assert(std::is_nothrow_move_constructible_v<lease_type> && std::is_nothrow_move_assignable_v<lease_type>);
static_assert(!std::is_constructible_v<lease_type, lh::memory_store, const char*>,
              "a temporary store would be gone at once");
static_assert(!std::is_constructible_v<lease_type, const lh::memory_store&, const char*>);

// the forms with an error code do not throw
static_assert(noexcept(std::declval<lease_type&>().try_acquire(std::declval<std::error_code&>())));
static_assert(noexcept(std::declval<lease_type&>().inspect(std::declval<std::error_code&>())));
static_assert(noexcept(std::declval<guard_type&>().renew(std::declval<std::error_code&>())));
static_assert(noexcept(std::declval<guard_type&>().renew(std::declval<lh::duration>(), std::declval<std::error_code&>())));
static_assert(noexcept(std::declval<guard_type&>().release(std::declval<std::error_code&>())));
static_assert(noexcept(std::declval<guard_type&>().held()) && noexcept(std::declval<guard_type&>().remaining()));

// what try_run returns
static_assert(std::same_as<decltype(std::declval<lease_type&>().try_run([] {})), bool>);
static_assert(std::same_as<decltype(std::declval<lease_type&>().try_run([](auto&) { return 1; })), std::optional<int>>);
static_assert(std::same_as<decltype(std::declval<lease_type&>().try_run([]() -> const int& {
                               static int i;
                               return i;
                           })),
                           std::optional<int>>);

// every shipped model satisfies its concept, and one part less does not
struct without_renew : lh::memory_store {
    bool renew() = delete;
};
struct three_of_four {
    lh::acquire_result try_acquire(std::string_view, std::string_view, lh::duration, std::error_code&);
    bool release(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
    std::optional<lh::lease_record> inspect(std::string_view, std::error_code&);
};
struct with_renew : three_of_four {
    bool renew(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
};
struct renews_to_int : three_of_four {
    int renew(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
};
struct diagnosing : with_renew {
    lh::store_diagnostics diagnostics() const;
};
static_assert(lh::lease_store<lh::memory_store> && lh::lease_store<lh::basic_memory_store<lh::manual_clock>>);
static_assert(lh::lease_store<with_renew> && !lh::lease_store<three_of_four>);
static_assert(!lh::lease_store<without_renew> && !lh::lease_store<renews_to_int>);
static_assert(!lh::lease_store<int> && !lh::lease_store<const lh::memory_store>);
static_assert(lh::diagnosing_store<diagnosing> && !lh::diagnosing_store<with_renew> &&
              !lh::diagnosing_store<lh::memory_store>);

struct ticks {
    lh::time_point now() const noexcept;
};
struct std_ticks {
    std::chrono::steady_clock::time_point now() const noexcept;
};
struct ticks_that_change {
    lh::time_point now();
};
static_assert(lh::waitable_clock<lh::steady_clock> && lh::waitable_clock<lh::manual_clock>);
static_assert(lh::lease_clock<ticks> && !lh::waitable_clock<ticks>);
static_assert(!lh::lease_clock<std_ticks> && !lh::lease_clock<ticks_that_change> &&
              !lh::lease_clock<std::chrono::steady_clock>);

struct id_of_int {
    int id() const;
};
struct id_of_text {
    const char* id() const;
};
static_assert(lh::owner_id<lh::random_owner_id> && lh::owner_id<lh::hostname_owner_id>);
static_assert(lh::owner_id<lh::host_process_thread_owner_id> && lh::owner_id<lh::fixed_owner_id>);
static_assert(lh::owner_id<id_of_text> && !lh::owner_id<id_of_int> && !lh::owner_id<std::string>);

struct policy_of_duration {
    lh::duration next(lh::renewal_state) const;
};
struct policy_that_changes {
    std::optional<lh::duration> next(lh::renewal_state);
};
static_assert(lh::renew_policy<lh::no_renewal> && lh::renew_policy<lh::renew_at_fraction> &&
              lh::renew_policy<lh::renew_for>);
static_assert(!lh::renew_policy<policy_of_duration> && !lh::renew_policy<policy_that_changes> &&
              !lh::renew_policy<lh::random_owner_id>);

// terms and policies are usable where the compiler computes
static_assert(terms.margin() == 3s && terms.valid());
static_assert(lh::checked_terms({.ttl = 10s, .safety_margin = 1s}) == lh::lease_terms{.ttl = 10s, .safety_margin = 1s});
static_assert(!lh::lease_terms{.ttl = 1s, .safety_margin = 1s}.valid());
static_assert(lh::renew_at_fraction{1, 2}.next({.granted = {}, .ttl = 10s, .attempt = 0}) == 5s);
static_assert(lh::renew_for{1s}.next({.granted = 2s, .ttl = 10s, .attempt = 0}) == std::nullopt);
static_assert(lh::no_renewal{}.next({}) == std::nullopt);

}  // namespace
