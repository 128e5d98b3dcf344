// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_LOST_TERMS_HPP
#define LEASEHOLD_RENEWAL_LOST_TERMS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/new_stop_source.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renewal/term.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cassert>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::renewal {

/// How the terms of one lease have ended: tells the holders of lost terms, and an observed_store of every end.
///
/// It is a part of a term_keeper, whose mutex guards it. Any thread may call any function. Each locks the mutex, but for those that
/// say that their caller has locked it.
template <class Keeper>
class lost_terms {
public:
    using term_ptr = std::shared_ptr<term>;

    explicit lost_terms(Keeper& keeper) noexcept : keeper_{keeper} {}

    /// A token that is asked to stop when the term is lost. May throw std::bad_alloc.
    [[nodiscard]] std::stop_token stop_token(const term_ptr& of)
    {
        const std::lock_guard lock{keeper_.mutex_};
        if (!Keeper::watches) return {};
        if (is_over(*of)) {
            // This source is new and has no callbacks, so none runs here. Earlier tokens are signalled in the background.
            std::stop_source stopped = detail::new_stop_source();
            stopped.request_stop();
            return stopped.get_token();
        }
        if (!of->stop.stop_possible()) of->stop = detail::new_stop_source();
        return of->stop.get_token();
    }

    /// The loss of the term is signalled through this source, which other terms may share; at once, if it is lost already. Call it
    /// before anybody has asked for a token of the term or of the source, so that no callback runs here.
    void share_stop(const term_ptr& of, const std::stop_source& shared) noexcept
    {
        const bool over = [&] {
            const std::lock_guard lock{keeper_.mutex_};
            assert(!of->stop.stop_possible());
            of->stop = shared;
            return is_over(*of);
        }();
        if (over) std::stop_source{shared}.request_stop();
    }

    /// The engine's signaller will call signal(). Stop callbacks can't run here, since the thread that finds the loss may hold a lock
    /// that they take. The caller has locked the mutex.
    void tell(const term_ptr& lost) noexcept
    {
        if (lost->loss_told || !(is_to_be_observed(*lost) || is_to_be_signalled(*lost))) return;
        lost->loss_told = true;
        lost->next_lost = std::move(first_);
        first_ = lost;
        keeper_.engine_.signal(keeper_.self_);
    }

    /// Runs the stop callbacks of the terms whose loss was told. On the engine's signaller.
    void signal() noexcept
    {
        std::unique_lock lock{keeper_.mutex_};
        while (term_ptr lost = std::exchange(first_, nullptr)) {
            first_ = std::move(lost->next_lost);
            signalled_ = lost.get();
            std::stop_source source = lost->stop;
            lock.unlock();  // its callbacks may use the guard
            source.request_stop();
            lock.lock();
            observe_loss(lock, *lost);
            signalled_ = nullptr;
        }
    }

    /// The holder has ended the term, though it may have been lost before. The caller has locked the mutex.
    [[nodiscard]] static bool is_loss(const term& ended, release_outcome outcome) noexcept
    {
        return outcome == release_outcome::lost || (outcome == release_outcome::unknown && ended.machine.phase() == term_phase::lost);
    }

    /// Tells the store how the holder's release has ended. `error`: why the outcome is unknown.
    void observe_release(term& ended, release_outcome outcome, std::error_code error) noexcept
    {
        if constexpr (observes) {
            lease_event event;
            {
                const std::lock_guard lock{keeper_.mutex_};
                if (ended.loss_told) return;
                ended.end_observed = true;
                const time_point now = keeper_.clock_.now();
                if (is_loss(ended, outcome))
                    event = loss_of(ended, now);
                else
                    event = {.kind = lease_event_kind::released, .name = keeper_.name_, .owner = keeper_.owner_, .token = ended.token,
                             .held = now - ended.machine.begun(), .error = error};
            }
            keeper_.store_.observe(event);
        }
    }

    /// Tells the store, which may be gone after this, what the signaller has not told it yet.
    void observe_rest() noexcept
    {
        if constexpr (observes) {
            std::unique_lock lock{keeper_.mutex_};
            while (term* const lost = first_unobserved()) {
                lost->end_observed = true;
                const lease_event event = loss_of(*lost, keeper_.clock_.now());
                lock.unlock();
                keeper_.store_.observe(event);
                lock.lock();
            }
            while (observing_) keeper_.changed_.wait(lock);
        }
    }

private:
    static constexpr bool observes = observed_store<typename Keeper::store_type>;

    // Both in the background. Without that, the release tells the store, and nobody signals.
    [[nodiscard]] static bool is_to_be_observed(const term& lost) noexcept { return observes && Keeper::watches && !lost.end_observed; }

    [[nodiscard]] static bool is_to_be_signalled(const term& lost) noexcept
    {
        return Keeper::watches && lost.stop.stop_possible() && !lost.stop.stop_requested();
    }

    [[nodiscard]] bool is_over(const term& of) const noexcept
    {
        return of.machine.phase() == term_phase::lost || keeper_.clock_.now() >= of.machine.deadline();
    }

    [[nodiscard]] lease_event loss_of(const term& lost, time_point now) const noexcept
    {
        const time_point until = std::min(now, lost.machine.deadline());
        return {.kind = lease_event_kind::lost,
                .name = keeper_.name_,
                .owner = keeper_.owner_,
                .token = lost.token,
                .held = until - lost.machine.begun(),
                .late = now - until,
                .error = lost.renewal_error(now)};
    }

    void observe_loss(std::unique_lock<std::mutex>& lock, term& lost) noexcept
    {
        if constexpr (observes) {
            if (std::exchange(lost.end_observed, true)) return;
            const lease_event event = loss_of(lost, keeper_.clock_.now());
            observing_ = true;
            lock.unlock();
            keeper_.store_.observe(event);
            lock.lock();
            observing_ = false;
            keeper_.changed_.notify_all();
        }
    }

    [[nodiscard]] term* first_unobserved() const noexcept
    {
        if (signalled_ && !signalled_->end_observed) return signalled_;
        term* each = first_.get();
        while (each && each->end_observed) each = each->next_lost.get();
        return each;
    }

    Keeper& keeper_;
    term_ptr first_;             // linked; their losses are to be signalled
    term* signalled_ = nullptr;  // whose loss is being signalled, by a thread that keeps the term
    bool observing_ = false;     // the signaller is telling the store of a loss
};

}  // namespace leasehold::inline v0::renewal

#endif
