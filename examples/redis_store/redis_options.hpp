// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_OPTIONS_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_OPTIONS_HPP

#include <leasehold/duration.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace redis_leases {

namespace lh = leasehold;

/// The address of a Redis server, and how to use it.
struct redis_options {
    std::string host = "127.0.0.1";  ///< prefer an address to a name: nothing limits how long a resolver takes
    int port = 6379;
    std::string unix_socket{};  ///< if given, instead of host and port
    std::string user{};         ///< empty: Redis's default user, who has only a password
    std::string password{};     ///< empty: no log-in
    int database = 0;
    std::string key_prefix = "leasehold:";  ///< begins all keys and channels
    /// How long an operation may take, reconnecting included.
    lh::duration call_timeout = std::chrono::seconds{5};
    std::size_t pool_size = 4;  ///< the largest number of connections; there is one more while somebody waits
};

}  // namespace redis_leases

#endif
