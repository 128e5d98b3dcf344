// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_OBSERVING_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_OBSERVING_FLOW_HPP

#include <leasehold/odbc/detail/driver/errors.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/flow/observations.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <string_view>

// The protocol of expiry_by_observation: as in flow.hpp, no ODBC and no SQL.
//
// Every request has a version of its own, drawn at random, which each of its writes leaves in the row. So the row tells
// whether a write took place, also after its reply was lost, and where no count of rows is to be believed.
namespace leasehold::inline v0::odbc::detail {

// Writes versions, compares the one it has seen, and knows whether counts of rows are to be believed.
template <class Database>
concept observing_database =
    flow_database<Database> && requires(Database& db, const Database& shown, std::int64_t version, duration ttl, fault kind, const char* advice) {
        db.set_version(version);
        db.set_seen(version);
        db.set_time_to_live(ttl);
        { shown.time_to_live_us() } -> std::convertible_to<std::int64_t>;
        { shown.reads_back() } -> std::same_as<bool>;
        { shown.shows_name() } -> std::same_as<bool>;
        { shown.met_constraint() } -> std::same_as<bool>;
        { db.fail(kind, advice) } -> std::same_as<fault>;
    };

inline grant_answer busy_for(std::int64_t token, duration remaining)
{
    return {{acquire_status::busy, fencing_token{token}, remaining}, false};
}

// The row as it was read just now.
template <observing_database Database>
observed_row row_shown(const Database& db)
{
    return {db.number(column::token), db.number(column::version), std::chrono::microseconds{db.number(column::remaining)}};
}

// Reads the row. Where nothing is believed, also whether it is this name's: a column that ignores case has one row for
// several names.
template <observing_database Database>
fault observe(Database& db)
{
    const fault failed = db.run(statement::observe);
    if (failed == fault::none && db.reads_back() && db.found() && !db.shows_name())
        return db.fail(fault::failure, advice::texts_not_kept);
    return failed;
}

// Whether the statement that ran last has changed the row. The count of rows tells it where it is believed and there is one;
// but none may have been left to change for a statement that is `repeated`. Otherwise shows(row) does, of the row as it is now.
template <observing_database Database, class Shows>
fault look_if_written(Database& db, bool repeated, bool& written, Shows shows)
{
    const std::int64_t counted = db.rows();
    written = counted > 0;
    if (!db.reads_back() && (written || (counted == 0 && !repeated))) return fault::none;
    const fault failed = observe(db);
    written = failed == fault::none && db.found() && shows(row_shown(db), counted);
    return failed;
}

// The same for a grant; where nothing is believed the whole row has to be as it was written. `inserted`: nobody but this
// request can have made it.
template <observing_database Database>
fault look_if_granted(Database& db, const observed_row& wanted, bool inserted, bool& granted)
{
    const auto is_written = [&wanted](const observed_row& row, std::int64_t) { return row.version == wanted.version; };
    if (const fault failed = look_if_written(db, false, granted, is_written); failed != fault::none) return failed;
    if (!db.reads_back()) return fault::none;
    if (!db.found()) return inserted ? db.fail(fault::failure, advice::row_not_kept) : fault::none;
    const observed_row found = row_shown(db);
    const bool ours = db.number(column::whose) == owner_is_us;
    if (granted && found != wanted) return db.fail(fault::failure, advice::numbers_not_kept);
    if (!ours && (granted || (inserted && found.token == wanted.token)))
        return db.fail(fault::failure, advice::texts_not_kept);
    return fault::none;
}

// Notes what this store has written itself: if nobody writes after it, the term is over a ttl later.
inline grant_answer granted_and_noted(observations& seen, std::string_view name, const observed_row& written, time_point now,
                                      bool fresh)
{
    static_cast<void>(seen.left_of(name, written, now));
    return granted(written.token, fresh);
}

template <observing_database Database>
duration asked_ttl(const Database& db)
{
    return std::chrono::microseconds{db.time_to_live_us()};
}

// One attempt at the row as it was seen. A take-over compares token and version, so it fails if anything has been written
// since. `answered` stays false where it has. The owner of the unexpired term takes it over and keeps its time to live, if that is longer.
template <observing_database Database, class Now>
fault grant_as_observed(Database& db, observations& seen, std::string_view name, std::int64_t version, Now now,
                        grant_answer& answer, bool& answered)
{
    const observed_row row = row_shown(db);
    const bool ours = db.number(column::whose) == owner_is_us;
    const duration left = seen.left_of(name, row, now());
    answered = true;
    if (left > duration::zero() && !ours) {
        answer = busy_for(row.token, left);
        return fault::none;
    }
    if (left > duration::zero() && row.version == version) {  // this very attempt was granted, and the reply was lost
        answer = granted(row.token, false);
        return fault::none;
    }
    const bool again = left > duration::zero();
    if (again) db.set_time_to_live(std::max(row.ttl, asked_ttl(db)));
    db.set_token(row.token);
    db.set_seen(row.version);
    fault failed = db.run(statement::take);
    if (failed == fault::lock_timeout) {
        answer = busy_for(row.token, duration::zero());
        return fault::none;
    }
    if (failed != fault::none) return failed;
    const observed_row wanted{row.token + 1, version, asked_ttl(db)};
    failed = look_if_granted(db, wanted, false, answered);
    if (failed == fault::none && answered) answer = granted_and_noted(seen, name, wanted, now(), !again);
    return failed;
}

// `version` is one that no row of that name is likely to have had, so that a row that was deleted and made again is not taken
// for the one that was observed. `now` reads this process's monotonic clock.
template <observing_database Database, class Now>
fault observing_grant_flow(Database& db, observations& seen, std::string_view name, std::int64_t version, Now now,
                           grant_answer& answer)
{
    db.set_version(version);
    fault failed = fault::none;
    for (int look = 0; look < max_looks; ++look) {
        const fault refused = failed;
        failed = observe(db);
        if (failed != fault::none) return failed;
        bool answered = false;
        if (db.found()) {
            failed = grant_as_observed(db, seen, name, version, now, answer, answered);
        } else {
            // A duplicate key, also in words that nobody knows; unless it comes again and there is still no row.
            if (refused == fault::failure) return refused;
            failed = db.run(statement::insert);
            if (failed == fault::duplicate_key || (failed == fault::failure && db.reads_back() && db.met_constraint()))
                continue;
            const observed_row wanted{1, version, asked_ttl(db)};
            if (failed == fault::none) failed = look_if_granted(db, wanted, true, answered);
            if (failed == fault::none && answered) answer = granted_and_noted(seen, name, wanted, now(), true);
        }
        if (failed != fault::none || answered) return failed;
    }
    // Its own writes are what kept changing it, since it doesn't know them again.
    if (db.reads_back() && db.found() && db.number(column::whose) == owner_is_us)
        return db.fail(fault::failure, advice::numbers_not_kept);
    return fault::conflict;
}

// Every renewal changes the row, whatever the database's clock does; so one that changes none found another's, or none. A
// term whose time is over as far as this store knows is not revived, though nobody may have taken it yet.
template <observing_database Database, class Now>
fault observing_renew_flow(Database& db, observations& seen, std::string_view name, std::int64_t token, std::int64_t version,
                           Now now, bool& renewed)
{
    renewed = false;
    if (seen.has_run_out(name, token, now())) return fault::none;
    db.set_token(token);
    db.set_version(version);
    fault failed = db.run(statement::renew);
    // Two renewals of one term may meet.
    const auto is_renewed = [&](const observed_row& row, std::int64_t counted) {
        return counted != 0 && row.token == token && row.ttl > duration::zero() && db.number(column::whose) == owner_is_us;
    };
    if (failed == fault::none) failed = look_if_written(db, false, renewed, is_renewed);
    if (renewed) seen.renewed(name, token, version, asked_ttl(db), now());
    return failed;
}

// `repeated`: an earlier try may have done it, with the reply lost. One whose time is over is freed too, since nobody
// would know for another ttl, but that is no release.
template <observing_database Database, class Now>
fault observing_release_flow(Database& db, observations& seen, std::string_view name, std::int64_t token,
                             std::int64_t version, bool min_hold, bool repeated, Now now, bool& released)
{
    const bool over = seen.has_run_out(name, token, now());
    min_hold = min_hold && !over;
    if (over) db.set_time_to_live(duration::zero());
    db.set_token(token);
    db.set_version(version);
    released = false;
    fault failed = db.run(statement::release);
    // The one who has the name by now was let in by this release, unless the count says that there was nothing to release.
    const auto is_released = [&](const observed_row& row, std::int64_t counted) {
        return row.token > token ? counted != 0 : row.token == token && row.version == version;
    };
    if (failed == fault::none) failed = look_if_written(db, repeated, released, is_released);
    if (released && min_hold) seen.closed(name, token, version, asked_ttl(db), now());
    if (over) released = false;
    const bool overtaken = failed == fault::none && repeated && !over && !released && db.found() && row_shown(db).token > token;
    return overtaken ? fault::overtaken : failed;
}

template <observing_database Database>
fault observing_force_release_flow(Database& db, std::int64_t version, bool repeated, bool& ended)
{
    db.set_version(version);
    ended = false;
    if (const fault failed = db.run(statement::force_release); failed != fault::none) return failed;
    // A live row that shows another version has been taken since.
    return look_if_written(db, repeated, ended, [version](const observed_row& row, std::int64_t counted) {
        return row.version == version || (counted != 0 && row.ttl > duration::zero());
    });
}

// Whether somebody has the lease, and for how long at most, as far as this store has seen.
template <observing_database Database, class Now>
fault observing_inspect_flow(Database& db, observations& seen, std::string_view name, Now now, duration& left)
{
    left = duration::zero();
    const fault failed = observe(db);
    if (failed == fault::none && db.found()) left = seen.left_of(name, row_shown(db), now());
    return failed;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
