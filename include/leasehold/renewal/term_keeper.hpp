// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_TERM_KEEPER_HPP
#define LEASEHOLD_RENEWAL_TERM_KEEPER_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renew_policy/concept.hpp>
#include <leasehold/renewal/batch.hpp>
#include <leasehold/renewal/broken_rule.hpp>
#include <leasehold/renewal/engine_link.hpp>
#include <leasehold/renewal/engine_registry.hpp>
#include <leasehold/renewal/handover_requests.hpp>
#include <leasehold/renewal/keeper_handle.hpp>
#include <leasehold/renewal/lost_terms.hpp>
#include <leasehold/renewal/runtime_traits.hpp>
#include <leasehold/renewal/small_condition.hpp>
#include <leasehold/renewal/term.hpp>
#include <leasehold/renewal/term_renewals.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/own_place.hpp>
#include <leasehold/waiting/own_queue.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
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
    using own_place = waiting::own_place<term_keeper>;
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

    /// What holders do and ask; each function locks the mutex.
    [[nodiscard]] term_renewals<term_keeper> renewals() noexcept { return term_renewals<term_keeper>{*this}; }
    [[nodiscard]] handover_requests<term_keeper> requests() noexcept { return handover_requests<term_keeper>{*this}; }
    [[nodiscard]] lost_terms<term_keeper>& losses() noexcept { return lost_; }

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
        const time_point now = clock_.now();
        term& granted = *spare_;
        granted.token = token;
        granted.machine.granted(sent, terms_.ttl, terms_.margin(), policy_);
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
        if (!ended->machine.overrun(clock_.now())) ended->machine.ended();
        ended->deadline.store(term::over, std::memory_order_release);
        if (ended->refused) return std::nullopt;
        // An exception has ended the work: others may try it.
        if (std::uncaught_exceptions() > ended->exceptions) ended->keep_closed_until = time_point{};
        return term_release{name_, owner_, ended->token, std::max(ended->keep_closed_until - clock_.now(), duration::zero())};
    }

    /// The part of end() after the call, which the store has answered with `outcome`. `error`: why it is unknown. Returns what to
    /// tell the holder.
    release_outcome has_ended(const term_ptr& ended, release_outcome outcome, std::error_code error = {}) noexcept
    {
        if (outcome == release_outcome::lost && is_taken_over_here(*ended)) outcome = release_outcome::released;
        // Do these before the lease is open to threads that share it: they may acquire it, and then destroy the store.
        waiting::released(store_, name_);
        lost_.observe_release(*ended, outcome, error);
        const std::lock_guard lock{mutex_};
        if (lost_.is_loss(*ended, outcome)) lost_.tell(ended);
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

    /// Its release, however early, does not keep the name closed: nobody has worked under the term.
    void forget_min_hold(const term_ptr& of) noexcept
    {
        const std::lock_guard lock{mutex_};
        of->keep_closed_until = time_point{};
    }

    bool step() override
    {
        const std::lock_guard lock{mutex_};
        if (!newest_) return false;
        const time_point now = clock_.now();
        const term_step next = newest_->machine.step(now);
        engine_.schedule(self_, next.at, early_from());
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

    void renew() override { renewals().renew_due(); }
    void look() noexcept override { requests().look(); }
    void signal() noexcept override { lost_.signal(); }

    /// A term has begun; the caller asked for it at `asked`. Not under the mutex.
    void observe_beginning(const term& begun, time_point asked) noexcept
    {
        if constexpr (observed_store<Store>)
            store_.observe(
                {.kind = lease_event_kind::acquired, .name = name_, .owner = owner_, .token = begun.token, .waited = clock_.now() - asked});
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

    [[nodiscard]] std::size_t batch_size() const noexcept override
    {
        if constexpr (batching_store<Store>)
            return batch_size_of(store_);
        else
            return 1;
    }

    void renew_together(std::span<const std::shared_ptr<watched_term>> terms) override
    {
        if constexpr (batching_store<Store>) renew_as_batch(store_, clock_, terms);
    }

    std::optional<duration> begin_renewal(time_point sent, term_renewal& what, sent_renewal& out) override
    {
        return renewals().begin_due(sent, what, out);
    }

    void end_renewal(const sent_renewal& out, batch_answer said, std::error_code ec) override { renewals().end(out, said, ec); }

private:
    friend keeper_handle<term_keeper>;
    friend handover_requests<term_keeper>;
    friend lost_terms<term_keeper>;
    friend term_renewals<term_keeper>;
    friend waiting::own_place<term_keeper>;

    void keep_itself(std::shared_ptr<term_keeper> self) noexcept { self_ = std::move(self); }

    // Ends everything that runs in the background, and then itself, unless a thread of the engine still refers to it. No term may be
    // held.
    void retire() noexcept
    {
        lost_.observe_rest();
        std::shared_ptr<term_keeper> self;
        engine_link<Clock> link;
        {
            const std::lock_guard lock{mutex_};
            self.swap(self_);
            std::swap(link, engine_);
        }
        link.disconnect(*this);
    }

    // While a release is under way, an attempt of another thread through this object finds a term of its own owner, and takes it
    // over: then it has been granted a later one.
    [[nodiscard]] bool is_taken_over_here(const term& ended) const noexcept
    {
        const std::lock_guard lock{mutex_};
        const bool was_lost = ended.refused || clock_.now() >= ended.machine.deadline();
        return !was_lost && newest_ && newest_->token > ended.token;
    }

    // All functions below are called under the mutex.

    [[nodiscard]] bool closed() const noexcept { return attempting_ || (newest_ && newest_->remaining(clock_) > duration::zero()); }

    // Until when, unless it opens before. During an attempt there is no term.
    [[nodiscard]] time_point closed_until() const noexcept { return newest_ ? newest_->machine.deadline() : time_point::max(); }

    // The watchdog may not have seen the loss yet.
    void forget_lost() noexcept
    {
        if (!newest_) return;
        const term_ptr lost = std::exchange(newest_, nullptr);
        if (!lost->machine.overrun(clock_.now())) return;
        lost_.tell(lost);
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
        return true;
    }

    [[nodiscard]] time_point early_from() const noexcept
    {
        return batching_store<Store> ? newest_->machine.early_from() : time_point::max();
    }

    void schedule() noexcept
    {
        engine_.schedule(self_, newest_->machine.wakes_at(), early_from());
    }

    void lose(const term_ptr& lost) noexcept
    {
        lost->deadline.store(term::over, std::memory_order_release);
        lost_.tell(lost);
        changed_.notify_all();
        own_queue_.open();
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
    small_condition<typename runtime_traits<Clock>::condition_variable> changed_;  // a renewal has ended, or a term was lost
    term_ptr newest_;  // the term that was granted last, until it has ended
    term_ptr spare_;   // for the next grant
    waiting::own_queue own_queue_;
    lost_terms<term_keeper> lost_{*this};
    bool attempting_ = false;
};

}  // namespace leasehold::inline v0::renewal

#endif
