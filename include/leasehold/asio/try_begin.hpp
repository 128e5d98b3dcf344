// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_TRY_BEGIN_HPP
#define LEASEHOLD_ASIO_TRY_BEGIN_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/detail/call_operation.hpp>
#include <leasehold/asio/detail/completion.hpp>
#include <leasehold/asio/detail/net.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/recurring.hpp>
#include <leasehold/renewal/call_queue.hpp>

#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

struct start_try_begin {
    template <class Handler, class Recurring>
    void operator()(Handler&& handler, Recurring* of) const
    {
        using run_type = typename Recurring::run_type;
        auto* const told = handler_completion<std::decay_t<Handler>, run_type>::make(std::forward<Handler>(handler));
        if (!told) return;
        std::error_code ec;
        auto& keeper = lease_access::keeper(recurring_access<Recurring>::lease(*of));
        catch_into(ec, [&keeper] { keeper.attach_engine(); });
        if (ec) return told->complete(ec, run_type{});
        start_call<run_type>(
            keeper.serving_engine(), renewal::call_order::second, [of](std::error_code& failed) { return of->try_begin(failed); }, *told);
    }
};

}  // namespace detail

/// recurring::try_begin() without waiting for the store: completes with void(error_code, run). The run is empty where that of the blocking
/// form is; errc::invalid_terms means that the record is of another schedule.
///
/// The handler's cancellation slot cancels it: the error is operation_aborted, and nothing is held. A fire that the cancellation has
/// overtaken is open again. The hooks of the recurring run on the thread that calls the store, not on the handler's executor.
/// The recurring must outlive the operation. Everything else is as for async_try_acquire().
template <lease_store Store, schedule Schedule, lease_clock Clock, owner_id OwnerId, renew_policy RenewPolicy, class Token>
auto async_try_begin(recurring<Store, Schedule, Clock, OwnerId, RenewPolicy>& job, Token&& token)
{
    using run_type = typename recurring<Store, Schedule, Clock, OwnerId, RenewPolicy>::run_type;
    return detail::net::async_initiate<Token, void(detail::net_error_code, run_type)>(detail::start_try_begin{}, token,
                                                                                     std::addressof(job));
}

}  // namespace leasehold::inline v0

#endif
