// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_OWN_REDIS_HPP
#define LEASEHOLD_TESTS_SUPPORT_OWN_REDIS_HPP

#include <redis_store/redis_store.hpp>

#include <support/redis_address.hpp>
#include <support/redis_server.hpp>

#include <chrono>

namespace leasehold_test {

/// A Redis for one case, and stores on it.
struct own_redis {
    redis_server server;
    redis_leases::redis_options options = redis_options_of(server.connection_string());
    redis_leases::redis_store store{options};
    redis_leases::redis_store other{options};

    /// For stores that shall not get an answer, so that nobody has to wait for that for long.
    [[nodiscard]] redis_leases::redis_options impatient() const
    {
        redis_leases::redis_options result = options;
        result.call_timeout = std::chrono::milliseconds{400};
        return result;
    }
};

}  // namespace leasehold_test

#endif
