// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_ACQUIRE_HPP
#define LEASEHOLD_ASIO_ACQUIRE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/detail/acquirable.hpp>
#include <leasehold/asio/detail/call_operation.hpp>
#include <leasehold/asio/detail/completion.hpp>
#include <leasehold/asio/detail/net.hpp>
#include <leasehold/asio/detail/wait_operation.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/permit_attempts.hpp>
#include <leasehold/lease_semaphore.hpp>
#include <leasehold/shared_lease.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/deadline.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>

// Asynchronous forms of attempts and waits, over Asio: of a basic_lease, of a lease_semaphore for a permit or several, and of a
// shared_lease, as a writer, and with _shared as a reader.
//
// Each takes a completion token as its last argument, of any kind, and completes with void(error_code, guard). The error code is that of
// the Asio that is used, boost::system::error_code or std::error_code; the former converts to the latter. The guard is the one that the
// blocking form returns, and is empty where that returns an empty one: busy, or out of time.
//
// Cancellation, by the handler's cancellation slot: the error is operation_aborted, and nothing is held. All types of cancellation are
// supported. A grant that the cancellation has overtaken is released, on a thread of the library, and so is what a writer has taken
// while it waits: it has left the gate when the handler is called. A call of the store that is under way is waited for, up to the
// store's own bound.
// Handlers: run on their associated executor, else on the system executor; never within the initiating function.
// Threads: waits take none. The calls of a store are made by two threads of its leases, for all its operations.
// Lifetime: the store must outlive the operation; the lease, semaphore or shared lease need not. An execution context that is
// destroyed cancels the operations whose handlers belong to it, and waits for their calls before it destroys the handlers.
namespace leasehold::inline v0 {

namespace detail {

template <acquirable Right>
struct start_acquire : initiation {
    // `deadline_of`: what gives the deadline from the right's clock, when the operation starts; a clock's now is one attempt.
    template <class Handler, class DeadlineOf>
    void operator()(Handler&& handler, Right right, DeadlineOf deadline_of) const
    {
        using guard_type = typename Right::guard_type;
        auto* const told = handler_completion<std::decay_t<Handler>, guard_type>::make(std::forward<Handler>(handler), right);
        if (!told) return;
        std::error_code ec;
        bool started = false;
        catch_into(ec, [&] {
            const auto engine = right.engine();
            const time_point deadline = deadline_of(right.clock());
            if (deadline <= right.clock().now()) {
                started = true;
                start_call<guard_type>(
                    engine, renewal::call_order::second,
                    [right = std::move(right)](std::error_code& failed) { return right.attempt(failed); }, *told);
            }
            else {
                auto operation = std::make_shared<wait_operation<Right>>(std::move(right), engine, deadline);
                operation->join();
                told->starts(operation);
                started = true;
                operation->start(*told);
            }
        });
        if (started) return;
        // What the right keeps needs the store, which the handler may own.
        { [[maybe_unused]] const Right last{std::move(right)}; }
        told->complete(ec, guard_type{});
    }
};

template <acquirable Right, class DeadlineOf, class Token>
auto initiate_acquire(Right right, DeadlineOf deadline_of, Token&& token)
{
    using guard_type = typename Right::guard_type;
    return net::async_initiate<Token, void(net_error_code, guard_type)>(start_acquire<Right>{}, token, std::move(right),
                                                                        std::move(deadline_of));
}

inline constexpr auto no_deadline = [](const auto&) { return time_point::max(); };
inline constexpr auto one_attempt = [](const auto& clock) { return clock.now(); };

template <class Rep, class Period>
auto deadline_in(std::chrono::duration<Rep, Period> at_most)
{
    return [at_most](const auto& clock) { return waiting::deadline_after(clock, at_most); };
}
template <class Clk, class Dur>
auto deadline_until(std::chrono::time_point<Clk, Dur> until)
{
    return [until](const auto& clock) { return waiting::deadline_at(clock, until); };
}

}  // namespace detail

/// Makes one attempt, like the right's own try_acquire().
template <detail::waitable_right Right, class Token>
auto async_try_acquire(Right& right, Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_of(right), detail::one_attempt, std::forward<Token>(token));
}

