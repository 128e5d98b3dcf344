// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_SESSION_LOCK_SQL_HPP
#define LEASEHOLD_ODBC_DIALECT_SESSION_LOCK_SQL_HPP

#include <string>

namespace leasehold::inline v0::dialect {

/// The statements of a lock that belongs to a session, not to a transaction, and for which other sessions queue: it wakes waiters.
///
/// A session has the lock while its store has the term, and gives it back after the release. Only a hint: the row decides, and a
/// lock that is lost, or stuck, costs time at most. Besides the parameters of description: :lock_number (64 bits) and :lock_name
/// (42 characters), both made of the table's and the lease's name; use either.
struct session_lock_sql {
    std::string before_wait;  ///< run on a session before each wait, so that nothing ends it; may be empty
    std::string lock;         ///< waits for the lock, or for so long that it had better be asked again; 1: has it. What before_wait
                              ///< has changed is as before then
    std::string try_lock;     ///< does not wait for it; 1: has it
    std::string unlock;       ///< gives it back; no error if it hasn't got it
    std::string backend;      ///< the number by which others can end what this session is at
    std::string end_wait;     ///< ends the wait of the session :session, which goes on; no error where it doesn't wait. :session is the
                              ///< number itself, not a parameter: MySQL takes none there

    /// Whether the database has such locks.
    [[nodiscard]] bool available() const noexcept { return !lock.empty(); }
};

}  // namespace leasehold::inline v0::dialect

#endif
