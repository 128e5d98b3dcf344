// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_DURATION_TEXT_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_DURATION_TEXT_HPP

#include <leasehold/duration.hpp>

#include <string>
#include <string_view>

namespace tool {

/// A duration as people write it: 90s, 5m, 1h30m, 500ms, 1.5h; 0 needs no unit. Never negative.
/// Throws failure (exit_code::usage), saying what is allowed.
[[nodiscard]] leasehold::duration parse_duration(std::string_view text);

/// The way parse_duration() reads it, exact to the millisecond: 1h30m, 90s is 1m30s, 500ms.
[[nodiscard]] std::string to_text(leasehold::duration time);

/// For a column: 950ms, 24.1s, 12m03s, 5h07m, 3d04h.
[[nodiscard]] std::string to_short_text(leasehold::duration time);

}  // namespace tool

#endif
