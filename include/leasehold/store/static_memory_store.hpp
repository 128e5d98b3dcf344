// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_STATIC_MEMORY_STORE_HPP
#define LEASEHOLD_STORE_STATIC_MEMORY_STORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/store/basic_static_memory_store.hpp>

#include <cstddef>

namespace leasehold::inline v0 {

/// basic_static_memory_store on the system's clock. It has a header of its own, because steady_clock can be waited on, which
/// needs threads.
template <std::size_t N, lease_clock Clock = steady_clock, basic_lockable Mutex = spin_mutex,
          static_text_limits Limits = static_text_limits{}>
using static_memory_store = basic_static_memory_store<N, Clock, Mutex, Limits>;

}  // namespace leasehold::inline v0

#endif
