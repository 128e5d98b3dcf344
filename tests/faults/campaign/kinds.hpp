// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_KINDS_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_KINDS_HPP

#include "faults.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace campaign {

enum class place : std::uint8_t { anywhere, single_server, cluster, galera, group_replication, patroni };
enum class target : std::uint8_t { holder, waiter, anybody, server, all };
/// Of the time without a holder, what is due to the fault alone.
enum class excused : std::uint8_t { nothing, all_of_it, group_changes };

struct fault_kind {
    const char* name;
    fault_lane::sort sort;
    place where;
    campaign::target target;
    std::size_t weight;
    instant shortest;
    instant longest;
    campaign::excused excused;
    /// False: it can't be done just now.
    bool (*begin)(const scene& on, drawn_fault& fault);
    void (*end)(const scene& on, const drawn_fault& fault, instant ending);
};

/// For a fault that is over by itself.
inline void do_nothing(const scene&, const drawn_fault&, instant) {}

/// A line per kind of fault, by what it hits.
[[nodiscard]] std::span<const fault_kind> kinds_of_processes() noexcept;
[[nodiscard]] std::span<const fault_kind> kinds_of_network() noexcept;
[[nodiscard]] std::span<const fault_kind> kinds_of_servers() noexcept;

/// All of them. Throws std::bad_alloc.
[[nodiscard]] std::span<const fault_kind> fault_kinds();

}  // namespace campaign

#endif
