// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_OBSERVING_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_OBSERVING_FLOW_HPP

#include <leasehold/lease_record.hpp>
#include <leasehold/odbc/detail/flow/advice.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/flow/observations.hpp>
#include <leasehold/odbc/detail/flow/operator_flows.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

// The protocol of expiry_by_observation: as in flow.hpp, no ODBC and no SQL.
//
// Every call has a version of its own, drawn at random, which each of its writes leaves in the row. So the row tells
// whether a write took place, also after its reply was lost, and where no count of rows is to be believed.
namespace leasehold::inline v0::odbc::detail {

// Writes versions, compares the one it has seen, and knows whether counts of rows are to be believed.
template <class Database>
concept observing_database =
    flow_database<Database> &&
    requires(Database& db, const Database& shown, std::int64_t version, duration ttl, fault kind, const char* advice) {
        db.set_version(version);
        db.set_seen(version);
        db.set_time_to_live(ttl);
        { shown.time_to_live_us() } -> std::convertible_to<std::int64_t>;
        { shown.reads_back() } -> std::same_as<bool>;
        { shown.shows_name() } -> std::same_as<bool>;
        { shown.met_constraint() } -> std::same_as<bool>;
        { db.fail(kind, advice) } -> std::same_as<fault>;
        db.set_last_report(shown.last_report());
    };

// The row as it was read just now.
observed_row row_shown(const observing_database auto& db)
{
    return {db.number(column::token), db.number(column::version), std::chrono::microseconds{db.number(column::remaining)}};
}

// Reads the row. If no count of rows is believed, also checks that it is this name's: a column that ignores case has one row for
// several names.
fault observe(observing_database auto& db)
{
    const fault failed = db.run(statement::observe);
    if (failed == fault::none && db.reads_back() && db.found() && !db.shows_name())
        return db.fail(fault::failure, advice::texts_not_kept);
    return failed;
}

// Whether the statement that ran last has changed the row. The count of rows tells it where it is believed and there is one;
// but none may have been left to change for a statement that is `repeated`. Otherwise shows(row) does, of the row as it is now.
outcome<bool> look_if_written(observing_database auto& db, bool repeated, auto shows)
{
    const std::int64_t counted = db.rows();
    if (!db.reads_back() && (counted > 0 || (counted == 0 && !repeated))) return counted > 0;
    return unless(observe(db), [&] { return db.found() && shows(row_shown(db), counted); });
}

// The same for a grant; where nothing is believed the whole row has to be as it was written. `inserted`: nobody but this
// call can have made it.
outcome<bool> look_if_granted(observing_database auto& db, const observed_row& wanted, bool inserted)
{
    const auto is_written = [&wanted](const observed_row& row, std::int64_t) { return row.version == wanted.version; };
    const outcome<bool> written = look_if_written(db, false, is_written);
    if (!written.ok() || !db.reads_back()) return written;
    if (!db.found()) return inserted ? db.fail(fault::failure, advice::row_not_kept) : fault::none;
    const observed_row found = row_shown(db);
    const bool ours = db.number(column::whose) == owner_is_us;
    if (*written && found != wanted) return db.fail(fault::failure, advice::numbers_not_kept);
    if (!ours && (*written || (inserted && found.token == wanted.token))) return db.fail(fault::failure, advice::texts_not_kept);
    return written;
}

duration requested_ttl(const observing_database auto& db)
{
    return std::chrono::microseconds{db.time_to_live_us()};
}

// A call about a name whose row was observed. No row of that name is likely to have had this `version`, so a row that was deleted
// and made again is not taken for the observed one. `now` reads this process's monotonic clock.
template <class Now>
struct observer {
    observations& seen;
    std::string_view name;
    std::int64_t version;
    Now now;
};
template <class Now>
observer(observations&, std::string_view, std::int64_t, Now) -> observer<Now>;

// After the write of a new term: whether it took place. Notes it: if nobody writes after it, the term is over a ttl later.
outcome<grant_answer> granted_if_written(observing_database auto& db, const auto& by, std::int64_t token, bool inserted, bool fresh)
{
    const observed_row wanted{token, by.version, requested_ttl(db)};
    const outcome<bool> written = look_if_granted(db, wanted, inserted);
    if (!written.ok()) return written.failed();
    if (!*written) return fault::changed;
    static_cast<void>(by.seen.left_of(by.name, wanted, by.now()));
    return granted(token, fresh);
}

// One attempt at the row as it was seen. A take-over compares token and version, so it fails if anything has been written
// since. The owner of the unexpired term takes it over and keeps its time to live, if that is longer.
outcome<grant_answer> grant_as_observed(observing_database auto& db, const auto& by)
{
    const observed_row row = row_shown(db);
    const bool ours = db.number(column::whose) == owner_is_us;
    const duration left = by.seen.left_of(by.name, row, by.now());
    const bool live = left > duration::zero();
    if (live && !ours) return busy_for(row.token, left);
    if (live && row.version == by.version) return granted(row.token, false);  // by this very attempt, and the reply was lost
    if (live) db.set_time_to_live(std::max(row.ttl, requested_ttl(db)));
    db.set_token(row.token);
    db.set_seen(row.version);
    const fault failed = db.run(statement::take);
    // A live term is the asking owner's own, so the name isn't busy: worth another try.
    if (failed == fault::lock_timeout && !live)
        return busy_unless_table_is_locked(db, ours ? grant_answer{} : busy_for(row.token, duration::zero()));
    if (failed != fault::none) return failed;
    return granted_if_written(db, by, row.token + 1, false, !live);
}

outcome<grant_answer> observing_grant_flow(observing_database auto& db, const auto& by)
{
    db.set_version(by.version);
    const duration requested = requested_ttl(db);
    bool refused = false;
    failure why_refused;
    int duplicates = 0;
    for (int look = 0; look < max_looks; ++look) {
        db.set_time_to_live(requested);  // the look before may have kept the longer one of a term that is not there any more
        if (const fault failed = observe(db); failed != fault::none) return failed;
        const bool there = db.found();
        // A duplicate key, also in words that nobody knows; unless it comes again and there is still no row.
        if (std::exchange(refused, false) && !there) {
            db.set_last_report(why_refused);
            return fault::failure;
        }
        if (!there) {
            const fault failed = db.run(statement::insert);
            refused = failed == fault::failure && db.reads_back() && db.met_constraint();
            if (refused) why_refused = db.last_report();
            if (refused || (failed == fault::duplicate_key && ++duplicates < max_duplicates)) continue;
            if (failed != fault::none) return failed;
        }
        const auto result = there ? grant_as_observed(db, by) : granted_if_written(db, by, 1, true, true);
        if (result.failed() != fault::changed) return result;
    }
    // Its own writes are what kept changing it, since it doesn't know them again.
    if (db.reads_back() && db.found() && db.number(column::whose) == owner_is_us)
        return db.fail(fault::failure, advice::numbers_not_kept);
    return fault::conflict;
}

// Every renewal changes the row, whatever the database's clock does; so one that changes none found another's, or none. A
// term whose time is over as far as this store knows is not revived, though nobody may have taken it yet.
outcome<bool> observing_renew_flow(observing_database auto& db, const auto& by, std::int64_t token)
{
    if (by.seen.has_run_out(by.name, token, by.now())) return false;
    db.set_token(token);
    db.set_version(by.version);
    if (const fault failed = db.run(statement::renew); failed != fault::none) return failed;
    // Two renewals of one term may meet.
    const auto renewed = look_if_written(db, false, [&](const observed_row& row, std::int64_t counted) {
        return counted != 0 && row.token == token && row.ttl > duration::zero() && db.number(column::whose) == owner_is_us;
    });
    if (*renewed) by.seen.renewed(by.name, token, by.version, requested_ttl(db), by.now());
    return renewed;
}

// `repeated`: an earlier try may have done it, with the reply lost. A term whose time is over is freed too, since others
// would not know for another ttl, but that is no release.
outcome<bool> observing_release_flow(observing_database auto& db, const auto& by, std::int64_t token, bool min_hold, bool repeated)
{
    const bool over = by.seen.has_run_out(by.name, token, by.now());
    if (over) db.set_time_to_live(duration::zero());
    db.set_token(token);
    db.set_version(by.version);
    if (const fault failed = db.run(statement::release); failed != fault::none) return failed;
    // This release let in the owner that has the name by now, unless the count says that there was nothing to release.
    const auto released = look_if_written(db, repeated, [&](const observed_row& row, std::int64_t counted) {
        return row.token > token ? counted != 0 : row.token == token && row.version == by.version;
    });
    if (!released.ok()) return released;
    if (over) return false;
    if (*released && min_hold) by.seen.closed(by.name, token, by.version, requested_ttl(db), by.now());
    if (!*released && repeated && db.found() && row_shown(db).token > token) return fault::overtaken;
    return released;
}

outcome<bool> observing_force_release_flow(observing_database auto& db, std::int64_t version, std::int64_t& token, bool repeated)
{
    db.set_version(version);
    const auto find = [&db] { return unless(observe(db), [&db] { return db.found() && row_shown(db).ttl > duration::zero(); }); };
    // A row that shows a later term has been taken since.
    return force_release_flow(db, token, repeated, find, [&] {
        return look_if_written(db, repeated, [&](const observed_row& row, std::int64_t counted) {
            return row.version == version || (counted != 0 && row.token > token);
        });
    });
}

// For how long somebody has the lease at most, as far as this store has seen; 0: nobody has it.
outcome<duration> observing_inspect_flow(observing_database auto& db, observations& seen, std::string_view name, auto now)
{
    return unless(observe(db), [&] { return db.found() ? seen.left_of(name, row_shown(db), now()) : duration::zero(); });
}

// list_flow(), without the terms that are over as far as this store has seen.
template <observing_database Database>
fault observing_list_flow(Database& db, observations& seen, std::string_view prefix, std::vector<lease_record>& records, auto now)
{
    return list_flow(db, prefix, records, [&](const Database& row, lease_record& record) {
        record.remaining = seen.left_of(record.name, row_shown(row), now());
        return record.remaining > duration::zero();
    });
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
