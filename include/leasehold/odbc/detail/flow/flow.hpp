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
concept flow_database = requires(Database& db, const Database& shown, statement next, column wanted, std::int64_t token) {
    { db.run(next) } -> std::same_as<fault>;
    { shown.found() } -> std::convertible_to<bool>;
    { shown.rows() } -> std::convertible_to<std::int64_t>;
    { shown.number(wanted) } -> std::convertible_to<std::int64_t>;
    db.set_token(token);
};

// Knows how its dialect makes a grant.
template <class Database>
concept granting_database = flow_database<Database> && requires(const Database& db) {
    { db.single_statement_grant() } -> std::same_as<bool>;
    { db.purges() } -> std::same_as<bool>;
};

// How often a grant or renewal looks at the row again after somebody else changed it in between.
inline constexpr int max_looks = 32;
// This many duplicate keys end an attempt. The cause of the first may be a row of the name that has come since, which the next look sees.
// If they keep coming, another unique index of the table refuses the row.
inline constexpr int max_duplicates = 4;

// Stands in place of a remembered token: the name was somebody else's the last time, and likely still is.
inline constexpr std::int64_t busy_last_time = -1;

struct grant_answer {
    acquire_result result{};
    bool fresh = false;  // granted: nobody held the name; else the owner's own unexpired term may have been taken over
};

inline grant_answer granted(std::int64_t token, bool fresh)
{
    return {{acquire_status::granted, fencing_token{token}, duration::zero()}, fresh};
}

inline grant_answer busy_for(std::int64_t token, duration remaining)
{
    return {{acquire_status::busy, fencing_token{token}, remaining}, false};
}

// Who has an unexpired term.
enum class holder : std::uint8_t { nobody, us, another };

// Returns the holder that the last read showed.
holder holder_read(const flow_database auto& db)
{
    if (!db.found() || db.number(column::live) == 0) return holder::nobody;
    return db.number(column::whose) == owner_is_us ? holder::us : holder::another;
}

// Tells of somebody else's term, as the last read showed it.
grant_answer busy_as_read(const flow_database auto& db)
{
    if (holder_read(db) == holder::nobody) return {};
    return busy_for(db.number(column::token), std::chrono::microseconds{db.number(column::remaining)});
}

// After a lock time-out at the row of an ended term: a fence or another attempt has the row, and that is busy. Or nobody can write to
// the table, or have a commit confirmed by a standby, and that is an error. The statement waits for both, but for no row's lock.
outcome<grant_answer> busy_unless_table_is_locked(flow_database auto& db, grant_answer busy)
{
    return unless(db.run(statement::write_nothing), [&] { return busy; });
}

// A grant that met a lock for too long (`failed`), or was granted nothing (none): busy if somebody else holds the name now, or may have
// locked its row. Nobody holds it otherwise, so that is an error: the table is locked, or a trigger undoes what is written. If the
// term is the asking owner's own, that is an error too, and worth another try.
outcome<grant_answer> busy_after_reading(flow_database auto& db, fault failed)
{
    if (const fault unread = db.run(statement::read); unread != fault::none) return unread;
    const holder who = holder_read(db);
    if (who == holder::another) return busy_as_read(db);
    if (failed == fault::none) return fault::conflict;
    if (who == holder::us) return failed;
    return db.found() ? busy_unless_table_is_locked(db, {}) : outcome<grant_answer>{failed};
}

// Only looks at the row, if that is likely to be enough. A grant that finds it busy costs two to three times as much.
outcome<grant_answer> look_first(flow_database auto& db)
{
    if (const fault failed = db.run(statement::read); failed != fault::none) return failed;
    if (holder_read(db) != holder::another) return fault::changed;
    return busy_as_read(db);
}

// The term after that one, if it is still in the row. `fresh`: see grant_answer.
outcome<grant_answer> take_after(flow_database auto& db, std::int64_t token, bool fresh)
{
    db.set_token(token);
    const fault failed = db.run(statement::take);
    if (failed == fault::lock_timeout) return busy_after_reading(db, failed);
    if (failed != fault::none) return failed;
    if (db.rows() <= 0) return fault::changed;
    return granted(token + 1, fresh);
}

// A duplicate key: if there are several attempts at a name at the same moment, one of them may fail in PostgreSQL since it meets another's
// row in a unique index that is not the conflict target. The next try sees that row.
fault run_grant_until_seen(flow_database auto& db)
{
    fault failed = db.run(statement::grant);
    for (int look = 1; failed == fault::duplicate_key && look < max_looks; ++look) failed = db.run(statement::grant);
    return failed;
}

// Attempts of one owner may wait for each other: some insert the row, and one takes over from the first. So if the row is the
// owner's after the lock time-out, the grant is tried again.
fault run_grant(flow_database auto& db)
{
    const fault failed = run_grant_until_seen(db);
    if (failed != fault::lock_timeout) return failed;
    if (const fault unread = db.run(statement::read); unread != fault::none) return unread;
    return holder_read(db) == holder::us ? run_grant_until_seen(db) : failed;
}

