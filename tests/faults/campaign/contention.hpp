// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_CONTENTION_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_CONTENTION_HPP

#include <leasehold/lease_terms.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace campaign {

/// Short, so that faults can outlast it many times.
inline constexpr leasehold::lease_terms terms{.ttl = std::chrono::milliseconds{1500}};
static_assert(terms.valid());

inline constexpr leasehold::duration call_timeout = std::chrono::milliseconds{1000};

/// What the contenders can contend for.
inline constexpr std::array<std::string_view, 8> right_names{"lease", "held", "permit", "changing", "shared", "set", "shards", "fires"};

/// How many of the contenders are operators instead, who hold the lease closed now and then.
constexpr std::size_t operators_among(std::string_view right) noexcept { return right == "held" ? 2 : 0; }

/// Of a hold for the name of its holder.
inline constexpr leasehold::duration longest_wait_for_a_hold = std::chrono::seconds{10};

inline constexpr std::size_t permits_at_once = 2;
inline constexpr std::size_t most_permits_at_once = 3;  // of a count that changes
inline constexpr std::size_t readers_at_once = 2;
inline constexpr std::size_t leases_in_a_set = 3;
inline constexpr std::size_t shards_in_a_group = 12;
/// Long enough that those who do the jobs catch up after an outage.
inline constexpr leasehold::duration between_fires = std::chrono::milliseconds{500};
inline constexpr int attempts_at_a_fire = 3;

/// How many may have the right at once; 0: one, whose terms are told apart by their tokens.
constexpr std::size_t holders_at_once(std::string_view right) noexcept
{
    if (right == "changing") return most_permits_at_once;
    return right == "permit" ? permits_at_once : right == "shared" ? readers_at_once : right == "set" ? 1 : 0;
}

/// The crowd: many processes with many leases each, whose terms no single fault outlasts.
inline constexpr std::size_t crowd_size = 60;
inline constexpr std::size_t leases_of_each_in_the_crowd = 256;
inline constexpr leasehold::lease_terms crowd_terms{.ttl = std::chrono::seconds{30}};
static_assert(crowd_terms.valid());
inline constexpr leasehold::duration crowd_call_timeout = std::chrono::seconds{5};
inline constexpr leasehold::duration crowd_pause = std::chrono::seconds{1};

/// The longest that a waiter sleeps between two attempts beside the time the store told it: a poll's longest pause, and
/// what our contenders and the election add after an error.
inline constexpr leasehold::duration longest_pause = std::chrono::milliseconds{700};

/// The same of all that contend for that right. Members of a group look every third of the ttl; they leave a free shard for two looks to
/// the member that should take it, and that one may hang; then others take it, or fail and look again. Between fires nobody holds.
constexpr leasehold::duration longest_pause_of(std::string_view right) noexcept
{
    if (right == "shards") return 4 * terms.ttl / 3;
    return right == "fires" ? longest_pause + between_fires : longest_pause;
}

/// From the last fault to the end: in that time somebody must get the lease again, many times. Each shard has an owner again, and fires go
/// on, within that time even after a node has left a Galera cluster.
constexpr std::chrono::seconds calm_of(std::string_view right) noexcept
{
    return std::chrono::seconds{right == "shards" || right == "fires" ? 10 : 4};
}

}  // namespace campaign

#endif
