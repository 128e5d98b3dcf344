// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_HISTORY_SPECIFICATION_HPP
#define LEASEHOLD_TESTS_HISTORY_SPECIFICATION_HPP

// The sequential specification of one lease: what a store that carries out one call after the other may answer.
//
// Each call reads the store's clock once, not before it begins, and what it writes is seen not before it has read the clock. What
// it only reads may be older than the clock that judges it. The readings are off by up to `error` from the clock of the host.
//
// A call of unknown outcome may be carried out at any time, any number of times, since a store repeats what it got no reply to. A
// term that it begins is nobody's, and the store may end it at any time. Of such terms that no call shows, there is at most one
// between two that are shown.
//
// This file is about single leases at single instants, for people. checker.hpp computes with all the instants that are possible;
// exhaustive.hpp tries them one by one, with this file, and a test compares the two.

#include "call.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace history {

/// What the store knows of a name. At first nobody has held it.
struct lease {
    std::int64_t token = 0;
    std::string owner{};
    instant expiry = long_ago;  ///< also after a release: over is over
    bool unclaimed = false;     ///< nobody was told of this term

    friend auto operator<=>(const lease&, const lease&) = default;
};

/// Within the clock's error a term may be both.
[[nodiscard]] inline bool may_be_live(const lease& l, instant clock, instant error) { return l.expiry > clock - error; }
[[nodiscard]] inline bool may_be_over(const lease& l, instant clock, instant error) { return l.expiry <= clock + error; }

/// Whether the caller holds the very term it asks about.
[[nodiscard]] inline bool is_of(const lease& l, const call& c) { return l.token == c.token && l.owner == c.owner; }

/// The lease after a call whose outcome is known; empty: no store that is right gives this answer.
[[nodiscard]] inline std::optional<lease> after(lease l, const call& c, instant clock, instant error)
{
    const bool live = may_be_live(l, clock, error);
    const bool over = may_be_over(l, clock, error);
    const auto if_so = [&](bool possible) { return possible ? std::optional{l} : std::nullopt; };
    switch (c.what) {
    case operation::acquire:
        if (c.said == answer::no) return if_so(c.token == 0 || (live && l.token == c.token && l.owner != c.owner));
        if (c.token <= l.token || (l.owner != c.owner && !over)) return std::nullopt;
        // A new term of the same owner is not over before the one that it takes over would have been.
        return lease{c.token, c.owner, l.owner == c.owner ? std::max(l.expiry, clock + c.ttl) : clock + c.ttl};
    case operation::renew:
        if (c.said == answer::no) break;
        l.expiry = std::max(l.expiry, clock + c.ttl);
        return if_so(live && is_of(l, c));
    case operation::release:
        if (c.said == answer::no) break;
        l.expiry = long_ago;
        return if_so(live && is_of(l, c));
    case operation::publish:
        if (c.said == answer::no) break;
        return if_so(live && is_of(l, c));
    case operation::force_release:
        if (c.said == answer::no) return if_so(over);
        l.expiry = long_ago;
        return if_so(live && l.token != 0);
    case operation::inspect: return if_so(c.said == answer::no ? over : live && is_of(l, c));
    }
    // No: the term is over. It was granted before, or nobody could ask.
    return if_so(l.token > c.token || (l.token == c.token && (l.owner != c.owner || over)));
}

/// The lease after a call of unknown outcome has been carried out; empty: it can't be now. `next_token`: of an attempt's term.
[[nodiscard]] inline std::optional<lease> after_unknown(lease l, const call& c, instant clock, instant error,
                                                        std::int64_t next_token)
{
    const bool live = may_be_live(l, clock, error);
    switch (c.what) {
    case operation::acquire:
        if (next_token <= l.token || (l.owner != c.owner && !may_be_over(l, clock, error))) return std::nullopt;
        return lease{next_token, c.owner, l.owner == c.owner ? std::max(l.expiry, clock + c.ttl) : clock + c.ttl, true};
    case operation::renew:
        if (!live || !is_of(l, c)) return std::nullopt;
        l.expiry = std::max(l.expiry, clock + c.ttl);
        return l;
    case operation::release:
        if (!is_of(l, c)) return std::nullopt;
        l.expiry = long_ago;
        return l;
    case operation::force_release: l.expiry = long_ago; return l;
    case operation::publish:
    case operation::inspect: break;
    }
    return std::nullopt;
}

}  // namespace history

#endif
