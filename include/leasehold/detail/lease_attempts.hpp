// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_LEASE_ATTEMPTS_HPP
#define LEASEHOLD_DETAIL_LEASE_ATTEMPTS_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/acquire_forms.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/owner_id/concept.hpp>
#include <leasehold/renewal/broken_rule.hpp>
#include <leasehold/renewal/keeper_handle.hpp>
#include <leasehold/renewal/term_keeper.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/lease_wait.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/queue_ticket.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <algorithm>
#include <cassert>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// How a basic_lease acquires: single attempts, and the wait, on the caller's thread. A term_keeper and a lease_wait decide.
template <class Store, class Clock, class OwnerId, class RenewPolicy>
class lease_attempts {
    using keeper_type = renewal::term_keeper<Store, Clock, RenewPolicy>;

public:
    using guard_type = lease_guard<basic_lease<Store, Clock, OwnerId, RenewPolicy>>;
    using handle_type = renewal::keeper_handle<keeper_type>;
    using wait_type = waiting::lease_wait<keeper_type>;

    // Throws what is wrong with the arguments.
    lease_attempts(Store& store, std::string_view name, const lease_terms& terms, Clock clock, const OwnerId& owner, RenewPolicy policy)
        : handle_{handle_type::make(store, checked_name(name), checked_owner(owner.id()), checked(terms, policy), std::move(clock),
                                    std::move(policy))}
    {
    }

    explicit lease_attempts(handle_type handle) noexcept : handle_{std::move(handle)} {}

    [[nodiscard]] keeper_type& keeper() const noexcept
    {
        assert(handle_ && "a moved-from lease can only be destroyed or assigned to");
        return *handle_;
    }

    [[nodiscard]] const handle_type& handle() const noexcept { return handle_; }
    [[nodiscard]] Store& store() const noexcept { return keeper().store(); }
    [[nodiscard]] const Clock& clock() const noexcept { return keeper().clock(); }

    // Must come before begin_attempt() and a wait: attaches the threads of the lease.
    void prepare() { keeper().attach_engine(); }
    bool prepare(std::error_code& ec) noexcept
    {
        catch_into(ec, [this] { prepare(); });
        return !ec;
    }

    struct attempt_result {
        guard_type guard;
        acquire_result answer{};
        bool closed = false;    // a guard of this object holds, or another attempt through it is under way
        bool too_late = false;  // granted, but the term was over before the answer came

        [[nodiscard]] bool ends_wait(const std::error_code& ec) const noexcept { return !guard.empty() || ec; }
    };

    attempt_result attempt(std::error_code& ec) noexcept
    {
        waiting::no_ticket single;
        return attempt(single, ec);
    }

    // Prepares and makes an attempt, for another right. `waiting_since`: since when the caller has waited, if it has.
    attempt_result attempt_once(std::error_code& ec, std::optional<time_point> waiting_since = {}) noexcept
    {
        waiting::no_ticket single;
        return prepare(ec) ? attempt(single, ec, waiting_since) : attempt_result{};
    }

    template <class Ticket>
    attempt_result attempt(Ticket& ticket, std::error_code& ec, std::optional<time_point> waiting_since = {}) noexcept
    {
        if (!begin_attempt(ec)) return {.guard = {}, .closed = !ec};
        acquire_result result;
        const time_point sent = clock().now();
        catch_into(ec,
                   [&] { result = waiting::try_acquire(store(), ticket, keeper().name(), keeper().owner(), keeper().terms().ttl, ec); });
        std::error_code not_released;
        if (!ec) return answered(result, sent, ec, not_released, waiting_since);
        keeper().attempt_failed();
        return {.guard = {}, .answer = result};
    }

    // Does the part of an attempt before the call; answered() or attempt_failed() must follow. False: a guard of this object
    // holds, or another attempt is under way.
    bool begin_attempt(std::error_code& ec) noexcept
    {
        bool begun = false;
        catch_into(ec, [&] { begun = keeper().begin_attempt(); });
        return begun;
    }

