// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_FAILURE_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_FAILURE_HPP

#include <leasehold/error.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace redis_leases {

namespace lh = leasehold;

/// Why a call failed. What it did in Redis is unknown, unless Redis itself refused it.
struct redis_failure {
    std::error_code code{};  ///< none: nothing has failed
    lh::store_diagnostics details{};
    bool connection_lost = false;  ///< worth another attempt on a new connection

    explicit operator bool() const noexcept { return static_cast<bool>(code); }

    static redis_failure of(lh::errc code, std::string advice, std::string_view said = {})
    {
        return {code, {{}, 0, std::move(advice), std::string{said}}, false};
    }

    static redis_failure lost(std::string_view said)
    {
        redis_failure failure = of(lh::errc::store_unavailable, "the connection to Redis was lost", said);
        failure.connection_lost = true;
        return failure;
    }

    static redis_failure late()
    {
        return of(lh::errc::store_timeout,
                  "no answer within call_timeout (frozen server or network, or an overloaded one): the connection was given "
                  "up, what the call did is unknown");
    }

    /// Redis answered with an error, whose first word says which. An outage in disguise is told as one.
    static redis_failure reply(std::string_view said)
    {
        struct rule {
            std::string_view word;
            lh::errc code;
            const char* advice;
        };
        static constexpr const char* missing_right = "this user lacks a right: see the list in docs/redis.md";
        static constexpr std::array rules{
            rule{"LOADING", lh::errc::store_unavailable, "Redis has just been started and reads its data"},
            rule{"READONLY", lh::errc::store_unavailable, "this is a replica: leases are for the primary to grant"},
            rule{"NOREPLICAS", lh::errc::store_unavailable, "fewer replicas than min-replicas-to-write asks for"},
            rule{"NOAUTH", lh::errc::store_unavailable, "Redis wants a password"},
            rule{"WRONGPASS", lh::errc::store_unavailable, "Redis refuses the log-in: check user and password"},
            rule{"BUSY", lh::errc::store_unavailable, "somebody's script has been running for too long"},
            rule{"NOPERM", lh::errc::store_failure, missing_right},
            rule{"OOM", lh::errc::store_failure, "Redis is out of memory"},
            rule{"MISCONF", lh::errc::store_failure, "Redis can't write to its disk, and so takes no writes"},
            rule{"WRONGTYPE", lh::errc::store_failure, "somebody else uses these keys: choose another key_prefix"},
            rule{"MOVED", lh::errc::store_failure, "this is a Redis Cluster, which this store doesn't follow"},
        };
        // Older versions put words of their own in front of what a script has met; a missing right is told in words only.
        for (const rule& r : rules)
            if (said.substr(0, said.find(' ')) == r.word || said.find(" -" + std::string{r.word} + " ") != said.npos)
                return of(r.code, r.advice, said);
        // Redis 7, and Redis 8.
        const bool may_not = said.find("user executing the script can't") != said.npos || said.find("ACL failure in script") != said.npos;
        return of(lh::errc::store_failure, may_not ? missing_right : "", said);
    }
};

}  // namespace redis_leases

#endif
