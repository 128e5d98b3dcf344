// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_PERMIT_SEARCH_HPP
#define LEASEHOLD_DETAIL_PERMIT_SEARCH_HPP

#include <leasehold/duration.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <optional>

namespace leasehold::inline v0::detail {

// Decides which permits to ask for: a pure function of the answers and the time.
//
// The first round asks for all, beginning anywhere, so that processes spread. A later round, of a waiter, asks for the one that
// ends first, once its time has come, and for some of the others by turns.
class permit_search {
public:
    // How many of the others a waiter asks for in one round, if the store takes one at a time.
    static constexpr std::size_t by_turns = 16;

    permit_search(std::size_t permits, std::size_t start) noexcept
        : permits_{permits}, next_{start % permits}, left_{permits}
    {
        assert(permits > 0);
    }

    // Whether a waiter for several may rely on a list of the held ones. Under expiry by observation, a list shows a dead holder's term for
    // ever; only an attempt finds out that it is over. So the waiter asks once a ttl, whatever the list says.
    [[nodiscard]] bool may_rely_on_list(time_point now, duration ttl) const noexcept { return waiting_since_ && now - last_round_ < ttl; }
    void begin_round(time_point now) noexcept { last_round_ = now; }

    // There are this many permits now. The new ones are asked for in this round.
    void follow(std::size_t permits) noexcept
    {
        assert(permits > 0);
        if (permits == permits_) return;
        permits_ = permits;
        next_ %= permits;
        left_ = permits;
        first_round_ = true;
        if (nearest_ >= permits) nearest_ends_ = time_point::max();
    }

    // Since when the caller has waited, if it has.
    [[nodiscard]] std::optional<time_point> waiting_since() const noexcept { return waiting_since_; }
    void waits_since(time_point began) noexcept
    {
        waiting_since_ = began;
        last_round_ = began;
    }

    // The next permit to ask for in this round; nothing: the round is over, and another begins with the next call.
    [[nodiscard]] std::optional<std::size_t> next(time_point now) noexcept
    {
        assert(next_ < permits_ && left_ <= permits_);
        if (!first_round_ && nearest_ends_ <= now) {
            nearest_ends_ = time_point::max();
            return nearest_;
        }
        if (left_ == 0) {
            left_ = std::min(by_turns, permits_);
            first_round_ = false;
            return std::nullopt;
        }
        --left_;
        const std::size_t permit = next_;
        next_ = (next_ + 1) % permits_;
        return permit;
    }

    // All will be asked for at once: what was known of their ends is out of date.
    void begin_with_all() noexcept { nearest_ends_ = time_point::max(); }

    // This one was busy at `now`.
    void busy(std::size_t permit, time_point now, const acquire_result& answer) noexcept
    {
        assert(permit < permits_ && !answer.granted());
        if (answer.remaining <= duration::zero()) return;
        const time_point ends = answer.remaining < time_point::max() - now ? now + answer.remaining : time_point::max();
        if (ends >= nearest_ends_ && permit != nearest_) return;
        nearest_ = permit;
        nearest_ends_ = ends;
    }

    // The permit that ends first, as far as is known.
    [[nodiscard]] std::optional<std::size_t> nearest() const noexcept
    {
        return nearest_ends_ == time_point::max() ? std::nullopt : std::optional{nearest_};
    }

    // Time until the first of the permits ends, as far as is known; 0: unknown.
    [[nodiscard]] duration remaining(time_point now) const noexcept
    {
        return nearest_ends_ == time_point::max() ? duration::zero() : std::max(nearest_ends_ - now, duration{1});
    }

private:
    std::size_t permits_;
    std::size_t next_;
    std::size_t left_;
    bool first_round_ = true;
    std::size_t nearest_ = 0;
    time_point nearest_ends_ = time_point::max();
    std::optional<time_point> waiting_since_;
    time_point last_round_ = time_point::min();  // of a waiter for several
};

}  // namespace leasehold::inline v0::detail

#endif
