// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_DETAIL_CANCELLABLE_WORK_HPP
#define LEASEHOLD_ASIO_DETAIL_CANCELLABLE_WORK_HPP

#include <leasehold/asio/detail/net.hpp>
#include <leasehold/asio/detail/pending_operations.hpp>
#include <leasehold/detail/catch_into.hpp>

#if LEASEHOLD_ASIO_HAS_COROUTINES
#ifdef LEASEHOLD_STANDALONE_ASIO
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#else
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#endif

#include <memory>
#include <system_error>

namespace leasehold::inline v0::detail {

/// What cancels the user's coroutine. On a strand, since a cancellation may not meet the work that
/// it is for.
template <class Executor>
class cancellable_work : public std::enable_shared_from_this<cancellable_work<Executor>> {
public:
    explicit cancellable_work(const Executor& executor)
        : strand_{net::make_strand(executor)}, pending_{net::use_service<pending_operations>(context_of(executor))}
    {
    }

    [[nodiscard]] const net::strand<Executor>& strand() const noexcept { return strand_; }

    /// Cancels the work. Any thread may call it.
    void cancel() noexcept
    {
        on_strand([](cancellable_work& work) { work.signal_.emit(net::cancellation_type::terminal); });
    }

    /// Calls f(*this) on the strand, if it still exists then. An error: there was no memory for that.
    template <class F>
    std::error_code on_strand(F f) noexcept
    {
        std::error_code without_memory;
        pending_.unless_closed([&] {
            catch_into(without_memory, [&] {
                net::post(strand_, [self = this->weak_from_this(), f] {
                    if (const auto work = self.lock()) f(*work);
                });
            });
        });
        return without_memory;
    }

    [[nodiscard]] auto slot() noexcept { return signal_.slot(); }

private:
    net::strand<Executor> strand_;
    pending_operations& pending_;
    net::cancellation_signal signal_;
};

}  // namespace leasehold::inline v0::detail

#endif  // Asio has coroutines

#endif
