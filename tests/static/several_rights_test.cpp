// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <chrono>
#include <concepts>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

template <class... Args>
using semaphore_of = decltype(lh::lease_semaphore(std::declval<Args>()...));
template <class... Args>
using shared_of = decltype(lh::shared_lease(std::declval<Args>()...));

// deduction
using semaphore = semaphore_of<lh::memory_store&, const char*, int>;
static_assert(std::same_as<semaphore, lh::lease_semaphore<lh::memory_store, lh::steady_clock, lh::random_owner_id, lh::renew_at_fraction>>);
static_assert(std::same_as<semaphore_of<lh::memory_store&, std::string_view, std::size_t, std::chrono::seconds>, semaphore>);
static_assert(std::same_as<decltype(lh::lease_semaphore{std::declval<lh::memory_store&>(), "n", 5, {.ttl = 30s}}), semaphore>);
static_assert(std::same_as<semaphore_of<lh::memory_store&, const char*, int, lh::no_renewal, lh::manual_clock&, std::chrono::minutes>,
                           lh::lease_semaphore<lh::memory_store, lh::manual_clock, lh::random_owner_id, lh::no_renewal>>);
using shared = shared_of<lh::memory_store&, const char*>;
static_assert(std::same_as<shared_of<lh::memory_store&, const char*, lh::reader_limit, std::chrono::seconds>, shared>);
static_assert(std::same_as<decltype(lh::shared_lease{std::declval<lh::memory_store&>(), "n", {.ttl = 30s}, lh::reader_limit{16}}), shared>);
static_assert(std::same_as<shared_of<lh::memory_store&, const char*, lh::fixed_owner_id, lh::reader_limit&, lh::manual_clock>,
                           lh::shared_lease<lh::memory_store, lh::manual_clock, lh::fixed_owner_id>>);

// what moves, and does not copy
template <class T>
concept moves_only = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> && !std::is_copy_constructible_v<T> &&
                     !std::is_copy_assignable_v<T>;
template <class T>
concept guard =
    moves_only<T> && std::is_nothrow_default_constructible_v<T> && std::is_nothrow_swappable_v<T> && !std::convertible_to<T, bool> &&
    std::constructible_from<bool, const T&>;
using lease = lh::lease<lh::memory_store>;
using other_lease = lh::basic_lease<lh::memory_store, lh::manual_clock>;
static_assert(moves_only<semaphore> && moves_only<shared>);
static_assert(guard<semaphore::guard_type> && guard<shared::guard_type> && guard<shared::shared_guard_type>);
static_assert(guard<lh::lease_set_guard<lease>> && guard<lh::lease_set_guard<lease, other_lease>>);

// what a set is made of
static_assert(std::same_as<decltype(lh::try_acquire_all(std::declval<lease&>(), std::declval<lease&>())), lh::lease_set_guard<lease>>);
static_assert(std::same_as<decltype(lh::try_acquire_all(std::declval<lease&>(), std::declval<other_lease&>())),
                           lh::lease_set_guard<lease, other_lease>>);
static_assert(std::same_as<decltype(lh::try_acquire_all(std::declval<std::vector<lease>&>())), lh::lease_set_guard<lease>>);
static_assert(
    std::same_as<decltype(lh::try_acquire_all(std::declval<lease&>(), std::declval<std::error_code&>())), lh::lease_set_guard<lease>>);
static_assert(std::same_as<decltype(lh::try_acquire_each(std::declval<std::vector<lease>&>())), std::vector<lease::guard_type>>);
static_assert(noexcept(lh::try_acquire_all(std::declval<lease&>(), std::declval<std::error_code&>())));
static_assert(noexcept(lh::try_acquire_each(std::declval<std::vector<lease>&>(), std::declval<std::error_code&>())));

// nothing is acquired through a temporary
template <class T>
concept acquires = requires(T&& t) { std::forward<T>(t).try_acquire(); };
static_assert(acquires<semaphore&> && !acquires<semaphore> && acquires<shared&> && !acquires<shared>);

// SharedTimedMutex
template <class M>
concept shared_timed_mutex = requires(M& m, std::chrono::milliseconds d, std::chrono::system_clock::time_point t) {
    m.lock();
    { m.try_lock() } -> std::same_as<bool>;
    { m.try_lock_for(d) } -> std::same_as<bool>;
    { m.try_lock_until(t) } -> std::same_as<bool>;
    m.unlock();
    m.lock_shared();
    { m.try_lock_shared() } -> std::same_as<bool>;
    { m.try_lock_shared_for(d) } -> std::same_as<bool>;
    { m.try_lock_shared_until(t) } -> std::same_as<bool>;
    m.unlock_shared();
};
static_assert(shared_timed_mutex<std::shared_timed_mutex> && shared_timed_mutex<shared>);

[[maybe_unused]] void standard_locks(shared& a, shared& b, lease& c)
{
    const std::scoped_lock all{a, b, c};
    const std::shared_lock reading{a, 1s};
    const std::unique_lock writing{b, std::chrono::system_clock::now()};
    const std::lock_guard guarded{a};
}

// stores
struct no_hook {
    void operator()(const lh::store_call&, const lh::store_call_report&) const noexcept {}
};
struct no_fault {
    lh::store_fault operator()(const lh::store_call&) const noexcept { return lh::store_fault::none; }
};
static_assert(lh::batch_acquiring_store<lh::memory_store> && lh::batch_acquiring_store<lh::hooked_store<lh::memory_store, no_hook>>);
static_assert(!lh::batch_acquiring_store<lh::faulty_store<lh::memory_store, no_fault>>, "each call can fail by itself");
static_assert(!lh::batch_acquiring_store<lh::static_memory_store<4>>);

}  // namespace
