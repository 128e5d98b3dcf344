// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_SCRIPT_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_SCRIPT_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace redis_leases {

/// The operations, each of which is one script: Redis runs a script alone, and by its own clock.
enum class redis_script : std::uint8_t { acquire, renew, release, inspect, save_checkpoint, checkpoint, now, count_ };

inline constexpr std::size_t redis_script_count = static_cast<std::size_t>(redis_script::count_);

namespace detail {

// KEYS: the lease, the counter of its tokens. ARGV[1]: the channel on which ends are published.
//
// The lease's key is "held <token> <owner>" as long as the term lasts, or "closed <token> " as long as nobody may have the
// lease; otherwise it doesn't exist. One command changes all of it, because a script that fails half-way is not rolled back.
inline const std::string look = R"lua(
local function look()
    local value = redis.call('GET', KEYS[1])
    if not value then return 'free' end
    local state, token, whose = string.match(value, '^(%l+) (%d+) (.*)$')
    if state ~= 'held' and state ~= 'closed' then error(KEYS[1] .. ' is no lease') end
    return state, token, whose, redis.call('PTTL', KEYS[1])
end

local function finish(token, min_hold_left)
    if tonumber(min_hold_left) > 0 then
        redis.call('SET', KEYS[1], 'closed ' .. token .. ' ', 'PX', min_hold_left)
    else
        redis.call('DEL', KEYS[1])
    end
    redis.call('PUBLISH', ARGV[1], '')
end
)lua";

// ARGV: channel, owner, ttl. Each grant has a token of its own, even for the owner of the unexpired term, whose time is not
// shortened.
//
// A counter that Redis has lost (a fail-over, a restart without its data) continues at the milliseconds since 1970. That is
// more than the old value, unless a name is granted a thousand times per second, or this host's clock is behind the other's.
inline const std::string acquire = look + R"lua(
local owner, ttl = ARGV[2], tonumber(ARGV[3])
local state, token, whose, left = look()
if state == 'held' and whose == owner then
    ttl = math.max(ttl, left)
elseif state ~= 'free' then
    return {0, token, left}
end
local time = redis.call('TIME')
local floor = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('INCR', KEYS[2]) < floor then redis.call('SET', KEYS[2], string.format('%.0f', floor)) end
token = redis.call('GET', KEYS[2])
redis.call('SET', KEYS[1], 'held ' .. token .. ' ' .. owner, 'PX', ttl)
return {1, token, 0}
)lua";

// ARGV: channel, owner, ttl, token.
inline const std::string renew = look + R"lua(
local state, token, whose, left = look()
if state ~= 'held' or whose ~= ARGV[2] or token ~= ARGV[4] then return 0 end
if left < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1
)lua";

// KEYS[3]: this release's own key. ARGV: channel, owner, min_hold_left, token, how long its answer may be asked for again.
//
// So a release that is repeated because its answer was lost can learn its result, no matter who has the name by then.
inline const std::string release = look + R"lua(
if redis.call('EXISTS', KEYS[3]) == 1 then return 1 end
local state, token, whose = look()
if state ~= 'held' or whose ~= ARGV[2] or token ~= ARGV[4] then return 0 end
redis.pcall('SET', KEYS[3], '', 'PX', ARGV[5])
finish(token, ARGV[3])
return 1
)lua";

inline const std::string inspect = look + R"lua(
local state, token, whose, left = look()
if state == 'held' then return {token, whose, left} end
if state == 'closed' then return {token, '', left} end
return {}
)lua";

// KEYS[3]: this save's own key, as for a release; KEYS[4]: the checkpoint, "<token> <text>", which has no end. ARGV: channel, owner, token,
// text, how long its answer may be asked for again.
inline const std::string save_checkpoint = look + R"lua(
if redis.call('EXISTS', KEYS[3]) == 1 then return 1 end
local state, token, whose = look()
if state ~= 'held' or whose ~= ARGV[2] or token ~= ARGV[3] then return 0 end
redis.call('SET', KEYS[4], token .. ' ' .. ARGV[4])
redis.pcall('SET', KEYS[3], '', 'PX', ARGV[5])
return 1
)lua";

// KEYS[3]: the checkpoint.
inline const std::string checkpoint = R"lua(
local value = redis.call('GET', KEYS[3])
if not value then return {} end
local token, text = string.match(value, '^(%d+) (.*)$')
if not token then error(KEYS[3] .. ' is no checkpoint') end
return {token, text}
)lua";

inline const std::string now = R"lua(
return redis.call('TIME')
)lua";

}  // namespace detail

/// The text that is sent to Redis once per connection; after that, its hash is enough.
inline const std::string& text_of(redis_script script)
{
    static const std::array<const std::string*, redis_script_count> texts{&detail::acquire, &detail::renew, &detail::release,
                                                                          &detail::inspect, &detail::save_checkpoint,
                                                                          &detail::checkpoint, &detail::now};
    return *texts[static_cast<std::size_t>(script)];
}

}  // namespace redis_leases

#endif
