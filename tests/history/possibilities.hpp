// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_HISTORY_POSSIBILITIES_HPP
#define LEASEHOLD_TESTS_HISTORY_POSSIBILITIES_HPP

// specification.hpp for many leases at once: those that differ only in when their term expires.

#include "call.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace history::detail {

inline std::string seconds_text(instant time)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.6f s", static_cast<double>(time) / 1e9);
    return text;
}

// What the store may know after some calls: the lease expires at some instant from `earliest` to `latest`, or is over already if a
// call of unknown outcome may have ended it.
struct possibility {
    std::int64_t token = 0;
    std::string owner{};
    instant earliest = long_ago;
    instant latest = long_ago;
    bool may_have_ended = false;
    bool unclaimed = false;
    std::vector<std::size_t> placed{};  // of the calls under way, sorted
    std::size_t last_step = 0;

    [[nodiscard]] bool has_placed(std::size_t number) const { return std::ranges::binary_search(placed, number); }

    [[nodiscard]] bool covers(const possibility& other) const
    {
        return token == other.token && unclaimed == other.unclaimed && owner == other.owner && placed == other.placed &&
               earliest <= other.earliest && latest >= other.latest && (may_have_ended || !other.may_have_ended);
    }

    [[nodiscard]] bool expires_like(const possibility& other) const
    {
        return earliest == other.earliest && latest == other.latest && may_have_ended == other.may_have_ended;
    }

    // The lease after a call that is carried out by `at`. False: it can't have that answer.
    bool apply(const call& c, instant at, instant error)
    {
        const instant written = std::min(c.end, at);
        const bool yes = c.said == answer::yes;
        switch (c.what) {
        case operation::acquire:
            return yes ? grant(c, c.token, written, error) : token == c.token && owner != c.owner && was_live(c.begin, error);
        case operation::renew: return yes ? is_of(c) && was_live(c.begin, error) && extend(c, written, error) : refused(c, error);
        case operation::release: return yes ? is_of(c) && was_live(c.begin, error) && end_term() : refused(c, error);
        case operation::publish: return yes ? is_of(c) && was_live(c.begin, error) : refused(c, error);
        case operation::force_release: return yes ? token != 0 && was_live(c.begin, error) && end_term() : was_over(c.end, error);
        case operation::inspect: return yes ? is_of(c) && was_live(c.begin, error) : was_over(c.end, error);
        }
        return false;
    }

    // A term that the store may end at any time.
    bool apply_unknown_attempt(const call& c, std::int64_t next_token, instant at, instant error)
    {
        if (!grant(c, next_token, std::min(c.end, at), error)) return false;
        unclaimed = true;
        return true;
    }

    [[nodiscard]] std::string text(instant first) const
    {
        if (token == 0) return "nobody has held it";
        const std::string whose = "token " + std::to_string(token) + " of " + owner;
        if (latest == long_ago) return whose + " is over";
        return whose + " ends between " + seconds_text(earliest - first) + " and " + seconds_text(latest - first) +
               (may_have_ended ? ", or has ended, by a call of unknown outcome" : "");
    }

    // Where apply() says false.
    [[nodiscard]] std::string why_not(const call& c, instant error, instant first) const
    {
        const std::string current = "the current token is " + std::to_string(token);
        if (grants(c)) {
            if (c.token <= token) return current + " already";
            if (owner != c.owner && earliest > c.end + error && !may_have_ended)
                return "the term of token " + std::to_string(token) + ", of " + owner + ", is not over before " +
                       seconds_text(earliest - first);
            return "a call that shows an earlier term is left";
        }
        if (shows_live_term(c)) {
            if (token != c.token) return current;
            if (c.what == operation::acquire ? owner == c.owner : owner != c.owner) return "that term is of " + owner;
        }
        if (latest == long_ago) return "that term is over";
        if (latest <= c.begin - error) return "that term was over by " + seconds_text(latest - first);
        return "that term is not over before " + seconds_text(earliest - first);
    }

private:
    [[nodiscard]] bool is_of(const call& c) const { return token == c.token && owner == c.owner; }

