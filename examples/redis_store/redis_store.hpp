// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_STORE_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_STORE_HPP

#include "redis_failure.hpp"
#include "redis_options.hpp"
#include "redis_pool.hpp"
#include "redis_queue_ticket.hpp"
#include "redis_reply.hpp"
#include "redis_script.hpp"
#include "redis_subscriber.hpp"

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/error.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/name_holding.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace redis_leases {

/// Leases in Redis: each operation is one script, and so one step and one round trip; Redis's clock decides.
///
/// docs/redis.md says what a fail-over of Redis costs. Thread safety: any thread may call any function. Lifetime: must
/// outlive everything that waits for its leases.
class redis_store : public lh::name_holding<redis_store> {
public:
    /// Does no I/O. Throws std::invalid_argument for options that can't work.
    explicit redis_store(redis_options options = {}) : options_{checked(std::move(options))} {}
    redis_store(const redis_store&) = delete;
    redis_store& operator=(const redis_store&) = delete;

    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        const redis_reply reply = call(redis_script::acquire, name, ec, {}, {owner, milliseconds(ttl)});
        if (ec) return {};
        const lh::fencing_token token{reply.number(1)};
        if (reply.number(0) == 1) return {lh::acquire_status::granted, token, {}};
        return {lh::acquire_status::busy, token, remaining(reply.number(2))};
    }

    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration ttl, std::error_code& ec)
    {
        return call(redis_script::renew, name, ec, {}, {owner, milliseconds(ttl), text(token)}).number() == 1;
    }

    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration min_hold_left,
                 std::error_code& ec)
    {
        return call(redis_script::release, name, ec, {key("release-" + next_number(), name)},
                    {owner, milliseconds(min_hold_left), text(token), milliseconds(options_.call_timeout)})
                   .number() == 1;
    }

    std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        const redis_reply reply = call(redis_script::inspect, name, ec, {}, {});
        if (ec || reply.text(0).empty()) return std::nullopt;
        return lh::lease_record{std::string{name}, std::string{reply.text(1)}, lh::fencing_token{reply.number(0)},
                                remaining(reply.number(2))};
    }

    /// See lh::checkpointing_store.
    bool save_checkpoint(std::string_view name, std::string_view owner, lh::fencing_token token, std::string_view text_to_save,
                         std::error_code& ec)
    {
        try {
            lh::validate_checkpoint(text_to_save);
        } catch (const std::system_error& refusal) {
            ec = refusal.code();
            return false;
        }
        return call(redis_script::save_checkpoint, name, ec, {key("save-" + next_number(), name), key("checkpoint", name)},
                    {owner, text(token), text_to_save, milliseconds(options_.call_timeout)})
                   .number() == 1;
    }

    /// See lh::checkpointing_store.
    std::optional<lh::checkpoint_record> checkpoint(std::string_view name, std::error_code& ec)
    {
        const redis_reply reply = call(redis_script::checkpoint, name, ec, {key("checkpoint", name)}, {});
        if (ec || reply.text(0).empty()) return std::nullopt;
        return lh::checkpoint_record{std::string{reply.text(1)}, lh::fencing_token{reply.number(0)}};
    }

    /// See lh::timed_store.
    lh::store_time now(std::error_code& ec)
    {
        const redis_reply reply = call(redis_script::now, {}, ec, {}, {});
        if (ec) return {};
        return lh::store_time{std::chrono::seconds{reply.number(0)} + std::chrono::microseconds{reply.number(1)}};
    }

    /// See lh::notifying_store.
    [[nodiscard]] redis_queue_ticket enqueue(std::string_view name, lh::waker& to_wake)
    {
        return {subscriber_, name, channel(name), to_wake};
    }

    /// See lh::notifying_store.
    lh::acquire_result try_acquire(redis_queue_ticket& ticket, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        lh::acquire_result result = try_acquire(ticket.name(), owner, ttl, ec);
        if (!ec && !result.granted() && ticket.listens()) result.retry_after = std::min<lh::duration>(result.remaining, longest_trust);
        return result;
    }

    /// See lh::diagnosing_store.
    [[nodiscard]] lh::store_diagnostics diagnostics() const { return lh::last_failure::of(this); }

private:
    // A message may get lost.
    static constexpr std::chrono::seconds longest_trust{5};

    static redis_options checked(redis_options options)
    {
        if (options.call_timeout <= lh::duration::zero())
            throw std::invalid_argument{"redis_options: call_timeout must not be 0"};
        if (options.pool_size == 0) throw std::invalid_argument{"redis_options: pool_size must not be 0"};
        return options;
    }

    // Redis counts milliseconds. Round up: a term may be longer than requested, but not shorter.
    static std::string milliseconds(lh::duration time)
    {
        return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(std::max(time, lh::duration::zero())).count());
    }

    // Never 0, which would mean "not known": a term that Redis shows with 0 ms left lasts until the end of that millisecond.
    static lh::duration remaining(std::int64_t milliseconds_left)
    {
        if (milliseconds_left < 0) return std::chrono::seconds{1};  // somebody took its end away, and may give it back
        return std::chrono::milliseconds{milliseconds_left + 1};
    }

    static std::string text(lh::fencing_token token) { return std::to_string(token.value()); }

    // Identifies a repeated release in Redis. Unique among all stores.
    std::string next_number() { return store_number_ + '-' + std::to_string(++releases_); }

    static std::string random_number()
    {
        std::random_device random;
        return std::to_string(random()) + '-' + std::to_string(random());
    }

    // The common part of one lease's keys is in braces: a Redis Cluster keeps such keys together.
    std::string key(std::string_view kind, std::string_view name) const
    {
        return options_.key_prefix + "{lease:" + std::string{name} + "}:" + std::string{kind};
    }
    std::string channel(std::string_view name) const { return options_.key_prefix + "ended:" + std::string{name}; }

    // Runs a script with its keys, of which these are beyond the first two, the channel, and then these arguments.
    redis_reply call(redis_script script, std::string_view name, std::error_code& ec, const std::vector<std::string>& more_keys,
                     std::initializer_list<std::string_view> arguments)
    {
        const std::string lease = key("term", name);
        const std::string counter = key("token", name);
        const std::string ended = channel(name);
        const std::string keys = std::to_string(2 + more_keys.size());
        std::vector<std::string_view> words{keys, lease, counter};
        words.insert(words.end(), more_keys.begin(), more_keys.end());
        words.push_back(ended);
        words.insert(words.end(), arguments);

        const auto until = std::chrono::steady_clock::now() + options_.call_timeout;
        redis_failure why;
        for (const bool last_try : {false, true}) {
            why = {};
            redis_reply reply;
            if (const auto session = pool_.take(until, why)) reply = session->run(script, words, until, why);
            ec = why.code;
            if (!why) return reply;
            if (!why.connection_lost || last_try) break;
            // Redis was restarted, or somebody ended the connection. Every script may be repeated.
            pool_.forget_idle();
        }
        lh::last_failure::keep(this, std::move(why.details));
        return {};
    }

    const redis_options options_;
    redis_pool pool_{options_};
    redis_subscriber subscriber_{options_};
    const std::string store_number_ = random_number();
    std::atomic<std::uint64_t> releases_ = 0;
};

static_assert(lh::notifying_store<redis_store> && lh::diagnosing_store<redis_store> && lh::checkpointing_store<redis_store> &&
              lh::timed_store<redis_store>);

}  // namespace redis_leases

#endif
