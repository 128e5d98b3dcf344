// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_CONDUCTOR_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_CONDUCTOR_HPP

#include "circumstances.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace campaign {

/// Starts the database and the contenders, injects faults for that long, lets them come to rest, and ends them. What
/// happened is in the folder then.
void conduct(const std::string& database, const circumstances& around, std::chrono::seconds length, std::uint32_t seed,
             const std::filesystem::path& records);

}  // namespace campaign

#endif
