// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_DETAIL_ACQUIRABLE_HPP
#define LEASEHOLD_ASIO_DETAIL_ACQUIRABLE_HPP

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/permit_attempts.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_semaphore.hpp>
#include <leasehold/shared_lease.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/lease_wait.hpp>
#include <leasehold/waiting/ticket_limit.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

// How each kind of right is acquired without a thread: the attempts and the decisions of its blocking form.
namespace leasehold::inline v0::detail {

/// A wait that says when to make which attempt. See waiting::lease_wait, permit_wait and exclusive_wait.
template <class W, class Guard>
concept steppable_wait = requires(W& wait, const W& looked_at, time_point now, std::error_code& ec) {
    { wait.next(now, true) } -> std::same_as<waiting::wait_step>;        // may throw
    { wait.woken(now) } noexcept;
    { wait.attempt(waiting::wait_action::attempt, ec) } -> std::same_as<Guard>;  // does I/O; may throw; empty and no error: call next()
    { looked_at.error_of_end() } noexcept -> std::same_as<std::error_code>;     // when next() has given up
    { looked_at.end_takes_time() } noexcept -> std::same_as<bool>;              // whether its end, or the right's, may wait for the store
    { wait.leave_queues() } noexcept;                                           // only the destructor may follow
};

/// A right that can be attempted and waited for. Copies keep what it refers to, but for the store.
template <class A>
concept acquirable = std::copy_constructible<A> && steppable_wait<typename A::wait, typename A::guard_type> &&
                     std::constructible_from<typename A::wait, const A&, time_point, waker&, waiting::ticket_limit*> &&
                     requires(const A& right, std::error_code& ec) {
                         right.clock();
                         right.engine();  // attaches to the threads of its leases; throws why it can't, or why the right is impossible
                         { right.attempt(ec) } -> std::same_as<typename A::guard_type>;  // does I/O; may throw
                     };

/// A basic_lease.
template <class Lease>
class acquirable_lease {
    using wait_type = waiting::lease_wait<keeper_of<Lease>>;

public:
    using guard_type = typename Lease::guard_type;

    // `failure` gets what a failed attempt of a campaign would have thrown. A busy answer of the store sets `was_busy`.
    explicit acquirable_lease(const Lease& lease, std::shared_ptr<std::optional<store_error>> failure = {},
                              std::string_view operation = "campaign", std::shared_ptr<bool> was_busy = {})
        : lease_{lease_access::share(lease)}, failure_{std::move(failure)}, was_busy_{std::move(was_busy)}, operation_{operation}
    {
    }

    [[nodiscard]] const auto& clock() const noexcept { return lease_access::attempts(*lease_).clock(); }
    [[nodiscard]] auto engine() const
    {
        lease_access::keeper(*lease_).attach_engine();
        return lease_access::keeper(*lease_).serving_engine();
    }
    [[nodiscard]] guard_type attempt(std::error_code& ec) const
    {
        return explained(lease_access::attempts(*lease_).attempt_once(ec), ec).guard;
    }

    class wait {
    public:
        wait(const acquirable_lease& right, time_point deadline, waker& to_wake, waiting::ticket_limit* limit)
            : right_{right}, lease_{*right.lease_}, waits_{lease_access::keeper(lease_), deadline, to_wake, limit}
        {
        }

        [[nodiscard]] waiting::wait_step next(time_point now, bool cancelled) { return waits_.next(now, cancelled); }
        void woken(time_point now) noexcept { waits_.woken(now); }
        [[nodiscard]] guard_type attempt(waiting::wait_action how, std::error_code& ec)
        {
            auto result = right_.explained(lease_access::attempts(lease_).attempt(waits_, how, ec), ec);
            if (result.ends_wait(ec)) return std::move(result.guard);
            if (right_.was_busy_ && !result.closed && result.answer.status == acquire_status::busy) *right_.was_busy_ = true;
            lease_access::attempts(lease_).go_on(waits_, result);
            return {};
        }
        [[nodiscard]] static std::error_code error_of_end() noexcept { return {}; }
        // The right may be the last to refer to the lease.
        [[nodiscard]] bool end_takes_time() const noexcept
        {
            return waits_.end_takes_time() || lease_access::keeper(lease_).end_takes_time();
        }
        void leave_queues() noexcept { waits_.leave_queues(); }

