// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_QUEUE_TICKET_HPP
#define LEASEHOLD_WAITING_QUEUE_TICKET_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/waker.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <cstdint>
#include <functional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace leasehold::inline v0::waiting {

/// The ticket of a store that can't wake anybody, and of a single attempt.
struct no_ticket {};

template <lease_store Store>
auto enqueue(Store& store, std::string_view name, waker& to_wake)
{
    if constexpr (notifying_store<Store>)
        return store.enqueue(name, to_wake);
    else
        return no_ticket{};
}

template <lease_store Store, class Ticket>
acquire_result try_acquire(Store& store, Ticket& ticket, std::string_view name, std::string_view owner, duration ttl, std::error_code& ec)
{
    if constexpr (std::is_same_v<Ticket, no_ticket>)
        return store.try_acquire(name, owner, ttl, ec);
    else
        return store.try_acquire(ticket, owner, ttl, ec);
}

template <lease_store Store>
poll_pauses pauses_of(const Store& store) noexcept
{
    if constexpr (polled_store<Store>)
        return store.pauses();
    else
        return {};
}

/// Different for waiters that begin at different times, or have different owners. It depends on nothing else, so that a
/// simulation can replay it.
inline std::uint64_t random_seed(std::string_view owner, time_point now) noexcept
{
    const auto begun = static_cast<std::uint64_t>(now.time_since_epoch().count());
    return begun * 0x9E3779B97F4A7C15ULL ^ std::hash<std::string_view>{}(owner);
}

}  // namespace leasehold::inline v0::waiting

#endif
