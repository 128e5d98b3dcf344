// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_FLOW_HPP

#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>

// The protocol: which statement comes next, given what the last one said. No ODBC and no SQL.
namespace leasehold::inline v0::odbc::detail {

// Runs statements one after the other, and shows what the last one came to: a row, or how many it has changed. A connection, or a
// stand-in for one.
template <class Database>
concept flow_database = requires(Database& db, const Database& shown, statement which, column of, std::int64_t token) {
    { db.run(which) } -> std::same_as<fault>;
    { shown.found() } -> std::convertible_to<bool>;
    { shown.rows() } -> std::convertible_to<std::int64_t>;
    { shown.number(of) } -> std::convertible_to<std::int64_t>;
    db.set_token(token);
};

// Knows of its dialect how a grant is made.
template <class Database>
concept granting_database = flow_database<Database> && requires(const Database& db) {
    { db.single_statement_grant() } -> std::same_as<bool>;
    { db.purges() } -> std::same_as<bool>;
};

// How often a grant or renewal looks at the row again after somebody else changed it in between.
inline constexpr int max_looks = 32;

// In place of a token that is remembered: it was somebody else's the last time, and likely still is.
inline constexpr std::int64_t busy_last_time = -1;

struct grant_answer {
    acquire_result result{};
    bool fresh = false;  // granted: nobody held the name; else the owner's own unexpired term may have been taken over
};

inline grant_answer granted(std::int64_t token, bool fresh)
{
    return {{acquire_status::granted, fencing_token{token}, duration::zero()}, fresh};
}

// What the last read said of somebody else's term.
template <flow_database Database>
grant_answer busy_as_read(const Database& db)
{
    const bool live = db.found() && db.number(column::live) != 0;
    if (!live) return {};
    return {{acquire_status::busy, fencing_token{db.number(column::token)},
             std::chrono::microseconds{db.number(column::remaining)}},
            false};
}

// The row was locked for too long, by a fence or another attempt, or was taken in the same instant: that is busy.
template <flow_database Database>
fault busy_after_reading(Database& db, grant_answer& answer)
{
    const fault failed = db.run(statement::read);
    if (failed == fault::none) answer = busy_as_read(db);
    return failed;
}

// Nothing but a look, where it is likely to be enough; a grant that finds it busy costs two to three times as much.
template <flow_database Database>
fault look_first(Database& db, grant_answer& answer, bool& answered)
{
    const fault failed = db.run(statement::read);
    answered = failed == fault::none && db.found() && db.number(column::live) != 0 && db.number(column::whose) != owner_is_us;
    if (answered) answer = busy_as_read(db);
    return failed;
}

// From the term `hint`, whose end this store knows of: usually the row is still so, and that is all there is to do.
template <flow_database Database>
fault take_as_remembered(Database& db, std::int64_t hint, grant_answer& answer, bool& answered)
{
    db.set_token(hint);
    const fault failed = db.run(statement::take);
    answered = true;
    if (failed == fault::lock_timeout) return busy_after_reading(db, answer);
    if (failed != fault::none) return failed;
    answered = db.rows() > 0;
    if (answered) answer = granted(hint + 1, true);
    return fault::none;
}

// A duplicate key: of several that insert a name at the same moment, PostgreSQL lets those fail that meet another's row in
// a unique index which is not the conflict target. The next try sees that row. Of one owner's, those who insert and the one who
// takes over from the first wait for each other: so where nobody else has it after that, it is worth another try.
template <flow_database Database>
fault run_grant(Database& db, statement which)
{
    fault failed = db.run(which);
    for (int look = 1; failed == fault::duplicate_key && look < max_looks; ++look) failed = db.run(which);
    if (failed != fault::lock_timeout) return failed;
    if (const fault unread = db.run(statement::read); unread != fault::none) return unread;
    const bool ours = db.found() && db.number(column::live) != 0 && db.number(column::whose) == owner_is_us;
    return ours ? db.run(which) : failed;
}

template <flow_database Database>
fault grant_in_one_statement(Database& db, std::int64_t hint, grant_answer& answer)
{
    bool answered = false;
    if (hint != 0) {
        const fault early = hint == busy_last_time ? look_first(db, answer, answered)
                                                   : take_as_remembered(db, hint, answer, answered);
        if (early != fault::none || answered) return early;
    }
    const fault failed = run_grant(db, statement::grant);
    if (failed == fault::lock_timeout) return busy_after_reading(db, answer);
    if (failed != fault::none) return failed;
    if (!db.found()) return busy_after_reading(db, answer);
    const std::int64_t token = db.number(column::token);
    if (db.number(column::granted) != 0)
        answer = granted(token, db.number(column::fresh) != 0);
    else
        answer = {{acquire_status::busy, fencing_token{token}, std::chrono::microseconds{db.number(column::remaining)}}, false};
    return fault::none;
}

// The token of a name's first term. Read when there was no row for the name, so that it is greater than those of all terms
// the name may have had in a row that was purged.
template <granting_database Database>
fault read_floor(Database& db, std::int64_t& first)
{
    first = 1;
    if (!db.purges()) return fault::none;
    const fault failed = db.run(statement::floor);
    if (failed == fault::none && db.found()) first = std::max(first, db.number(column::token));
    return failed;
}

// The first term of a name that had no row when it was read.
template <granting_database Database>
fault grant_first_term(Database& db, grant_answer& answer, bool& answered)
{
    std::int64_t first = 0;
    if (const fault failed = read_floor(db, first); failed != fault::none) return failed;
    db.set_token(first);
    const fault failed = db.run(statement::insert);
    // None inserted: the floor has been raised in between, perhaps over a term of this very name.
    const bool refused = failed == fault::duplicate_key || (failed == fault::none && db.rows() <= 0);
    if (refused) return fault::none;
    answered = failed == fault::none || failed == fault::lock_timeout;
    if (failed == fault::lock_timeout) return busy_after_reading(db, answer);
    if (answered) answer = granted(first, true);
    return failed;
}

// One attempt at the row as it was read. The owner of the unexpired term takes it over as anybody takes a free one: by a write that
// changes the token, for a read may show what was. `answered` stays false where the row has changed in the meantime.
template <granting_database Database>
fault grant_as_read(Database& db, grant_answer& answer, bool& answered)
{
    const bool live = db.found() && db.number(column::live) != 0;
    if (live && db.number(column::whose) != owner_is_us) {
        answer = busy_as_read(db);
        answered = true;
        return fault::none;
    }
    if (!db.found()) return grant_first_term(db, answer, answered);
    const std::int64_t token = db.number(column::token);
    db.set_token(token);
    const fault failed = db.run(statement::take);
    if (failed == fault::lock_timeout) {
        answered = true;
        return busy_after_reading(db, answer);
    }
    if (failed != fault::none || db.rows() <= 0) return failed;
    answer = granted(token + 1, !live);
    answered = true;
    return fault::none;
}

// `hint` is a token whose term this store released itself, or busy_last_time, or 0.
template <granting_database Database>
fault grant_by_compare_and_set(Database& db, std::int64_t hint, grant_answer& answer)
{
    bool answered = false;
    if (hint > 0)
        if (const fault failed = take_as_remembered(db, hint, answer, answered); failed != fault::none || answered)
            return failed;
    for (int look = 0; look < max_looks; ++look) {
        fault failed = db.run(statement::read);
        if (failed == fault::none) failed = grant_as_read(db, answer, answered);
        if (failed != fault::none || answered) return failed;
    }
    return fault::conflict;
}

template <granting_database Database>
fault grant_flow(Database& db, std::int64_t hint, grant_answer& answer)
{
    return db.single_statement_grant() ? grant_in_one_statement(db, hint, answer)
                                       : grant_by_compare_and_set(db, hint, answer);
}

// Every renewal changes the row, so one that counts no row found no such term.
template <flow_database Database>
fault renew_flow(Database& db, std::int64_t token, bool& renewed)
{
    db.set_token(token);
    const fault failed = db.run(statement::renew);
    renewed = failed == fault::none && db.rows() > 0;
    return failed;
}

// `repeated`: an earlier try may have done it, with the reply lost; then the row tells released from lost, unless somebody else has been
// let in since, by that try or because the term was over.
template <flow_database Database>
fault release_flow(Database& db, std::int64_t token, bool min_hold, bool repeated, bool& released)
{
    db.set_token(token);
    if (const fault failed = db.run(statement::release); failed != fault::none)
        return failed;
    released = db.rows() > 0;
    if (released || !repeated) return fault::none;
    if (const fault failed = db.run(statement::read); failed != fault::none) return failed;
    released = db.found() && db.number(column::token) == token &&
               (db.number(column::released) != 0 || (min_hold && db.number(column::whose) == owner_is_nobody));
    return db.found() && db.number(column::token) > token ? fault::overtaken : fault::none;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
