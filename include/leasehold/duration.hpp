// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DURATION_HPP
#define LEASEHOLD_DURATION_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <chrono>

namespace leasehold::inline v0 {

/// The library's unit of time: 64-bit nanoseconds. Any coarser std::chrono duration converts to it implicitly.
using duration = std::chrono::nanoseconds;

}  // namespace leasehold::inline v0

#endif
