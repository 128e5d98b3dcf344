// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_TRY_BEGIN_HPP
#define LEASEHOLD_ASIO_TRY_BEGIN_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/acquire.hpp>
#include <leasehold/asio/detail/acquirable.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/fire_wait.hpp>
#include <leasehold/recurring.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/ticket_limit.hpp>

#include <chrono>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

// What a fire would be as a right: see acquirable.
template <class Recurring>
class acquirable_fire {
    using lease_right = acquirable_lease<typename Recurring::lease_type>;
    using steps = fire_wait<Recurring, lease_right>;

public:
    using guard_type = typename Recurring::run_type;

    explicit acquirable_fire(Recurring& recurring) : recurring_{&recurring}, lease_{steps::lease_of(recurring)} {}

    [[nodiscard]] const auto& clock() const noexcept { return lease_.clock(); }
    [[nodiscard]] auto engine() const { return lease_.engine(); }
    [[nodiscard]] guard_type attempt(std::error_code& ec) const { return recurring_->try_begin(ec); }

    class wait : public steps {
    public:
        wait(const acquirable_fire& fire, time_point deadline, waker& to_wake, waiting::ticket_limit* limit)
            : steps{*fire.recurring_, fire.lease_, deadline, to_wake, limit}
        {
        }
    };

private:
    Recurring* recurring_;
    lease_right lease_;
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
    return detail::initiate_acquire(detail::acquirable_fire{job}, detail::one_attempt, std::forward<Token>(token));
}

/// recurring::try_begin_for() without a thread that waits: waits while a fire is due that is not completed, at most this long from the
/// start of the operation. Completes with void(error_code, run). An empty run without an error: the fire was completed, none is due, or the
/// time ran out. An outage ends the wait, with the error. Everything else is as for async_try_begin().
template <lease_store Store, schedule Schedule, lease_clock Clock, owner_id OwnerId, renew_policy RenewPolicy, class Rep, class Period,
          class Token>
auto async_try_begin_for(recurring<Store, Schedule, Clock, OwnerId, RenewPolicy>& job, std::chrono::duration<Rep, Period> at_most,
                         Token&& token)
{
    return detail::initiate_acquire(detail::acquirable_fire{job}, detail::deadline_in(at_most), std::forward<Token>(token));
}

}  // namespace leasehold::inline v0

#endif
