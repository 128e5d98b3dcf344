// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_WATCH_RELEASE_HPP
#define LEASEHOLD_WAITING_WATCH_RELEASE_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <cstdint>
#include <functional>
#include <string_view>

namespace leasehold::inline v0::waiting {

/// The watch of a store that can't wake anybody.
struct no_watch {
    [[nodiscard]] constexpr bool live() const noexcept { return false; }
};

template <lease_store Store>
auto watch_release(Store& store, std::string_view name, waker& to_wake)
{
    if constexpr (notifying_store<Store>)
        return store.watch_release(name, to_wake);
    else
        return no_watch{};
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
    return begun * 0x9E3779B97F4A7C15ULL ^ static_cast<std::uint64_t>(std::hash<std::string_view>{}(owner));
}

}  // namespace leasehold::inline v0::waiting

#endif
