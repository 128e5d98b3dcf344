// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_TERM_RENEWALS_HPP
#define LEASEHOLD_RENEWAL_TERM_RENEWALS_HPP

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
/// It is a part of a term_keeper, whose mutex guards it; its callers have locked that mutex.
template <class Keeper>
class term_renewals {
public:
    using term_ptr = std::shared_ptr<term>;

    explicit term_renewals(Keeper& keeper) noexcept : keeper_{keeper} {}

    /// Until no renewal of the term is at the store, or the term is over.
    void wait_for_other(std::unique_lock<std::mutex>& lock, const term_ptr& of) noexcept
    {
        while (of->in_flight && of->machine.phase() == term_phase::held) keeper_.changed_.wait(lock);
    }

    /// The term that the engine was asked to renew. Nothing if it is over, or if another renewal of it may hang: a worker
    /// that waited for that one could not serve others.
    [[nodiscard]] term_ptr due() noexcept
    {
        const term_ptr& newest = keeper_.newest_;
        if (!newest || newest->machine.phase() != term_phase::held || !newest->machine.renewing()) return nullptr;
        if (!newest->in_flight) return newest;
        newest->machine.renewal_failed(keeper_.clock_.now(), keeper_.policy_);
        keeper_.schedule();
        return nullptr;
    }

    /// Does I/O, and unlocks the mutex for that. `ttl`: given by the holder; nothing: the term's own ttl. False without an error:
    /// the term is over.
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

    /// The part of send() before the call; finish() must follow. False: the term is over.
    bool begin(const term_ptr& renewed, std::optional<duration> ttl, time_point sent, sent_renewal& out) noexcept
    {
        if (renewed->machine.phase() != term_phase::held || sent >= renewed->machine.deadline()) return false;
        assert(!renewed->in_flight);
        renewed->in_flight = true;
        out = {sent, ttl.value_or(renewed->machine.ttl()), renewed};
        return true;
    }

    /// The part of send() after the call. True: the term goes on.
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
        if (keeper_.newest_ == out.of) keeper_.schedule();
        return !ec;
    }

private:
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
