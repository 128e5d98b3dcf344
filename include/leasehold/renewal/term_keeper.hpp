// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_TERM_KEEPER_HPP
#define LEASEHOLD_RENEWAL_TERM_KEEPER_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/handover_priority.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renew_policy/concept.hpp>
#include <leasehold/renewal/batch.hpp>
#include <leasehold/renewal/broken_rule.hpp>
#include <leasehold/renewal/engine_link.hpp>
#include <leasehold/renewal/engine_registry.hpp>
#include <leasehold/renewal/runtime_traits.hpp>
#include <leasehold/renewal/term.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/own_queue.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::renewal {

/// Keeps the terms of one basic_lease: does what their term_machine decides, and lets one attempt at a time through.
///
/// Thread safety: any thread may call any function.
template <lease_store Store, lease_clock Clock, renew_policy Policy>
class term_keeper final : public watched_term, public std::enable_shared_from_this<term_keeper<Store, Clock, Policy>> {
public:
    using term_ptr = std::shared_ptr<term>;

    term_keeper(Store& store, std::string name, std::string owner, lease_terms terms, Clock clock, Policy policy)
        : store_{store}, name_{std::move(name)}, owner_{std::move(owner)}, terms_{terms}, clock_{std::move(clock)}, policy_{std::move(policy)}
    {
    }

