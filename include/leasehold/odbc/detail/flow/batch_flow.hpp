// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_BATCH_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_BATCH_FLOW_HPP

#include <leasehold/duration.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

using item_number = std::uint32_t;

// 0, 1, 2, ...
inline std::vector<item_number> all_items(std::size_t count)
{
    std::vector<item_number> all(count);
    std::iota(all.begin(), all.end(), item_number{0});
    return all;
}

// Terms of distinct names, and what has become of them. Copies all it is told, for a caller may leave before the driver does.
class batch {
public:
    explicit batch(std::size_t most) : answers_(most) { items_.reserve(most); }

    void add(std::string_view name, std::string_view owner, std::int64_t token)
    {
        items_.push_back({text_.size(), name.size(), owner.size(), token});
        text_.append(name).append(owner);
    }

    [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
    [[nodiscard]] std::string_view name(item_number i) const { return text_of(items_[i].at, items_[i].name); }
    [[nodiscard]] std::string_view owner(item_number i) const { return text_of(items_[i].at + items_[i].name, items_[i].owner); }
    [[nodiscard]] std::string_view holder(item_number i) const { return owner(i); }
    [[nodiscard]] std::int64_t token(item_number i) const { return items_[i].token; }

    // The answer to one item as soon as it is known, even if the caller has stopped waiting. Any thread may call it.
    [[nodiscard]] batch_answer answer(item_number i) const noexcept { return answers_[i].load(std::memory_order_relaxed); }
    void set_answer(item_number i, bool yes) noexcept
    {
        answers_[i].store(yes ? batch_answer::yes : batch_answer::no, std::memory_order_relaxed);
    }

private:
    struct item {
        std::size_t at, name, owner;
        std::int64_t token;
    };

    std::string_view text_of(std::size_t at, std::size_t size) const { return std::string_view{text_}.substr(at, size); }

    std::vector<item> items_;
    std::string text_;
    // Relaxed: an answer says all that there is to read. The rest of a batch does not change once a session has it.
    std::vector<std::atomic<batch_answer>> answers_;
};

// Divides the chosen items into groups, each for one statement: of one time (a ttl), at most `most` items, and no name twice, so that
// each counted row is one item. A group is in the order of its names, in which everybody should lock many rows.
template <class Item, class Time>
std::vector<std::vector<item_number>> batch_groups(std::span<const Item> items, std::span<const item_number> chosen, Time time,
                                                   std::size_t most)
{
    std::vector<item_number> order{chosen.begin(), chosen.end()};
    const auto time_of = [&](item_number i) { return std::invoke(time, items[i]); };
    std::ranges::sort(order, [&](item_number a, item_number b) {
        if (time_of(a) != time_of(b)) return time_of(a) < time_of(b);
        const int names = items[a].name.compare(items[b].name);
        return names != 0 ? names < 0 : a < b;
    });
    std::vector<std::vector<item_number>> groups;
    while (!order.empty()) {
        std::vector<item_number> again;  // names that this round has already
        for (std::size_t i = 0; i < order.size(); ++i) {
            const bool same_time = i != 0 && time_of(order[i]) == time_of(order[i - 1]);
            if (same_time && items[order[i]].name == items[order[i - 1]].name) {
                again.push_back(order[i]);
                continue;
            }
            if (i == 0 || !same_time || groups.back().size() >= most) groups.emplace_back();
            groups.back().push_back(order[i]);
        }
        order = std::move(again);
    }
    return groups;
}

// The protocol for many terms at once: as in flow.hpp, no ODBC and no SQL.

enum class batch_kind : std::uint8_t {
    renewals,
    releases,
    grants,  // this one and those below: see attempts_flow.hpp
    reads,
    takes,
    inserts,
    free_grants
};
inline constexpr std::size_t batch_kind_count = static_cast<std::size_t>(batch_kind::free_grants) + 1;

// How long a statement waits for a row that somebody has locked: one for many terms only briefly, where the database lets it.
enum class lock_wait : std::uint8_t { brief, full };

template <class Database>
concept batch_database = requires(Database& db, batch_kind kind, const batch& many, std::span<const item_number> items, bool commit) {
    { db.batches() } -> std::same_as<bool>;
    { db.has_time_for(lock_wait::full) } -> std::same_as<bool>;
    { db.run_batch(kind, many, items) } -> std::same_as<fault>;
    { db.rows() } -> std::convertible_to<std::int64_t>;
    { db.begin_transaction() } -> std::same_as<fault>;
    { db.end_transaction(commit) } -> std::same_as<fault>;
    db.disable_batches();
};

// A batch whose statement did not answer for all falls into this many parts.
inline constexpr std::size_t parts_of_batch = 16;

// A counted row is a renewed term; so if all are counted, that is the answer to each. Otherwise it isn't known
// which was not renewed, and nothing is lost by renewing some again. Releases are all or none, since a term that is released twice
// would be called lost the second time.
outcome<bool> all_at_once(batch_database auto& db, batch_kind kind, const batch& many, std::span<const item_number> items)
{
    const bool in_transaction = kind == batch_kind::releases;
    if (const fault failed = in_transaction ? db.begin_transaction() : fault::none; failed != fault::none) return failed;
    const fault failed = db.run_batch(kind, many, items);
    const bool all = failed == fault::none && db.rows() == static_cast<std::int64_t>(items.size());
    const fault ended = in_transaction ? db.end_transaction(all) : fault::none;
    // A transaction that could not be ended ends with its connection, whatever the statement's failure.
    return unless(failed == fault::none || ended == fault::connection_lost ? ended : failed, [all] { return all; });
}

// Failures of one item after which the others are still sent. A locked row is worth another try.
constexpr bool leaves_the_others(fault failed) noexcept { return failed == fault::lock_timeout || failed == fault::overtaken; }

// The failure to tell after both.
constexpr fault worse_of(fault first, fault second) noexcept
{
    if (second == fault::none) return first;
    return first == fault::lock_timeout && leaves_the_others(second) ? first : second;
}

fault one_by_one(batch& many, std::span<const item_number> items, auto& single)
{
    fault left = fault::none;
    for (const item_number i : items) {
        const outcome<bool> yes = single(many.name(i), many.owner(i), many.token(i));
        if (yes.ok())
            many.set_answer(i, *yes);
        else if (!leaves_the_others(yes.failed()))
            return yes.failed();
        left = worse_of(left, yes.failed());
    }
    return left;
}

// Waits for each while there is time for it. The others stay unknown.
fault wait_for_locked(batch_database auto& db, batch& many, std::span<const item_number> locked, auto& single)
{
    fault left = fault::none;
    for (std::size_t k = 0; k < locked.size() && (left == fault::none || leaves_the_others(left)); ++k)
        left = worse_of(left, db.has_time_for(lock_wait::full) ? one_by_one(many, locked.subspan(k, 1), single) : fault::lock_timeout);
    return left;
}

// One statement for all of these; if it does not answer for each, the parts find out. After a lock a single term has such a statement
// too, so that nobody waits for a locked row before all others have their answers. A failure of one item shows last.
fault together(batch_database auto& db, batch_kind kind, batch& many, std::span<const item_number> items, auto& single)
{
    fault left = fault::none;
    bool met_lock = false;
    std::vector<item_number> locked;
    std::deque<std::span<const item_number>> parts{items};
    const auto split = [&parts](std::span<const item_number> part) {
        const std::size_t size = (part.size() + parts_of_batch - 1) / parts_of_batch;
        for (std::size_t at = 0; at < part.size(); at += size) parts.push_back(part.subspan(at, std::min(size, part.size() - at)));
    };
    while (!parts.empty()) {
        if (met_lock && !db.has_time_for(lock_wait::brief)) return fault::lock_timeout;
        const auto part = parts.front();
        parts.pop_front();
        const bool one = part.size() < 2;
        const bool alone = !db.batches() || (one && !met_lock && db.has_time_for(lock_wait::full));
        const outcome<bool> all = alone ? one_by_one(many, part, single) : all_at_once(db, kind, many, part);
        fault failed = all.failed();
        met_lock = met_lock || failed == fault::lock_timeout;
        if (*all) {
            for (const item_number i : part) many.set_answer(i, true);
        } else if (!alone && failed == fault::failure) {  // perhaps of this statement only
            failed = one_by_one(many, part, single);
            if (failed == fault::none) db.disable_batches();
        } else if (!alone && one && failed == fault::none) {
            failed = one_by_one(many, part, single);
        } else if (!alone && one && failed == fault::lock_timeout) {
            locked.push_back(part.front());
            failed = fault::none;
        } else if (!alone && (failed == fault::none || failed == fault::lock_timeout)) {
            split(part);
            failed = fault::none;
        }
        if (failed != fault::none && !leaves_the_others(failed)) return failed;
        left = worse_of(left, failed);
    }
    return worse_of(left, wait_for_locked(db, many, locked, single));
}

// Continues where an earlier try ended. `single(name, owner, token)` does the same to one term.
fault batch_flow(batch_database auto& db, batch_kind kind, batch& many, auto single)
{
    std::vector<item_number> open;
    for (item_number i = 0; i < many.size(); ++i)
        if (many.answer(i) == batch_answer::unknown) open.push_back(i);
    return open.empty() ? fault::none : together(db, kind, many, open, single);
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
