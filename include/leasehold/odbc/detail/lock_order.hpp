// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_LOCK_ORDER_HPP
#define LEASEHOLD_ODBC_DETAIL_LOCK_ORDER_HPP

#include <leasehold/odbc/detail/session_lock_key.hpp>

#include <cstdint>

namespace leasehold::inline v0::odbc::detail {

// What a call does about the session lock of its name.
enum class lock_use : std::uint8_t {
    none,
    with_grant,  // acquire: try it with a new term
    in_line,     // acquire: a new term only with the lock, so as not to pass those who queue for it
    in_line_anew,  // acquire: the same, where nobody else was in line the last time, so that it may well be as it was left
    handed,      // acquire: this session has just been given it, perhaps by a release that isn't committed yet
    have,        // acquire, release: this session has it
};

struct lock_order {
    lock_use use = lock_use::none;
    session_lock_key key{};
    std::uint64_t connection = 0;  // handed, have: the connection that has it; locks end with theirs
    std::int64_t released = 0;     // handed: the token of the term whose end passed it on, as far as can be guessed
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
