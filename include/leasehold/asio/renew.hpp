// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_RENEW_HPP
#define LEASEHOLD_ASIO_RENEW_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/detail/call_operation.hpp>
#include <leasehold/asio/detail/completion.hpp>
#include <leasehold/asio/detail/guards.hpp>
#include <leasehold/asio/detail/net.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/renewal/call_queue.hpp>

#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

struct start_renew : initiation {
    template <class Handler, class Engine, class Extension>
    void operator()(Handler&& handler, const Engine& engine, Extension extend, std::optional<duration> ttl) const
    {
        auto* const told = handler_completion<std::decay_t<Handler>, bool>::make(std::forward<Handler>(handler), extend);
        if (!told) return;
        if (!engine) return told->complete(errc::not_held, false);
        start_call<bool>(
            engine, renewal::call_order::first, [extend = std::move(extend), ttl](std::error_code& ec) mutable { return extend(ttl, ec); },
            *told);
    }
};

template <any_guard Guard, class Token>
auto initiate_renew(const Guard& guard, std::optional<duration> ttl, Token&& token)
{
    const auto& right = lease_access::body(guard);
    return net::async_initiate<Token, void(net_error_code, bool)>(start_renew{}, token, right.engine(), right.extension(), ttl);
}

}  // namespace detail

/// Extends the term now, or all terms of a set or an exclusive right, like renew() of the guard: completes with
/// void(error_code, bool). The guard may be moved, released or destroyed meanwhile; after a release the answer is false. Can't be
/// cancelled.
template <detail::any_guard Guard, class Token>
auto async_renew(const Guard& guard, Token&& token)
{
    return detail::initiate_renew(guard, std::nullopt, std::forward<Token>(token));
}

/// Extends by a new ttl, which later renewals keep.
template <detail::any_guard Guard, class Token>
auto async_renew(const Guard& guard, duration ttl, Token&& token)
{
    return detail::initiate_renew(guard, ttl, std::forward<Token>(token));
}

template <detail::any_guard Guard, class Token>
void async_renew(const Guard&&, Token&&) = delete;  ///< a temporary guard has released: name it, or use try_run()
template <detail::any_guard Guard, class Token>
void async_renew(const Guard&&, duration, Token&&) = delete;  ///< a temporary guard has released: name it, or use try_run()

}  // namespace leasehold::inline v0

#endif