/// Waits for the right, at most this long from the start of the operation, like the right's own try_acquire_for().
template <detail::waitable_right Right, class Rep, class Period, class Token>
auto async_try_acquire_for(Right& right, std::chrono::duration<Rep, Period> at_most, Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_of(right), detail::deadline_in(at_most), std::forward<Token>(token));
}

/// Waits until an instant of the right's own clock, or of any std clock, like the right's own try_acquire_until().
template <detail::waitable_right Right, class Clk, class Dur, class Token>
auto async_try_acquire_until(Right& right, std::chrono::time_point<Clk, Dur> until, Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_of(right), detail::deadline_until(until), std::forward<Token>(token));
}

/// Waits without a limit, like the right's own acquire().
template <detail::waitable_right Right, class Token>
auto async_acquire(Right& right, Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_of(right), detail::no_deadline, std::forward<Token>(token));
}

/// Makes one attempt at so many permits, all or none, like lease_semaphore::try_acquire(several).
template <class S, class C, class O, class R, std::integral Count, class Token>
auto async_try_acquire(lease_semaphore<S, C, O, R>& right, Count several, Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_of(right, detail::wanted_permits{several}), detail::one_attempt,
                                    std::forward<Token>(token));
}

/// Waits for so many permits, at most this long from the start of the operation, like lease_semaphore::try_acquire_for().
template <class S, class C, class O, class R, class Rep, class Period, std::integral Count, class Token>
auto async_try_acquire_for(lease_semaphore<S, C, O, R>& right, std::chrono::duration<Rep, Period> at_most, Count several, Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_of(right, detail::wanted_permits{several}), detail::deadline_in(at_most),
                                    std::forward<Token>(token));
}

/// Waits for so many permits until an instant, like lease_semaphore::try_acquire_until().
template <class S, class C, class O, class R, class Clk, class Dur, std::integral Count, class Token>
auto async_try_acquire_until(lease_semaphore<S, C, O, R>& right, std::chrono::time_point<Clk, Dur> until, Count several, Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_of(right, detail::wanted_permits{several}), detail::deadline_until(until),
                                    std::forward<Token>(token));
}

/// Waits for so many permits without a limit, like lease_semaphore::acquire().
template <class S, class C, class O, class R, std::integral Count, class Token>
auto async_acquire(lease_semaphore<S, C, O, R>& right, Count several, Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_of(right, detail::wanted_permits{several}), detail::no_deadline,
                                    std::forward<Token>(token));
}

/// Makes one attempt, like shared_lease::try_acquire_shared().
template <class S, class C, class O, class R, class Token>
auto async_try_acquire_shared(shared_lease<S, C, O, R>& right, Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_shared_of(right), detail::one_attempt, std::forward<Token>(token));
}

/// Waits for a share, at most this long from the start of the operation, like shared_lease::try_acquire_shared_for().
template <class S, class C, class O, class R, class Rep, class Period, class Token>
auto async_try_acquire_shared_for(shared_lease<S, C, O, R>& right, std::chrono::duration<Rep, Period> at_most, Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_shared_of(right), detail::deadline_in(at_most), std::forward<Token>(token));
}

/// Waits until an instant of the right's own clock, or of any std clock, like shared_lease::try_acquire_shared_until().
template <class S, class C, class O, class R, class Clk, class Dur, class Token>
auto async_try_acquire_shared_until(shared_lease<S, C, O, R>& right, std::chrono::time_point<Clk, Dur> until, Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_shared_of(right), detail::deadline_until(until), std::forward<Token>(token));
}

/// Waits without a limit, like shared_lease::acquire_shared().
template <class S, class C, class O, class R, class Token>
auto async_acquire_shared(shared_lease<S, C, O, R>& right, Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_shared_of(right), detail::no_deadline, std::forward<Token>(token));
}

}  // namespace leasehold::inline v0

#endif
