// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_GUARD_BASE_HPP
#define LEASEHOLD_DETAIL_GUARD_BASE_HPP

#include <leasehold/detail/guard_core.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/store/concept.hpp>

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

/// What every guard can do: that of a lease, a permit, a reader's share, a writer's exclusive right and a set.
///
/// Thread safety: distinct guards are independent, also those of one lease object. Of one guard, several threads may ask at once, but
/// not while the guard is moved, released or destroyed. Only one thread at a time may call the other functions.
/// Lifetime: the store must outlive it; the lease, the semaphore or the shared lease need not.
template <class Guard, class Body>
class guard_base : public guard_core<Guard, Body> {
public:
    using guard_core<Guard, Body>::guard_core;

    /// The store in which the right lives; nullptr when the guard is empty. A set has none, since it may have several stores.
    [[nodiscard]] auto* store() const& noexcept
        requires requires(const Body& body) { body.store(); }
    {
        return this->body().store();
    }

    /// A token that is asked to stop when the right is lost, no later than its deadline, but not when a held right is released. Of
    /// several terms, the first loss counts.
    ///
    /// Stop callbacks run one after another on a thread of the library, never on a thread that calls its functions. A slow
    /// callback delays the signals for other leases of the store, but no renewal. Callbacks may use the guard and other
    /// leases. The last of a store's leases and guards waits in its destructor for a callback that is running. The token
    /// of an empty guard, and of one whose clock can't be waited on, is never asked to stop. May throw std::bad_alloc.
    [[nodiscard]] std::stop_token stop_token() const& { return this->body().stop_token(); }

    /// The error of the last renewal; none if it succeeded, or if its answer was that the term is over. Of several terms, the first
    /// that has an error counts. After a loss, an error means an outage (errc::store_timeout if no answer came before the deadline);
    /// no error means that the lease was taken over, removed or not renewed. For permits and shares, errc::invalid_terms means that
    /// the store's record of the count was removed, and another written.
    [[nodiscard]] std::error_code renewal_error() const& noexcept { return this->body().renewal_error(); }

    /// Extends the right now, by its ttl; several terms in few calls if the store is a batching_store. False means that it is lost.
    /// Does I/O.
    ///
    /// With several terms it stops at the first loss or failure: the terms after that are not extended.
    /// Throws store_error when a store fails (the right may continue until its deadline), and std::system_error with
    /// errc::not_held when the guard is empty.
    bool renew() & { return renew_or_throw(std::nullopt); }
    /// The same, reported in `ec`: does not throw.
    bool renew(std::error_code& ec) & noexcept { return renew_or_report(std::nullopt, ec); }

    /// Extends the right by a new ttl, which later renewals keep. A renewal never makes a term end sooner in the store; with a
    /// shorter ttl this guard's deadline comes sooner. The error is errc::invalid_terms if the ttl can't work with the safety
    /// margin and the policy.
    bool renew(duration ttl) & { return renew_or_throw(ttl); }
    /// The same, reported in `ec`: does not throw.
    bool renew(duration ttl, std::error_code& ec) & noexcept { return renew_or_report(ttl, ec); }

    /// Makes `data` visible to everybody who asks the store about the lease, in place of what this term had: an address, as in
    /// "10.0.0.7:8443". At most max_data_bytes (1,024) bytes of UTF-8 without a NUL; empty: nothing. It is part of the term: the
    /// next one begins without. False means that the term is lost. Does I/O.
    ///
    /// Throws std::system_error with errc::invalid_data, which says what is wrong, or errc::not_held when the guard is empty; and
    /// store_error when the store fails: then it may be published or not. For guards of one term, and stores that are a
    /// handover_store.
    bool publish(std::string_view data) &
        requires(Body::is_one_term)
    {
        require_right();
        validate_data(data);
        std::error_code ec;
        const bool published = publish(data, ec);
        if (ec) this->body().raise_failure(ec, "publish");
        return published;
    }

