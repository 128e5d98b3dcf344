// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_HISTORY_RANDOM_HISTORY_HPP
#define LEASEHOLD_TESTS_HISTORY_RANDOM_HISTORY_HPP

#include "call.hpp"
#include "specification.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace history {

struct random_shape {
    std::size_t calls = 8;
    int owners = 3;
    instant ttl = 4;         ///< the longest
    instant pause = 2;       ///< the longest between the instants at which two calls are carried out
    instant overlap = 3;     ///< how much earlier a call begins, and later it ends, at most
    instant error = 0;       ///< of the clock
    int unknown_of_100 = 15;  ///< calls of unknown outcome
    int forced_of_100 = 5;   ///< calls that end or ask about any term
};

/// A history of a store that is right: it carries out one call after the other by the specification, and then forgets when.
class random_history {
public:
    random_history(random_shape shape, std::uint64_t seed) : shape_{shape}, random_{seed} {}

    std::vector<call> make(const std::string& name = "name")
    {
        std::vector<call> calls;
        lease now;
        held_.assign(static_cast<std::size_t>(shape_.owners), 0);
        for (instant at = shape_.overlap; calls.size() < shape_.calls; at += draw(0, shape_.pause))
            if (auto c = one(now, at)) {
                c->name = name;
                calls.push_back(std::move(*c));
            }
        return calls;
    }

private:
    std::optional<call> one(lease& now, instant at)
    {
        const auto owner = static_cast<std::size_t>(draw(0, shape_.owners - 1));
        call c{.what = operation::acquire, .owner = std::string(1, static_cast<char>('a' + owner)), .token = held_[owner],
               .ttl = draw(1, shape_.ttl)};
        if (chance(shape_.forced_of_100))
            c.what = chance(50) ? operation::inspect : operation::force_release;
        else if (held_[owner] != 0 && chance(75))
            c.what = chance(50) ? operation::renew : chance(70) ? operation::release : operation::publish;
        c.begin = at - draw(0, shape_.overlap);
        c.end = at + draw(0, shape_.overlap);
        const bool unknown = c.what != operation::inspect && chance(shape_.unknown_of_100);
        if (unknown && chance(30)) return lost(std::move(c));
        // Read at any instant up to now.
        const instant clock = c.begin + draw(0, at - c.begin);
        const auto next = carried_out(c, now, clock);
        if (!next) return std::nullopt;
        now = *next;
        if (unknown) return lost(std::move(c));
        if (grants(c)) held_[owner] = c.token;
        if (c.what == operation::release) held_[owner] = 0;
        return c;
    }

    // With the first answer that the specification allows.
    std::optional<lease> carried_out(call& c, const lease& now, instant clock) const
    {
        const std::int64_t asked = c.token;
        const std::string owner = c.owner;
        for (const answer said : {answer::yes, answer::no}) {
            c.said = said;
            c.token = c.what == operation::acquire ? now.token + (said == answer::yes ? 1 : 0) : asked;
            if (c.what == operation::inspect || c.what == operation::force_release) c.token = 0;
            if (c.what == operation::inspect && said == answer::yes) {
                c.token = now.token;
                c.owner = now.owner;
            }
            if (auto next = after(now, c, clock, 0)) return next;
            c.owner = owner;
        }
        return std::nullopt;
    }

    call lost(call c)
    {
        c.said = answer::unknown;
        if (c.what == operation::acquire) c.token = 0;
        if (chance(70)) c.end = never;
        return c;
    }

    instant draw(instant from, instant to) { return std::uniform_int_distribution<instant>{from, to}(random_); }
    bool chance(int of_100) { return draw(0, 99) < of_100; }

    random_shape shape_;
    std::mt19937_64 random_;
    std::vector<std::int64_t> held_;  // the token that each owner knows of
};

}  // namespace history

#endif
