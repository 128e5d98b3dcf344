// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_GUARD_HPP
#define LEASEHOLD_LEASE_GUARD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/fwd.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renewal/keeper_handle.hpp>
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

template <class Lease>
class lease_attempts;

// The exception for a failed call of a store, with the store's diagnostics.
template <lease_store Store>
store_error store_failure(Store& store, std::error_code ec, std::string_view operation, std::string_view name)
{
    store_diagnostics said;
    if constexpr (diagnosing_store<Store>) said = store.diagnostics();
    return {ec, std::string{operation} + " '" + std::string{name} + "'", std::move(said)};
}

template <lease_store Store>
[[noreturn]] void raise_store_failure(Store& store, std::error_code ec, std::string_view operation, std::string_view name)
{
    store_diagnostics said;
    if constexpr (diagnosing_store<Store>) said = store.diagnostics();
    raise_failed_call(ec, std::string{operation} + " '" + std::string{name} + "'", std::move(said));
}

template <class Lease>
struct lease_parts;
template <class Store, class Clock, class OwnerId, class RenewPolicy>
struct lease_parts<basic_lease<Store, Clock, OwnerId, RenewPolicy>> {
    using store = Store;
    using handle = renewal::keeper_handle<renewal::term_keeper<Store, Clock, RenewPolicy>>;
};

}  // namespace detail

/// Holds one term of a lease and releases it in its destructor.
///
/// Movable, not copyable; a default-constructed, moved-from or released guard is empty. A term can be lost while its guard
/// lives: call held(), which reads a clock and does no I/O, or watch stop_token(). A lost guard does not block the lease,
/// which can then be acquired again, also through the same object.
/// Thread safety: distinct guards are independent, also those of one lease object. Of one guard, several threads may call
/// held(), remaining(), token(), stop_token() and the functions about a hand-over at once, but not while the guard is moved,
/// released or destroyed. Only one thread at a time may call the other functions.
/// Lifetime: the store must outlive it; the lease need not.
template <class Lease>
class [[nodiscard]] lease_guard {
public:
    /// The type of its lease.
    using lease_type = Lease;
    /// The type of the lease's store.
    using store_type = typename detail::lease_parts<Lease>::store;

    /// An empty guard.
    lease_guard() noexcept = default;
    /// Takes over the other guard's term; the other is then empty.
    lease_guard(lease_guard&& other) noexcept = default;

    /// Releases its own term, like the destructor, and takes over the other guard's.
    lease_guard& operator=(lease_guard&& other) noexcept
    {
        lease_guard{std::move(other)}.swap(*this);
        return *this;
    }

    /// Releases the term. A failure is not reported: the store then frees the lease when its time runs out.
    /// Waits no longer than the store's call timeout. If it is the last of all leases and guards of the store, it also waits for
    /// a stop callback that is running.
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
    [[nodiscard]] explicit operator bool() const& noexcept { return held(); }

    /// Whether the term certainly continues: true until the deadline, false for ever once the term is over. Reads the clock.
    [[nodiscard]] bool held() const& noexcept { return remaining() > duration::zero(); }

    /// Time to the deadline; 0 if the term is over, or the guard is empty.
    [[nodiscard]] duration remaining() const& noexcept { return term_ ? term_->remaining(keeper().clock()) : duration::zero(); }

    /// Whether the guard has no term: never acquired, moved from, or released. A lost guard is not empty.
    [[nodiscard]] bool empty() const& noexcept { return !term_; }

    /// The term's fencing token; 0 when the guard is empty.
    [[nodiscard]] fencing_token token() const& noexcept { return term_ ? term_->token : fencing_token{}; }

    /// The lease's name; empty when the guard is empty.
    [[nodiscard]] std::string_view name() const& noexcept { return term_ ? std::string_view{keeper().name()} : std::string_view{}; }
    /// The lease's owner; empty when the guard is empty.
    [[nodiscard]] std::string_view owner() const& noexcept { return term_ ? std::string_view{keeper().owner()} : std::string_view{}; }

    /// Where the lease lives; nullptr when the guard is empty.
    [[nodiscard]] store_type* store() const& noexcept { return term_ ? std::addressof(keeper().store()) : nullptr; }

    /// A token that is asked to stop when the term is lost, no later than its deadline, but not when a held term is
    /// released.
    ///
    /// Stop callbacks run one after another on a thread of the library, never on a thread that calls its functions. A slow
    /// callback delays the signals for other leases of the store, but no renewal. Callbacks may use the guard and other
    /// leases. The last of a store's leases and guards waits in its destructor for a callback that is running. The token
    /// of an empty guard, and of one whose clock can't be waited on, is never asked to stop. May throw std::bad_alloc.
    [[nodiscard]] std::stop_token stop_token() const& { return term_ ? keeper().losses().stop_token(term_) : std::stop_token{}; }