    /// The same, reported in `ec`: does not throw.
    bool publish(std::string_view data, std::error_code& ec) & noexcept
        requires(Body::is_one_term)
    {
        require_handover_store();
        ec = this->body().empty() ? make_error_code(errc::not_held) : refusal_of_data(data);
        if constexpr (handover_store<typename Body::kept_in>) return !ec && this->body().publish(data, ec);
        return false;
    }

    /// Saves `text` for the next holder of the lease: how far the work has come, as in "offset=4711". It takes the place of what was saved
    /// before, under whatever term, and outlives this term, its release or loss included. At most max_checkpoint_bytes (4,096) bytes of
    /// UTF-8 without a NUL. False: the term is over, and nothing was written. Does I/O.
    ///
    /// Throws std::system_error with errc::invalid_data, which says what is wrong, or errc::not_held when the guard is empty; and
    /// store_error when the store fails: then it may be saved or not. For guards of one term, and stores that are a checkpointing_store.
    bool save_checkpoint(std::string_view text) &
        requires(Body::is_one_term)
    {
        require_right();
        validate_checkpoint(text);
        std::error_code ec;
        const bool saved = save_checkpoint(text, ec);
        if (ec) this->body().raise_failure(ec, "save_checkpoint");
        return saved;
    }

    /// The same, reported in `ec`: does not throw.
    bool save_checkpoint(std::string_view text, std::error_code& ec) & noexcept
        requires(Body::is_one_term)
    {
        require_checkpointing_store();
        ec = this->body().empty() ? make_error_code(errc::not_held) : refusal_of_checkpoint(text);
        if constexpr (checkpointing_store<typename Body::kept_in>) return !ec && this->body().save_checkpoint(text, ec);
        return false;
    }

