// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_LOCK_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_LOCK_FLOW_HPP

#include <leasehold/odbc/detail/fault.hpp>
#include <leasehold/odbc/detail/flow.hpp>
#include <leasehold/odbc/detail/statement.hpp>

#include <chrono>
#include <cstdint>

// The protocol where a session lock goes with the term: as in flow.hpp, no ODBC and no SQL. The row decides; the lock only
// says whose turn it is.
namespace leasehold::inline v0::odbc::detail {

// `locked` is set as soon as this session may have got the lock; what is to become of it is for the caller to say.
template <class Database>
fault locking_grant_in_one_statement(Database& db, statement which, grant_answer& answer, bool& locked)
{
    const fault failed = run_grant(db, which);
    if (failed == fault::lock_timeout) {
        locked = true;  // not known
        return busy_after_reading(db, answer);
    }
    if (failed != fault::none) {
        locked = true;
        return failed;
    }
    if (!db.found()) return busy_after_reading(db, answer);
    locked = db.number(column::locked) != 0;
    const std::int64_t token = db.number(column::token);
    const std::chrono::microseconds remaining{db.number(column::remaining)};
    if (db.number(column::granted) != 0)
        answer = granted(token, db.number(column::fresh) != 0);
    else
        answer = {{acquire_status::busy, fencing_token{token}, remaining}, false,
                  which == statement::queued_grant && !locked && remaining <= std::chrono::microseconds::zero(), false};
    return fault::none;
}

// As take_as_remembered(), and then the lock if nobody has it.
template <class Database>
fault retake_with_lock(Database& db, std::int64_t hint, grant_answer& answer, bool& answered, bool& locked)
{
    db.set_token(hint);
    const fault failed = db.run(statement::locking_retake);
    answered = locked = failed != fault::none;  // the lock: not known
    if (failed == fault::lock_timeout) return busy_after_reading(db, answer);
    if (failed != fault::none || !db.found()) return failed;
    answered = true;
    locked = db.number(column::locked) != 0;
    answer = granted(hint + 1, true);
    return fault::none;
}

// A grant, and then the lock if nobody has it.
template <class Database>
fault locking_grant_flow(Database& db, std::int64_t hint, grant_answer& answer, bool& locked)
{
    if (db.single_statement_grant()) {
        bool answered = false;
        if (hint == busy_last_time) {
            if (const fault failed = look_first(db, answer, answered); failed != fault::none || answered) return failed;
        } else if (hint != 0) {
            if (const fault failed = retake_with_lock(db, hint, answer, answered, locked); answered) return failed;
        }
        return locking_grant_in_one_statement(db, statement::locking_grant, answer, locked);
    }
    const fault failed = grant_by_compare_and_set(db, hint, answer, statement::locking_insert, statement::locking_take);
    // No column shows whether it got the lock; to give back what one hasn't got is no error.
    locked = failed != fault::none || answer.result.granted();
    return failed;
}

// The row as it was read while this session had the lock, or while somebody else had it.
template <class Database>
fault grant_in_line_as_read(Database& db, grant_answer& answer, bool& locked)
{
    const bool free = db.found() && db.number(column::live) == 0;
    locked = free && db.number(column::locked) != 0;
    if (free && !locked) {
        answer = {{acquire_status::busy, fencing_token{db.number(column::token)},
                   std::chrono::microseconds{db.number(column::remaining)}},
                  false, true, false};
        return fault::none;
    }
    // A name's first term: nobody is in line. The lock goes with it as with any grant.
    if (!db.found()) return locking_grant_flow(db, 0, answer, locked);
    bool answered = false;
    const fault failed = grant_as_read(db, answer, answered);
    if (failed != fault::none || answered) return failed;
    return busy_after_reading(db, answer);
}

// From the term `hint`, if it is still as this store left it and nobody is in line.
template <class Database>
fault retake_in_line(Database& db, std::int64_t hint, grant_answer& answer, bool& answered, bool& locked)
{
    db.set_token(hint);
    const fault failed = db.run(statement::queued_take);
    answered = locked = failed != fault::none || db.rows() > 0;  // after a failure: not known
    if (failed == fault::lock_timeout) return busy_after_reading(db, answer);
    if (failed == fault::none && answered) answer = granted(hint + 1, true);
    return failed;
}

// A term only together with the lock, or for the owner of the live one. `hint` as in grant_by_compare_and_set().
template <class Database>
fault grant_in_line_flow(Database& db, std::int64_t hint, grant_answer& answer, bool& locked)
{
    if (db.single_statement_grant())
        return locking_grant_in_one_statement(db, statement::queued_grant, answer, locked);
    if (hint > 0) {
        bool answered = false;
        if (const fault failed = retake_in_line(db, hint, answer, answered, locked); answered) return failed;
    }
    const fault failed = db.run(statement::queued_read);
    if (failed == fault::none) return grant_in_line_as_read(db, answer, locked);
    locked = true;
    return failed;
}

// This session has just been given the lock. What a read shows may be the term whose release did so and isn't committed yet:
// so try to take the row from that term (`token`, or 0) all the same, which waits for that transaction.
template <class Database>
fault grant_when_handed_flow(Database& db, std::int64_t token, grant_answer& answer)
{
    bool locked = true;
    if (db.single_statement_grant()) return locking_grant_in_one_statement(db, statement::held_grant, answer, locked);
    return grant_by_compare_and_set(db, token, answer);
}

// By the session that has the lock, which is given back whether or not the term is over already.
template <class Database>
fault unlocking_release_flow(Database& db, std::int64_t token, bool keep_closed, bool& released)
{
    db.set_token(token);
    fault failed = db.run(keep_closed ? statement::unlocking_close : statement::unlocking_release);
    if (failed != fault::none) return failed;
    released = db.rows() > 0;
    return released ? fault::none : db.run(statement::unlock);
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
