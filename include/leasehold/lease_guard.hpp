// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_GUARD_HPP
#define LEASEHOLD_LEASE_GUARD_HPP

#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/fwd.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renewal/term.hpp>
#include <leasehold/renewal/term_keeper.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

template <class Guard>
class guards_to_release;

// A failure of a store's call, with what the store can say about it.
template <lease_store Store>
[[noreturn]] void raise_store_failure(Store& store, std::error_code ec, std::string_view operation, std::string_view name)
{
    store_diagnostics said;
    if constexpr (diagnosing_store<Store>) said = store.diagnostics();
    raise(store_error{ec, std::string{operation} + " '" + std::string{name} + "'", std::move(said)});
}

template <class Lease>
struct lease_parts;
template <class Store, class Clock, class OwnerId, class RenewPolicy>
struct lease_parts<basic_lease<Store, Clock, OwnerId, RenewPolicy>> {
    using store = Store;
    using handle = renewal::keeper_handle<Store, Clock, RenewPolicy>;
};

}  // namespace detail

/// Holds one term of a lease and releases it in its destructor.
///
/// Movable, not copyable; default-made, moved-from or released it is empty. What it holds can be lost while it lives:
/// ask held(), which reads a clock and does no I/O, or watch stop_token(). A guard that was lost stands in nobody's way: the
/// lease can be acquired again, through the same object too.
/// Thread safety: distinct guards: safe, also of one lease object. One guard: held(), remaining(), token() and stop_token()
/// from any thread at once; the rest from one thread at a time, and not while the guard is moved, released or destroyed.
/// Lifetime: the store must outlive it; the lease need not.
template <class Lease>
class [[nodiscard]] lease_guard {
public:
    /// What it is a guard of.
    using lease_type = Lease;
    /// Where that lives.
    using store_type = typename detail::lease_parts<Lease>::store;

    /// Empty.
    lease_guard() noexcept = default;
    /// Takes over what the other held, which is empty then.
    lease_guard(lease_guard&& other) noexcept = default;

    /// Releases what it held before, like the destructor.
    lease_guard& operator=(lease_guard&& other) noexcept
    {
        lease_guard{std::move(other)}.swap(*this);
        return *this;
    }

    /// Releases; a failure is not reported: the store then frees the lease when its time runs out.
    /// Waits no longer than the store's call timeout.
    ~lease_guard()
    {
        std::error_code ignored;
        if (term_) release(ignored);
    }

    /// Exchanges what they hold.
    void swap(lease_guard& other) noexcept
    {
        handle_.swap(other.handle_);
        term_.swap(other.term_);
    }
    /// Exchanges what they hold.
    friend void swap(lease_guard& a, lease_guard& b) noexcept { a.swap(b); }

    /// The same as held(): false when the guard is empty, and for ever once the term is lost.
    [[nodiscard]] explicit operator bool() const noexcept { return held(); }

    /// Whether the term goes on for certain: true until the deadline, false for ever once the term is over. Reads the clock.
    [[nodiscard]] bool held() const noexcept { return remaining() > duration::zero(); }

    /// Time to the deadline; 0 when the term is over, or the guard empty.
    [[nodiscard]] duration remaining() const noexcept { return term_ ? term_->remaining(keeper().clock()) : duration::zero(); }

    /// Whether there is nothing that could be released: never acquired, moved from, or released. A lost guard is not empty.
    [[nodiscard]] bool empty() const noexcept { return !term_; }

    /// The term's fencing token; 0 when the guard is empty.
    [[nodiscard]] fencing_token token() const noexcept { return term_ ? term_->token : fencing_token{}; }

    /// The lease's name; empty when the guard is empty.
    [[nodiscard]] std::string_view name() const noexcept { return term_ ? std::string_view{keeper().name()} : std::string_view{}; }
    /// The lease's owner; empty when the guard is empty.
    [[nodiscard]] std::string_view owner() const noexcept { return term_ ? std::string_view{keeper().owner()} : std::string_view{}; }

    /// Where the lease lives; nullptr when the guard is empty.
    [[nodiscard]] store_type* store() const noexcept { return term_ ? std::addressof(keeper().store()) : nullptr; }

