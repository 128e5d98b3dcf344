// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_HISTORY_CALL_HPP
#define LEASEHOLD_TESTS_HISTORY_CALL_HPP

// One call of a store, as its caller saw it. Knows nothing of the library: the checker sees no more than this.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace history {

/// Nanoseconds of one monotonic clock that all callers share.
using instant = std::int64_t;

/// Later, and earlier, than every instant of a history. A ttl and a clock error can be added to them.
inline constexpr instant never = std::numeric_limits<instant>::max() / 8;
inline constexpr instant long_ago = -never;

enum class operation : std::uint8_t { acquire, renew, release, publish, force_release, inspect };

enum class answer : std::uint8_t {
    yes,     ///< granted, renewed, released, published; there was a term to end; this is who holds
    no,      ///< busy; the term is over; there was none to end; free
    unknown  ///< a time-out, a lost connection, a killed process: carried out or not, once or several times, by `end`
};

struct call {
    operation what{};
    answer said{};
    std::string name{};      ///< of the lease
    std::string owner{};     ///< acquire, renew, release, publish: who asks; inspect: who is shown
    std::int64_t token = 0;  ///< of the term that is granted, asked about or shown; busy: the holder's, 0: it wasn't told
    instant ttl = 0;         ///< acquire, renew
    instant begin = 0;
    instant end = 0;  ///< unknown: the last instant at which it may be carried out, such as the end of its session
    std::string by{};  ///< a process or thread, for people to read

    friend bool operator==(const call&, const call&) = default;
};

/// Whether the answer says that `token` was the current term, and unexpired, during the call. A grant begins a term instead.
[[nodiscard]] inline bool shows_live_term(const call& c)
{
    if (c.token == 0 || c.said == answer::unknown) return false;
    switch (c.what) {
    case operation::acquire: return c.said == answer::no;
    case operation::renew:
    case operation::release:
    case operation::publish:
    case operation::inspect: return c.said == answer::yes;
    case operation::force_release: return false;
    }
    return false;
}

[[nodiscard]] inline bool grants(const call& c) { return c.what == operation::acquire && c.said == answer::yes; }

/// As "renew(token 7): no".
[[nodiscard]] inline std::string text_of(const call& c)
{
    const std::string token = "token " + std::to_string(c.token);
    const bool asks = c.what == operation::renew || c.what == operation::release || c.what == operation::publish;
    constexpr std::string_view words[]{"acquire", "renew", "release", "publish", "force_release", "inspect"};
    std::string text = (c.by.empty() ? c.owner : c.by) + " " + std::string{words[static_cast<std::size_t>(c.what)]};
    if (asks) text += "(" + token + ")";
    if (c.said == answer::unknown) return text + ": unknown";
    if (c.what == operation::acquire)
        return text + (c.said == answer::yes ? ": granted " + token : ": busy, " + (c.token ? token : std::string{"no token"}));
    if (c.what == operation::inspect)
        return text + (c.said == answer::yes ? ": " + token + " of " + c.owner : std::string{": free"});
    return text + (c.said == answer::yes ? ": yes" : ": no");
}

}  // namespace history

#endif
