// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_PAUSES_HPP
#define LEASEHOLD_ODBC_DETAIL_PAUSES_HPP

#include <leasehold/detail/backoff.hpp>

#include <chrono>

// How long the store pauses before it tries again: from the first pause to the longest, each twice the one before; see backoff. The
// delays by which waiters in a queue let others go first are something else, and in queue_machine.hpp.
namespace leasehold::inline v0::odbc::detail {

using leasehold::detail::backoff;

// After a connection that failed, before the store's next one; see connect_gate.
inline constexpr std::chrono::milliseconds first_reconnect_pause{20};
inline constexpr std::chrono::milliseconds longest_reconnect_pause{500};
// After a conflict or a locked row, within one call; see session.
inline constexpr std::chrono::microseconds first_conflict_pause{500};
inline constexpr std::chrono::milliseconds longest_conflict_pause{50};
// Before the lock of a term is taken that a single attempt was granted, and then while somebody else has it; see term_locks. A term
// that is over before the first pause is gets no lock: nobody could have queued for it.
inline constexpr std::chrono::milliseconds first_lock_pause{5};
inline constexpr std::chrono::milliseconds longest_lock_pause{1000};
// Between two looks of the waiter at the head of the queue, whom nobody wakes; see queue_machine. Soon at first: a single attempt that
// came in between may not stay.
inline constexpr std::chrono::milliseconds shortest_look{1};
inline constexpr std::chrono::milliseconds longest_look{500};
// Before a waiter whose session was lost queues with another one. Not longer each time, since it makes attempts meanwhile.
inline constexpr std::chrono::milliseconds requeue_pause{1000};

}  // namespace leasehold::inline v0::odbc::detail

#endif
