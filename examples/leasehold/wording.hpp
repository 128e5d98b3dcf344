// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_WORDING_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_WORDING_HPP

#include "supervise.hpp"

#include <leasehold/lease_record.hpp>

#include <string>
#include <system_error>
#include <vector>

namespace tool {

/// "held by web-3/... for 12.1s more", or that it is kept closed for that long.
[[nodiscard]] std::string held_by(const leasehold::lease_record& record);

/// Why a command is made to end; `outage`: what the last renewal failed with, if it did.
[[nodiscard]] std::string describe_loss(const std::string& name, std::error_code outage);

/// What there is to say of the command's end; mostly nothing. `name`: of the lease, as it is shown.
[[nodiscard]] std::vector<std::string> describe_end(const std::string& name, const std::string& command, const command_end& end);

/// Says what is wrong with a command that check_command() refuses; returns `status`.
int report_bad_command(const std::string& command, int status);

}  // namespace tool

#endif
