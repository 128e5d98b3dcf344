// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_TERM_KEEPER_HPP
#define LEASEHOLD_RENEWAL_TERM_KEEPER_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/handover_priority.hpp>
#include <leasehold/detail/new_stop_source.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renew_policy/concept.hpp>
#include <leasehold/renewal/batch.hpp>
#include <leasehold/renewal/broken_rule.hpp>
#include <leasehold/renewal/engine_link.hpp>
#include <leasehold/renewal/engine_registry.hpp>
#include <leasehold/renewal/keeper_handle.hpp>
#include <leasehold/renewal/own_place.hpp>
#include <leasehold/renewal/runtime_traits.hpp>
#include <leasehold/renewal/small_condition.hpp>
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
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::renewal {

/// Keeps the terms of one basic_lease: does what their term_machine decides, and lets one attempt at a time through.
///
/// Thread safety: any thread may call any function.
template <lease_store Store, lease_clock Clock, renew_policy Policy>
class term_keeper final : public watched_term {
public:
    using store_type = Store;
    using term_ptr = std::shared_ptr<term>;
    using own_place = renewal::own_place<term_keeper>;
    /// Whether losses are signalled in the background.
    static constexpr bool watches = engine_link<Clock>::watches;

    term_keeper(Store& store, std::string name, std::string owner, lease_terms terms, Clock clock, Policy policy)
        : store_{store}, name_{std::move(name)}, owner_{std::move(owner)}, terms_{terms}, clock_{std::move(clock)},
          policy_{std::move(policy)}
    {
    }

    [[nodiscard]] Store& store() const noexcept { return store_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const std::string& owner() const noexcept { return owner_; }
    [[nodiscard]] const lease_terms& terms() const noexcept { return terms_; }
    [[nodiscard]] const Clock& clock() const noexcept { return clock_; }

    /// Guards what a lease has beside its terms, too. Never held across I/O.
    [[nodiscard]] std::mutex& mutex() const noexcept { return mutex_; }

    /// Attaches to the threads that watch terms. To be called before anything is acquired.
    /// May throw std::bad_alloc or std::system_error.
    void attach_engine()
    {
        const std::lock_guard lock{mutex_};
        if (engine_.connected()) return;
        assert(self_ && "a keeper that an engine serves is made by its first handle");
        engine_.connect(detail::engine_key(store_), clock_);
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
        if (closed()) return false;
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
        last_granted_ = std::max(last_granted_, token);
        const time_point now = clock_.now();
        term& granted = *spare_;
        granted.token = token;
        granted.machine.granted(sent, terms_.ttl, terms_.margin(), policy_, grid());
        if (now >= granted.machine.deadline()) {
            granted.reset();
            return nullptr;
        }
        // Counted from the answer, which is later than the grant, so the name is never closed for too short a time.
        granted.keep_closed_until = now + terms_.min_hold;
        granted.exceptions = std::uncaught_exceptions();
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
        return has_ended(ended, ec ? release_outcome::unknown : ours ? release_outcome::released : release_outcome::lost, ec);
    }

    /// The part of end() before the call. Returns what to release, or nothing if the store has said that the term is over.
    /// The texts in the result live as long as this object.
    std::optional<term_release> end_here(const term_ptr& ended) noexcept
    {
        const std::lock_guard lock{mutex_};
        const bool was_lost = ended->remaining(clock_) == duration::zero();
        if (!ended->machine.overrun(clock_.now())) ended->machine.ended();
        ended->deadline.store(term::over, std::memory_order_release);
        if (ended->refused) return std::nullopt;
        // An exception or a loss has ended the work: others may try it.
        if (was_lost || std::uncaught_exceptions() > ended->exceptions) ended->keep_closed_until = time_point{};
        const duration min_hold_left = std::max(ended->keep_closed_until - clock_.now(), duration::zero());
        ended->closing = min_hold_left > duration::zero();
        return term_release{name_, owner_, ended->token, min_hold_left};
    }

    /// The part of end() after the call, which the store has answered with `outcome`. `error`: why it is unknown. Returns what to
    /// tell the holder.
    release_outcome has_ended(const term_ptr& ended, release_outcome outcome, std::error_code error = {}) noexcept
    {
        if (outcome == release_outcome::lost && is_taken_over_here(*ended)) outcome = release_outcome::released;
        {
            const std::lock_guard lock{mutex_};
            ended->closing = false;  // so that woken waiters ask the store how long the name is closed
        }
        // Do these before the lease is open to threads that share it: they may acquire it, and then destroy the store.
        waiting::released(store_, name_);
        observe_release(*ended, outcome, error);
        const std::lock_guard lock{mutex_};
        if (is_loss(*ended, outcome)) tell_loss(ended);
        if (newest_ != ended) return outcome;
        newest_.reset();
        keep_spare(ended);
        own_queue_.open();
        return outcome;
    }

    /// The rule that this ttl breaks, or nullptr.
    [[nodiscard]] const char* broken_rule(duration ttl) const
    {
        return renewal::broken_rule(lease_terms{ttl, terms_.margin(), terms_.min_hold}, policy_);
    }

    /// Whether the end of the last lease and guard may wait for a call of the store.
    [[nodiscard]] bool end_takes_time() const noexcept
    {
        const std::lock_guard lock{mutex_};
        return renewals_sent_ != 0 || looking_;
    }

    /// Its release, however early, does not keep the name closed: nobody has worked under the term.
    void forget_min_hold(const term_ptr& held) noexcept
    {
        const std::lock_guard lock{mutex_};
        held->keep_closed_until = time_point{};
    }

    bool step() override
    {
        const std::lock_guard lock{mutex_};
        if (!newest_) return false;
        const time_point now = clock_.now();
        const term_step next = newest_->machine.step(now);
        engine_.schedule(self_, next.at);
        if (next.action == term_action::renew) return plan_renewal(now);
        if (next.action == term_action::signal_loss) lose(newest_);
        return false;
    }

    /// A term has begun; the caller has waited since `waiting_since`. Not under the mutex.
    void observe_beginning(const term_ptr& begun, time_point waiting_since) noexcept
    {
        if constexpr (observes) {
            store_.observe({.kind = lease_event_kind::acquired,
                            .name = name_,
                            .owner = owner_,
                            .token = begun->token,
                            .waited = clock_.now() - waiting_since});
            const std::lock_guard lock{mutex_};
            begun->beginning_observed = true;
            if (begun->machine.phase() == term_phase::lost) tell_loss(begun);
        }
    }

    [[nodiscard]] const void* batch_kind() const noexcept override
    {
        static constexpr char this_type = 0;
        if constexpr (!batching_store<Store>)
            return nullptr;
        else if constexpr (engine_sharing_store<Store>)
            return std::addressof(store_);  // other stores of this type share the engine
        else
            return &this_type;
    }

    /// As step() has found it. Afterwards the store may be gone.
    [[nodiscard]] std::size_t batch_size() const noexcept override { return batch_size_; }

    void renew_together(std::span<const std::shared_ptr<watched_term>> terms) override
    {
        if constexpr (batching_store<Store>) renew_as_batch(store_, clock_, terms);
    }

    // The renewals: the holder's, and those that the engine asks for. One renewal of a term is at the store at a time, so that their
    // answers come in the order of their statements.

    /// Extends the term now, by `ttl` or by its own ttl. False without an error: the term is over. Does I/O.
    bool extend(const term_ptr& extended, std::optional<duration> ttl, std::error_code& ec) noexcept
    {
        ec.clear();
        if (ttl && broken_rule(*ttl)) {
            ec = errc::invalid_terms;
            return false;
        }
        std::unique_lock lock{mutex_};
        wait_for_other(lock, extended);
        const bool done = send_renewal(lock, extended, ttl, ec);
        if (done) ask_after_renewal(lock, extended);
        return done;
    }

    /// The part of extend() before the call; end_renewal() must follow. Nothing: the term is over, or a renewal of it is at the store and
    /// `waits` is false. The texts in the result live as long as the keeper.
    std::optional<term_renewal> begin_extension(const term_ptr& extended, std::optional<duration> ttl, sent_renewal& out,
                                                bool waits = true) noexcept
    {
        std::unique_lock lock{mutex_};
        if (!waits && extended->in_flight) return std::nullopt;
        wait_for_other(lock, extended);
        if (!begin_sending(extended, ttl, clock_.now(), out)) return std::nullopt;
        return term_renewal{name_, owner_, extended->token, out.ttl};
    }

    /// Sends the renewal that the engine was asked for. Does I/O.
    void renew() override
    {
        std::unique_lock lock{mutex_};
        const term_ptr renewed = due_renewal();
        std::error_code ec;
        if (renewed && send_renewal(lock, renewed, std::nullopt, ec)) look_after_renewal(renewed);
    }

    /// The part of renew() before the call: what to send, and how much time the term has left. Nothing: don't renew it. If it
    /// gives something, end_renewal() must follow. The texts live as long as the keeper.
    std::optional<duration> begin_renewal(time_point sent, term_renewal& what, sent_renewal& out) override
    {
        const std::lock_guard lock{mutex_};
        const term_ptr renewed = due_renewal();
        if (!renewed || !begin_sending(renewed, std::nullopt, sent, out)) return std::nullopt;
        what = {name_, owner_, renewed->token, out.ttl};
        return renewed->machine.deadline() - sent;
    }

    /// The part of extend() and renew() after the call.
    void end_renewal(const sent_renewal& out, batch_answer answer, std::error_code ec) override
    {
        if (answer != batch_answer::unknown)
            ec.clear();
        else if (!ec)
            ec = errc::store_failure;
        const std::lock_guard lock{mutex_};
        if (finish_renewal(out, answer == batch_answer::yes, ec)) look_after_renewal(out.its_term);
    }

    /// The error of the last renewal, or none.
    [[nodiscard]] std::error_code renewal_error(const term_ptr& held) const noexcept
    {
        const std::lock_guard lock{mutex_};
        return held->renewal_error(clock_.now());
    }

    // The losses: how the terms have ended, told to the holders of lost terms, and to an observed_store of every end.

    /// A token that is asked to stop when the term is lost. May throw std::bad_alloc.
    [[nodiscard]] std::stop_token stop_token(const term_ptr& held)
    {
        const std::lock_guard lock{mutex_};
        if (!watches) return {};
        if (is_over(*held)) {
            // This source is new and has no callbacks, so none runs here. Earlier tokens are signalled in the background.
            std::stop_source stopped = detail::new_stop_source();
            stopped.request_stop();
            return stopped.get_token();
        }
        if (!held->stop.stop_possible()) held->stop = detail::new_stop_source();
        return held->stop.get_token();
    }

    /// The loss of the term is signalled through this source, which other terms may share; at once, if it is lost already. Call it
    /// before anybody has asked for a token of the term or of the source, so that no callback runs here.
    void share_stop(const term_ptr& held, const std::stop_source& shared) noexcept
    {
        const bool over = [&] {
            const std::lock_guard lock{mutex_};
            assert(!held->stop.stop_possible());
            held->stop = shared;
            return is_over(*held);
        }();
        if (over) std::stop_source{shared}.request_stop();
    }

    /// Runs the stop callbacks of the terms whose loss was told. On the engine's signaller.
    void signal() noexcept override
    {
        std::unique_lock lock{mutex_};
        while (term_ptr lost = std::exchange(first_lost_, nullptr)) {
            first_lost_ = std::move(lost->next_lost);
            signalled_ = lost.get();
            std::stop_source source = lost->stop;
            lock.unlock();  // its callbacks may use the guard
            source.request_stop();
            lock.lock();
            observe_loss(lock, *lost);
            signalled_ = nullptr;
        }
    }

    /// Tells the store, which may be gone after this, what the signaller has not told it yet.
    void observe_rest() noexcept
    {
        if constexpr (observes) {
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

    // The requests to hand over. A request is a hint: where the store fails, or memory runs out, the next renewal is early enough to ask
    // again. The term keeps what was learned.

    /// Whether the holder was asked. The first call for a term asks the store; after that each renewal does. Without a thread, each
    /// call asks.
    [[nodiscard]] bool handover_requested(const term_ptr& held) noexcept
    {
        std::unique_lock lock{mutex_};
        if (!held->listens) {
            std::error_code no_thread;
            listen(held, no_thread);
            ask_store(lock, held);
        }
        return held->handover_requested && held->machine.phase() == term_phase::held && clock_.now() < held->machine.deadline();
    }

    /// The reason of the request that handover_requested() is about. May throw std::bad_alloc.
    [[nodiscard]] std::string handover_reason(const term_ptr& held) const
    {
        const std::lock_guard lock{mutex_};
        return held->handover ? held->handover->reason : std::string{};
    }

    /// A token that is asked to stop when the holder is asked. May throw std::bad_alloc or std::system_error.
    [[nodiscard]] std::stop_token handover_token(const term_ptr& held)
    {
        if (!watches) return {};
        const std::lock_guard lock{mutex_};
        // This may throw, so it comes before the term listens: from then on only renewals ask the store.
        const bool signalled = held->signals_requests();
        const std::stop_source stop = signalled ? held->handover->stop : detail::new_stop_source();
        std::error_code ec;
        listen(held, ec);
        if (ec) detail::throw_exception(std::system_error{ec});
        held->handover->stop = stop;
        if (!signalled) engine_.look(self_);
        return stop.get_token();
    }

    /// The holder declines requests of candidates whose priority is not higher from now on.
    void decline_up_to(const term_ptr& held, int priority) noexcept
    {
        const std::lock_guard lock{mutex_};
        held->priority = priority;
    }

    /// On the engine's listener. Does I/O, and runs stop callbacks.
    void look() noexcept override
    {
        std::unique_lock lock{mutex_};
        const term_ptr held = newest_;
        if (!held || !held->listens) return;
        looking_ = true;
        ask_store(lock, held);
        looking_ = false;
        changed_.notify_all();
        if (!held->handover_requested || held->machine.phase() != term_phase::held) return;
        std::stop_source source = held->handover->stop;
        lock.unlock();  // its callbacks may use the guard
        source.request_stop();
    }

private:
    friend keeper_handle<term_keeper>;
    friend renewal::own_place<term_keeper>;

    static constexpr bool observes = observed_store<Store>;

    void keep_itself(std::shared_ptr<term_keeper> self) noexcept { self_ = std::move(self); }

    // Ends everything that runs in the background, and then itself, unless a thread of the engine still refers to it. No term may be
    // held.
    void retire() noexcept
    {
        observe_rest();
        std::shared_ptr<term_keeper> self;
        engine_link<Clock> link;
        {
            std::unique_lock lock{mutex_};
            wait_for_engine(lock);
            self.swap(self_);
            std::swap(link, engine_);
        }
        link.disconnect(*this);
    }

    // The engine may outlive the store, which may be gone after this: an asynchronous operation keeps it, or leases of the store that this
    // one is around. Then the calls of this keeper have come back. A thread that makes one can't wait for itself.
    void wait_for_engine(std::unique_lock<std::mutex>& lock) noexcept
    {
        while (renewals_sent_ != 0 && !engine_.renews_on_this_thread()) changed_.wait(lock);
        while (looking_ && !engine_.looks_on_this_thread()) changed_.wait(lock);
    }

    // While a release without a min_hold is under way, an attempt of another thread through this object finds a term of its own owner,
    // and takes it over: then it has been granted a later one, which may have ended since.
    [[nodiscard]] bool is_taken_over_here(const term& ended) const noexcept
    {
        const std::lock_guard lock{mutex_};
        const bool was_lost = ended.refused || clock_.now() >= ended.machine.deadline();
        return !was_lost && last_granted_ > ended.token;
    }

    // Tells the store how the holder's release has ended. `error`: why the outcome is unknown.
    void observe_release(term& ended, release_outcome outcome, std::error_code error) noexcept
    {
        if constexpr (observes) {
            lease_event event;
            {
                const std::lock_guard lock{mutex_};
                if (ended.loss_told) return;
                ended.end_observed = true;
                const time_point now = clock_.now();
                if (is_loss(ended, outcome))
                    event = loss_of(ended, now);
                else
                    event = {.kind = lease_event_kind::released, .name = name_, .owner = owner_, .token = ended.token,
                             .held = now - ended.machine.begun(), .error = error};
            }
            store_.observe(event);
        }
    }

    // All functions below are called under the mutex.

    // In the store, a term whose release is under way still belongs to its owner. The store would grant that owner another one, and
    // the owner would work again within min_hold.
    [[nodiscard]] bool closed() const noexcept
    {
        return attempting_ || (newest_ && (newest_->closing || newest_->remaining(clock_) > duration::zero()));
    }

    // The latest time at which the object opens. During an attempt there is no term.
    [[nodiscard]] time_point closed_until() const noexcept
    {
        return newest_ && !newest_->closing ? newest_->machine.deadline() : time_point::max();
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
        // The count is read relaxed. That is enough here: each other user of a term uses it last under this mutex, and drops it after that.
        constexpr long known_to_its_guard_alone = 1;
        assert(!spare_);  // its grant has taken it
        if (ended.use_count() != known_to_its_guard_alone) return;
        ended->reset();
        spare_ = ended;
    }

    bool plan_renewal(time_point now) noexcept
    {
        this->set_renewal(newest_->machine.tier(now), newest_->machine.deadline());
        if constexpr (batching_store<Store>) batch_size_ = static_cast<std::uint16_t>(batch_size_of(store_));
        return true;
    }

    // The grid of renewals, so that they share calls.
    [[nodiscard]] std::optional<renewal_grid> grid() const noexcept { return batching_store<Store> ? engine_.grid() : std::nullopt; }

    void schedule() noexcept { engine_.schedule(self_, newest_->machine.wakes_at()); }

    void lose(const term_ptr& lost) noexcept
    {
        lost->deadline.store(term::over, std::memory_order_release);
        tell_loss(lost);
        changed_.notify_all();
        own_queue_.open();
    }

    // Waits until no renewal of the term is at the store, or the term is over.
    void wait_for_other(std::unique_lock<std::mutex>& lock, const term_ptr& held) noexcept
    {
        while (held->in_flight && held->machine.phase() == term_phase::held) changed_.wait(lock);
    }

    // The term that the engine was asked to renew. Nothing if another renewal of it is at the store: that one may hang, and a worker
    // that waited for it could not serve others. Its end plans the next.
    [[nodiscard]] term_ptr due_renewal() const noexcept
    {
        return newest_ && newest_->machine.renewing() && !newest_->in_flight ? newest_ : nullptr;
    }

    // Does I/O, and unlocks the mutex for that. `ttl`: given by the holder; nothing: the term's own ttl. False without an error:
    // the term is over.
    bool send_renewal(std::unique_lock<std::mutex>& lock, const term_ptr& renewed, std::optional<duration> ttl,
                      std::error_code& ec) noexcept
    {
        sent_renewal out;
        if (!begin_sending(renewed, ttl, clock_.now(), out)) return false;
        lock.unlock();
        bool extended = false;
        detail::catch_into(ec, [&] { extended = store_.renew(name_, owner_, renewed->token, out.ttl, ec); });
        lock.lock();
        return finish_renewal(out, extended, ec);
    }

    // The part of send_renewal() before the call; finish_renewal() must follow. False: the term is over.
    bool begin_sending(const term_ptr& renewed, std::optional<duration> ttl, time_point sent, sent_renewal& out) noexcept
    {
        if (renewed->machine.phase() != term_phase::held || sent >= renewed->machine.deadline()) return false;
        assert(!renewed->in_flight);
        renewed->in_flight = true;
        ++renewals_sent_;
        out = {sent, ttl.value_or(renewed->machine.ttl()), renewed};
        return true;
    }

    // The part of send_renewal() after the call. True: the term continues.
    bool finish_renewal(const sent_renewal& out, bool extended, std::error_code ec) noexcept
    {
        term& answered = *out.its_term;
        answered.in_flight = false;
        --renewals_sent_;
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
            if (answered.machine.refused()) lose(out.its_term);
            return false;
        }
        else if (!publish_extension(out, now)) {
            return false;
        }
        assert(newest_ == out.its_term);  // which is held
        schedule();
        return !ec;
    }

    // False: too late. A caller of held() may already have seen the loss.
    bool publish_extension(const sent_renewal& out, time_point now) noexcept
    {
        term& extended = *out.its_term;
        time_point published = extended.machine.deadline();
        if (!extended.machine.renewed(out.sent, now, out.ttl, policy_)) return false;
        if (extended.deadline.compare_exchange_strong(published, extended.machine.deadline())) return true;
        if (extended.machine.refused()) lose(out.its_term);
        return false;
    }

    // The engine's signaller will call signal(). Stop callbacks can't run here, since the thread that finds the loss may hold a lock
    // that they take.
    void tell_loss(const term_ptr& lost) noexcept
    {
        if (lost->loss_told || !(is_to_be_observed(*lost) || is_to_be_signalled(*lost))) return;
        lost->loss_told = true;
        lost->next_lost = std::move(first_lost_);
        first_lost_ = lost;
        engine_.signal(self_);
    }

    // The holder has ended the term, though it may have been lost before.
    [[nodiscard]] static bool is_loss(const term& ended, release_outcome outcome) noexcept
    {
        return outcome == release_outcome::lost || (outcome == release_outcome::unknown && ended.machine.phase() == term_phase::lost);
    }

    // Both in the background. Without that, the release tells the store, and nobody signals.
    [[nodiscard]] static bool is_to_be_observed(const term& lost) noexcept
    {
        return observes && watches && lost.beginning_observed && !lost.end_observed;
    }

    [[nodiscard]] static bool is_to_be_signalled(const term& lost) noexcept
    {
        return watches && lost.stop.stop_possible() && !lost.stop.stop_requested();
    }

    [[nodiscard]] bool is_over(const term& held) const noexcept
    {
        return held.machine.phase() == term_phase::lost || clock_.now() >= held.machine.deadline();
    }

    [[nodiscard]] lease_event loss_of(const term& lost, time_point now) const noexcept
    {
        const time_point until = std::min(now, lost.machine.deadline());
        return {.kind = lease_event_kind::lost,
                .name = name_,
                .owner = owner_,
                .token = lost.token,
                .held = until - lost.machine.begun(),
                .late = now - until,
                .error = lost.renewal_error(now)};
    }

    void observe_loss(std::unique_lock<std::mutex>& lock, term& lost) noexcept
    {
        if constexpr (observes) {
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
        if (signalled_ && !signalled_->end_observed) return signalled_;
        term* lost = first_lost_.get();
        while (lost && lost->end_observed) lost = lost->next_lost.get();
        return lost;
    }

    // The caller of renew() has a thread for it.
    void ask_after_renewal(std::unique_lock<std::mutex>& lock, const term_ptr& held) noexcept
    {
        if (held->listens) ask_store(lock, held);
    }

    // The engine looks in the background.
    void look_after_renewal(const term_ptr& held) noexcept
    {
        if (held->listens) engine_.look(self_);
    }

    // A look follows each renewal of the term from now on.
    void listen(const term_ptr& held, std::error_code& ec) noexcept
    {
        detail::catch_into(ec, [&] {
            if (!held->handover) held->handover = std::make_unique<term::handover_state>();
            engine_.start_listener();
        });
        if (!ec) held->listens = true;
    }

    void ask_store(std::unique_lock<std::mutex>& lock, const term_ptr& held) noexcept
    {
        if constexpr (handover_store<Store>) {
            if (!held->handover || held->handover_requested || held->machine.phase() != term_phase::held) return;
            lock.unlock();
            std::error_code ec;
            std::optional<std::string> reason;
            detail::catch_into(ec, [&] { reason = store_.handover_requested(name_, owner_, held->token, ec); });
            lock.lock();
            if (ec || !reason || held->handover_requested || detail::is_declined(*reason, held->priority)) return;
            held->handover->reason = std::move(*reason);
            held->handover_requested = true;
            look_after_renewal(held);  // which tells those with the token
        }
    }

    Store& store_;
    const std::string name_;
    const std::string owner_;
    const lease_terms terms_;
    [[no_unique_address]] const Clock clock_;
    [[no_unique_address]] const Policy policy_;

    handle_count handles_;
    mutable std::mutex mutex_;  // guards what follows, and the terms; never held across I/O
    std::shared_ptr<term_keeper> self_;  // until the last handle has gone; what the engine is given
    engine_link<Clock> engine_;          // connected only while there is self_
    // A renewal or a look has ended, or a term was lost.
    small_condition<typename runtime_traits<Clock>::condition_variable> changed_;
    term_ptr newest_;  // the term that was granted last, until it has ended
    term_ptr spare_;   // for the next grant
    fencing_token last_granted_;  // the highest that the store granted this object
    waiting::own_queue own_queue_;
    term_ptr first_lost_;        // linked; their losses are to be signalled
    term* signalled_ = nullptr;  // whose loss is being signalled, by a thread that keeps the term
    bool observing_ = false;     // the signaller is telling the store of a loss
    bool attempting_ = false;
    bool looking_ = false;             // the listener asks the store
    std::uint16_t renewals_sent_ = 0;  // that are at the store, of one term each
    std::uint16_t batch_size_ = 1;     // the store's, when a renewal was due; the watchdog's; at most max_batch
};

}  // namespace leasehold::inline v0::renewal

#endif
