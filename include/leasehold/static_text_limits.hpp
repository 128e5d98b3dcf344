// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STATIC_TEXT_LIMITS_HPP
#define LEASEHOLD_STATIC_TEXT_LIMITS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/limits.hpp>

#include <cstddef>

namespace leasehold::inline v0 {

/// How much room a store without a heap has for each text. A template argument, as in static_text_limits{.name_bytes = 15}.
struct static_text_limits {
    std::size_t name_bytes = max_name_bytes;    ///< longest name
    std::size_t owner_bytes = max_owner_bytes;  ///< longest owner

    /// Whether there is room for a name and an owner.
    [[nodiscard]] constexpr bool valid() const noexcept
    {
        return name_bytes > 0 && name_bytes <= max_name_bytes && owner_bytes > 0 && owner_bytes <= max_owner_bytes;
    }
};

}  // namespace leasehold::inline v0

#endif
