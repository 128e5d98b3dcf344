// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_ACQUIRE_FORMS_HPP
#define LEASEHOLD_DETAIL_ACQUIRE_FORMS_HPP

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/deadline.hpp>

#include <chrono>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0::detail {

struct lease_access;

/// The ways to acquire a right: one attempt, or a wait, each throwing or reporting in an `ec`, which is the last argument.
///
/// The base of basic_lease, of lease_semaphore, of shared_lease for its writers, and for one call of several permits and of readers.
///
// `Attempts` has attempt(ec) and wait(deadline, stop, ec); guard_of() or raise_failure() takes their result. Before them comes
// prepare(), which throws, or prepare(ec), which says whether it could. Its clock() measures the deadlines.
template <class Attempts>
class acquire_forms {
    using Guard = typename Attempts::guard_type;

public:
    /// Makes one attempt. An empty guard means busy: somebody else holds the right, or a guard of this basic_lease or shared_lease does.
    ///
    /// Throws store_error when the store fails, or when its answer comes so late that the term would already be over
    /// (errc::store_timeout). Throws std::system_error or std::bad_alloc when there are no threads or memory to watch the term;
    /// for permits and shares also std::system_error with errc::invalid_terms if the store's record says another count. Nothing is
    /// held then.
    [[nodiscard]] Guard try_acquire() & { return or_throw("try_acquire", one_attempt()); }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] Guard try_acquire(std::error_code& ec) & noexcept { return or_report({}, ec, one_attempt()); }

    /// Waits for the right, at most this long; zero or less means exactly one attempt.
    ///
    /// An empty guard means that the time ran out or that `stop` was asked to stop. If `stop` was asked before the call, the
    /// store isn't called. Waiters of one process queue, first come, first served, and ask the store one at a time. A waiter sleeps
    /// until the end that the store reported, or until a release wakes it; it polls with growing, jittered pauses only if the store
    /// can't wake it. Throws like try_acquire(): an outage ends the wait.
    ///
    /// Waiters for a permit, to read or to write stand in one line for the name, across processes if the store can order them
    /// (ordered_store), and only the first asks. A permit that becomes free is then found within 25 ms. A writer that has the gate keeps
    /// new readers out, and takes the shares as they come free; it gives all of it back if it doesn't get them. An outage that costs a
    /// writer the gate is errc::lost.
    template <class Rep, class Period>
    [[nodiscard]] Guard try_acquire_for(std::chrono::duration<Rep, Period> at_most, std::stop_token stop = {}) &
    {
        return or_throw("try_acquire_for", wait(waiting::deadline_after(attempts_.clock(), at_most), stop));
    }
    /// The same, reported in `ec`: does not throw. No error means that the time ran out.
    template <class Rep, class Period>
    [[nodiscard]] Guard try_acquire_for(std::chrono::duration<Rep, Period> at_most, std::error_code& ec) & noexcept
    {
        return try_acquire_for(at_most, {}, ec);
    }
    /// The same. std::errc::operation_canceled means that `stop` was asked to stop.
    template <class Rep, class Period>
    [[nodiscard]] Guard try_acquire_for(std::chrono::duration<Rep, Period> at_most, std::stop_token stop, std::error_code& ec) & noexcept
    {
        return or_report(stop, ec, wait(waiting::deadline_after(attempts_.clock(), at_most), stop));
    }

    template <class Number, class... Rest>
        requires std::is_arithmetic_v<Number>
    Guard try_acquire_for(Number, Rest&&...) & = delete;  ///< a number is no time: write 10s, not 10

    /// Waits until an instant of the right's own clock, or of any std clock, of which only the distance from now counts.
    template <class Clk, class Dur>
    [[nodiscard]] Guard try_acquire_until(std::chrono::time_point<Clk, Dur> until, std::stop_token stop = {}) &
    {
        return or_throw("try_acquire_until", wait(waiting::deadline_at(attempts_.clock(), until), stop));
    }
    /// The same, reported in `ec`: does not throw.
    template <class Clk, class Dur>
    [[nodiscard]] Guard try_acquire_until(std::chrono::time_point<Clk, Dur> until, std::error_code& ec) & noexcept
    {
        return try_acquire_until(until, {}, ec);
    }
    /// The same. std::errc::operation_canceled means that `stop` was asked to stop.
    template <class Clk, class Dur>
    [[nodiscard]] Guard try_acquire_until(std::chrono::time_point<Clk, Dur> until, std::stop_token stop, std::error_code& ec) & noexcept
    {
        return or_report(stop, ec, wait(waiting::deadline_at(attempts_.clock(), until), stop));
    }

    /// Waits without a limit: the guard is empty only if `stop` was asked to stop.
    [[nodiscard]] Guard acquire(std::stop_token stop = {}) & { return or_throw("acquire", wait(time_point::max(), stop)); }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] Guard acquire(std::error_code& ec) & noexcept { return acquire({}, ec); }
    /// The same. std::errc::operation_canceled means that `stop` was asked to stop.
    [[nodiscard]] Guard acquire(std::stop_token stop, std::error_code& ec) & noexcept
    {
        return or_report(stop, ec, wait(time_point::max(), stop));
    }

    /// Deleted: a temporary object would be gone when its guard is used, and the next attempt would belong to another object.
    template <class... Arguments>
    Guard try_acquire(Arguments&&...) && = delete;
    template <class... Arguments>
    Guard try_acquire_for(Arguments&&...) && = delete;  ///< see try_acquire() &&
    template <class... Arguments>
    Guard try_acquire_until(Arguments&&...) && = delete;  ///< see try_acquire() &&
    template <class... Arguments>
    Guard acquire(Arguments&&...) && = delete;  ///< see try_acquire() &&

protected:
    explicit acquire_forms(Attempts attempts) noexcept : attempts_{std::move(attempts)} {}

    Attempts attempts_;

private:
    friend lease_access;

    template <class Call>
    Guard or_throw(std::string_view operation, Call call)
    {
        std::error_code ec;
        attempts_.prepare();
        auto result = call(ec);
        if (ec) attempts_.raise_failure(result, ec, operation);
        return attempts_.guard_of(std::move(result));
    }

    // A wait that was cancelled says so, one that ran out of time reports nothing.
    template <class Call>
    Guard or_report(const std::stop_token& stop, std::error_code& ec, Call call) noexcept
    {
        Guard guard;
        ec.clear();
        catch_into(ec, [&] {
            if (attempts_.prepare(ec)) guard = attempts_.guard_of(call(ec));
        });
        if (!ec && guard.empty() && stop.stop_requested()) ec = std::make_error_code(std::errc::operation_canceled);
        return guard;
    }

    [[nodiscard]] auto one_attempt() noexcept
    {
        return [this](std::error_code& ec) { return attempts_.attempt(ec); };
    }
    [[nodiscard]] auto wait(time_point deadline, const std::stop_token& stop) noexcept
    {
        return [this, deadline, &stop](std::error_code& ec) { return attempts_.wait(deadline, stop, ec); };
    }
};

// The ways to acquire by other attempts of a right. Lives for one call.
template <class Attempts>
class forms_of_call : public acquire_forms<Attempts> {
public:
    explicit forms_of_call(Attempts attempts) noexcept : acquire_forms<Attempts>{std::move(attempts)} {}

    // A temporary object of it lives as long as the call.
    [[nodiscard]] forms_of_call& here() noexcept { return *this; }
};

}  // namespace leasehold::inline v0::detail

#endif