    /// The error of the last renewal of the term; none if it succeeded, or if its answer was that the term is over. After a
    /// loss, an error means an outage (errc::store_timeout if no answer came before the deadline); no error means that the
    /// lease was taken over, removed or not renewed.
    [[nodiscard]] std::error_code renewal_error() const& noexcept { return term_ ? keeper().renewals().error(term_) : std::error_code{}; }

    /// Extends the term now, by its ttl. False means that the term is lost. Does I/O.
    ///
    /// Throws store_error when the store fails (the term may continue until its deadline), and std::system_error with
    /// errc::not_held when the guard is empty.
    bool renew() { return renew_or_throw(std::nullopt); }
    /// The same, reported in `ec`: does not throw.
    bool renew(std::error_code& ec) noexcept { return renew_or_report(std::nullopt, ec); }

    /// Extends the term by a new ttl, which later renewals keep. A renewal never makes a term end sooner than it would have
    /// ended. The error is errc::invalid_terms if the ttl can't work with the lease's safety margin and policy.
    bool renew(duration ttl) { return renew_or_throw(ttl); }
    /// The same, reported in `ec`: does not throw.
    bool renew(duration ttl, std::error_code& ec) noexcept { return renew_or_report(ttl, ec); }

    /// Makes `data` visible to everybody who asks the store about the lease, in place of what this term had: an address, as in
    /// "10.0.0.7:8443". At most max_data_bytes (1,024) bytes of UTF-8 without a NUL; empty: nothing. It is part of the term: the
    /// next one begins without. False means that the term is lost. Does I/O.
    ///
    /// Throws std::system_error with errc::invalid_data, which says what is wrong, or errc::not_held when the guard is empty; and
    /// store_error when the store fails: then it may be published or not. For stores that are a handover_store.
    bool publish(std::string_view data)
    {
        require_term();
        validate_data(data);
        std::error_code ec;
        const bool published = publish(data, ec);
        if (ec) detail::raise_store_failure(keeper().store(), ec, "publish", name());
        return published;
    }

    /// The same, reported in `ec`: does not throw.
    bool publish(std::string_view data, std::error_code& ec) noexcept
    {
        require_handover_store();
        ec = term_ ? detail::refusal_of_data(data) : make_error_code(errc::not_held);
        bool published = false;
        if constexpr (handover_store<store_type>)
            if (!ec && held()) detail::catch_into(ec, [&] { published = keeper().store().publish(name(), owner(), token(), data, ec); });
        return published && !ec;
    }

    /// Saves `text` for whoever holds the lease next: how far the work has come, as in "offset=4711". It takes the place of what was saved
    /// before, under whatever term, and outlives this term, its release or loss included. At most max_checkpoint_bytes (4,096) bytes of
    /// UTF-8 without a NUL. False: the term is over, and nothing was written. Does I/O.
    ///
    /// Throws std::system_error with errc::invalid_data, which says what is wrong, or errc::not_held when the guard is empty; and
    /// store_error when the store fails: then it may be saved or not. For stores that are a checkpointing_store.
    bool save_checkpoint(std::string_view text)
    {
        require_term();
        validate_checkpoint(text);
        std::error_code ec;
        const bool saved = save_checkpoint(text, ec);
        if (ec) detail::raise_store_failure(keeper().store(), ec, "save_checkpoint", name());
        return saved;
    }

    /// The same, reported in `ec`: does not throw.
    bool save_checkpoint(std::string_view text, std::error_code& ec) noexcept
    {
        require_checkpointing_store();
        ec = term_ ? detail::refusal_of_checkpoint(text) : make_error_code(errc::not_held);
        bool saved = false;
        if constexpr (checkpointing_store<store_type>)
            if (!ec && held())
                detail::catch_into(ec, [&] { saved = keeper().store().save_checkpoint(name(), owner(), token(), text, ec); });
        return saved && !ec;
    }