    // Does the part of an attempt after the call, which was sent at `sent`. `not_released`: the error of releasing a term that was granted
    // too late; if it is one already, the store is not called again. `waiting_since`: since when the caller has waited, if it has.
    attempt_result answered(const acquire_result& result, time_point sent, std::error_code& ec, std::error_code& not_released,
                            std::optional<time_point> waiting_since = {}) noexcept
    {
        if (!result.granted()) {
            keeper().attempt_failed();
            return {.guard = {}, .answer = result};
        }
        if (auto term = keeper().grant(result.token, sent)) {
            keeper().observe_beginning(term, waiting_since.value_or(sent));
            return {.guard = guard_type{typename guard_type::body_type{handle_, std::move(term)}}, .answer = result};
        }
        // The answer took longer than the term. Nobody has worked under the term, so release it rather than hand it out.
        if (!not_released)
            catch_into(not_released, [&] {
                static_cast<void>(store().release(keeper().name(), keeper().owner(), result.token, duration::zero(), not_released));
            });
        keeper().attempt_failed();
        waiting::released(store(), keeper().name());
        ec = errc::store_timeout;
        return {.guard = {}, .too_late = true};
    }

    // Does nothing but wait.
    struct waits_only {
        static void busy(const acquire_result&) noexcept {}
        [[nodiscard]] static time_point look_at() noexcept { return time_point::max(); }
        static void look() noexcept {}
    };

    // Does what a lease_wait decides, on this thread: waiting::wait_on_thread() for one lease, which also tells `beside` of each busy
    // answer of the store, and lets it look around when it wants to, without leaving its place in the queue.
    template <class Beside = waits_only>
    attempt_result wait(time_point deadline, const std::stop_token& stop, std::error_code& ec, Beside&& beside = {})
    {
        static_assert(waitable_clock<Clock>, "waiting for a lease needs a clock with wait_until (waitable_clock)");
        if (stop.stop_requested()) return {};
        if (deadline <= clock().now()) return attempt(ec);
        waker to_wake;
        wait_type waits{keeper(), deadline, to_wake};
        const std::stop_callback wake_when_cancelled{stop, [&to_wake] { to_wake.wake(); }};
        for (;;) {
            // The clock first, by every compiler, so that a simulated run is the same with each.
            const time_point now = clock().now();
            const waiting::wait_step step = waits.next(now, stop.stop_requested());
            if (step.action == waiting::wait_action::give_up) return {};
            if (step.action == waiting::wait_action::sleep) {
                if (now >= beside.look_at())
                    beside.look();
                else if (clock().wait_until(to_wake, std::min(step.at, beside.look_at())))
                    waits.woken(clock().now());
                continue;
            }
            attempt_result result = attempt(waits, step.action, ec);
            if (result.ends_wait(ec)) return result;
            if (!result.closed && result.answer.status == acquire_status::busy) beside.busy(result.answer);
            go_on(waits, result);
        }
    }

    // Makes the attempt that the wait asked for.
    attempt_result attempt(wait_type& waits, waiting::wait_action how, std::error_code& ec) noexcept
    {
        auto* const ticket = how == waiting::wait_action::attempt ? waits.ticket() : nullptr;
        if (ticket) return attempt(*ticket, ec, waits.began());
        waiting::no_ticket single;
        return attempt(single, ec, waits.began());
    }

    // Must follow an attempt that has not ended the wait.
    void go_on(wait_type& waits, const attempt_result& result) const
    {
        if (result.closed)
            waits.closed();
        else
            waits.busy(clock().now(), result.answer);
    }

    // `found_by_library`: the library itself found the failure, so the store's last diagnostics are about something else.
    [[nodiscard]] store_error failure(std::error_code ec, std::string_view operation, bool found_by_library = false) const
    {
        if (!found_by_library) return store_failure(store(), ec, operation, keeper().name());
        store_diagnostics diagnostics;
        diagnostics.advice = "it granted the lease, but its answer came when the term was already over; the term was released";
        return {ec, std::string{operation} + " '" + keeper().name() + "'", std::move(diagnostics)};
    }

    [[noreturn]] void raise_failure(std::error_code ec, std::string_view operation, bool found_by_library = false) const
    {
        if (!found_by_library) raise_store_failure(store(), ec, operation, keeper().name());
        throw_exception(failure(ec, operation, true));
    }

    [[noreturn]] void raise_failure(const attempt_result& result, std::error_code ec, std::string_view operation) const
    {
        raise_failure(ec, operation, result.too_late);
    }

    [[nodiscard]] static guard_type guard_of(attempt_result result) noexcept { return std::move(result.guard); }

private:
    static std::string checked_name(std::string_view name)
    {
        validate_name(name);
        return std::string{name};
    }

    static std::string checked_owner(std::string owner)
    {
        validate_owner(owner);
        return owner;
    }

    static lease_terms checked(const lease_terms& terms, const RenewPolicy& policy)
    {
        if (const char* rule = renewal::broken_rule(terms, policy)) raise_invalid(errc::invalid_terms, rule);
        return terms;
    }

    handle_type handle_;
};

}  // namespace leasehold::inline v0::detail

#endif