outcome<grant_answer> grant_in_one_statement(flow_database auto& db, std::int64_t hint)
{
    if (hint != 0)
        if (const auto early = hint == busy_last_time ? look_first(db) : take_after(db, hint, true); early.failed() != fault::changed)
            return early;
    const fault failed = run_grant(db);
    if (failed == fault::lock_timeout || (failed == fault::none && !db.found())) return busy_after_reading(db, failed);
    if (failed != fault::none) return failed;
    const std::int64_t token = db.number(column::token);
    if (db.number(column::granted) != 0) return granted(token, db.number(column::fresh) != 0);
    return busy_for(token, std::chrono::microseconds{db.number(column::remaining)});
}

// The token of a name's first term. Read after a look found no row for the name, so that it is greater than all tokens
// that the name may have had in a purged row.
outcome<std::int64_t> read_floor(granting_database auto& db)
{
    if (!db.purges()) return 1;
    return unless(db.run(statement::floor), [&] { return db.found() ? std::max<std::int64_t>(1, db.number(column::token)) : 1; });
}

// The first term of a name that had no row when it was read.
outcome<grant_answer> grant_first_term(granting_database auto& db)
{
    const outcome<std::int64_t> first = read_floor(db);
    if (!first.ok()) return first.failed();
    db.set_token(*first);
    const fault failed = db.run(statement::insert);
    if (failed == fault::lock_timeout) return busy_after_reading(db, failed);
    // None inserted: the floor has been raised in between, perhaps over a term of this very name.
    if (failed == fault::none && db.rows() <= 0) return fault::changed;
    return unless(failed, [&] { return granted(*first, true); });
}

// One attempt at the row as it was read. The owner of the unexpired term takes it over as anybody takes a free one: by a write that
// changes the token, for a read may show what was.
outcome<grant_answer> grant_as_read(granting_database auto& db)
{
    const holder who = holder_read(db);
    if (who == holder::another) return busy_as_read(db);
    if (!db.found()) return grant_first_term(db);
    return take_after(db, db.number(column::token), who != holder::us);
}

outcome<grant_answer> grant_by_compare_and_set(granting_database auto& db, std::int64_t hint)
{
    if (hint > 0)
        if (const auto early = take_after(db, hint, true); early.failed() != fault::changed) return early;
    int duplicates = 0;
    for (int look = 0; look < max_looks; ++look) {
        if (const fault failed = db.run(statement::read); failed != fault::none) return failed;
        const auto result = grant_as_read(db);
        if (result.failed() == fault::duplicate_key && ++duplicates < max_duplicates) continue;
        if (result.failed() != fault::changed) return result;
    }
    return fault::conflict;
}

// `hint` is the token of a term that this store released itself: usually the row is unchanged, and one statement takes it. Or it is
// busy_last_time, or 0.
outcome<grant_answer> grant_flow(granting_database auto& db, std::int64_t hint)
{
    return db.single_statement_grant() ? grant_in_one_statement(db, hint) : grant_by_compare_and_set(db, hint);
}

// Every renewal changes the row, so one that counts no row found no such term.
outcome<bool> renew_flow(flow_database auto& db, std::int64_t token)
{
    db.set_token(token);
    return unless(db.run(statement::renew), [&] { return db.rows() > 0; });
}

// `repeated`: an earlier try may have done it, with the reply lost; then the row tells released from lost. The term's own release leaves
// its owner, or for min_hold an unexpired row without one; force_release() leaves neither. What it can't tell: whether the release or
// something else ended a term after which somebody has been let in, or the release for min_hold a term whose name has been opened since.
outcome<bool> release_flow(flow_database auto& db, std::int64_t token, bool min_hold, bool repeated)
{
    db.set_token(token);
    if (const fault failed = db.run(statement::release); failed != fault::none) return failed;
    if (db.rows() > 0) return true;
    if (!repeated) return false;
    if (const fault failed = db.run(statement::read); failed != fault::none) return failed;
    if (!db.found()) return false;
    if (db.number(column::token) > token) return fault::overtaken;
    if (db.number(column::token) != token) return false;
    const bool opened = db.number(column::released) != 0;
    if (!min_hold) return opened && db.number(column::whose) == owner_is_us;
    if (db.number(column::whose) != owner_is_nobody) return false;
    return opened ? outcome<bool>{fault::overtaken} : true;
}

// Ends one term, however often the call is repeated. `token` keeps which, from try to try; at first it is 0. If that term is over before
// it can be ended, or was read from a node that lags, nothing has been ended, and the call looks again. `repeated`: an earlier try may have
// ended the term, with the reply lost. `find` finds the unexpired term, if there is one; `has_ended` says whether the last statement
// ended it.
outcome<bool> force_release_flow(flow_database auto& db, std::int64_t& token, bool repeated, auto find, auto has_ended)
{
    for (int look = 0; look < max_looks; ++look) {
        if (token == 0) {
            const outcome<bool> found = find();
            if (!*found) return found;
            token = db.number(column::token);
            repeated = false;
        }
        db.set_token(token);
        if (const fault failed = db.run(statement::force_release); failed != fault::none) return failed;
        const outcome<bool> ended = has_ended();
        if (*ended || !ended.ok()) return ended;
        if (repeated) return true;  // by that try, or by a quicker release
        token = 0;
    }
    return fault::conflict;
}

outcome<bool> force_release_flow(flow_database auto& db, std::int64_t& token, bool repeated)
{
    return force_release_flow(
        db, token, repeated, [&db] { return unless(db.run(statement::inspect), [&db] { return db.found(); }); },
        [&db] { return outcome<bool>{db.rows() > 0}; });
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
