// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_REDIS_OUTAGE_HPP
#define LEASEHOLD_TESTS_SUPPORT_REDIS_OUTAGE_HPP

#include <support/redis_server.hpp>

namespace leasehold_test {

/// Writes are refused, as where too many replicas are gone.
class redis_outage {
public:
    explicit redis_outage(redis_server& server) : server_{server} { ask_for_replicas("1"); }
    redis_outage(const redis_outage&) = delete;
    redis_outage& operator=(const redis_outage&) = delete;
    ~redis_outage() { ask_for_replicas("0"); }

private:
    void ask_for_replicas(const char* how_many) { server_.command({"config", "set", "min-replicas-to-write", how_many}); }

    redis_server& server_;
};

}  // namespace leasehold_test

#endif
