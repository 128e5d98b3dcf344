// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_SHARD_SET_MACHINE_HPP
#define LEASEHOLD_DETAIL_SHARD_SET_MACHINE_HPP

#include <leasehold/detail/stable_hash.hpp>
#include <leasehold/detail/utf8.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::inline v0::detail {

// When the records of a set of shards have to be written, and what may be sent meanwhile: a pure function of what was written and
// of the time. There is one record in each database; `i` is the number of a database.
class shard_set_machine {
public:
    // A record lasts `least_ttl`, or longer if leases do.
    shard_set_machine(std::size_t databases, duration least_ttl) : records_(databases), least_ttl_{least_ttl} {}

    // For how long a record is written before something is granted or extended by `ttl`.
    [[nodiscard]] duration record_ttl(duration ttl) const noexcept { return std::max(least_ttl_, 4 * ttl); }

    // Whether something may be granted or extended by `ttl` now, as far as this record goes. Twice the ttl, so that the record
    // outlasts the term even if the statement is carried out a whole ttl late, which is later than its sender would believe in.
    [[nodiscard]] bool covers(std::size_t i, time_point now, duration ttl) const noexcept
    {
        return records_[i].lasts_until >= now + 2 * ttl;
    }

    [[nodiscard]] bool all_cover(time_point now, duration ttl) const noexcept
    {
        for (std::size_t i = 0; i < records_.size(); ++i)
            if (!covers(i, now, ttl)) return false;
        return true;
    }

    // A call to database `called` has succeeded. Whether to write record `i` now, ahead of time: early if it is the record of
    // that database, which works; later for the others, since a call that hangs there delays the caller. If the answer is yes,
    // nobody else gets it for a while.
    [[nodiscard]] bool begin_ahead(std::size_t i, std::size_t called, time_point now, duration ttl) noexcept
    {
        assert(i < records_.size() && called < records_.size());
        record& of = records_[i];
        const duration spare = known_for(ttl) - 2 * ttl;
        assert(spare >= duration::zero());
        const duration keep = i == called ? spare / 4 * 3 : spare / 2;
        if (covers(i, now + keep, ttl) || now < of.next_ahead) return false;
        of.next_ahead = now + record_ttl(ttl) / 20;
        return true;
    }

    // Record `i` was written by a statement sent at `sent`.
    void written(std::size_t i, time_point sent, duration ttl) noexcept
    {
        records_[i].lasts_until = std::max(records_[i].lasts_until, sent + known_for(ttl));
        assert(covers(i, sent, ttl));
    }

private:
    struct record {
        time_point lasts_until = time_point::min();  // at least, by this process's clock
        time_point next_ahead = time_point::min();   // not before, so that one caller at a time tries
    };

    // With a term's safety margin, since the database's clock may be faster than this process's.
    [[nodiscard]] duration known_for(duration ttl) const noexcept { return record_ttl(ttl) - record_ttl(ttl) / 10; }

    std::vector<record> records_;
    duration least_ttl_;
};

// The text that stands for a set of ids, `all`, in a database that has those in `here`. Both are sorted. It differs if either
// differs, and is the same in every process, build and version. People can read its beginning.
inline std::string shard_set_text(std::span<const std::string> here, std::span<const std::string> all)
{
    std::uint64_t hash = 0;
    for (const std::string& id : all) hash = stable_hash(hash, "of", id);
    for (const std::string& id : here) hash = stable_hash(hash, "here", id);
    std::string end = " (" + std::to_string(all.size()) + (all.size() == 1 ? " shard, " : " shards, ");
    for (int shift = 60; shift >= 0; shift -= 4) end += "0123456789abcdef"[(hash >> static_cast<unsigned>(shift)) & 0xFU];
    end += ')';

    std::string ids;
    const auto append = [&ids](std::span<const std::string> some) {
        for (const std::string& id : some) ids.append(&id == some.data() ? "" : ", ").append(id);
    };
    append(here);
    ids.append(" of ");
    append(all);

    constexpr std::string_view cut = "...";
    const std::size_t room = max_owner_bytes - end.size();
    std::string text;
    for (std::string_view left = ids; !left.empty();) {
        const std::size_t length = utf8_sequence_length(left);
        const std::string_view sequence = left.substr(0, std::max<std::size_t>(length, 1));
        const bool hidden = length == 0 || (length == 1 && (left.front() < 0x20 || left.front() == 0x7F));
        if (text.size() + left.size() > room && text.size() + sequence.size() + cut.size() > room) {
            text += cut;
            break;
        }
        text += hidden ? std::string_view{"?"} : sequence;
        left.remove_prefix(sequence.size());
    }
    return text + end;
}

}  // namespace leasehold::inline v0::detail

#endif