    /// What was saved last for this name, by this holder or an earlier one; empty if nothing ever was. Asks the store each time, also
    /// after a loss: what it returns then may be the next holder's. Does I/O. If a node that lags answers, of before this term's grant, it
    /// asks again, for 0.13 s (a checkpoint_looking_store).
    ///
    /// Throws std::system_error with errc::not_held when the guard is empty, store_error when the store fails (errc::store_conflict: the
    /// node still lags), and std::bad_alloc. For guards of one term, and stores that are a checkpointing_store.
    [[nodiscard]] std::optional<std::string> load_checkpoint() const&
        requires(Body::is_one_term)
    {
        require_right();
        std::error_code ec;
        std::optional<std::string> text = load_checkpoint(ec);
        if (ec) this->body().raise_failure(ec, "load_checkpoint");
        return text;
    }

    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] std::optional<std::string> load_checkpoint(std::error_code& ec) const& noexcept
        requires(Body::is_one_term)
    {
        require_checkpointing_store();
        ec = this->body().empty() ? make_error_code(errc::not_held) : std::error_code{};
        if constexpr (checkpointing_store<typename Body::kept_in>)
            if (!ec) return this->body().load_checkpoint(ec);
        return std::nullopt;
    }

    /// Whether somebody has asked for the lease (basic_lease::request_handover()); false when the guard is empty, and once the
    /// term is over. A request takes nothing away: to follow it, end the work and release.
    ///
    /// The first call for a term asks the store, and is false if the store fails or memory runs out; from then on each renewal is
    /// followed by a look, so that a call does no I/O and says what was true at the last renewal. Does not throw. For guards of one
    /// term, and stores that are a handover_store.
    [[nodiscard]] bool handover_requested() const& noexcept
        requires(Body::is_one_term)
    {
        require_handover_store();
        if constexpr (handover_store<typename Body::kept_in>) return this->body().handover_requested();
        return false;
    }

    /// The reason of the request that handover_requested() has told of, or that handover_token() was asked to stop for; may be
    /// empty. May throw std::bad_alloc.
    [[nodiscard]] std::string handover_reason() const&
        requires(Body::is_one_term)
    {
        return this->body().handover_reason();
    }

    /// A token that is asked to stop when somebody has asked for the lease: soon after the renewal that follows the request. It
    /// makes each renewal look, as handover_requested() does.
    ///
    /// Stop callbacks run one after another on a thread that does nothing else: a slow one delays neither renewals nor losses.
    /// Otherwise they are like those of stop_token(). The token of an empty guard, and of one whose clock can't be waited on, is
    /// never asked to stop. May throw std::bad_alloc, and std::system_error if there is no thread. For guards of one term, and
    /// stores that are a handover_store.
    [[nodiscard]] std::stop_token handover_token() const&
        requires(Body::is_one_term)
    {
        require_handover_store();
        if constexpr (handover_store<typename Body::kept_in>) return this->body().handover_token();
        return {};
    }

    /// Ends the right, in this process in any case: the guard is empty afterwards. Several terms end the newest first, in few calls if
    /// the store is a batching_store; then `released` means that all lasted until now, `lost` that one did not. While an exception that
    /// the term has met unwinds the stack, min_hold does not count. Does I/O.
    ///
    /// Throws store_error when a store fails, which is not called again, and frees the right when its time runs out, at the latest.
    /// Throws std::system_error with errc::not_held when the guard is empty.
    release_outcome release()
    {
        require_right();
        std::error_code ec;
        Body ended = std::exchange(this->body(), Body{});
        const release_outcome outcome = ended.end(ec);
        if (ec) ended.raise_failure(ec, "release");
        return outcome;
    }

    /// The same, reported in `ec`: does not throw. The outcome is `unknown` if a store fails, or if the guard is empty.
    release_outcome release(std::error_code& ec) noexcept
    {
        ec.clear();
        Body ended = std::exchange(this->body(), Body{});
        if (!ended.empty()) return ended.end(ec);
        ec = errc::not_held;
        return release_outcome::unknown;
    }

    /// Throws lease_lost, which names the first lost lease, unless held(); std::system_error with errc::not_held when the guard is
    /// empty.
    void ensure_held() const&
    {
        require_right();
        if (!this->held()) throw_exception(lease_lost{this->body().name_of_loss()});
    }

    // Deleted: see guard_core.
    void store() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::stop_token stop_token() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::error_code renewal_error() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::optional<std::string> load_checkpoint() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::optional<std::string> load_checkpoint(std::error_code&) const&& = delete;  ///< the same
    bool handover_requested() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::string handover_reason() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::stop_token handover_token() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    void ensure_held() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool renew() && = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool renew(std::error_code&) && = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool renew(duration) && = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool renew(duration, std::error_code&) && = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool publish(std::string_view) && = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool publish(std::string_view, std::error_code&) && = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool save_checkpoint(std::string_view) && = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool save_checkpoint(std::string_view, std::error_code&) && = delete;  ///< the same

private:
    static constexpr void require_handover_store() noexcept
    {
        static_assert(handover_store<typename Body::kept_in>,
                      "this store keeps neither data nor requests of a term: it has to be a handover_store");
    }

    static constexpr void require_checkpointing_store() noexcept
    {
        static_assert(checkpointing_store<typename Body::kept_in>, "this store keeps no checkpoints: it has to be a checkpointing_store");
    }

    void require_right() const
    {
        if (this->body().empty()) raise_invalid(errc::not_held, "the guard is empty");
    }

    bool renew_or_report(std::optional<duration> ttl, std::error_code& ec) noexcept
    {
        if (!this->body().empty()) return this->body().extend(ttl, ec);
        ec = errc::not_held;
        return false;
    }

    bool renew_or_throw(std::optional<duration> ttl)
    {
        require_right();
        if (ttl)
            if (const char* rule = this->body().broken_rule(*ttl)) raise_invalid(errc::invalid_terms, rule);
        std::error_code ec;
        const bool extended = this->body().extend(ttl, ec);
        if (ec) this->body().raise_failure(ec, "renew");
        return extended;
    }
};

}  // namespace leasehold::inline v0::detail

#endif
