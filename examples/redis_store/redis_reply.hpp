// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_REPLY_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_REPLY_HPP

#include <hiredis/hiredis.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace redis_leases {

/// An answer of Redis; empty: none. A part that isn't there is returned as empty or 0.
class redis_reply {
public:
    redis_reply() = default;
    explicit redis_reply(void* reply) : reply_{static_cast<redisReply*>(reply)} {}

    explicit operator bool() const noexcept { return reply_ != nullptr; }
    [[nodiscard]] bool is_error() const noexcept { return reply_ && reply_->type == REDIS_REPLY_ERROR; }

    [[nodiscard]] std::string_view text() const noexcept { return text_of(reply_.get()); }
    [[nodiscard]] std::string_view text(std::size_t i) const noexcept { return text_of(element(i)); }
    [[nodiscard]] std::int64_t number() const noexcept { return number_of(reply_.get()); }
    [[nodiscard]] std::int64_t number(std::size_t i) const noexcept { return number_of(element(i)); }

private:
    struct free_reply {
        void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
    };

    [[nodiscard]] const redisReply* element(std::size_t i) const noexcept
    {
        return reply_ && reply_->type == REDIS_REPLY_ARRAY && i < reply_->elements ? reply_->element[i] : nullptr;
    }

    static std::string_view text_of(const redisReply* reply) noexcept
    {
        return reply && reply->str ? std::string_view{reply->str, reply->len} : std::string_view{};
    }

    // Tokens come as text: a Lua number is a double, and would not have all 64 bits.
    static std::int64_t number_of(const redisReply* reply) noexcept
    {
        if (reply && reply->type == REDIS_REPLY_INTEGER) return reply->integer;
        const std::string_view text = text_of(reply);
        std::int64_t number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        return number;
    }

    std::unique_ptr<redisReply, free_reply> reply_;
};

}  // namespace redis_leases

#endif
