// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_ATTEMPTS_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_ATTEMPTS_FLOW_HPP

#include <leasehold/odbc/detail/flow/attempts.hpp>
#include <leasehold/odbc/detail/flow/batch_flow.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

// The protocol for many attempts at once: as in flow.hpp, no ODBC and no SQL.
namespace leasehold::inline v0::odbc::detail {

template <class Database>
concept attempting_database =
    granting_database<Database> && requires(Database& db, batch_kind kind, attempts& attempted, std::span<const item_number> items) {
        { db.attempts_together() } -> std::convertible_to<std::size_t>;
        { db.has_time_for(lock_wait::full) } -> std::same_as<bool>;
        { db.expects_free(std::size_t{}) } -> std::same_as<bool>;
        { db.run_attempts(kind, attempted, items) } -> std::same_as<fault>;
        db.disable_batches();
    };

// How often a part is looked at again after somebody else changed a row of it in between, before the rows are tried one by one.
inline constexpr int max_looks_at_part = 8;

// The first `left()` of those that may be had.
struct chosen_attempts {
    std::vector<item_number> own;       // terms of the asking owner
    std::vector<item_number> taken;     // rows of free names
    std::vector<item_number> inserted;  // names without a row
};

// Everything else up to the last of these is busy. `again`: a term of the asking owner may have come out of an earlier try, and so
// comes first, for nobody knows of it.
inline chosen_attempts choose_as_read(attempts& attempted, std::span<const item_number> items, bool again)
{
    chosen_attempts chosen;
    std::size_t left = attempted.left();
    const auto is_own = [&](item_number i) { return attempted.row(i).live && attempted.row(i).ours; };
    const auto choose = [&](item_number i, std::vector<item_number>& into) {
        if (left == 0) return;
        into.push_back(i);
        --left;
    };
    if (again)
        for (const item_number i : items)
            if (is_own(i)) choose(i, chosen.own);
    for (const item_number i : items) {
        if (left == 0) break;
        const attempted_row& row = attempted.row(i);
        if (is_own(i)) {
            if (!again) choose(i, chosen.own);
        } else if (row.live) {
            attempted.set_answer(i, busy_for(row.token, row.remaining));
        } else {
            choose(i, row.token == 0 ? chosen.inserted : chosen.taken);
        }
    }
    return chosen;
}

// `single(name, owner)` makes one attempt.
fault attempt_each(attempts& attempted, std::span<const item_number> items, auto& single)
{
    for (const item_number i : items) {
        if (attempted.left() == 0) break;
        const outcome<grant_answer> result = single(attempted.name(i), attempted.owner(i));
        if (!result.ok()) return result.failed();
        attempted.set_answer(i, *result);
    }
    return fault::none;
}

// Reads the rows. Forgets what was read of them before, also if there is no row any longer.
fault read_attempted(attempting_database auto& db, attempts& attempted, std::span<const item_number> items)
{
    for (const item_number i : items) attempted.set_row(i, {});
    return db.run_attempts(batch_kind::reads, attempted, items);
}

// All of them are granted, or it isn't known which: then the rows tell. Each is counted that is as it was read.
fault write_chosen(attempting_database auto& db, batch_kind kind, attempts& attempted, std::vector<item_number>& items, std::int64_t first)
{
    attempted.sort_by_name(items);
    const fault failed = db.run_attempts(kind, attempted, items);
    if (failed == fault::duplicate_key) return fault::none;  // nothing was inserted
    if (failed != fault::none || db.rows() != static_cast<std::int64_t>(items.size())) return failed;
    for (const item_number i : items) attempted.set_answer(i, granted(kind == batch_kind::takes ? attempted.token(i) + 1 : first, true));
    return fault::none;
}

fault attempt_as_read(attempting_database auto& db, attempts& attempted, chosen_attempts& chosen, auto& single)
{
    fault failed = attempt_each(attempted, chosen.own, single);
    if (failed == fault::none && !chosen.taken.empty()) failed = write_chosen(db, batch_kind::takes, attempted, chosen.taken, 0);
    if (failed != fault::none || chosen.inserted.empty()) return failed;
    const outcome<std::int64_t> first = read_floor(db);
    if (!first.ok()) return first.failed();
    db.set_token(*first);
    return write_chosen(db, batch_kind::inserts, attempted, chosen.inserted, *first);
}

// A look at the rows, then a write of the free ones. If not all were written, others came first, and the rows tell which
// are left; rows that show the asking owner are taken over once more, since a read grants nothing.
fault compare_and_set_part(attempting_database auto& db, attempts& attempted, std::span<const item_number> open, bool again, auto& single)
{
    if (const fault failed = read_attempted(db, attempted, open); failed != fault::none) return failed;
    auto chosen = choose_as_read(attempted, open, again);
    return attempt_as_read(db, attempted, chosen, single);
}

// An earlier try may have been granted some, with the reply lost: nobody knows of those terms, so they come first.
fault take_own_first(attempting_database auto& db, attempts& attempted, std::span<const item_number> part, auto& single)
{
    const auto open = attempted.open(part);
    if (const fault failed = read_attempted(db, attempted, open); failed != fault::none) return failed;
    std::vector<item_number> own;
    for (const item_number i : open)
        if (attempted.row(i).live && attempted.row(i).ours) own.push_back(i);
    return attempt_each(attempted, own, single);
}

// One statement answers for each that was busy or granted; the rest were free, but others came first, or there were enough. If all
// of a part may be granted, and most are likely to be free, the first look has a cheaper statement. It leaves own terms and names
// without a row to the next look.
fault attempt_part(attempting_database auto& db, attempts& attempted, std::span<const item_number> part, bool repeated, auto& single)
{
    if (repeated && db.single_statement_grant())
        if (const fault failed = take_own_first(db, attempted, part, single); failed != fault::none) return failed;
    for (int look = 0; look < max_looks_at_part; ++look) {
        const auto open = attempted.open(part);
        if (open.empty() || attempted.left() == 0) return fault::none;
        const bool expects_free = look == 0 && attempted.left() >= open.size() && db.expects_free(open.size());
        const auto kind = expects_free ? batch_kind::free_grants : batch_kind::grants;
        const fault failed = db.single_statement_grant() ? db.run_attempts(kind, attempted, open)
                                                         : compare_and_set_part(db, attempted, open, repeated || look > 0, single);
        if (failed != fault::none && failed != fault::duplicate_key) return failed;  // a duplicate key: see run_grant_until_seen()
    }
    return attempt_each(attempted, attempted.open(part), single);
}

// Nobody can write for long, or their rows are locked: a name whose term was not released is busy, as for one attempt. False: one of them
// is free, or the asking owner's own, or they can't be read.
bool attempted_busy_as_read(attempting_database auto& db, attempts& attempted)
{
    const auto open = attempted.open();
    const std::size_t size = std::max<std::size_t>(db.attempts_together(), 1);
    for (std::size_t at = 0; at < open.size(); at += size) {
        const auto part = std::span{open}.subspan(at, std::min(size, open.size() - at));
        if (read_attempted(db, attempted, part) != fault::none) return false;
        for (const item_number i : part) {
            const attempted_row& row = attempted.row(i);
            if (row.token == 0 || row.released || (row.live && row.ours)) continue;
            attempted.set_answer(i, row.live ? busy_for(row.token, row.remaining) : grant_answer{});
        }
    }
    return attempted.open().empty();
}

// Waits for each while there is time for it. The others are busy as read.
fault attempt_locked(attempting_database auto& db, attempts& attempted, std::span<const item_number> locked, auto& single)
{
    fault left = fault::none;
    for (std::size_t k = 0; k < locked.size() && attempted.left() > 0; ++k) {
        if (!db.has_time_for(lock_wait::full)) return attempted_busy_as_read(db, attempted) ? fault::none : fault::lock_timeout;
        const fault failed = attempt_each(attempted, locked.subspan(k, 1), single);
        if (failed != fault::none && failed != fault::lock_timeout) return failed;
        if (failed != fault::none) left = failed;
    }
    return attempted.left() > 0 ? left : fault::none;
}

// Continues where an earlier try ended. Locked rows don't keep the others waiting: they are asked for in smaller parts, in the end each
// by itself, still by a statement that waits only briefly. Nobody waits for a locked row before all others have their answers. If the
// whole table is locked, nothing of that helps.
fault attempts_flow(attempting_database auto& db, attempts& attempted, bool repeated, auto single)
{
    const std::vector<item_number> open = attempted.open();
    bool met_lock = false;
    std::vector<item_number> locked;
    std::deque<std::span<const item_number>> parts;
    const auto split = [&parts](std::span<const item_number> part, std::size_t size) {
        const std::size_t count = (part.size() + size - 1) / size;
        for (std::size_t k = count; k-- > 0;) parts.push_front(part.subspan(k * size, std::min(size, part.size() - k * size)));
    };
    if (!open.empty()) split(open, std::max<std::size_t>(db.attempts_together(), 1));
    while (!parts.empty() && attempted.left() > 0) {
        if (met_lock && !db.has_time_for(lock_wait::brief)) return fault::lock_timeout;
        const auto part = parts.front();
        parts.pop_front();
        const bool alone = db.attempts_together() < 2 || (part.size() < 2 && !met_lock && db.has_time_for(lock_wait::full));
        fault failed = alone ? attempt_each(attempted, attempted.open(part), single) : attempt_part(db, attempted, part, repeated, single);
        if (failed == fault::lock_timeout && !alone) {
            failed = met_lock ? fault::none : db.run(statement::write_nothing);
            met_lock = true;
            if (part.size() < 2)
                locked.push_back(part.front());
            else
                split(part, (part.size() + parts_of_batch - 1) / parts_of_batch);
        } else if (failed == fault::failure && !alone) {  // perhaps of these statements only
            failed = attempt_each(attempted, attempted.open(part), single);
            if (failed == fault::none) db.disable_batches();
        }
        if (failed != fault::none) return failed;
    }
    const fault failed = attempt_locked(db, attempted, locked, single);
    if (attempted.left() == 0)
        for (const item_number i : attempted.open()) attempted.set_answer(i, {});
    return failed;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
