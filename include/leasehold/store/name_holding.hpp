// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_NAME_HOLDING_HPP
#define LEASEHOLD_STORE_NAME_HOLDING_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/hold_wait.hpp>
#include <leasehold/detail/store_failure.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/wait_on_thread.hpp>

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

constexpr const char* broken_hold_period_rule(duration period) noexcept
{
    if (period < min_ttl) return "a name is held closed for at least 1 ms";
    return period > max_ttl ? "a name is held closed for at most 10 years (3650 days)" : nullptr;
}

// No error: a name can be held so.
inline std::error_code refusal_of_hold(std::string_view name, duration period, std::string_view reason) noexcept
{
    if (const std::error_code refused = refusal_of(name)) return refused;
    if (broken_hold_period_rule(period)) return errc::invalid_terms;
    return broken_hold_reason_rule(reason) ? make_error_code(errc::invalid_data) : std::error_code{};
}

// What a hold waits by: the store's own clock, if it has one that can be waited on.
template <class Store>
auto hold_clock_of([[maybe_unused]] const Store& store)
{
    if constexpr (requires { requires waitable_clock<std::remove_cvref_t<decltype(store.clock())>>; })
        return store.clock();
    else
        return steady_clock{};
}

template <class Store>
using hold_clock = decltype(hold_clock_of(std::declval<const Store&>()));

}  // namespace detail

/// How hold() waits for a name that somebody has.
struct hold_options {
    duration wait_at_most = std::chrono::minutes{1};  ///< how long it waits; 0: it asks the holder, and does not wait
    std::stop_token stop{};                            ///< ends the wait
};

/// Gives a store hold() and unhold(), which close a name for a while: nobody is granted it, and the work that it stands for rests.
///
///     class my_store : public lh::name_holding<my_store> { ... };   // a lease_store
///
/// A hold is a term of the name without a holder, under an owner that no lease can have; see lease_record::is_hold(). It is granted like
/// any term, with a token of its own, so that the fence refuses what an earlier holder still writes. It outlives the process, and ends by
/// the store's clock or by unhold(). Those who wait for the name find it busy until then, and are served in turn.
///
/// Thread safety: that of the store. `Derived` is the store, a lease_store. It may have `clock()`, a waitable_clock, which hold() waits by;
/// otherwise that is a steady_clock.
template <class Derived>
class name_holding {
public:
    /// Closes `name` from now until `period` is over, or until unhold(). Returns true.
    ///
    /// The holder of the name is asked to hand it over first, with "hold: " and the reason (see guard_base::handover_requested(); where the
    /// store is a handover_store). hold() waits until the term ends, in line with others that wait for the name, and asks each that is
    /// granted it before. It takes nothing away: a holder that does not hand over keeps the name, and then there is no hold.
    /// `period`: 1 ms to 10 years. `reason`: at most max_hold_reason_bytes (160) bytes of UTF-8 without a NUL; may be empty.
    ///
    /// Throws std::system_error, which says why: errc::held_closed if the name is held closed already, with its reason and for how long;
    /// std::errc::timed_out and std::errc::operation_canceled, see hold_options; errc::invalid_terms also if it is the name of a right
    /// that several hold; errc::invalid_name, errc::invalid_data. Throws store_error when the store fails. After an attempt that fails,
    /// hold() looks whether it was carried out; if that fails too, the message says that the name may be held closed: unhold() opens it.
    /// A call whose connection broke may be carried out even after that look.
    bool hold(std::string_view name, duration period, std::string_view reason = {}, const hold_options& options = {})
    {
        if (const char* rule = detail::broken_hold_period_rule(period)) detail::raise_invalid(errc::invalid_terms, rule);
        validate_name(name);
        if (const char* rule = detail::broken_hold_reason_rule(reason))
            detail::raise_invalid(errc::invalid_data, std::string{"the reason of a hold "} + rule);
        std::error_code ec;
        failure failed;
        if (wait_for(name, period, reason, options, ec, &failed)) return true;
        if (!failed.explanation.empty()) detail::throw_exception(std::system_error{ec, "leasehold: " + failed.explanation});
        detail::raise_failed_call(ec, "hold '" + std::string{name} + (failed.in_doubt ? "', which may be held closed all the same" : "'"),
                                  std::move(failed.diagnostics));
    }

    /// The same, reported in `ec`: true if the name is held closed. Does not throw.
    bool hold(std::string_view name, duration period, std::string_view reason, const hold_options& options, std::error_code& ec) noexcept
    {
        ec = detail::refusal_of_hold(name, period, reason);
        bool held = false;
        if (!ec) detail::catch_into(ec, [&] { held = wait_for(name, period, reason, options, ec, nullptr); });
        return held;
    }

    /// The same with default options.
    bool hold(std::string_view name, duration period, std::string_view reason, std::error_code& ec) noexcept
    {
        return hold(name, period, reason, hold_options{}, ec);
    }
    /// The same without a reason.
    bool hold(std::string_view name, duration period, std::error_code& ec) noexcept { return hold(name, period, {}, ec); }

    /// Opens a name that is held closed. True: it was, and those who wait for it are served. False: it was not; a lease of that name is
    /// left alone. Throws std::system_error with errc::invalid_name, and store_error when the store fails.
    bool unhold(std::string_view name)
    {
        validate_name(name);
        std::error_code ec;
        const bool ended = end_hold(name, ec);
        if (ec) detail::raise_store_failure(self(), ec, "unhold", name);
        return ended;
    }

    /// The same, reported in `ec`: does not throw.
    bool unhold(std::string_view name, std::error_code& ec) noexcept
    {
        ec = detail::refusal_of(name);
        bool ended = false;
        if (!ec) detail::catch_into(ec, [&] { ended = end_hold(name, ec); });
        return ended && !ec;
    }

protected:
    constexpr name_holding() noexcept = default;
    ~name_holding() = default;

private:
    struct failure {
        std::string explanation;  // empty: the store failed
        bool in_doubt = false;
        store_diagnostics diagnostics{};
    };

    [[nodiscard]] Derived& self() noexcept { return static_cast<Derived&>(*this); }

    bool wait_for(std::string_view name, duration period, std::string_view reason, const hold_options& options, std::error_code& ec,
                  failure* failed)
    {
        static_assert(lease_store<Derived>, "a name is held closed in a store: name_holding is the base of a lease_store");
        const auto clock = detail::hold_clock_of(self());
        waker to_wake;
        detail::hold_wait<Derived, detail::hold_clock<Derived>> waits{self(), name, period, reason, clock, options.wait_at_most, to_wake};
        const bool held = !waiting::wait_on_thread(waits, clock, to_wake, options.stop, ec).guard.empty();
        if (ec && failed) *failed = {waits.explanation(), waits.in_doubt(), waits.diagnostics()};
        return held;
    }

    // Another hold, or a lease, that comes after the look has another token.
    bool end_hold(std::string_view name, std::error_code& ec)
    {
        const std::optional<lease_record> found = self().inspect(name, ec);
        if (ec || !found || !found->is_hold()) return false;
        const bool ended = self().release(name, found->owner, found->token, duration::zero(), ec);
        waiting::released(self(), name);
        return ended;
    }
};

}  // namespace leasehold::inline v0

#endif
