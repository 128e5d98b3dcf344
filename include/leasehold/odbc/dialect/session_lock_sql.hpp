// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_SESSION_LOCK_SQL_HPP
#define LEASEHOLD_ODBC_DIALECT_SESSION_LOCK_SQL_HPP

#include <string>

namespace leasehold::inline v0::dialect {

/// The statements that wake a waiter: with a lock that belongs to a session, not to a transaction, for which others queue.
///
/// The holder's session has it during the term; its release passes it on. Only a hint: the row decides, and a lock that is
/// lost, or stuck, costs time at most. Besides the parameters of description: :lock_number (64 bits) and :lock_name (42
/// characters), both made of the table's and the lease's name; use either.
/// All are needed but those that say which kind of grant (description::single_statement_grant) they are for.
struct session_lock_sql {
    std::string before_wait;        ///< run on a session before each wait, so that nothing ends it; may be empty
    std::string locking_grant;      ///< single: as grant, and then tries the lock if the term is new; fifth column: has it
    std::string locking_insert;     ///< otherwise: as insert, and tries the lock
    std::string locking_take;       ///< otherwise: as take, and tries the lock if it takes
    std::string locking_retake;     ///< single: as take, and tries the lock if it takes; shows then whether it has it
    std::string queued_take;        ///< otherwise: as take, but only if it gets the lock
    std::string queued_read;        ///< otherwise: as read, but tries the lock if the row isn't live; sixth column: has it
    std::string queued_grant;       ///< single: as grant, but only if it gets the lock, or the live term is :owner's;
                                    ///< refused: 0, token, remaining (not positive: nobody holds), 0, has the lock
    std::string held_grant;         ///< single: as grant, but waits for whoever is writing to the row; by who has the lock
    std::string unlocking_release;  ///< as release, and gives the lock back if it matches
    std::string unlocking_close;    ///< as close, and gives the lock back if it matches
    std::string lock;               ///< waits for the lock, or for so long that it had better be asked again; has it (1). What
                                    ///< before_wait has changed is as before then
    std::string unlock;             ///< gives it back; no error if it hasn't got it
    std::string backend;            ///< the number by which others can end what this session is at
    std::string end_wait;           ///< ends the wait of the session :token, which goes on; no error where it doesn't wait

    /// Whether the database has such locks.
    [[nodiscard]] bool available() const noexcept { return !lock.empty(); }
};

}  // namespace leasehold::inline v0::dialect

#endif
