// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_OBSERVING_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_OBSERVING_FLOW_HPP

#include <leasehold/odbc/detail/fault.hpp>
#include <leasehold/odbc/detail/flow.hpp>
#include <leasehold/odbc/detail/observations.hpp>
#include <leasehold/odbc/detail/statement.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

// The protocol of expiry_by_observation: as in flow.hpp, no ODBC and no SQL. `Database` has set_version() besides.
namespace leasehold::inline v0::odbc::detail {

inline grant_answer busy_for(std::int64_t token, duration remaining)
{
    return {{acquire_status::busy, fencing_token{token}, remaining}, false, false, false};
}

// The row as it was read just now.
template <class Database>
observed_row row_shown(const Database& db)
{
    return {db.number(column::token), db.number(column::version), std::chrono::microseconds{db.number(column::remaining)}};
}

// Notes what this store has written itself: if nobody writes after it, the term is over a ttl later.
template <class Database>
grant_answer granted_and_noted(const Database& db, observations& seen, std::string_view name, observed_row written,
                               time_point now, bool fresh)
{
    written.ttl = std::max<duration>(written.ttl, std::chrono::microseconds{db.time_to_live_us()});
    static_cast<void>(seen.left_of(name, written, now));
    return granted(written.token, fresh);
}

// One attempt at the row as it was seen. A take-over compares token and version, so it fails if anything has been written
// since. `answered` stays false where it has. The owner of the unexpired term takes it over and keeps its time to live, if that is longer.
template <class Database, class Now>
fault grant_as_observed(Database& db, observations& seen, std::string_view name, Now now, grant_answer& answer,
                        bool& answered)
{
    const observed_row row = row_shown(db);
    const duration left = db.number(column::live) != 0 ? seen.left_of(name, row, now()) : duration::zero();
    const bool again = left > duration::zero() && db.number(column::whose) == owner_is_us;
    if (left > duration::zero() && !again) {
        answer = busy_for(row.token, left);
        answered = true;
        return fault::none;
    }
    if (again) db.set_time_to_live(std::max<duration>(row.ttl, std::chrono::microseconds{db.time_to_live_us()}));
    db.set_token(row.token);
    db.set_version(row.version);
    const fault failed = db.run(statement::take);
    if (failed == fault::lock_timeout) {
        answer = busy_for(row.token, duration::zero());
        answered = true;
        return fault::none;
    }
    if (failed != fault::none || db.rows() <= 0) return failed;
    answer = granted_and_noted(db, seen, name, {row.token + 1, row.version + 1, duration::zero()}, now(), !again);
    answered = true;
    return fault::none;
}

// `now` reads this process's monotonic clock. `first_version` makes one that no row of that name is likely to have had, so
// that a row that was deleted and made anew is not taken for the one that was observed.
template <class Database, class FirstVersion, class Now>
fault observing_grant_flow(Database& db, observations& seen, std::string_view name, FirstVersion first_version, Now now,
                           grant_answer& answer)
{
    for (int look = 0; look < max_looks; ++look) {
        fault failed = db.run(statement::observe);
        if (failed != fault::none) return failed;
        if (db.found()) {
            bool answered = false;
            failed = grant_as_observed(db, seen, name, now, answer, answered);
            if (failed != fault::none || answered) return failed;
            continue;
        }
        const std::int64_t version = first_version();
        db.set_version(version);
        failed = db.run(statement::insert);
        if (failed == fault::none) answer = granted_and_noted(db, seen, name, {1, version, {}}, now(), true);
        if (failed != fault::duplicate_key) return failed;
    }
    return fault::conflict;
}

// Every renewal changes the row, whatever the database's clock does; so one that counts no row found another's, or none. A
// term whose time is over as far as this store knows is not revived, though nobody may have taken it yet.
template <class Database, class Now>
fault observing_renew_flow(Database& db, observations& seen, std::string_view name, std::int64_t token, Now now,
                           bool& renewed)
{
    renewed = false;
    if (seen.has_run_out(name, token, now())) return fault::none;
    db.set_token(token);
    const fault failed = db.run(statement::renew);
    renewed = failed == fault::none && db.rows() > 0;
    if (renewed) seen.renewed(name, token, std::chrono::microseconds{db.time_to_live_us()}, now());
    return failed;
}

// One whose time is over is freed all the same, since nobody would know for another ttl, but that is no release.
template <class Database, class Now>
fault observing_release_flow(Database& db, observations& seen, std::string_view name, std::int64_t token, bool keep_closed,
                             bool repeated, Now now, bool& released)
{
    const bool over = seen.has_run_out(name, token, now());
    const fault failed = release_flow(db, token, keep_closed && !over, repeated, released);
    if (over) released = false;
    if (failed == fault::none && released && keep_closed)
        seen.closed(name, token, std::chrono::microseconds{db.time_to_live_us()}, now());
    return failed;
}

// Whether somebody has the lease, and for how long at most, as far as this store has seen.
template <class Database, class Now>
fault observing_inspect_flow(Database& db, observations& seen, std::string_view name, Now now, duration& left)
{
    left = duration::zero();
    const fault failed = db.run(statement::observe);
    if (failed == fault::none && db.found() && db.number(column::live) != 0) left = seen.left_of(name, row_shown(db), now());
    return failed;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
