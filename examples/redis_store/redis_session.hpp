// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_SESSION_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_SESSION_HPP

#include "redis_connection.hpp"
#include "redis_failure.hpp"
#include "redis_options.hpp"
#include "redis_reply.hpp"
#include "redis_script.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redis_leases {

/// A connection that knows the scripts. Not thread-safe.
class redis_session {
public:
    using time_point = redis_connection::time_point;

    bool open(const redis_options& options, time_point until, redis_failure& why)
    {
        if (!connection_.open(options, until, why)) return false;
        for (std::size_t i = 0; i < redis_script_count; ++i)
            connection_.request({"SCRIPT", "LOAD", text_of(static_cast<redis_script>(i))});
        for (std::string& hash : hashes_) {
            const redis_reply reply = connection_.receive(until, why);
            if (!reply) return false;
            if (reply.is_error()) {
                why = redis_failure::reply(reply.text());
                connection_.close();
                return false;
            }
            hash = reply.text();
        }
        return true;
    }

    [[nodiscard]] bool usable() const noexcept { return connection_.usable(); }

    /// `keys_and_arguments`: the number of keys, the keys, and the arguments. Empty: `why` says why.
    redis_reply run(redis_script script, std::span<const std::string_view> keys_and_arguments, time_point until,
                    redis_failure& why)
    {
        redis_reply reply = send("EVALSHA", hashes_[static_cast<std::size_t>(script)], keys_and_arguments, until, why);
        // Somebody made Redis forget its scripts.
        if (reply.is_error() && reply.text().starts_with("NOSCRIPT"))
            reply = send("EVAL", text_of(script), keys_and_arguments, until, why);
        if (!reply.is_error()) return reply;
        why = redis_failure::reply(reply.text());
        // For example, a primary that has become a replica: the next call finds out where the primary is now.
        if (why.code == lh::errc::store_unavailable) connection_.close();
        return {};
    }

private:
    redis_reply send(std::string_view how, std::string_view script, std::span<const std::string_view> keys_and_arguments,
                     time_point until, redis_failure& why)
    {
        std::vector<std::string_view> words{how, script};
        words.insert(words.end(), keys_and_arguments.begin(), keys_and_arguments.end());
        connection_.request(words);
        return connection_.receive(until, why);
    }

    redis_connection connection_;
    std::array<std::string, redis_script_count> hashes_;
};

}  // namespace redis_leases

#endif
