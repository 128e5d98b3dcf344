// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_OPTIONS_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_OPTIONS_HPP

#include <leasehold/duration.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace redis_leases {

namespace lh = leasehold;

/// Where the Redis is, and how to treat it.
struct redis_options {
    std::string host = "127.0.0.1";  ///< an address is better than a name: nobody limits how long a resolver takes
    int port = 6379;
    std::string unix_socket{};  ///< if given, instead of host and port
    std::string user{};         ///< empty: the one that only has a password
    std::string password{};     ///< empty: no log-in
    int database = 0;
    std::string key_prefix = "leasehold:";  ///< of all keys and channels
    /// How long an operation may take, with all its reconnecting.
    lh::duration call_timeout = std::chrono::seconds{5};
    std::size_t pool_size = 4;  ///< connections at most, and one more while somebody waits
};

}  // namespace redis_leases

#endif
