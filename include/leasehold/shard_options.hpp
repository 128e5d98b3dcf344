// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SHARD_OPTIONS_HPP
#define LEASEHOLD_SHARD_OPTIONS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/shard_event.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace leasehold::inline v0 {

/// The most shards that a shard_group has.
inline constexpr std::size_t max_shards = 4096;

/// How a member takes part in a shard_group.
struct shard_options {
    /// How long the group keeps a member, and its shards, if it no longer hears of it. All members look three times in that time.
    duration ttl = std::chrono::seconds{10};
    /// How long before the end of the ttl a shard counts as lost; see lease_terms::safety_margin. Unset: a tenth of the ttl.
    std::optional<duration> safety_margin{};
    /// After this time a shard that was to be given up, and is not, is reported. It stays where it is.
    duration drain_timeout = std::chrono::seconds{30};
    /// The member's weight: one of capacity 2 gets twice the shards of one of capacity 1. At least 1.
    std::uint32_t capacity = 1;
    /// How many shards the member takes; 0: no limit. Shards for which all members lack room stay free.
    std::size_t max_shards = 0;
    /// Its name in the group; two members that live never have the same. Empty: a text that nobody else has. A member that was cut off for
    /// longer than the ttl, and whose name another has now, gives its shards away and takes none until that one has left.
    std::string id{};
    /// What the others are to know of it, as in "10.0.0.7:8443": at most 944 bytes of UTF-8 without a NUL.
    std::string data{};
    /// How long a shard is not taken again by this member after its function has thrown. The pause doubles each time, up to retry_max. A
    /// function that has returned by itself, without having been asked to, is called again after retry_min.
    duration retry_min = std::chrono::seconds{1};
    /// The longest pause, 10 years at most; see retry_min.
    duration retry_max = std::chrono::minutes{1};
    /// Called with each event, on the thread of run(). What it throws is ignored. Keep it short: the member does nothing meanwhile.
    std::function<void(const shard_event&)> on_event{};
};

}  // namespace leasehold::inline v0

#endif
