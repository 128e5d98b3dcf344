// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_GROUP_SHARD_COUNT_HPP
#define LEASEHOLD_GROUP_SHARD_COUNT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/attempt_one.hpp>
#include <leasehold/detail/count_machine.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/group/group_texts.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0::group {

// The record of how many shards there are, on which all members agree: a lease of the group's bare name, whose owner is the count, in
// words. A member with the same count is granted it at once, because the owner is the same.
//
// The store keeps it longer than its members rely on it. Otherwise it would run out in an outage, and the first one back would decide for
// all. The last member that leaves removes it.
//
// Who owns a shard does not depend on it. One thread at a time.
template <lease_store Store>
class shard_count {
public:
    shard_count(Store& store, std::string name, std::size_t count, duration ttl)
        : store_{store}, name_{std::move(name)}, count_{count}, ttl_{ttl}
    {
    }

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    // Writes the record if it has to be written, or in any case. Empty: it says this count, or there is an error. A count: the record says
    // that one; the caller follows it, or refuses. errc::invalid_terms: the name belongs to something else, and disagreement() says what.
    std::optional<std::size_t> agree(time_point now, bool in_any_case, std::error_code& ec)
    {
        ec.clear();
        if (!in_any_case && !machine_.due(now, ttl_)) return std::nullopt;
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            const acquire_result result = write(count_text(count_), kept_for(), ec);
            if (ec) return std::nullopt;
            if (result.granted()) {
                machine_.written(now, ttl_);
                return std::nullopt;
            }
            const std::optional<lease_record> other = store_.inspect(name_, ec);
            if (ec) return std::nullopt;
            if (!other || other->owner == count_text(count_)) continue;
            if (other->is_hold()) {
                ec = errc::held_closed;
                return std::nullopt;
            }
            disagrees_ = other;
            const std::optional<std::size_t> count = count_in(other->owner);
            if (!count) ec = errc::invalid_terms;
            return count;
        }
        ec = errc::store_conflict;
        return std::nullopt;
    }

    void follow(std::size_t count)
    {
        count_ = count;
        machine_ = {};
    }

    // Puts another count into the record, whatever it says now.
    void replace(std::size_t count, time_point now, std::error_code& ec)
    {
        std::string old = count_text(count_);
        for (int attempt = 0; attempt < 2 * most_attempts; ++attempt) {
            const acquire_result mine = write(old, ttl_, ec);
            if (ec) return;
            if (mine.granted()) {
                store_.release(name_, old, mine.token, duration::zero(), ec);
                if (ec) return;
                const acquire_result result = write(count_text(count), kept_for(), ec);
                if (ec) return;
                if (result.granted()) {
                    follow(count);
                    machine_.written(now, ttl_);
                    return;
                }
            }
            const std::optional<lease_record> other = store_.inspect(name_, ec);
            if (ec) return;
            if (!other) continue;
            if (other->is_hold()) {
                disagrees_ = other;
                ec = errc::held_closed;
                return;
            }
            if (!count_in(other->owner)) {
                disagrees_ = other;
                ec = errc::invalid_terms;
                return;
            }
            old = other->owner;
        }
        ec = errc::store_conflict;
    }

    // Removes the record if it says this count, and no member is left; `leaver` owned the row of the one that has left. The record is read
    // first: whoever joins after that writes it again, under a greater token, and it stays.
    void remove_if_unused(std::size_t count, std::string_view leaver, std::error_code& ec)
    {
        const std::string text = count_text(count);
        const std::optional<lease_record> record = store_.inspect(name_, ec);
        if (ec || !record || record->owner != text) return;
        const std::vector<lease_record> members = store_.list(members_of(name_), ec);
        const auto is_left = [&](const lease_record& member) { return member.owner != leaver && words_in(member.data); };
        if (ec || std::ranges::any_of(members, is_left)) return;
        store_.release(name_, text, record->token, duration::zero(), ec);
    }

    // Says what agree() or replace() has found instead of this count, whose it is, and what to do. Does I/O.
    [[nodiscard]] std::string disagreement() const { return disagrees_ ? disagreement_with(*disagrees_) : std::string{}; }

private:
    [[nodiscard]] duration kept_for() const noexcept
    {
        return std::max<duration>(detail::count_machine::record_ttl(ttl_), std::chrono::hours{24});
    }

    // Nobody waits for the record; and all members have it, of whom one alone could be the one to wake others.
    acquire_result write(std::string_view count, duration ttl, std::error_code& ec)
    {
        return detail::attempt_one(store_, {name_, count, ttl, detail::wakes_nobody}, ec);
    }

    [[nodiscard]] std::string disagreement_with(const lease_record& other) const
    {
        const std::string here = "'" + detail::printable(name_) + "' has " + count_text(count_) + " here, but ";
        if (other.is_hold())
            return here + "that name is " + detail::words_of_hold(other) + ": open it with unhold() first";
        if (!count_in(other.owner))
            return here + "a lease of that name is " +
                   (other.owner.empty() ? "kept closed by its min_hold" : "held by '" + detail::printable(other.owner) + "'") +
                   ": the name keeps the record of the count. Give one of the two another name";
        return here + "the store's record of that name says '" + detail::printable(other.owner) +
               "'" + who_has(*count_in(other.owner)) +
               ": all members must agree on the count. Give the same count, change it with resize(), or end all members: the last one that "
               "leaves removes the record. If they were killed, remove it with 'leasehold release " +
               detail::printable(name_) + " --force', or wait " +
               std::to_string(std::chrono::ceil<std::chrono::seconds>(other.remaining).count()) + " s until it has run out";
    }

    // Names the members that have that count, as in ", as do the members 'a', 'b', 'c' and 2 more".
    [[nodiscard]] std::string who_has(std::size_t count) const
    {
        constexpr std::size_t most_named = 3;
        const std::string prefix = members_of(name_);
        std::string named;
        std::size_t found = 0;
        std::error_code ignored;  // then nobody is named
        for (const lease_record& record : store_.list(prefix, ignored)) {
            const std::optional<member_words> words = words_in(record.data);
            if (!words || words->count != count || ++found > most_named) continue;
            named += (named.empty() ? "'" : ", '") + detail::printable(record.name.substr(prefix.size())) + "'";
        }
        if (found == 0) return {};
        if (found > most_named) named += " and " + std::to_string(found - most_named) + " more";
        return (found == 1 ? ", as does the member " : ", as do the members ") + named;
    }

    static constexpr int most_attempts = 3;

    Store& store_;
    const std::string name_;
    std::size_t count_;
    const duration ttl_;
    detail::count_machine machine_;
    std::optional<lease_record> disagrees_;  // what was found last
};

}  // namespace leasehold::inline v0::group

#endif
