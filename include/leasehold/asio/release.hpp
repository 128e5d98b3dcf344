// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_RELEASE_HPP
#define LEASEHOLD_ASIO_RELEASE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/detail/call_operation.hpp>
#include <leasehold/asio/detail/completion.hpp>
#include <leasehold/asio/detail/guards.hpp>
#include <leasehold/asio/detail/net.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/error.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renewal/call_queue.hpp>

#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

struct start_release : initiation {
    template <class Handler, class Guard>
    void operator()(Handler&& handler, Guard guard) const
    {
        auto* const told = handler_completion<std::decay_t<Handler>, release_outcome>::make(std::forward<Handler>(handler), guard);
        if (!told) return;
        const auto engine = lease_access::body(guard).engine();
        if (!engine) return told->complete(errc::not_held, release_outcome::unknown);
        start_call<release_outcome>(
            engine, renewal::call_order::first, [guard = std::move(guard)](std::error_code& ec) mutable { return guard.release(ec); },
            *told, release_outcome::unknown);
    }
};

}  // namespace detail

/// Ends the term, or all terms of a set or an exclusive right, like release() of the guard: completes with
/// void(error_code, release_outcome). Takes the guard, as in async_release(std::move(guard), token). Can't be cancelled: the term is
/// released also if the handler is never called.
template <detail::any_guard Guard, class Token>
auto async_release(Guard&& guard, Token&& token)
{
    return detail::net::async_initiate<Token, void(detail::net_error_code, release_outcome)>(detail::start_release{}, token,
                                                                                           Guard{std::move(guard)});
}

}  // namespace leasehold::inline v0

#endif
