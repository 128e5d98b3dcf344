// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_WATCHED_TERM_HPP
#define LEASEHOLD_RENEWAL_WATCHED_TERM_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/renewal/batch_tier.hpp>
#include <leasehold/renewal/fifo.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <system_error>

namespace leasehold::inline v0::renewal {

struct term;

/// A renewal that was sent to the store.
struct sent_renewal {
    time_point sent{};
    duration ttl{};
    std::shared_ptr<term> its_term;
};

/// The engine's interface to a lease's terms, which hides their store, clock and policy.
class watched_term {
public:
    /// What a term can be in a term_heap for.
    enum class heap : std::uint8_t { instants, renewals };

    watched_term() = default;
    watched_term(const watched_term&) = delete;
    watched_term& operator=(const watched_term&) = delete;
    virtual ~watched_term() = default;

    /// Decides, and schedules its own next step. Never does I/O or calls the user's code. True if a renewal has to be sent.
    virtual bool step() = 0;

    /// Runs the stop callbacks of losses that engine::signal() was called for.
    virtual void signal() noexcept {}

    /// Asks the store whether the holder was asked to hand over, and tells the holder, after engine::look() was called. Does I/O,
    /// and runs stop callbacks.
    virtual void look() noexcept {}

    /// Sends the renewal that step() asked for. Does I/O.
    virtual void renew() = 0;

    /// For terms whose store takes many renewals in one call; the defaults are for all others.
    ///
    /// Terms of the same kind, which is not null, can share a call.
    [[nodiscard]] virtual const void* batch_kind() const noexcept { return nullptr; }
    /// How many renewals the store takes in one call.
    [[nodiscard]] virtual std::size_t batch_size() const noexcept { return 1; }
    /// Sends the renewals of all these terms in one call; they are of its own kind and include itself. Does I/O.
    virtual void renew_together(std::span<const std::shared_ptr<watched_term>> terms)
    {
        for (const auto& term : terms) term->renew();
    }
    /// The part of renew() before the call: what to send, and how much time the term has left. Nothing: don't renew it.
    /// The texts live as long as the term.
    virtual std::optional<duration> begin_renewal(time_point, term_renewal&, sent_renewal&) { return std::nullopt; }
    /// The part of renew() after the call; must follow each renewal that has begun.
    virtual void end_renewal(const sent_renewal&, batch_answer, std::error_code) {}

    /// When the engine will call step() next, as far as is known without its mutex.
    [[nodiscard]] time_point wakes_at() const noexcept
    {
        return in_heaps_[static_cast<std::size_t>(heap::instants)].queued_for.load(std::memory_order_relaxed);
    }

    /// Its links in the queues for signal() and for look(). The engine's mutex guards both.
    fifo_link<watched_term> loss_link, request_link;

    /// How many other renewals may share the call of the renewal that was requested last.
    [[nodiscard]] batch_tier tier() const noexcept { return tier_.load(std::memory_order_relaxed); }
    /// The deadline of the term that the renewal is for.
    [[nodiscard]] time_point renew_before() const noexcept { return renew_before_.load(std::memory_order_relaxed); }

protected:
    void set_renewal(batch_tier others, time_point before) noexcept
    {
        tier_.store(others, std::memory_order_relaxed);
        renew_before_.store(before, std::memory_order_relaxed);
    }

private:
    friend class term_heap;

    // Guarded by the engine's mutex, but for reads of `queued_for`.
    struct in_heap {
        static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

        std::size_t place = nowhere;
        // Relaxed: engine::schedule() reads it under the keeper's mutex, and the watchdog, which changes it before, locks that mutex
        // next. So a thread that still reads the old value is done before the watchdog looks at the term.
        std::atomic<time_point> queued_for{time_point::max()};
    };

    std::array<in_heap, 2> in_heaps_;  // by kind
    // Relaxed: the watchdog writes them, and then queues the term under the engine's mutex, under which the workers read them.
    std::atomic<time_point> renew_before_{time_point::max()};
    std::atomic<batch_tier> tier_{batch_tier::none};
};

}  // namespace leasehold::inline v0::renewal

#endif
