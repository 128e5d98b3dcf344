// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_WAITERS_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_WAITERS_HPP

#include "record.hpp"

#include <leasehold/leasehold.hpp>

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#ifdef HAND_OVER_ASYNCHRONOUS
#include <leasehold/asio.hpp>

#include <boost/asio.hpp>

#include <future>
#include <system_error>
#endif

// The ways to wait for a lease that are compared. Each returns the guard, and when it had it.
namespace hand_over {

template <class Guard>
struct taken {
    Guard guard;
    std::int64_t at;
};
template <class Guard>
taken(Guard, std::int64_t) -> taken<Guard>;

/// The store's own waiting, on the thread that wants the lease.
struct blocking_waiter {
    template <class Lease>
    auto acquire(Lease& lease, const record&)
    {
        auto guard = lease.acquire();
        return taken{std::move(guard), now()};
    }
};

/// The same of one that only reads a shared lease.
struct blocking_reader {
    template <class Lease>
    auto acquire(Lease& lease, const record&)
    {
        auto guard = guard_of(lease);
        return taken{std::move(guard), now()};
    }

private:
    template <class Lease>
    static auto guard_of(Lease& lease)
    {
        if constexpr (requires { lease.acquire_shared(); })
            return lease.acquire_shared();
        else
            return lease.acquire();
    }
};

inline constexpr auto poll_pause = std::chrono::milliseconds{50};

/// Asks every 50 ms, as locks on databases mostly do. The guard is empty at the end of the run.
struct polling_waiter {
    template <class Lease>
    auto acquire(Lease& lease, const record& run)
    {
        auto guard = lease.try_acquire();
        for (; !guard && !run.stop; guard = lease.try_acquire()) std::this_thread::sleep_for(poll_pause);
        return taken{std::move(guard), now()};
    }
};

#ifdef HAND_OVER_ASYNCHRONOUS
/// The store's own waiting without a thread: has it when the handler is called, on an event loop with one thread.
class asynchronous_waiter {
public:
    asynchronous_waiter() : thread_{[this] { loop_.run(); }} {}
    asynchronous_waiter(const asynchronous_waiter&) = delete;
    asynchronous_waiter& operator=(const asynchronous_waiter&) = delete;
    ~asynchronous_waiter()
    {
        work_.reset();
        thread_.join();
    }

    template <class Lease>
    auto acquire(Lease& lease, const record&)
    {
        using guard_type = typename Lease::guard_type;
        std::promise<taken<guard_type>> promise;
        leasehold::async_acquire(lease, boost::asio::bind_executor(loop_, [&promise](std::error_code ec, guard_type guard) {
            const std::int64_t at = now();
            if (ec)
                promise.set_exception(std::make_exception_ptr(std::system_error{ec, "async_acquire"}));
            else
                promise.set_value({std::move(guard), at});
        }));
        return promise.get_future().get();
    }

    /// Cancels a wait after that time. Returns how many ns later its handler was called.
    template <class Lease>
    std::int64_t cancel(Lease& lease, std::chrono::nanoseconds after)
    {
        boost::asio::cancellation_signal signal;
        std::promise<std::int64_t> ended;
        const auto handler = [&ended](std::error_code, const typename Lease::guard_type&) { ended.set_value(now()); };
        leasehold::async_acquire(lease, boost::asio::bind_cancellation_slot(signal.slot(), boost::asio::bind_executor(loop_, handler)));
        std::this_thread::sleep_for(after);
        const auto asked = now();
        boost::asio::post(loop_, [&signal] { signal.emit(boost::asio::cancellation_type::terminal); });
        return ended.get_future().get() - asked;
    }

private:
    boost::asio::io_context loop_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{loop_.get_executor()};
    std::thread thread_;
};
#endif

}  // namespace hand_over

#endif
