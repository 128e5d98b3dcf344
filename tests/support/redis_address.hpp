// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_REDIS_ADDRESS_HPP
#define LEASEHOLD_TESTS_SUPPORT_REDIS_ADDRESS_HPP

#include <redis_store/redis_options.hpp>

#include <sstream>
#include <stdexcept>
#include <string>

namespace leasehold_test {

/// What redis_server::connection_string() says.
inline redis_leases::redis_options redis_options_of(const std::string& connection_string)
{
    redis_leases::redis_options options;
    std::istringstream words{connection_string};
    if (!(words >> options.host >> options.port >> options.user >> options.password >> options.database))
        throw std::invalid_argument{"not the address of a Redis of the tests"};
    return options;
}

}  // namespace leasehold_test

#endif
