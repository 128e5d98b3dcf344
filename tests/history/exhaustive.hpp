// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_HISTORY_EXHAUSTIVE_HPP
#define LEASEHOLD_TESTS_HISTORY_EXHAUSTIVE_HPP

// Decides on small histories of one name by trying everything: each order, each instant at which a call may be carried out and read
// the clock, each thing that calls of unknown outcome may do. It shares with the checker what a call is, and nothing else.

#include "call.hpp"
#include "specification.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace history {

class exhaustive_check {
public:
    /// Instants are small numbers, and there are 32 calls at most.
    exhaustive_check(std::vector<call> calls, instant clock_error) : calls_{std::move(calls)}, error_{clock_error}
    {
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            if (calls_[i].said != answer::unknown) all_ |= 1U << i;
            if (calls_[i].end < never) last_ = std::max(last_, calls_[i].end);
            last_ = std::max(last_, calls_[i].begin);
            if (calls_[i].said != answer::unknown && calls_[i].token != 0) shown_.insert(calls_[i].token);
        }
    }

    [[nodiscard]] bool linearizable() { return from(0, lease{}, 0); }

private:
    // Whether the calls that are not yet done can be, from `now` on.
    bool from(std::uint32_t done, const lease& l, instant now)
    {
        if (done == all_) return true;
        if (!seen_.insert({done, l, now}).second) return false;
        if (now < last_ && from(done, l, now + 1)) return true;
        if (l.unclaimed && l.expiry != long_ago && from(done, {l.token, l.owner, long_ago, true}, now)) return true;
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            const call& c = calls_[i];
            if (((done >> i) & 1U) != 0 || now < c.begin || now > c.end) continue;
            if (c.said == answer::unknown ? carry_out(c, done, l, now) : answer_now(c, i, done, l, now)) return true;
        }
        return false;
    }

    bool answer_now(const call& c, std::size_t number, std::uint32_t done, const lease& l, instant now)
    {
        const bool writes = c.said == answer::yes && c.what != operation::inspect && c.what != operation::publish;
        for (instant clock = c.begin; clock <= (writes ? now : c.end); ++clock)
            if (const auto next = after(l, c, clock, error_))
                if (from(done | (1U << number), *next, now)) return true;
        return false;
    }

    bool carry_out(const call& c, std::uint32_t done, const lease& l, instant now)
    {
        const std::int64_t most = (shown_.empty() ? 0 : *shown_.rbegin()) + 1;
        const bool attempt = c.what == operation::acquire;
        for (instant clock = c.begin; clock <= now; ++clock)
            for (std::int64_t token = attempt ? l.token + 1 : most; token <= most; ++token) {
                const bool too_many_unseen = !shown_.contains(token) && l.token != 0 && !shown_.contains(l.token);
                if (attempt && too_many_unseen) continue;
                if (const auto next = after_unknown(l, c, clock, error_, token))
                    if (from(done, *next, now)) return true;
            }
        return false;
    }

    std::vector<call> calls_;
    instant error_;
    std::uint32_t all_ = 0;
    instant last_ = 0;
    std::set<std::int64_t> shown_;
    std::set<std::tuple<std::uint32_t, lease, instant>> seen_;
};

}  // namespace history

#endif
