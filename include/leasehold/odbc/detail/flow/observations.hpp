// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_OBSERVATIONS_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_OBSERVATIONS_HPP

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>

namespace leasehold::inline v0::odbc::detail {

// Most names that a store watches at a time, those it holds itself among them.
inline constexpr std::size_t max_observations = 65'536;
// Most names that are passed over at a time in the search for one that makes room.
inline constexpr std::size_t max_passed_over = 16;

// A row as it was seen. Its version is another one after every write, drawn at random, and so never comes back.
struct observed_row {
    std::int64_t token = 0;
    std::int64_t version = 0;
    duration ttl{};

    friend bool operator==(const observed_row&, const observed_row&) = default;
};

// Since when this store has seen each name's row as it is now, on its own monotonic clock. Thread-safe.
class observations {
public:
    explicit observations(std::size_t most = max_observations) : most_{most} {}

    // The clock they are counted on.
    static time_point now() noexcept { return steady_clock{}.now(); }

    // One that no row is likely to have had.
    static std::int64_t new_version()
    {
        std::random_device source;
        return std::uniform_int_distribution<std::int64_t>{1, std::int64_t{1} << 62U}(source);
    }

    // How long the row must stay as it is until its term is over; 0: it has been so for its whole ttl. `now` is when the
    // answer that shows the row had come: whatever wrote it was sent before that.
    duration left_of(std::string_view name, const observed_row& row, time_point now)
    {
        if (row.ttl <= duration::zero()) return duration::zero();
        const std::lock_guard lock{mutex_};
        const auto found = by_name_.find(name);
        if (found == by_name_.end()) {
            note(name, row, now);
            return row.ttl;
        }
        entry& seen = *found->second;
        in_use_.splice(in_use_.begin(), in_use_, found->second);
        seen.last_look = now;
        if (seen.row != row) {
            seen.row = row;
            seen.since = now;
        }
        const duration been_so = now - seen.since;
        return been_so >= row.ttl ? duration::zero() : row.ttl - been_so;
    }

    // This store has renewed the term, or closed it, with that version; `now` is when that was confirmed. The next look
    // shows what it has written, unless somebody else has written too, and then that look begins again.
    void renewed(std::string_view name, std::int64_t token, std::int64_t version, duration ttl, time_point now)
    {
        const std::lock_guard lock{mutex_};
        if (entry* seen = written(name, token, version, now)) seen->row.ttl = std::max(seen->row.ttl, ttl);
    }
    void closed(std::string_view name, std::int64_t token, std::int64_t version, duration ttl, time_point now)
    {
        const std::lock_guard lock{mutex_};
        if (entry* seen = written(name, token, version, now)) seen->row.ttl = ttl;
    }

    // Whether the term, as this store saw or wrote it last, has had its time. False where it isn't known.
    [[nodiscard]] bool has_run_out(std::string_view name, std::int64_t token, time_point now) const
    {
        const std::lock_guard lock{mutex_};
        const auto found = by_name_.find(name);
        if (found == by_name_.end()) return false;
        const entry& seen = *found->second;
        return seen.row.token == token && now - seen.since >= seen.row.ttl;
    }

    [[nodiscard]] std::size_t size() const
    {
        const std::lock_guard lock{mutex_};
        return by_name_.size();
    }

private:
    struct entry {
        std::string name;
        observed_row row;
        time_point since;
        time_point last_look;
    };

    entry* written(std::string_view name, std::int64_t token, std::int64_t version, time_point now)
    {
        const auto found = by_name_.find(name);
        if (found == by_name_.end() || found->second->row.token != token) return nullptr;
        found->second->row.version = version;
        found->second->since = found->second->last_look = now;
        in_use_.splice(in_use_.begin(), in_use_, found->second);
        return &*found->second;
    }

    // Removes a name that nobody has asked about for longer than its ttl. Names at the end of the list that are within theirs, as a hold is
    // for years, go to the front: the next search begins behind them.
    bool make_room(time_point now)
    {
        for (std::size_t passed = 0; passed < max_passed_over && !in_use_.empty(); ++passed) {
            const auto oldest = std::prev(in_use_.end());
            if (now - oldest->last_look > oldest->row.ttl) {
                by_name_.erase(oldest->name);
                in_use_.erase(oldest);
                return true;
            }
            in_use_.splice(in_use_.begin(), in_use_, oldest);
        }
        return false;
    }

    // A name that finds no room isn't noted and will be looked at for the first time again: those that are noted come to their end, which
    // makes room.
    void note(std::string_view name, const observed_row& row, time_point now)
    {
        if (by_name_.size() >= most_ && !make_room(now)) return;
        std::list<entry> added;
        added.push_front({std::string{name}, row, now, now});
        by_name_.emplace(added.front().name, added.begin());
        in_use_.splice(in_use_.begin(), added);
    }

    const std::size_t most_;
    mutable std::mutex mutex_;
    std::list<entry> in_use_;  // those looked at, written or passed over last first
    std::unordered_map<std::string_view, std::list<entry>::iterator> by_name_;  // its keys are the entries' names
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
