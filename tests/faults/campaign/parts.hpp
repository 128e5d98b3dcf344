// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_PARTS_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_PARTS_HPP

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace campaign {

// The leases of a campaign are told apart in its records by numbers: 0 is the contenders' lease, those of the crowd are above, and
// the leases that a right of several consists of are below.

/// The crowd's leases have their number behind the name.
inline constexpr char before_number = '#';

/// The record of the count, which all processes acquire under one owner. So they do with the permits that are no more of a count that
/// changes: those are at the last number and below.
inline constexpr std::int64_t part_with_the_count = -1;
inline constexpr std::int64_t part_with_the_gate = -2;
inline constexpr std::int64_t last_permit_of_a_changing_count = -10'000;

/// The shards of a group are at this number and below. Its members have leases too.
inline constexpr std::int64_t part_with_first_shard = -10;
inline constexpr std::int64_t part_with_first_member = -1000;

/// Whether who acquired it is a process.
[[nodiscard]] constexpr bool has_owners_of_its_own(std::int64_t part) noexcept
{
    return part != part_with_the_count && part > last_permit_of_a_changing_count;
}

[[nodiscard]] inline bool is_of_the_crowd(std::string_view lease) noexcept { return lease.find(before_number) != std::string_view::npos; }

/// Whether what is contended for has one record in the store.
[[nodiscard]] constexpr bool is_one_lease(std::string_view right) noexcept
{
    return right == "lease" || right == "held" || right == "fires";
}

/// Numbers the leases of a campaign.
class part_names {
public:
    /// `right`: what the contenders contend for. If it is not one lease, it consists of leases whose names begin with `name`.
    part_names(std::string name, std::string_view right)
        : name_{std::move(name)}, several_{!is_one_lease(right)},
          first_share_{right == "changing" ? -last_permit_of_a_changing_count : -part_with_first_shard}
    {
    }

    [[nodiscard]] std::int64_t number_of(std::string_view lease) const noexcept
    {
        if (is_of_the_crowd(lease)) return digits(lease.substr(lease.find(before_number) + 1));
        if (!several_) return 0;
        const std::string_view rest = lease.substr(name_.size());
        if (rest.empty() || rest == "/+") return part_with_the_count;
        if (rest == "/writer") return part_with_the_gate;
        if (rest.starts_with(before_member)) return number_of_member(rest.substr(before_member.size()));
        const std::size_t number = rest.find_first_of("0123456789");
        return number == std::string_view::npos ? part_with_the_count : -first_share_ - digits(rest.substr(number));
    }

private:
    static constexpr std::string_view before_member = "/members/c";

    // Of "4.17", the 17th process of the contender 4.
    static std::int64_t number_of_member(std::string_view process) noexcept
    {
        return part_with_first_member - 1000 * digits(process) - digits(process.substr(process.find('.') + 1));
    }

    static std::int64_t digits(std::string_view text) noexcept
    {
        std::int64_t number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        return number;
    }

    std::string name_;
    bool several_;
    std::int64_t first_share_;
};

}  // namespace campaign

#endif