    [[nodiscard]] Store& store() const noexcept { return store_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const std::string& owner() const noexcept { return owner_; }
    [[nodiscard]] const lease_terms& terms() const noexcept { return terms_; }
    [[nodiscard]] const Clock& clock() const noexcept { return clock_; }

    /// Attaches to the threads that watch terms. To be called before anything is acquired.
    /// May throw std::bad_alloc or std::system_error.
    void attach_engine()
    {
        const std::lock_guard lock{mutex_};
        if (!engine_.connected()) engine_.connect(engine_key(store_), clock_);
    }

    /// The threads that watch its terms; attach_engine() comes first.
    [[nodiscard]] auto serving_engine() const
        requires waitable_clock<Clock>
    {
        const std::lock_guard lock{mutex_};
        return engine_.serving();
    }

    /// Begins an attempt, which grant() or attempt_failed() ends. False: another attempt is under way, or a guard of this
    /// object holds. Allocates everything that a grant needs, before the store is asked. May throw std::bad_alloc; then no
    /// attempt begins.
    [[nodiscard]] bool begin_attempt()
    {
        const std::lock_guard lock{mutex_};
        if (attempting_ || holds()) return false;
        if (!spare_) spare_ = std::make_shared<term>();
        forget_lost();
        attempting_ = true;
        return true;
    }

    /// The attempt brought no term.
    void attempt_failed() noexcept
    {
        const std::lock_guard lock{mutex_};
        end_attempt();
    }

    /// The attempt, sent at `sent`, was granted. Null if the deadline has already passed; the attempt then has not ended
    /// yet.
    [[nodiscard]] term_ptr grant(fencing_token token, time_point sent) noexcept
    {
        const std::lock_guard lock{mutex_};
        assert(attempting_ && spare_ && !newest_);
        const time_point now = clock_.now();
        term& granted = *spare_;
        granted.token = token;
        granted.machine.granted(sent, terms_.ttl, terms_.safety_margin, policy_);
        if (now >= granted.machine.deadline()) {
            granted.reset();
            return nullptr;
        }
        // Counted from the answer, which is later than the grant, so the name is never closed for too short a time.
        granted.keep_closed_until = now + terms_.min_hold;
        granted.deadline.store(granted.machine.deadline(), std::memory_order_release);
        newest_ = std::move(spare_);
        end_attempt();
        schedule();
        return newest_;
    }

    /// Ends the term in this process, whatever the store answers, and in the store. Does I/O.
    release_outcome end(const term_ptr& ended, std::error_code& ec) noexcept
    {
        const std::optional<term_release> what = end_here(ended);
        ec.clear();
        bool ours = false;
        if (what) detail::catch_into(ec, [&] { ours = store_.release(name_, owner_, what->token, what->min_hold_left, ec); });
        const release_outcome outcome = ec ? release_outcome::unknown : ours ? release_outcome::released : release_outcome::lost;
        has_ended(ended, outcome, ec);
        return outcome;
    }

    /// The part of end() before the call. Returns what to release, or nothing if the store has said that the term is over.
    /// The texts in the result live as long as this object.
    std::optional<term_release> end_here(const term_ptr& ended) noexcept
    {
        const std::lock_guard lock{mutex_};
        if (!ended->machine.overrun(clock_.now())) ended->machine.ended();
        ended->deadline.store(term::over, std::memory_order_release);
        if (ended->refused) return std::nullopt;
        return term_release{name_, owner_, ended->token, std::max(ended->keep_closed_until - clock_.now(), duration::zero())};
    }

    /// The part of end() after the call. `error`: why the outcome is unknown.
    void has_ended(const term_ptr& ended, release_outcome outcome, std::error_code error = {}) noexcept
    {
        // Do these before the lease is open to threads that share it: they may acquire it, and then destroy the store.
        waiting::released(store_, name_);
        observe_end(ended, outcome, error);
        const std::lock_guard lock{mutex_};
        if (is_loss(*ended, outcome)) tell_loss(ended);
        if (newest_ != ended) return;
        newest_.reset();
        keep_spare(ended);
        own_queue_.open();
    }

    /// The rule that this ttl breaks, or nullptr.
    [[nodiscard]] const char* broken_rule(duration ttl) const
    {
        return renewal::broken_rule(lease_terms{ttl, terms_.safety_margin, terms_.min_hold}, policy_);
    }

    /// Extends the term now, by `ttl` or by its own ttl. False without an error: the term is over. Does I/O.
    bool extend(const term_ptr& extended, std::optional<duration> ttl, std::error_code& ec) noexcept
    {
        ec.clear();
        if (ttl && broken_rule(*ttl)) {
            ec = errc::invalid_terms;
            return false;
        }
        std::unique_lock lock{mutex_};
        while (extended->in_flight && extended->machine.phase() == term_phase::held) changed_.wait(lock);
        const bool done = send_renewal(lock, extended, ttl, ec);
        if (done && extended->listens) ask_store(lock, extended);
        return done;
    }

    /// The part of extend() before the call; end_renewal() must follow. Nothing: the term is over. The texts in the result live
    /// as long as this object.
    std::optional<term_renewal> begin_extension(const term_ptr& extended, sent_renewal& out) noexcept
    {
        std::unique_lock lock{mutex_};
        while (extended->in_flight && extended->machine.phase() == term_phase::held) changed_.wait(lock);
        if (!begin(extended, std::nullopt, clock_.now(), out)) return std::nullopt;
        return term_renewal{name_, owner_, extended->token, out.ttl};
    }

    /// Its release, however early, does not keep the name closed: nobody has worked under the term.
    void forget_min_hold(const term_ptr& of) noexcept
    {
        const std::lock_guard lock{mutex_};
        of->keep_closed_until = time_point{};
    }

    /// The loss of the term is signalled through this source, which other terms may share; at once, if it is lost already. Call it
    /// before anybody has asked for a token of the term or of the source, so that no callback runs here.
    void share_stop(const term_ptr& of, const std::stop_source& shared) noexcept
    {
        const bool over = [&] {
            const std::lock_guard lock{mutex_};
            assert(!of->stop);
            of->stop = shared;
            return is_over(*of);
        }();
        if (over) std::stop_source{shared}.request_stop();
    }

    /// A token that is asked to stop when the term is lost. May throw std::bad_alloc.
    [[nodiscard]] std::stop_token stop_token(const term_ptr& of)
    {
        const std::lock_guard lock{mutex_};
        if (!engine_link<Clock>::watches) return {};
        if (is_over(*of)) {
            // This source is new and has no callbacks, so none runs here. Earlier tokens are signalled in the background.
            std::stop_source stopped;
            stopped.request_stop();
            return stopped.get_token();
        }
        if (!of->stop) of->stop.emplace();
        return of->stop->get_token();
    }

    /// See lease_guard::publish(). False without an error: the term is over. Does I/O.
    bool publish_data(const term_ptr& of, std::string_view data, std::error_code& ec) noexcept
        requires handover_store<Store>
    {
        ec = detail::refusal_of_data(data);
        bool published = false;
        if (ec || of->remaining(clock_) == duration::zero()) return false;
        detail::catch_into(ec, [&] { published = store_.publish(name_, owner_, of->token, data, ec); });
        return published && !ec;
    }

    /// Whether the holder was asked to hand over. The first call for a term asks the store; after that each renewal does.
    [[nodiscard]] bool handover_requested(const term_ptr& of) noexcept
        requires handover_store<Store>
    {
        std::unique_lock lock{mutex_};
        if (!of->listens) {
            std::error_code without;  // without a thread, each call asks
            listen(of, without);
            ask_store(lock, of);
        }
        return of->asked && of->machine.phase() == term_phase::held && clock_.now() < of->machine.deadline();
    }

    /// The reason of the request that handover_requested() is about. May throw std::bad_alloc.
    [[nodiscard]] std::string handover_reason(const term_ptr& of) const
    {
        const std::lock_guard lock{mutex_};
        return of->reason;
    }

    /// A token that is asked to stop when the holder is asked to hand over. May throw std::bad_alloc or std::system_error.
    [[nodiscard]] std::stop_token handover_token(const term_ptr& of)
        requires handover_store<Store>
    {
        if (!engine_link<Clock>::watches) return {};
        const std::lock_guard lock{mutex_};
        if (!of->handover) of->handover.emplace();
        std::error_code ec;
        if (!of->listens) listen(of, ec);
        if (ec) detail::throw_exception(std::system_error{ec});
        engine_.look(this->shared_from_this());
        return of->handover->get_token();
    }

    /// From now on the holder declines requests of candidates whose priority is not higher.
    void decline_up_to(const term_ptr& of, int priority) noexcept
    {
        const std::lock_guard lock{mutex_};
        of->priority = priority;
    }

    /// The error of the last renewal, or none.
    [[nodiscard]] std::error_code renewal_error(const term_ptr& of) const noexcept
    {
        const std::lock_guard lock{mutex_};
        return of->renewal_error(clock_.now());
    }

    /// Ends everything that runs in the background. No term may be held.
    void retire() noexcept
    {
        observe_last_losses();
        engine_link<Clock> link;
        {
            const std::lock_guard lock{mutex_};
            std::swap(link, engine_);
        }
        link.disconnect(*this);
    }

    /// A place in the queue of the threads that share the lease. See wait_until_open().
    class own_place {
    public:
        own_place(term_keeper& of, waker& to_wake) noexcept : keeper_{of}, place_{to_wake}
        {
            const std::lock_guard lock{keeper_.mutex_};
            keeper_.own_queue_.join(place_);
        }
        own_place(const own_place&) = delete;
        own_place& operator=(const own_place&) = delete;
        ~own_place()
        {
            const std::lock_guard lock{keeper_.mutex_};
            keeper_.own_queue_.leave(place_);
        }

        /// When to check again, unless woken before. Nothing: it is this thread's turn, and no guard of the lease holds.
        [[nodiscard]] std::optional<time_point> closed_until() noexcept
        {
            const std::lock_guard lock{keeper_.mutex_};
            const bool closed = keeper_.attempting_ || keeper_.holds();
            if (keeper_.own_queue_.may_go(place_, closed)) return std::nullopt;
            return keeper_.newest_ && !keeper_.attempting_ ? keeper_.newest_->machine.deadline() : time_point::max();
        }

    private:
        term_keeper& keeper_;
        waiting::own_queue::place place_;
    };

    bool step() override
    {
        const std::lock_guard lock{mutex_};
        if (!newest_) return false;
        const time_point now = clock_.now();
        const term_step next = newest_->machine.step(now);
        engine_.schedule(this->shared_from_this(), next.at, early_from());
        if (next.action == term_action::renew) return plan_renewal(now);
        if (next.action == term_action::signal_loss) lose(newest_);
        return false;
    }

    bool step_early() override
    {
        const std::lock_guard lock{mutex_};
        const time_point now = clock_.now();
        return newest_ && newest_->machine.step_early(now) && plan_renewal(now);
    }

    void renew() override
    {
        std::unique_lock lock{mutex_};
        const term_ptr due = renewal_due();
        std::error_code ec;
        if (due && send_renewal(lock, due, std::nullopt, ec)) look_soon(due);
    }

    void look() noexcept override
    {
        if constexpr (handover_store<Store>) {
            std::unique_lock lock{mutex_};
            const term_ptr of = newest_;
            if (!of || !of->listens) return;
            ask_store(lock, of);
            if (!of->asked || !of->handover || of->machine.phase() != term_phase::held) return;
            std::stop_source source = *of->handover;
            lock.unlock();  // its callbacks may use the guard
            source.request_stop();
        }
    }

    void signal() noexcept override
    {
        std::unique_lock lock{mutex_};
        while (term_ptr told = std::exchange(lost_, nullptr)) {
            lost_ = std::move(told->next_lost);
            telling_ = told;
            std::stop_source source{std::nostopstate};
            if (told->stop) source = *told->stop;
            lock.unlock();  // its callbacks may use the guard
            source.request_stop();
            lock.lock();
            observe_loss(lock, *told);
            telling_.reset();
        }
    }

    /// A term has begun; the caller asked for it at `asked`. Not under the mutex.
    void observe_beginning(const term& begun, time_point asked) noexcept
    {
        if constexpr (observed_store<Store>)
            store_.observe({.kind = lease_event_kind::acquired, .name = name_, .owner = owner_, .token = begun.token, .waited = clock_.now() - asked});
    }

    [[nodiscard]] const void* batch_kind() const noexcept override
    {
        static constexpr char this_type = 0;
        if constexpr (!batching_store<Store>)
            return nullptr;
        else if constexpr (shares_engine<Store>)
            return std::addressof(store_);  // other stores of this type share the engine
        else
            return &this_type;
    }

    [[nodiscard]] std::size_t batch_size() const noexcept override
    {
        if constexpr (batching_store<Store>)
            return std::clamp<std::size_t>(store_.batch_size(), 1, max_batch);
        else
            return 1;
    }

    void renew_together(std::span<const std::shared_ptr<watched_term>> terms) override
    {
        if constexpr (batching_store<Store>) renew_as_batch(store_, clock_, terms);
    }

    std::optional<duration> begin_renewal(time_point sent, term_renewal& what, sent_renewal& out) override
    {
        const std::lock_guard lock{mutex_};
        const term_ptr due = renewal_due();
        if (!due || !begin(due, std::nullopt, sent, out)) return std::nullopt;
        what = {name_, owner_, due->token, out.ttl};
        return due->machine.deadline() - sent;
    }

    void end_renewal(const sent_renewal& out, batch_answer said, std::error_code ec) override
    {
        if (said != batch_answer::unknown)
            ec.clear();
        else if (!ec)
            ec = errc::store_failure;
        const std::lock_guard lock{mutex_};
        if (finish(out, said == batch_answer::yes, ec)) look_soon(out.of);
    }

private:
    // All functions below are called under the mutex.

    [[nodiscard]] bool holds() const noexcept { return newest_ && newest_->remaining(clock_) > duration::zero(); }

    [[nodiscard]] bool is_over(const term& of) const noexcept
    {
        return of.machine.phase() == term_phase::lost || clock_.now() >= of.machine.deadline();
    }

    // The watchdog may not have seen the loss yet.
    void forget_lost() noexcept
    {
        if (!newest_) return;
        const term_ptr lost = std::exchange(newest_, nullptr);
        if (!lost->machine.overrun(clock_.now())) return;
        tell_loss(lost);
        changed_.notify_all();  // renew() of its guard may wait for a call that hangs
    }

    void end_attempt() noexcept
    {
        assert(attempting_);
        attempting_ = false;
        own_queue_.open();
    }

    void keep_spare(const term_ptr& ended) noexcept
    {
        constexpr long known_to_its_guard_alone = 1;
        if (spare_ || ended.use_count() != known_to_its_guard_alone) return;
        ended->reset();
        spare_ = ended;
    }

    bool plan_renewal(time_point now) noexcept
    {
        this->set_renewal(newest_->machine.tier(now), newest_->machine.deadline());
        return true;
    }

    // The term that the engine was asked to renew. Nothing if it is over, or if another renewal of it may hang: a worker
    // that waited for that one could not serve others.
    [[nodiscard]] term_ptr renewal_due() noexcept
    {
        if (!newest_ || newest_->machine.phase() != term_phase::held || !newest_->machine.renewing()) return nullptr;
        if (!newest_->in_flight) return newest_;
        newest_->machine.renewal_failed(clock_.now(), policy_);
        schedule();
        return nullptr;
    }

    // `ttl`: given by the holder; nothing: the term's own ttl, for the holder's or the engine's renewal.
    bool send_renewal(std::unique_lock<std::mutex>& lock, const term_ptr& renewed, std::optional<duration> ttl, std::error_code& ec) noexcept
    {
        sent_renewal out;
        if (!begin(renewed, ttl, clock_.now(), out)) return false;
        lock.unlock();
        bool extended = false;
        detail::catch_into(ec, [&] { extended = store_.renew(name_, owner_, renewed->token, out.ttl, ec); });
        lock.lock();
        return finish(out, extended, ec);
    }

    // One renewal of a term at a time, so that their answers come in the order of their statements.
    bool begin(const term_ptr& renewed, std::optional<duration> ttl, time_point sent, sent_renewal& out) noexcept
    {
        if (renewed->machine.phase() != term_phase::held || sent >= renewed->machine.deadline()) return false;
        assert(!renewed->in_flight);
        renewed->in_flight = true;
        out = {sent, ttl.value_or(renewed->machine.ttl()), renewed};
        return true;
    }

    bool finish(const sent_renewal& out, bool extended, std::error_code ec) noexcept
    {
        term& answered = *out.of;
        answered.in_flight = false;
        changed_.notify_all();
        const time_point now = clock_.now();
        const bool too_late = now >= answered.machine.deadline();
        answered.last_error = !ec && too_late ? make_error_code(errc::store_timeout) : ec;
        if (answered.machine.phase() != term_phase::held) return false;
        if (ec) {
            if (answered.machine.renewing()) answered.machine.renewal_failed(now, policy_);
        }
        else if (!extended) {
            answered.refused = true;
            if (answered.machine.refused()) lose(out.of);
            return false;
        }
        else if (!publish(out, now)) {
            return false;
        }
        if (newest_ == out.of) schedule();
        return !ec;
    }

    // False: too late. A caller of held() may already have seen the loss.
    bool publish(const sent_renewal& out, time_point now) noexcept
    {
        term& extended = *out.of;
        time_point published = extended.machine.deadline();
        if (!extended.machine.renewed(out.sent, now, out.ttl, policy_)) return false;
        if (extended.deadline.compare_exchange_strong(published, extended.machine.deadline())) return true;
        if (extended.machine.refused()) lose(out.of);
        return false;
    }

    // From now on each renewal of the term is followed by a look.
    void listen(const term_ptr& of, std::error_code& ec) noexcept
    {
        detail::catch_into(ec, [this] { engine_.start_listener(); });
        if (!ec) of->listens = true;
    }

    void look_soon(const term_ptr& of) noexcept
    {
        if (of->listens && newest_ == of && (!of->asked || of->handover)) engine_.look(this->shared_from_this());
    }

    // A request is a hint: where the store fails, the next renewal is early enough to ask again.
    void ask_store(std::unique_lock<std::mutex>& lock, const term_ptr& of) noexcept
    {
        if constexpr (handover_store<Store>) {
            if (of->asked || of->machine.phase() != term_phase::held) return;
            lock.unlock();
            std::error_code ec;
            std::optional<std::string> reason;
            detail::catch_into(ec, [&] { reason = store_.handover_requested(name_, owner_, of->token, ec); });
            lock.lock();
            if (ec || !reason || of->asked || detail::is_declined(*reason, of->priority)) return;
            of->reason = std::move(*reason);
            of->asked = true;
            look_soon(of);  // which tells those with the token
        }
    }

    [[nodiscard]] time_point early_from() const noexcept
    {
        return batching_store<Store> ? newest_->machine.early_from() : time_point::max();
    }

    void schedule() noexcept
    {
        engine_.schedule(this->shared_from_this(), newest_->machine.wakes_at(), early_from());
    }

    void lose(const term_ptr& lost) noexcept
    {
        lost->deadline.store(term::over, std::memory_order_release);
        tell_loss(lost);
        changed_.notify_all();
        own_queue_.open();
    }

    // Stop callbacks run only on the engine's signaller: the thread that finds the loss may hold a lock that they take.
    void tell_loss(const term_ptr& lost) noexcept
    {
        const bool to_observe = observed_store<Store> && engine_link<Clock>::watches && !lost->end_observed;
        const bool to_signal = lost->stop && !lost->stop->stop_requested();
        if (lost->loss_told || !(to_observe || to_signal)) return;
        lost->loss_told = true;
        lost->next_lost = std::move(lost_);
        lost_ = lost;
        engine_.signal(this->shared_from_this());
    }

    // The holder ended the term, but it had been lost before.
    static bool is_loss(const term& ended, release_outcome outcome) noexcept
    {
        return outcome == release_outcome::lost || (outcome == release_outcome::unknown && ended.machine.phase() == term_phase::lost);
    }

    [[nodiscard]] lease_event loss_of(const term& lost, time_point now) const noexcept
    {
        const time_point until = std::min(now, lost.machine.deadline());
        return {.kind = lease_event_kind::lost, .name = name_, .owner = owner_, .token = lost.token, .held = until - lost.machine.begun(),
                .late = now - until, .error = lost.renewal_error(now)};
    }

    // Not under the mutex.
    void observe_end(const term_ptr& ended, release_outcome outcome, std::error_code error) noexcept
    {
        if constexpr (observed_store<Store>) {
            lease_event event;
            {
                const std::lock_guard lock{mutex_};
                if (ended->loss_told || std::exchange(ended->end_observed, true)) return;
                const time_point now = clock_.now();
                if (is_loss(*ended, outcome))
                    event = loss_of(*ended, now);
                else
                    event = {.kind = lease_event_kind::released, .name = name_, .owner = owner_, .token = ended->token,
                             .held = now - ended->machine.begun(), .error = error};
            }
            store_.observe(event);
        }
    }

    // On the signaller.
    void observe_loss(std::unique_lock<std::mutex>& lock, term& lost) noexcept
    {
        if constexpr (observed_store<Store>) {
            if (std::exchange(lost.end_observed, true)) return;
            const lease_event event = loss_of(lost, clock_.now());
            observing_ = true;
            lock.unlock();
            store_.observe(event);
            lock.lock();
            observing_ = false;
            changed_.notify_all();
        }
    }

    [[nodiscard]] term* first_unobserved() const noexcept
    {
        if (telling_ && !telling_->end_observed) return telling_.get();
        term* each = lost_.get();
        while (each && each->end_observed) each = each->next_lost.get();
        return each;
    }

    // The store may be gone after this: what the signaller has not told it yet is told here.
    void observe_last_losses() noexcept
    {
        if constexpr (observed_store<Store>) {
            std::unique_lock lock{mutex_};
            while (term* const lost = first_unobserved()) {
                lost->end_observed = true;
                const lease_event event = loss_of(*lost, clock_.now());
                lock.unlock();
                store_.observe(event);
                lock.lock();
            }
            while (observing_) changed_.wait(lock);
        }
    }

    Store& store_;
    const std::string name_;
    const std::string owner_;
    const lease_terms terms_;
    const Clock clock_;
    const Policy policy_;

    mutable std::mutex mutex_;  // guards what follows, and the terms; never held across I/O
    typename runtime_traits<Clock>::condition_variable changed_;  // a renewal has ended, or a term was lost
    term_ptr newest_;  // the term that was granted last, until it has ended
    term_ptr spare_;   // for the next grant
    term_ptr lost_;    // terms whose loss is to be signalled
    term_ptr telling_;  // the one whose loss is being signalled
    bool attempting_ = false;
    bool observing_ = false;  // the signaller is telling the store of a loss
    waiting::own_queue own_queue_;
    engine_link<Clock> engine_;
};

/// The state that a lease and its guards share. The last of them ends what runs in the background for the lease.
template <lease_store Store, lease_clock Clock, renew_policy Policy>
struct keeper_handle {
    explicit keeper_handle(std::shared_ptr<term_keeper<Store, Clock, Policy>> kept) noexcept : keeper{std::move(kept)} {}
    keeper_handle(const keeper_handle&) = delete;
    keeper_handle& operator=(const keeper_handle&) = delete;
    ~keeper_handle() { keeper->retire(); }

    const std::shared_ptr<term_keeper<Store, Clock, Policy>> keeper;
};

}  // namespace leasehold::inline v0::renewal

#endif
