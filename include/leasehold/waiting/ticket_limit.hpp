// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_TICKET_LIMIT_HPP
#define LEASEHOLD_WAITING_TICKET_LIMIT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/waker.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/waiting/queue_ticket.hpp>

#include <atomic>
#include <cassert>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::waiting {

/// Whether the tickets of a store take a thread each, as those do for which a session of the database waits.
template <class Ticket>
inline constexpr bool ticket_takes_thread = [] {
    if constexpr (requires { Ticket::takes_thread; })
        return Ticket::takes_thread;
    else
        return false;
}();

/// How many tickets that take a thread the waiters without threads may have at a time. Thread-safe.
class ticket_limit {
public:
    explicit ticket_limit(std::size_t most) noexcept : left_{most} {}

    /// False: there are too many. Otherwise give_back() must follow.
    [[nodiscard]] bool take() noexcept
    {
        std::size_t left = left_.load();
        while (left != 0 && !left_.compare_exchange_weak(left, left - 1)) {}
        return left != 0;
    }

    void give_back() noexcept { left_.fetch_add(1); }

private:
    // Each change starts from the newest value, in whatever order the threads see it. A ticket is handed to no other thread by it.
    std::atomic<std::size_t> left_;
};

/// Holds what take() took, and gives it back.
class ticket_place {
public:
    explicit ticket_place(ticket_limit* limit) noexcept : limit_{limit} {}
    ticket_place(const ticket_place&) = delete;
    ticket_place& operator=(const ticket_place&) = delete;
    ~ticket_place()
    {
        if (limit_) limit_->give_back();
    }

private:
    ticket_limit* const limit_;
};

/// The ticket that a waiter has at times, and its part of the limit.
///
/// Not thread-safe. Lifetime: the store, the waker and the limit must outlive it.
template <lease_store Store>
class limited_ticket {
public:
    using ticket_type = decltype(waiting::enqueue(std::declval<Store&>(), std::string_view{}, std::declval<waker&>()));

    /// Whether a ticket costs a thread, and its end may take a while.
    static constexpr bool costly = ticket_takes_thread<ticket_type>;

    /// `limit`: how many costly tickets there may be; null: as many as are wanted.
    limited_ticket(Store& store, waker& to_wake, ticket_limit* limit) noexcept
        : store_{store}, waker_{to_wake}, limit_{costly ? limit : nullptr}
    {
    }

    /// Queues for `name`, unless it has a ticket. False: there are too many tickets. May throw what the store's enqueue() throws.
    bool take(std::string_view name)
    {
        if (!held_ && (!limit_ || limit_->take())) held_.emplace(*this, name);
        return held_.has_value();
    }

    void give_up() noexcept { held_.reset(); }

    /// Null: there is none.
    [[nodiscard]] ticket_type* get() noexcept { return held_ ? std::addressof(held_->ticket) : nullptr; }
    [[nodiscard]] explicit operator bool() const noexcept { return held_.has_value(); }
    /// Whether giving it up may wait for the store.
    [[nodiscard]] bool end_takes_time() const noexcept { return costly && held_; }

    /// See ordered_store.
    [[nodiscard]] turn_answer turn(std::error_code& ec)
        requires ordered_store<Store>
    {
        assert(held_);
        return store_.turn(held_->ticket, ec);
    }
    /// See ordered_store.
    void passed() noexcept
        requires ordered_store<Store>
    {
        assert(held_);
        held_->ticket.passed();
    }

private:
    struct held {
        held(limited_ticket& parent, std::string_view name)
            : limit{parent.limit_}, ticket(waiting::enqueue(parent.store_, name, parent.waker_))
        {
        }
        held(const held&) = delete;
        held& operator=(const held&) = delete;

        ticket_place limit;
        ticket_type ticket;
    };

    Store& store_;
    waker& waker_;
    ticket_limit* const limit_;
    std::optional<held> held_;
};

}  // namespace leasehold::inline v0::waiting

#endif