    bool was_live(instant since, instant error)
    {
        may_have_ended = false;
        earliest = std::max(earliest, since - error + 1);
        return earliest <= latest;
    }
    bool was_over(instant by, instant error)
    {
        if (earliest > by + error) return may_have_ended && end_term();
        latest = std::min(latest, by + error);
        return true;
    }
    bool refused(const call& c, instant error)
    {
        return token > c.token || (token == c.token && (owner != c.owner || was_over(c.end, error)));
    }
    bool extend(const call& c, instant by, instant error)
    {
        // The clock was read while the term was live: an early expiry goes with an early reading.
        latest = std::max(latest, std::min(by, latest + error - 1) + c.ttl);
        earliest = std::max(earliest, c.begin + c.ttl);
        return true;
    }
    bool end_term()
    {
        earliest = latest = long_ago;
        may_have_ended = false;
        return true;
    }
    bool grant(const call& c, std::int64_t next_token, instant by, instant error)
    {
        const bool again = owner == c.owner && token != 0;
        if (may_have_ended) earliest = long_ago;
        if (next_token <= token || (!again && earliest > by + error)) return false;
        earliest = again ? std::max(earliest, c.begin + c.ttl) : std::max(c.begin, earliest - error) + c.ttl;
        latest = again ? std::max(latest, by + c.ttl) : by + c.ttl;
        token = next_token;
        owner = c.owner;
        may_have_ended = false;
        unclaimed = false;
        return true;
    }
};

// The calls of unknown outcome that may still be carried out.
class unknown_calls {
public:
    void add(const call& c)
    {
        if (c.what == operation::acquire)
            add_to(attempts_, c);
        else if (c.what == operation::renew || c.what == operation::release)
            add_to(of_terms_[{c.token, c.owner}], c);
        else if (c.what == operation::force_release)
            add_to(forced_, c);
    }

    void remove(const call& c)
    {
        std::erase(attempts_, c);
        std::erase(forced_, c);
        if (const auto found = of_terms_.find({c.token, c.owner}); found != of_terms_.end()) std::erase(found->second, c);
    }

    [[nodiscard]] const std::vector<call>& attempts() const { return attempts_; }

    // What they may have done to the current term, by `at`, is possible besides.
    void widen(possibility& p, instant at, instant error) const
    {
        if (p.latest == long_ago) return;
        bool may_end = p.unclaimed || !forced_.empty();
        if (const auto found = of_terms_.find({p.token, p.owner}); found != of_terms_.end())
            for (const call& c : found->second) {
                may_end = may_end || c.what == operation::release;
                // Each time it is carried out the term may end a little later, unless the ttl is one instant.
                if (c.what == operation::renew && p.latest > c.begin - error && c.ttl + error > 1)
                    p.latest = std::max(p.latest, std::min(c.end, at) + c.ttl);
            }
        p.may_have_ended = p.may_have_ended || may_end;
    }

private:
    // One that began earlier may do whatever this one may.
    static void add_to(std::vector<call>& calls, const call& c)
    {
        const auto may_do_as_much = [&](const call& other) {
            return other.what == c.what && other.owner == c.owner && other.ttl >= c.ttl && other.end >= c.end;
        };
        if (std::ranges::none_of(calls, may_do_as_much)) calls.push_back(c);
    }

    std::vector<call> attempts_;
    std::vector<call> forced_;
    std::map<std::pair<std::int64_t, std::string>, std::vector<call>> of_terms_;
};

// Which terms the history shows, and when it does so last.
class shown_terms {
public:
    explicit shown_terms(const std::vector<call>& calls)
    {
        for (const call& c : calls)
            if (c.token != 0 && c.said != answer::unknown) terms_[c.token].granted |= grants(c);
    }

    void begins(const call& c, std::size_t event)
    {
        if (shows_live_term(c) || grants(c)) terms_[c.token].last_begin = std::max(terms_[c.token].last_begin, event);
    }
    void all_are_known()
    {
        std::size_t last = 0;
        for (auto& [token, each] : terms_) last = each.last_begin = std::max(each.last_begin, last);
    }

    // The last event at which a call begins that must be placed before the terms after `token`; 0: there is none.
    [[nodiscard]] std::size_t last_begin(std::int64_t token) const
    {
        const auto next = terms_.upper_bound(token);
        return next == terms_.begin() ? 0 : std::prev(next)->second.last_begin;
    }
    [[nodiscard]] std::optional<std::int64_t> next_shown(std::int64_t token) const
    {
        const auto next = terms_.upper_bound(token);
        return next == terms_.end() ? std::nullopt : std::optional{next->first};
    }
    [[nodiscard]] bool is_shown(std::int64_t token) const { return token == 0 || terms_.contains(token); }
    [[nodiscard]] bool was_granted(std::int64_t token) const
    {
        const auto found = terms_.find(token);
        return found != terms_.end() && found->second.granted;
    }

private:
    struct term {
        bool granted = false;
        std::size_t last_begin = 0;
    };
    std::map<std::int64_t, term> terms_;
};

}  // namespace history::detail

#endif