    private:
        const acquirable_lease& right_;
        Lease& lease_;
        wait_type waits_;
    };

private:
    // Runs on the thread that has called the store, which alone has its diagnostics.
    template <class Result>
    Result explained(Result result, std::error_code ec) const
    {
        if (ec && failure_) failure_->emplace(lease_access::attempts(*lease_).failure(ec, operation_, result.too_late));
        return result;
    }

    std::shared_ptr<Lease> lease_;
    std::shared_ptr<std::optional<store_error>> failure_;
    std::shared_ptr<bool> was_busy_;
    std::string_view operation_;
};

/// What its own attempts keep alive: any of a pool of permits, which is a semaphore's or a reader's share; several of a semaphore's; or the
/// exclusive right to a shared_lease.
template <class Attempts>
class acquirable_by {
    using wait_type = typename Attempts::wait_type;

public:
    using guard_type = typename Attempts::guard_type;

    explicit acquirable_by(Attempts attempts) noexcept : attempts_{std::move(attempts)} {}

    [[nodiscard]] const auto& clock() const noexcept { return attempts_.clock(); }
    [[nodiscard]] auto engine() const
    {
        attempts_.prepare();
        auto& keeper = lease_access::keeper(attempts_.a_lease());
        keeper.attach_engine();
        return keeper.serving_engine();
    }
    [[nodiscard]] guard_type attempt(std::error_code& ec) const { return attempts_.guard_of(attempts_.attempt(ec)); }

    class wait : public wait_type {
    public:
        wait(const acquirable_by& right, time_point deadline, waker& to_wake, waiting::ticket_limit* limit)
            : wait_type{right.attempts_.pool(), right.attempts_.subject(), deadline, to_wake, limit}, attempts_{right.attempts_}
        {
        }

        [[nodiscard]] guard_type attempt(waiting::wait_action how, std::error_code& ec)
        {
            return attempts_.guard_of(wait_type::attempt(how, ec));
        }
        // The attempts may be the last to refer to the leases.
        [[nodiscard]] bool end_takes_time() const noexcept { return wait_type::end_takes_time() || attempts_.end_takes_time(); }

    private:
        const Attempts& attempts_;
    };

private:
    Attempts attempts_;
};

template <class S, class C, class O, class R>
auto acquirable_of(basic_lease<S, C, O, R>& lease)
{
    return acquirable_lease<basic_lease<S, C, O, R>>{lease};
}
template <class S, class C, class O, class R>
auto acquirable_of(lease_semaphore<S, C, O, R>& semaphore)
{
    return acquirable_by{lease_access::attempts(semaphore)};
}
template <class S, class C, class O, class R>
auto acquirable_of(lease_semaphore<S, C, O, R>& semaphore, wanted_permits wanted)
{
    return acquirable_by{lease_access::attempts(semaphore).template at<typename lease_semaphore<S, C, O, R>::several_guard_type>(wanted)};
}
template <class S, class C, class O, class R>
auto acquirable_of(shared_lease<S, C, O, R>& lease)
{
    return acquirable_by{lease_access::attempts(lease)};
}
template <class S, class C, class O, class R>
auto acquirable_shared_of(shared_lease<S, C, O, R>& lease)
{
    return acquirable_by{lease_access::attempts(lease).readers()};
}

/// What has the plain operations: a lease, a semaphore, and a shared lease, for its exclusive right.
template <class Right>
concept waitable_right = requires(Right& right) {
    { acquirable_of(right) } -> acquirable;
};

}  // namespace leasehold::inline v0::detail

#endif
