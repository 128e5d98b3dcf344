// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_SHARDS_RIGHT_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_SHARDS_RIGHT_HPP

#include "contention.hpp"
#include "noted_term.hpp"
#include "parts.hpp"
#include "records.hpp"
#include "rights.hpp"

#include <leasehold/shard_group.hpp>

#include <chrono>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

namespace campaign {

/// One of those that divide shards, and writes down each term of each shard.
class member_of_a_group {
public:
    member_of_a_group(store_type& store, std::string process, const std::string& name, const record_file& records, std::uint32_t seed)
        : process_{std::move(process)}, records_{records}, seed_{seed},
          group_{store, name, shards_in_a_group,
                 leasehold::shard_options{.ttl = terms.ttl,
                                          .id = process_,
                                          .retry_min = std::chrono::milliseconds{100},
                                          .retry_max = std::chrono::milliseconds{300}}}
    {
    }

    void take_part(const std::stop_token& stop)
    {
        group_.run(stop, [&](auto& shard) { work_on(shard, stop); });
    }

private:
    // Each call is on a thread of its own.
    template <class Shard>
    void work_on(Shard& shard, const std::stop_token& stop) const
    {
        const std::int64_t token = shard.token().value();
        std::minstd_rand random{seed_ + static_cast<std::uint32_t>(97 * token) + static_cast<std::uint32_t>(shard.index())};
        const instant end = now() + std::uniform_int_distribution<instant>{200 * millisecond, 15 * second}(random);
        const noted_term noted{.records = records_,
                               .process = process_,
                               .token = token,
                               .lease = part_with_first_shard - static_cast<std::int64_t>(shard.index()),
                               .may_be_asked = true,
                               .between_looks = std::chrono::milliseconds{5}};
        note_while_held(noted, shard, stop, [&] { return !shard.draining() && now() < end; });
        if (random() % 4 == 0) throw std::runtime_error{"the work on this shard fails"};
    }

    const std::string process_;
    const record_file& records_;
    const std::uint32_t seed_;
    leasehold::shard_group<store_type> group_;
};

}  // namespace campaign

#endif
