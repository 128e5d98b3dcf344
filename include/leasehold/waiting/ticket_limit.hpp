// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_TICKET_LIMIT_HPP
#define LEASEHOLD_WAITING_TICKET_LIMIT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <atomic>
#include <cstddef>

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

/// What take() took; gives it back.
class ticket_place {
public:
    explicit ticket_place(ticket_limit* of) noexcept : of_{of} {}
    ticket_place(const ticket_place&) = delete;
    ticket_place& operator=(const ticket_place&) = delete;
    ~ticket_place()
    {
        if (of_) of_->give_back();
    }

private:
    ticket_limit* const of_;
};

}  // namespace leasehold::inline v0::waiting

#endif
