// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_QUEUE_QUEUE_MACHINE_HPP
#define LEASEHOLD_ODBC_DETAIL_QUEUE_QUEUE_MACHINE_HPP

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/odbc/detail/pauses.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// After a term ends, waiters other than the first hold back this long. The first gets the lease; if its lock is stuck, in a frozen process
// or behind a pooler, another still does.
inline constexpr std::chrono::milliseconds overtake_delay{20};
// They hold back this long while wake-ups come: on a slow machine, the first waiter's grant comes late after a release.
inline constexpr std::chrono::milliseconds patient_overtake_delay{100};
// A waiter first reads the row after this long, to learn when the term ends. It reads as often while wake-ups fail to come.
inline constexpr std::chrono::milliseconds first_look{250};
// A waiter at the head leaves the lock to a holder that has none yet, since the holder's store may have to connect first. It does so
// max_yields times, and the pause doubles. It begins no pause that outlasts the term.
inline constexpr std::chrono::milliseconds yield_delay{50};
inline constexpr int max_yields = 4;
// A holder takes its lock within this time after a waiter first saw its term. A holder without one by then lost it with its connection.
inline constexpr std::chrono::milliseconds lock_taken_within = yield_delay * ((1 << max_yields) - 1);
// At most this many terms of others make a waiter read the row more often.
inline constexpr int most_passed = 3;
// A waiter for one row relies on wake-ups for as long as it has waited, from first_look up to this long. So a wake-up that fails to come
// costs no more than the wait before it. Then it reads the row: the holder may have no lock, or the lock may be stuck. A waiter that asks
// for its turn alone has no row to read, and relies on wake-ups for this long from the start: see turn().
inline constexpr std::chrono::seconds longest_trust{5};
// The first waiter of a queue that is for no single row looks at all its rows this often, so it finds a free one within 25 ms. Its first
// pauses are shorter, since a term may be short and have no lock yet.
inline constexpr std::chrono::milliseconds longest_look_at_others{20};

enum class queue_position : std::uint8_t {
    outside,  // it has no session
    waiting,  // its session waits for the lock
    at_head,  // its session has the lock
    left      // the waiter is gone
};

enum class queue_action : std::uint8_t {
    queue_up,         // begin to wait for the lock
    attempt,          // without the lock
    attempt_at_head,  // on the session that has the lock
    look              // at the row, past the lock that somebody else has
};

// What a waiter does next: from its position in the queue for the session lock, what it has seen of the row, and the time. No clock,
// no threads, no I/O.
class queue_machine {
public:
    using time_point = std::chrono::steady_clock::time_point;

    // `wakes_come`: what the last wait for this name found out.
    explicit queue_machine(bool wakes_come = true) noexcept : wakes_come_{wakes_come} {}

    // Whether the last wake-up that was due came.
    [[nodiscard]] bool wakes_come() const noexcept { return wakes_come_; }

    [[nodiscard]] queue_position position() const noexcept { return position_; }

    [[nodiscard]] queue_action next(time_point now) const noexcept
    {
        assert(position_ != queue_position::left);
        switch (position_) {
        case queue_position::at_head: return queue_action::attempt_at_head;
        case queue_position::waiting: return queue_action::look;
        default: return now < queue_at_ ? queue_action::attempt : queue_action::queue_up;
        }
    }

    // Its session waits for the lock.
    void queued(time_point now) noexcept
    {
        assert(position_ == queue_position::outside);
        position_ = queue_position::waiting;
        if (!waits_since_) waits_since_ = now;
    }

    // The wait for the lock has ended.
    void wait_ended(bool has_lock, time_point now) noexcept
    {
        assert(position_ == queue_position::waiting);
        if (!has_lock) return step_out(now + requeue_pause);
        position_ = queue_position::at_head;
        confirmed_at_ = now;
        wakes_come_ = true;
        looks_.reset();
    }

    // The session was lost at the head, or is no longer known to have the lock.
    void lost(time_point now) noexcept { step_out(now + requeue_pause); }

    // The term has the session, with the lock.
    void granted() noexcept
    {
        assert(position_ == queue_position::at_head);
        position_ = queue_position::outside;
        waits_since_.reset();
    }

    // The waiter is gone. Returns where it was.
    queue_position leave() noexcept { return std::exchange(position_, queue_position::left); }

    // After it began to wait: when to look, a little after the end of the term that it knows of.
    [[nodiscard]] duration look_after(time_point now) const noexcept
    {
        return term_ends_ > now ? after_term(std::chrono::duration_cast<duration>(term_ends_ - now), now) : duration{first_look};
    }

    // When one that waits for the lock looks again at a term that lasts for `remaining`.
    [[nodiscard]] duration after_term(duration remaining, time_point now) const noexcept
    {
        const duration longest = trust(now);
        return remaining < longest - overtakes_after() ? remaining + overtakes_after() : longest;
    }

    struct head_answer {
        duration retry_after;
        bool unlocks;  // leaves the lock to the holder, and queues again after that time
    };