    /// What was saved last for this name, by this holder or an earlier one; empty if nothing ever was. Asks the store each time, also
    /// after a loss: what it returns then may be the next holder's. Does I/O.
    ///
    /// Throws std::system_error with errc::not_held when the guard is empty, store_error when the store fails, and std::bad_alloc. For
    /// stores that are a checkpointing_store.
    [[nodiscard]] std::optional<std::string> load_checkpoint() const&
    {
        require_term();
        std::error_code ec;
        std::optional<std::string> text = load_checkpoint(ec);
        if (ec) detail::raise_store_failure(keeper().store(), ec, "load_checkpoint", name());
        return text;
    }

    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] std::optional<std::string> load_checkpoint(std::error_code& ec) const& noexcept
    {
        require_checkpointing_store();
        ec = term_ ? std::error_code{} : make_error_code(errc::not_held);
        std::optional<std::string> text;
        if constexpr (checkpointing_store<store_type>)
            if (!ec)
                detail::catch_into(ec, [&] {
                    if (std::optional<checkpoint_record> saved = keeper().store().checkpoint(name(), ec); saved && !ec)
                        text = std::move(saved->text);
                });
        return text;
    }

    /// Whether somebody has asked for the lease (basic_lease::request_handover()); false when the guard is empty, and once the
    /// term is over. A request takes nothing away: to follow it, end the work and release.
    ///
    /// The first call for a term asks the store, and is false if the store fails or memory runs out; from then on each renewal is
    /// followed by a look, so that a call does no I/O and says what was true at the last renewal. Does not throw. For stores that
    /// are a handover_store.
    [[nodiscard]] bool handover_requested() const& noexcept
    {
        require_handover_store();
        if constexpr (handover_store<store_type>)
            return term_ && keeper().requests().received(term_);
        else
            return false;
    }

    /// The reason of the request that handover_requested() has told of, or that handover_token() was asked to stop for; may be
    /// empty. May throw std::bad_alloc.
    [[nodiscard]] std::string handover_reason() const& { return term_ ? keeper().requests().reason(term_) : std::string{}; }

    /// A token that is asked to stop when somebody has asked for the lease: soon after the renewal that follows the request. It
    /// makes each renewal look, as handover_requested() does.
    ///
    /// Stop callbacks run one after another on a thread that does nothing else: a slow one delays neither renewals nor losses.
    /// Otherwise they are like those of stop_token(). The token of an empty guard, and of one whose clock can't be waited on, is
    /// never asked to stop. May throw std::bad_alloc, and std::system_error if there is no thread. For stores that are a
    /// handover_store.
    [[nodiscard]] std::stop_token handover_token() const&
    {
        require_handover_store();
        if constexpr (handover_store<store_type>)
            return term_ ? keeper().requests().token(term_) : std::stop_token{};
        else
            return {};
    }

    /// Ends the term, in this process in any case: the guard is empty afterwards. While an exception that the term has met
    /// unwinds the stack, min_hold does not count. Does I/O.
    ///
    /// Throws store_error when the store fails; the store then frees the lease when its time runs out, at the latest. Throws
    /// std::system_error with errc::not_held when the guard is empty.
    release_outcome release()
    {
        require_term();
        const handle_type kept = handle_;
        std::error_code ec;
        const release_outcome outcome = release(ec);
        if (ec) detail::raise_store_failure(kept->store(), ec, "release", kept->name());
        return outcome;
    }

    /// The same, reported in `ec`: does not throw. The outcome is `unknown` if the store fails, or if the
    /// guard is empty.
    release_outcome release(std::error_code& ec) noexcept
    {
        ec.clear();
        if (term_) {
            const handle_type handle = std::move(handle_);
            const std::shared_ptr<renewal::term> ended = std::move(term_);
            return handle->end(ended, ec);
        }
        ec = errc::not_held;
        return release_outcome::unknown;
    }

    /// Throws lease_lost unless held(); std::system_error with errc::not_held when the guard is empty.
    void ensure_held() const&
    {
        require_term();
        if (!held()) detail::throw_exception(lease_lost{name()});
    }

    // Deleted: `if (lease.try_acquire()) work();` would work without the lease, since a temporary guard releases it before.
    explicit operator bool() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool held() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    duration remaining() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool empty() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    fencing_token token() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::string_view name() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::string_view owner() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    store_type* store() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::stop_token stop_token() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::optional<std::string> load_checkpoint() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::optional<std::string> load_checkpoint(std::error_code& ec) const&& = delete;  ///< the same
    std::error_code renewal_error() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool handover_requested() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::string handover_reason() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::stop_token handover_token() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    void ensure_held() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()

private:
    friend detail::lease_attempts<Lease>;
    friend detail::lease_access;
    friend class detail::guards_to_release<lease_guard>;
    using handle_type = typename detail::lease_parts<Lease>::handle;

    lease_guard(handle_type handle, std::shared_ptr<renewal::term> term) noexcept
        : handle_{std::move(handle)}, term_{std::move(term)}
    {
    }

    [[nodiscard]] auto& keeper() const noexcept { return *handle_; }

    static constexpr void require_handover_store() noexcept
    {
        static_assert(handover_store<store_type>, "this store keeps neither data nor requests of a term: it has to be a handover_store");
    }

    static constexpr void require_checkpointing_store() noexcept
    {
        static_assert(checkpointing_store<store_type>, "this store keeps no checkpoints: it has to be a checkpointing_store");
    }

    void require_term() const
    {
        if (!term_) detail::raise_invalid(errc::not_held, "the guard is empty");
    }

    bool renew_or_report(std::optional<duration> ttl, std::error_code& ec) noexcept
    {
        if (term_) return keeper().renewals().extend(term_, ttl, ec);
        ec = errc::not_held;
        return false;
    }

    bool renew_or_throw(std::optional<duration> ttl)
    {
        require_term();
        if (ttl)
            if (const char* rule = keeper().broken_rule(*ttl)) detail::raise_invalid(errc::invalid_terms, rule);
        std::error_code ec;
        const bool extended = keeper().renewals().extend(term_, ttl, ec);
        if (ec) detail::raise_store_failure(keeper().store(), ec, "renew", name());
        return extended;
    }

    handle_type handle_;
    std::shared_ptr<renewal::term> term_;
};

}  // namespace leasehold::inline v0

#endif