    /// Asked to stop when the term is lost, no later than its deadline; not when it is released while it is held.
    ///
    /// Stop callbacks run one after another on a thread of the library, never on the caller of one of its functions: a slow one
    /// delays the signals for other leases of the store, but no renewal. They may use the guard, and other leases. When the last
    /// lease of a store is destroyed, its destructor waits for a callback that is running.
    /// An empty guard, and one whose clock can't be waited on, give a token that can't be stopped. May throw std::bad_alloc.
    [[nodiscard]] std::stop_token stop_token() const { return term_ ? keeper().stop_token(term_) : std::stop_token{}; }

    /// What the last renewal of the term failed with; none when it succeeded, or said that the term is over. So after a loss
    /// it tells an outage (an error; errc::store_timeout where no answer came before the deadline) from a lease that was
    /// taken over, removed or not renewed (none).
    [[nodiscard]] std::error_code renewal_error() const noexcept { return term_ ? keeper().renewal_error(term_) : std::error_code{}; }

    /// Extends the term now, by the ttl it has. False: the term is lost. Does I/O.
    ///
    /// Throws store_error when the store fails (the term may go on until its deadline), std::system_error with
    /// errc::not_held when the guard is empty.
    bool renew() { return renew_or_throw(std::nullopt); }
    /// The same, reported in `ec`: does not throw.
    bool renew(std::error_code& ec) noexcept { return renew_or_report(std::nullopt, ec); }

    /// Extends the term by another ttl, which it keeps for the renewals to come. A renewal never lets a term end sooner than
    /// it would have. errc::invalid_terms when the ttl can't work with the lease's safety margin and policy.
    bool renew(duration ttl) { return renew_or_throw(ttl); }
    /// The same, reported in `ec`: does not throw.
    bool renew(duration ttl, std::error_code& ec) noexcept { return renew_or_report(ttl, ec); }

    /// Ends the term, here in any case: the guard is empty afterwards. Does I/O.
    ///
    /// Throws store_error when the store fails: it then frees the lease when its time runs out, at the latest; and
    /// std::system_error with errc::not_held when the guard is empty.
    release_outcome release()
    {
        require_term();
        const std::shared_ptr<handle_type> kept = handle_;
        std::error_code ec;
        const release_outcome outcome = release(ec);
        if (ec) detail::raise_store_failure(kept->keeper->store(), ec, "release", kept->keeper->name());
        return outcome;
    }

    /// The same, reported in `ec`: does not throw. The outcome is `unknown` where `ec` is set.
    release_outcome release(std::error_code& ec) noexcept
    {
        ec.clear();
        if (term_) {
            const std::shared_ptr<handle_type> handle = std::move(handle_);
            const std::shared_ptr<renewal::term> ended = std::move(term_);
            return handle->keeper->end(ended, ec);
        }
        ec = errc::not_held;
        return release_outcome::unknown;
    }

    /// Throws lease_lost unless held(); std::system_error with errc::not_held when the guard is empty.
    void ensure_held() const
    {
        require_term();
        if (!held()) detail::raise(lease_lost{name()});
    }

private:
    friend Lease;
    friend detail::guards_to_release<lease_guard>;
    using handle_type = typename detail::lease_parts<Lease>::handle;

    lease_guard(std::shared_ptr<handle_type> handle, std::shared_ptr<renewal::term> term) noexcept
        : handle_{std::move(handle)}, term_{std::move(term)}
    {
    }

    [[nodiscard]] auto& keeper() const noexcept { return *handle_->keeper; }

    void require_term() const
    {
        if (!term_) detail::raise_invalid(errc::not_held, "the guard is empty");
    }

    bool renew_or_report(std::optional<duration> ttl, std::error_code& ec) noexcept
    {
        if (term_) return keeper().extend(term_, ttl, ec);
        ec = errc::not_held;
        return false;
    }

    bool renew_or_throw(std::optional<duration> ttl)
    {
        require_term();
        if (ttl)
            if (const char* rule = keeper().broken_rule(*ttl)) detail::raise_invalid(errc::invalid_terms, rule);
        std::error_code ec;
        const bool extended = keeper().extend(term_, ttl, ec);
        if (ec) detail::raise_store_failure(keeper().store(), ec, "renew", name());
        return extended;
    }

    std::shared_ptr<handle_type> handle_;
    std::shared_ptr<renewal::term> term_;
};

}  // namespace leasehold::inline v0

#endif
