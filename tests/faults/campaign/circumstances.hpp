// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_CIRCUMSTANCES_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_CIRCUMSTANCES_HPP

#include <cstdint>
#include <span>
#include <string>

namespace campaign {

/// What a whole campaign runs in, where the world may differ from the authors'.
struct circumstances {
    bool tls = false;
    std::string language{};         ///< of the servers' messages, the drivers' and the contenders'; empty: English
    std::string name = "campaign";  ///< of the lease; also in front of its owners
    std::string right = "lease";    ///< what the contenders contend for: one of right_names
    bool crowd = false;             ///< many processes with many leases beside the contenders
    std::string only{};             ///< the one kind of fault that befalls the surroundings; empty: all
};

/// Those of a seed; the crowd has to be asked for.
[[nodiscard]] circumstances drawn_circumstances(std::uint32_t seed);

/// Names that are words of messages: together they have all that the library looks for in one. Up to 128 bytes, which is what
/// MariaDB lets a message have.
[[nodiscard]] std::span<const char* const> names_like_messages() noexcept;

}  // namespace campaign

#endif
