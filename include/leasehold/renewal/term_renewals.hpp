// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_TERM_RENEWALS_HPP
#define LEASEHOLD_RENEWAL_TERM_RENEWALS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/renewal/term.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <cassert>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>

namespace leasehold::inline v0::renewal {

/// The renewals of the terms of one lease: the holder's, and those that the engine asks for.
///
/// One renewal of a term is at the store at a time, so that their answers come in the order of their statements.
/// It is a part of a term_keeper. Thread safety: any thread may call any function; each locks the keeper's mutex, but not across I/O.
template <class Keeper>
class term_renewals {
public:
    using term_ptr = std::shared_ptr<term>;

    explicit term_renewals(Keeper& keeper) noexcept : keeper_{keeper} {}

    /// Extends the term now, by `ttl` or by its own ttl. False without an error: the term is over. Does I/O.
    bool extend(const term_ptr& extended, std::optional<duration> ttl, std::error_code& ec) noexcept
    {
        ec.clear();
        if (ttl && keeper_.broken_rule(*ttl)) {
            ec = errc::invalid_terms;
            return false;
        }
        std::unique_lock lock{keeper_.mutex_};
        wait_for_other(lock, extended);
        const bool done = send(lock, extended, ttl, ec);
        if (done) keeper_.requests().term_renewed_by_holder(lock, extended);
        return done;
    }

    /// The part of extend() before the call; end() must follow. Nothing: the term is over. The texts in the result live as long as
    /// the keeper.
    std::optional<term_renewal> begin_extension(const term_ptr& extended, std::optional<duration> ttl, sent_renewal& out) noexcept
    {
        std::unique_lock lock{keeper_.mutex_};
        wait_for_other(lock, extended);
        if (!begin(extended, ttl, keeper_.clock_.now(), out)) return std::nullopt;
        return term_renewal{keeper_.name_, keeper_.owner_, extended->token, out.ttl};
    }

    /// Sends the renewal that the engine was asked for. Does I/O.
    void renew_due() noexcept
    {
        std::unique_lock lock{keeper_.mutex_};
        const term_ptr renewed = due();
        std::error_code ec;
        if (renewed && send(lock, renewed, std::nullopt, ec)) keeper_.requests().term_renewed(renewed);
    }

    /// The part of renew_due() before the call: what to send, and how much time the term has left. Nothing: don't renew it. If it
    /// gives something, end() must follow. The texts live as long as the keeper.
    std::optional<duration> begin_due(time_point sent, term_renewal& what, sent_renewal& out) noexcept
    {
        const std::lock_guard lock{keeper_.mutex_};
        const term_ptr renewed = due();
        if (!renewed || !begin(renewed, std::nullopt, sent, out)) return std::nullopt;
        what = {keeper_.name_, keeper_.owner_, renewed->token, out.ttl};
        return renewed->machine.deadline() - sent;
    }

    /// The part of extend() and renew_due() after the call.
    void end(const sent_renewal& out, batch_answer said, std::error_code ec) noexcept
    {
        if (said != batch_answer::unknown)
            ec.clear();
        else if (!ec)
            ec = errc::store_failure;
        const std::lock_guard lock{keeper_.mutex_};
        if (finish(out, said == batch_answer::yes, ec)) keeper_.requests().term_renewed(out.of);
    }

    /// The error of the last renewal, or none.
    [[nodiscard]] std::error_code error(const term_ptr& of) const noexcept
    {
        const std::lock_guard lock{keeper_.mutex_};
        return of->renewal_error(keeper_.clock_.now());
    }

private:
    // All functions below are called under the mutex.

    // Until no renewal of the term is at the store, or the term is over.
    void wait_for_other(std::unique_lock<std::mutex>& lock, const term_ptr& of) noexcept
    {
        while (of->in_flight && of->machine.phase() == term_phase::held) keeper_.changed_.wait(lock);
    }

    // The term that the engine was asked to renew. Nothing if another renewal of it is at the store: that one may hang, and a worker
    // that waited for it could not serve others. Its end plans the next.
    [[nodiscard]] term_ptr due() const noexcept
    {
        const term_ptr& newest = keeper_.newest_;
        return newest && newest->machine.renewing() && !newest->in_flight ? newest : nullptr;
    }

    // Does I/O, and unlocks the mutex for that. `ttl`: given by the holder; nothing: the term's own ttl. False without an error:
    // the term is over.
    bool send(std::unique_lock<std::mutex>& lock, const term_ptr& renewed, std::optional<duration> ttl, std::error_code& ec) noexcept
    {
        sent_renewal out;
        if (!begin(renewed, ttl, keeper_.clock_.now(), out)) return false;
        lock.unlock();
        bool extended = false;
        detail::catch_into(ec, [&] { extended = keeper_.store_.renew(keeper_.name_, keeper_.owner_, renewed->token, out.ttl, ec); });
        lock.lock();
        return finish(out, extended, ec);
    }

    // The part of send() before the call; finish() must follow. False: the term is over.
    bool begin(const term_ptr& renewed, std::optional<duration> ttl, time_point sent, sent_renewal& out) noexcept
    {
        if (renewed->machine.phase() != term_phase::held || sent >= renewed->machine.deadline()) return false;
        assert(!renewed->in_flight);
        renewed->in_flight = true;
        out = {sent, ttl.value_or(renewed->machine.ttl()), renewed};
        return true;
    }

    // The part of send() after the call. True: the term continues.
    bool finish(const sent_renewal& out, bool extended, std::error_code ec) noexcept
    {
        term& answered = *out.of;
        answered.in_flight = false;
        keeper_.changed_.notify_all();
        const time_point now = keeper_.clock_.now();
        const bool too_late = now >= answered.machine.deadline();
        answered.last_error = !ec && too_late ? make_error_code(errc::store_timeout) : ec;
        if (answered.machine.phase() != term_phase::held) return false;
        if (ec) {
            if (answered.machine.renewing()) answered.machine.renewal_failed(now, keeper_.policy_);
        }
        else if (!extended) {
            answered.refused = true;
            if (answered.machine.refused()) keeper_.lose(out.of);
            return false;
        }
        else if (!publish(out, now)) {
            return false;
        }
        assert(keeper_.newest_ == out.of);  // which is held
        keeper_.schedule();
        return !ec;
    }

    // False: too late. A caller of held() may already have seen the loss.
    bool publish(const sent_renewal& out, time_point now) noexcept
    {
        term& extended = *out.of;
        time_point published = extended.machine.deadline();
        if (!extended.machine.renewed(out.sent, now, out.ttl, keeper_.policy_)) return false;
        if (extended.deadline.compare_exchange_strong(published, extended.machine.deadline())) return true;
        if (extended.machine.refused()) keeper_.lose(out.of);
        return false;
    }

    Keeper& keeper_;
};

}  // namespace leasehold::inline v0::renewal

#endif
