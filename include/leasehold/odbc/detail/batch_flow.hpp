// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_BATCH_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_BATCH_FLOW_HPP

#include <leasehold/odbc/detail/batch.hpp>
#include <leasehold/odbc/detail/fault.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

// The protocol for many terms at once: as in flow.hpp, no ODBC and no SQL. `Database` has batches(), run_batch(),
// begin_transaction(), end_transaction(), rows() and give_up_batches(), as `connection` has.
namespace leasehold::inline v0::odbc::detail {

enum class batch_kind : std::uint8_t { renewals, releases };

// Into how many parts a batch falls whose statement did not answer for all.
inline constexpr std::size_t parts_of_batch = 16;

// A row that is counted is a term that was renewed; so if all are counted, that is the answer to each. Otherwise it isn't known
// whose was not, and nothing is lost by renewing some again.
template <class Database>
fault renew_at_once(Database& db, const batch& of, std::span<const item_number> items, bool& all)
{
    const fault failed = db.run_batch(batch_kind::renewals, of, items);
    all = failed == fault::none && db.rows() == static_cast<std::int64_t>(items.size());
    return failed;
}

// All or none, since one that is released twice would be called lost the second time.
template <class Database>
fault release_at_once(Database& db, const batch& of, std::span<const item_number> items, bool& all)
{
    all = false;
    if (const fault failed = db.begin_transaction(); failed != fault::none) return failed;
    const fault failed = db.run_batch(batch_kind::releases, of, items);
    const bool counted = failed == fault::none && db.rows() == static_cast<std::int64_t>(items.size());
    const fault ended = db.end_transaction(counted);
    all = counted && ended == fault::none;
    return failed != fault::none ? failed : ended;
}

// What is locked by somebody else does not keep the rest from being asked for.
template <class Single>
fault one_by_one(batch& of, std::span<const item_number> items, Single& single)
{
    fault left = fault::none;
    for (const item_number i : items) {
        bool yes = false;
        const fault failed = single(of.name(i), of.owner(i), of.token(i), yes);
        if (failed == fault::none)
            of.set_answer(i, yes);
        else if (failed == fault::lock_timeout)
            left = failed;
        else
            return failed;
    }
    return left;
}

// One statement for all of these; without an answer to each it is for the parts to find out. What is wrong with one of them, a
// lock perhaps, comes to light last, when the others have their answers.
template <class Database, class Single>
fault together(Database& db, batch_kind kind, batch& of, std::span<const item_number> items, Single& single)
{
    fault left = fault::none;
    for (std::deque<std::span<const item_number>> parts{items}; !parts.empty();) {
        const auto part = parts.front();
        parts.pop_front();
        bool all = false;
        const bool alone = part.size() < 2 || !db.batches();
        fault failed = alone                          ? one_by_one(of, part, single)
                       : kind == batch_kind::renewals ? renew_at_once(db, of, part, all)
                                                      : release_at_once(db, of, part, all);
        if (failed == fault::failure && !alone) {  // perhaps of this statement only
            failed = one_by_one(of, part, single);
            if (failed == fault::none) db.give_up_batches();
        } else if (all) {
            for (const item_number i : part) of.set_answer(i, true);
        } else if (!alone && (failed == fault::none || failed == fault::lock_timeout)) {
            const std::size_t size = (part.size() + parts_of_batch - 1) / parts_of_batch;
            for (std::size_t at = 0; at < part.size(); at += size)
                parts.push_back(part.subspan(at, std::min(size, part.size() - at)));
            failed = fault::none;
        }
        if (failed == fault::lock_timeout)
            left = failed;
        else if (failed != fault::none)
            return failed;
    }
    return left;
}

// Goes on where an earlier try ended. `single(name, owner, token, yes)` does the same to one.
template <class Database, class Single>
fault batch_flow(Database& db, batch_kind kind, batch& of, Single single)
{
    std::vector<item_number> open;
    for (item_number i = 0; i < of.size(); ++i)
        if (of.answer(i) == batch_answer::unknown) open.push_back(i);
    return open.empty() ? fault::none : together(db, kind, of, open, single);
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
