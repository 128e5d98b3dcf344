// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SHARD_EVENT_HPP
#define LEASEHOLD_SHARD_EVENT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/fencing_token.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <system_error>

namespace leasehold::inline v0 {

/// What has happened to a member of a shard_group, or to one of its shards.
enum class shard_event_kind : std::uint8_t {
    taken,        ///< this member owns the shard from now on
    draining,     ///< the work on the shard has been asked to end
    given_back,   ///< the work has ended in time: the shard is free for others, or will be with its ttl if the store could not be asked
    lost,         ///< the shard's term was over before the work had ended
    failed,       ///< the function that works on the shard has thrown: `what` says what; the shard is taken again after a pause
    late,         ///< a shard that was to be given up, by this member or to it, is still not after drain_timeout; told once each time
    resized,      ///< there are `shard` shards from now on
    share_changed,  ///< this member should own another number of shards from now on
    store_failed  ///< the store has failed, or the membership was lost: `error` says how; the member continues, and tries again
};

/// The enumerator's name; "invalid" for any other value.
[[nodiscard]] constexpr std::string_view to_string(shard_event_kind kind) noexcept
{
    switch (kind) {
    case shard_event_kind::taken: return "taken";
    case shard_event_kind::draining: return "draining";
    case shard_event_kind::given_back: return "given_back";
    case shard_event_kind::lost: return "lost";
    case shard_event_kind::failed: return "failed";
    case shard_event_kind::late: return "late";
    case shard_event_kind::resized: return "resized";
    case shard_event_kind::share_changed: return "share_changed";
    case shard_event_kind::store_failed: return "store_failed";
    }
    return "invalid";
}

/// Writes to_string(kind).
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, shard_event_kind kind)
{
    return out << to_string(kind);
}

/// One event of a member of a shard_group. What it refers to lives as long as the call of the hook.
struct shard_event {
    shard_event_kind kind{};    ///< what has happened
    std::string_view group{};   ///< the group's name
    std::size_t shard = 0;      ///< which shard; resized: how many there are
    fencing_token token{};      ///< the token of the shard's term, if it is this member's
    std::error_code error{};    ///< store_failed: what the store said
    std::string_view what{};    ///< failed: the exception's message; store_failed: what the member was doing
    std::size_t owned = 0;      ///< how many shards the member owns now; one whose term is lost counts until its work has returned
    std::size_t share = 0;      ///< how many it should own, by its last look
};

/// Numbers of one member of a shard_group, for a dashboard.
struct shard_statistics {
    std::size_t owned = 0;         ///< shards that it owns now, as in shard_event
    std::size_t share = 0;         ///< shards that it should own, by its last look
    std::size_t members = 0;       ///< members that its last look has seen, itself included
    std::uint64_t taken = 0;       ///< shards that it has taken
    std::uint64_t given_back = 0;  ///< shards whose work has ended in time, as the event says
    std::uint64_t lost = 0;        ///< terms that were over before the work had ended
    std::uint64_t failed = 0;      ///< functions that have thrown
    std::uint64_t late = 0;        ///< drains that have outlasted their time
    std::uint64_t store_failures = 0;  ///< looks and other steps that the store has refused
};

}  // namespace leasehold::inline v0

#endif
