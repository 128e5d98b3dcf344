// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_ACQUIRE_HPP
#define LEASEHOLD_ASIO_ACQUIRE_HPP

#include <leasehold/asio/detail/call_operation.hpp>
#include <leasehold/asio/detail/completion.hpp>
#include <leasehold/asio/detail/wait_operation.hpp>
#include <leasehold/basic_lease.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/deadline.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

// Asynchronous forms of a lease's attempts and waits, over Asio.
//
// Each takes a completion token as its last argument, of any kind, and completes with void(std::error_code, guard). A function
// gets a std::error_code; Asio's own tokens (use_awaitable, deferred, use_future and others) get Asio's error code, which converts
// to one, and which those that throw turn into a system_error. The guard is empty where the blocking form returns an empty one:
// busy, or out of time.
//
// Cancellation, by the handler's cancellation slot or the std::stop_token: the error is operation_aborted, and nothing is held. All
// types of cancellation are supported. A grant that the cancellation has overtaken is released, on a thread of the library. A call of
// the store that is under way is waited for, up to the store's own bound.
// Handlers: run on their associated executor, else on the system executor; never within the initiating function.
// Threads: waits take none. The calls of a store are made by two threads of its leases, for all its operations.
// Lifetime: the store must outlive the operation; the lease need not. An execution context that is destroyed cancels the
// operations whose handlers belong to it, and waits for their calls before it destroys the handlers.
namespace leasehold::inline v0 {

namespace detail {

template <class Lease, class Error>
struct start_acquire {
    // `deadline_of`: what gives the deadline from the lease's clock, when the operation starts; a clock's now is one attempt.
    template <class Handler, class DeadlineOf>
    void operator()(Handler&& handler, const std::shared_ptr<Lease>& lease, DeadlineOf deadline_of, const std::stop_token& stop) const
    {
        using guard_type = typename Lease::guard_type;
        auto* const told = handler_completion<std::decay_t<Handler>, Error, guard_type>::make(std::forward<Handler>(handler));
        if (!told) return;
        std::error_code ec;
        bool started = false;
        catch_into(ec, [&] {
            auto& keeper = lease_access::keeper(*lease);
            keeper.attach_engine();
            const time_point deadline = deadline_of(keeper.clock());
            if (stop.stop_requested()) {
                ec = aborted();
            }
            else if (deadline <= keeper.clock().now()) {
                started = true;
                start_call<guard_type>(keeper.serving_engine(), renewal::call_order::second,
                                       [lease](std::error_code& failed) { return lease_access::attempt(*lease, failed).guard; }, *told);
            }
            else {
                auto operation = std::make_shared<wait_operation<Lease>>(lease, deadline);
                told->starts(operation);
                started = true;
                operation->start(*told, stop);
            }
        });
        if (!started) told->complete(ec, guard_type{});
    }
};

template <class Lease, class DeadlineOf, class Token>
auto initiate_acquire(Lease& lease, DeadlineOf deadline_of, std::stop_token stop, Token&& token)
{
    using guard_type = typename Lease::guard_type;
    using error = error_code_for<Token, guard_type>;
    return net::async_initiate<Token, void(error, guard_type)>(start_acquire<Lease, error>{}, token, lease_access::share(lease),
                                                               std::move(deadline_of), std::move(stop));
}

inline constexpr auto no_deadline = [](const auto&) { return time_point::max(); };
inline constexpr auto one_attempt = [](const auto& clock) { return clock.now(); };

template <class T>
concept completion_token = !std::same_as<std::remove_cvref_t<T>, std::stop_token>;

}  // namespace detail

/// Makes one attempt, like basic_lease::try_acquire().
template <class S, class C, class O, class R, detail::completion_token Token>
auto async_try_acquire(basic_lease<S, C, O, R>& lease, Token&& token)
{
    return detail::initiate_acquire(lease, detail::one_attempt, {}, std::forward<Token>(token));
}

/// Waits for the lease, at most this long from the start of the operation, like basic_lease::try_acquire_for().
template <class S, class C, class O, class R, class Rep, class Period, detail::completion_token Token>
auto async_try_acquire_for(basic_lease<S, C, O, R>& lease, std::chrono::duration<Rep, Period> at_most, std::stop_token stop, Token&& token)
{
    const auto deadline = [at_most](const auto& clock) { return waiting::deadline_after(clock, at_most); };
    return detail::initiate_acquire(lease, deadline, std::move(stop), std::forward<Token>(token));
}
/// The same.
template <class S, class C, class O, class R, class Rep, class Period, detail::completion_token Token>
auto async_try_acquire_for(basic_lease<S, C, O, R>& lease, std::chrono::duration<Rep, Period> at_most, Token&& token)
{
    return async_try_acquire_for(lease, at_most, std::stop_token{}, std::forward<Token>(token));
}

/// Waits until an instant of the lease's own clock, or of any std clock, like basic_lease::try_acquire_until().
template <class S, class C, class O, class R, class Clk, class Dur, detail::completion_token Token>
auto async_try_acquire_until(basic_lease<S, C, O, R>& lease, std::chrono::time_point<Clk, Dur> until, std::stop_token stop, Token&& token)
{
    const auto deadline = [until](const auto& clock) { return waiting::deadline_at(clock, until); };
    return detail::initiate_acquire(lease, deadline, std::move(stop), std::forward<Token>(token));
}
/// The same.
template <class S, class C, class O, class R, class Clk, class Dur, detail::completion_token Token>
auto async_try_acquire_until(basic_lease<S, C, O, R>& lease, std::chrono::time_point<Clk, Dur> until, Token&& token)
{
    return async_try_acquire_until(lease, until, std::stop_token{}, std::forward<Token>(token));
}

/// Waits without a limit, like basic_lease::acquire().
template <class S, class C, class O, class R, detail::completion_token Token>
auto async_acquire(basic_lease<S, C, O, R>& lease, std::stop_token stop, Token&& token)
{
    return detail::initiate_acquire(lease, detail::no_deadline, std::move(stop), std::forward<Token>(token));
}
/// The same.
template <class S, class C, class O, class R, detail::completion_token Token>
auto async_acquire(basic_lease<S, C, O, R>& lease, Token&& token)
{
    return async_acquire(lease, std::stop_token{}, std::forward<Token>(token));
}

}  // namespace leasehold::inline v0

#endif
