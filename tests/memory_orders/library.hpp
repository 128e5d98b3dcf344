// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_MEMORY_ORDERS_LIBRARY_HPP
#define LEASEHOLD_TESTS_MEMORY_ORDERS_LIBRARY_HPP

// The library's own lock-free code, with atomics and mutexes that are explored. A program that includes this must not be linked
// to other code of the library.
#include <memory_orders/exploration.hpp>
#include <memory_orders/instead_of_std.hpp>

#include <boost/test/unit_test.hpp>

// All that the library includes, before std::atomic has another name.
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <chrono>
#include <compare>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#define atomic explored_atomic
#define atomic_flag explored_atomic_flag
#define mutex explored_mutex
#define condition_variable explored_condition_variable
#include <leasehold/detail/series.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/renewal/term_heap.hpp>
#include <leasehold/renewal/term_keeper.hpp>
#include <leasehold/store/spin_mutex.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/ticket_limit.hpp>
#undef atomic
#undef atomic_flag
#undef mutex
#undef condition_variable

namespace protocols {

namespace lh = leasehold;
using orders::atomic;
using orders::exploration;
using orders::explore;
using orders::fiber_execution;
using orders::plain;
using orders::weakening;

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

inline constexpr weakening all_relaxed{.acquire = true, .release = true, .sequential = true};

// Every execution was tried, and none broke a rule. Prints how many.
inline void check_holds(std::string_view what, const exploration& found)
{
    BOOST_TEST_MESSAGE(what << ": " << found.runs << " executions, " << found.cut << " cut");
    BOOST_TEST_CONTEXT(what) { BOOST_TEST(found.failure == ""); }
    BOOST_TEST_CONTEXT(what << ", " << found.runs << " executions") { BOOST_TEST(found.holds()); }
}

inline void check_breaks(std::string_view what, const exploration& found, std::string_view failure)
{
    BOOST_TEST_MESSAGE(what << ": " << found.failure << ", after " << found.runs << " executions");
    BOOST_TEST_CONTEXT(what) { BOOST_TEST(found.failure == failure); }
}

}  // namespace protocols

#endif