    // Somebody has that term, which lasts for `remaining`.
    void seen(fencing_token term, duration remaining, time_point now) noexcept
    {
        term_ends_ = now + std::chrono::duration_cast<time_point::duration>(std::min<duration>(remaining, std::chrono::hours{1}));
        if (seen_ == term) return;
        if (seen_ != fencing_token{}) passed_ = std::min(passed_ + 1, most_passed);
        seen_ = term;
        seen_since_ = now;
    }

    // At the head, while somebody has that term, which lasts for `remaining`. The holder may be a single attempt, which takes the lock
    // only a little later.
    [[nodiscard]] head_answer busy_at_head(fencing_token term, duration remaining, time_point now) noexcept
    {
        assert(position_ == queue_position::at_head);
        seen(term, remaining, now);
        const duration delay = yield_delay * (1 << yields_);
        if (remaining > delay && yields_ < max_yields && now - seen_since_ < lock_taken_within) {
            ++yields_;
            step_out(now + std::chrono::duration_cast<time_point::duration>(delay));
            return {delay, true};
        }
        const duration look = looks_.next();
        return {remaining > duration::zero() ? std::min(remaining, look) : look, false};
    }

    // Nobody holds the name, after that token, but somebody else has the lock: how long to leave it to them. Nothing: they make no use
    // of it, and so their wake-up did not come.
    [[nodiscard]] std::optional<duration> wait_for_next(fencing_token token, time_point now) noexcept
    {
        if (!free_since_ || free_after_ != token) {
            free_after_ = token;
            const bool was_seen = seen_ == token && token != fencing_token{};
            free_since_ = was_seen ? std::min(now, term_ends_) : now;
        }
        const duration waited = std::chrono::duration_cast<duration>(now - *free_since_);
        if (waited >= overtakes_after()) {
            wakes_come_ = false;
            return std::nullopt;
        }
        return overtakes_after() - waited;
    }

    // For a ticket that asks for its turn alone: see ordered_store. Without a session it polls.
    [[nodiscard]] turn_answer turn(time_point now) noexcept
    {
        assert(position_ != queue_position::left);
        if (position_ == queue_position::at_head) return {turn_status::first, looks_at_others_.next()};
        if (position_ == queue_position::outside) return {turn_status::first, duration::zero()};
        if (!behind_since_) behind_since_ = now;
        const duration waited = std::chrono::duration_cast<duration>(now - *behind_since_);
        // Not shorter at first, unlike with a row to read: a try past the others takes the right from an earlier waiter.
        const duration longest = share_of(longest_trust);
        if (waited < longest) return {turn_status::behind, longest - waited};
        behind_since_ = now;
        passed_ = std::min(passed_ + 1, most_passed);  // as far as it knows
        return {turn_status::overdue, longest};
    }

    // At the head of a line whose rights are asked for on other sessions: whether to ask the server if this one still has the lock. If it
    // has not, another waiter is at the head, too.
    [[nodiscard]] bool is_to_confirm(time_point now) const noexcept
    {
        return position_ == queue_position::at_head && now - confirmed_at_ >= longest_trust;
    }
    void confirmed(time_point now) noexcept { confirmed_at_ = now; }

    // Behind others it was granted what it wanted: their wake-up did not come.
    void passed() noexcept { wakes_come_ = false; }

private:
    [[nodiscard]] duration overtakes_after() const noexcept { return wakes_come_ ? patient_overtake_delay : overtake_delay; }

    // How long, from a look at that time on, it relies on being woken.
    [[nodiscard]] duration trust(time_point look) const noexcept
    {
        const duration waited = std::chrono::duration_cast<duration>(look - waits_since_.value_or(look));
        return share_of(std::clamp<duration>(waited, first_look, longest_trust));
    }

    // Others had terms meanwhile: perhaps past the lock, where the first to look is served. So later waiters look less often.
    [[nodiscard]] duration share_of(duration while_wakes_come) const noexcept
    {
        return (wakes_come_ ? while_wakes_come : duration{first_look}) / (1 + passed_);
    }

    void step_out(time_point queue_again) noexcept
    {
        assert(position_ == queue_position::waiting || position_ == queue_position::at_head);
        position_ = queue_position::outside;
        queue_at_ = queue_again;
    }

    bool wakes_come_;
    queue_position position_ = queue_position::outside;
    time_point queue_at_ = time_point::min();
    time_point confirmed_at_{};                 // at the head: when it was last known to have the lock
    time_point term_ends_ = time_point::min();  // as far as it is known
    fencing_token seen_{};  // no term has this one, 0
    time_point seen_since_{};
    std::optional<time_point> waits_since_;  // through all its places in the queue, until it has a term
    std::optional<time_point> free_since_;
    std::optional<time_point> behind_since_;  // or since it was overdue; see turn()
    fencing_token free_after_{};
    backoff looks_{shortest_look, longest_look};
    backoff looks_at_others_{shortest_look, longest_look_at_others};
    int yields_ = 0;  // max_yields at most
    int passed_ = 0;  // terms that others had while it waited, or how often it was overdue; most_passed at most
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
