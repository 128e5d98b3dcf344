// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_TERM_HPP
#define LEASEHOLD_RENEWAL_TERM_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/guarded.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renew_policy/concept.hpp>
#include <leasehold/renewal/batch.hpp>
#include <leasehold/renewal/broken_rule.hpp>
#include <leasehold/renewal/engine_link.hpp>
#include <leasehold/renewal/term_machine.hpp>
#include <leasehold/renewal/threading.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::renewal {

/// The terms of one basic_lease, one after another: carries out what their term_machine decides.
///
/// Thread safety: all functions from any thread, but that grant() and end() belong to whoever has the one live guard.
template <lease_store Store, lease_clock Clock, renew_policy Policy>
class term final : public watched_term, public std::enable_shared_from_this<term<Store, Clock, Policy>> {
public:
    term(Store& store, std::string name, std::string owner, lease_terms terms, Clock clock, Policy policy)
        : store_{store}, name_{std::move(name)}, owner_{std::move(owner)}, terms_{terms}, clock_{std::move(clock)}, policy_{std::move(policy)}
    {
    }

    [[nodiscard]] Store& store() const noexcept { return store_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const std::string& owner() const noexcept { return owner_; }
    [[nodiscard]] const lease_terms& terms() const noexcept { return terms_; }
    [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
    [[nodiscard]] fencing_token token() const noexcept { return token_; }

    /// No lock, no I/O: reads the clock.
    [[nodiscard]] bool held() const noexcept { return remaining() > duration::zero(); }

    /// Once it has been zero it stays so for the term: who was told of the loss must not be told otherwise by a renewal
    /// whose answer was judged in time and published late.
    [[nodiscard]] duration remaining() const noexcept
    {
        time_point deadline = deadline_.load(std::memory_order_acquire);
        const time_point now = clock_.now();
        while (deadline <= now) {
            if (deadline == over || deadline_.compare_exchange_weak(deadline, over)) return duration::zero();
        }
        return deadline - now;
    }

    /// Finds the threads that will watch, before anything is acquired that they would have to watch.
    /// May throw std::bad_alloc or std::system_error.
    void connect()
    {
        const std::lock_guard lock{mutex_};
        if (!engine_.connected()) engine_.connect(std::addressof(store_), clock_);
    }

    /// Begins a term that the store granted to an attempt sent at `sent`. False when its deadline has passed already.
    bool grant(fencing_token token, time_point sent) noexcept
    {
        const std::lock_guard lock{mutex_};
        const time_point now = clock_.now();
        token_ = token;
        ++generation_;
        refused_ = false;
        last_error_.clear();
        stop_.reset();
        // Counted from the answer, when somebody else would have to wait from the grant: never too short.
        closed_until_ = now + terms_.min_hold;
        machine_.granted(sent, terms_.ttl, terms_.safety_margin, policy_);
        if (now >= machine_.deadline()) {
            closed_until_ = now;  // nobody has worked under it, so nobody need be kept out
            machine_.ended();
            return false;
        }
        deadline_.store(machine_.deadline(), std::memory_order_release);
        schedule();
        return true;
    }

    /// Ends the term here, whatever the store answers, and in the store. Does I/O.
    release_outcome end(std::error_code& ec) noexcept
    {
        const std::optional<term_release> what = end_here();
        ec.clear();
        if (!what) return release_outcome::lost;
        bool ours = false;
        detail::guarded(ec, [&] { ours = store_.release(name_, owner_, what->token, what->keep_closed, ec); });
        return !ec && ours ? release_outcome::released : release_outcome::lost;
    }

    /// The part of end() before the call: what to release; nothing where the store has said that the term is over.
    std::optional<term_release> end_here() noexcept
    {
        const std::lock_guard lock{mutex_};
        ++generation_;
        machine_.ended();
        deadline_.store(over, std::memory_order_release);
        stop_.reset();
        if (refused_) return std::nullopt;
        return term_release{name_, owner_, token_, std::max(closed_until_ - clock_.now(), duration::zero())};
    }

    /// Why the term could not go on with this ttl, or nullptr.
    [[nodiscard]] const char* broken_rule(duration ttl) const
    {
        return renewal::broken_rule(lease_terms{ttl, terms_.safety_margin, terms_.min_hold}, policy_);
    }

    /// Extends now, by `ttl` or by the ttl the term has. False without an error: the term is over. Does I/O.
    bool extend(std::optional<duration> ttl, std::error_code& ec) noexcept
    {
        ec.clear();
        if (ttl && broken_rule(*ttl)) {
            ec = errc::invalid_terms;
            return false;
        }
        return exchange(ttl, caller::holder, ec);
    }

    /// Stopped when the term is lost. May throw std::bad_alloc.
    [[nodiscard]] std::stop_token stop_token()
    {
        std::unique_lock lock{mutex_};
        if (!stop_) stop_.emplace();
        const std::stop_token token = stop_->get_token();
        // Where nobody watches in the background, or has not come round to it: the clock decides.
        if (machine_.overrun(clock_.now()) || machine_.phase() == term_phase::lost) signal_loss(lock);
        return token;
    }

    /// What the last renewal failed with, or none.
    [[nodiscard]] std::error_code last_error() const noexcept
    {
        const std::lock_guard lock{mutex_};
        return last_error_;
    }

    /// Nothing runs in the background any more when this returns. No term may be under way.
    void retire() noexcept
    {
        engine_link<Clock> link;
        {
            const std::lock_guard lock{mutex_};
            std::swap(link, engine_);
        }
        link.disconnect(*this);
    }

    bool step() override
    {
        std::unique_lock lock{mutex_};
        const time_point now = clock_.now();
        const term_step next = machine_.step(now);
        if (next.action == term_action::renew) this->set_may_go_with(machine_.may_go_with(now));
        engine_.schedule(this->shared_from_this(), next.at, early_from());
        if (next.action == term_action::signal_loss) signal_loss(lock);
        return next.action == term_action::renew;
    }

    bool step_early() override
    {
        const std::lock_guard lock{mutex_};
        const time_point now = clock_.now();
        if (!machine_.step_early(now)) return false;
        this->set_may_go_with(machine_.may_go_with(now));
        return true;
    }

    void renew() override
    {
        std::error_code ec;
        exchange(std::nullopt, caller::engine, ec);
    }

    [[nodiscard]] const void* batch_kind() const noexcept override
    {
        static constexpr char this_type = 0;
        return batching_store<Store> ? &this_type : nullptr;
    }

    [[nodiscard]] std::size_t batch_size() const noexcept override
    {
        if constexpr (batching_store<Store>)
            return store_.batch_size();
        else
            return 1;
    }

    void renew_together(std::span<const std::shared_ptr<watched_term>> terms) override
    {
        if constexpr (batching_store<Store>) renew_as_batch(store_, clock_, terms);
    }

    std::optional<duration> begin_renewal(time_point sent, term_renewal& what, sent_renewal& on_its_way) override
    {
        std::unique_lock lock{mutex_};
        if (exchanging_) {
            postpone();
            return std::nullopt;
        }
        if (!begin(std::nullopt, caller::engine, sent, on_its_way)) return std::nullopt;
        what = {name_, owner_, on_its_way.token, on_its_way.ttl};
        return machine_.deadline() - sent;
    }

    void end_renewal(const sent_renewal& of, batch_answer said, std::error_code ec) override
    {
        if (said != batch_answer::unknown)
            ec.clear();
        else if (!ec)
            ec = errc::store_failure;
        std::unique_lock lock{mutex_};
        finish(lock, of, caller::engine, said == batch_answer::yes, ec);
    }

private:
    enum class caller : std::uint8_t { holder, engine };

    bool exchange(std::optional<duration> new_ttl, caller by, std::error_code& ec) noexcept
    {
        std::unique_lock lock{mutex_};
        if (exchanging_ && by == caller::engine) return postpone();
        while (exchanging_) exchange_over_.wait(lock);
        sent_renewal out;
        if (!begin(new_ttl, by, clock_.now(), out)) return false;
        lock.unlock();

        bool extended = false;
        detail::guarded(ec, [&] { extended = store_.renew(name_, owner_, out.token, out.ttl, ec); });

        lock.lock();
        return finish(lock, out, by, extended, ec);
    }

    // One renewal of a term at a time, so that their answers come in the order of their statements. Under the mutex.
    bool begin(std::optional<duration> new_ttl, caller by, time_point sent, sent_renewal& out) noexcept
    {
        if (machine_.phase() != term_phase::held || sent >= machine_.deadline()) return false;
        if (by == caller::engine && !machine_.renewing()) return false;
        out = {sent, new_ttl.value_or(machine_.ttl()), token_, generation_};
        exchanging_ = true;
        return true;
    }

    bool finish(std::unique_lock<std::mutex>& lock, const sent_renewal& out, caller by, bool extended, std::error_code ec) noexcept
    {
        exchanging_ = false;
        exchange_over_.notify_all();
        if (out.generation != generation_) return false;
        last_error_ = ec;
        if (ec) {
            if (by == caller::engine) machine_.renewal_failed(clock_.now(), policy_);
        }
        else if (extended) {
            time_point published = machine_.deadline();
            extended = machine_.renewed(out.sent, clock_.now(), out.ttl, policy_);
            if (extended && !deadline_.compare_exchange_strong(published, machine_.deadline())) {
                if (machine_.refused()) signal_loss(lock);
                return false;
            }
        }
        else {
            refused_ = true;
            if (machine_.refused()) signal_loss(lock);
            return false;
        }
        schedule();
        return !ec && extended;
    }

    // Another renewal of this object is under way and may hang: a worker that waited for it would be one less for others.
    bool postpone() noexcept
    {
        if (machine_.phase() == term_phase::held && machine_.renewing()) {
            machine_.renewal_failed(clock_.now(), policy_);
            schedule();
        }
        return false;
    }

    [[nodiscard]] time_point early_from() const noexcept
    {
        return batching_store<Store> ? machine_.early_from() : time_point::max();
    }

    void schedule() noexcept
    {
        engine_.schedule(this->shared_from_this(), machine_.wakes_at(), early_from());
    }

    // The callbacks run without the lock: they may ask the guard.
    void signal_loss(std::unique_lock<std::mutex>& lock) noexcept
    {
        deadline_.store(over, std::memory_order_release);
        std::stop_source source = stop_ ? *stop_ : std::stop_source{std::nostopstate};
        lock.unlock();
        source.request_stop();
    }

    Store& store_;
    const std::string name_;
    const std::string owner_;
    const lease_terms terms_;
    const Clock clock_;
    const Policy policy_;

    static constexpr time_point over = time_point::min();
    mutable std::atomic<time_point> deadline_{over};
    mutable std::mutex mutex_;  // guards what follows; never held across I/O
    bool exchanging_ = false;   // a renewal is at the store
    typename threading<Clock>::condition_variable exchange_over_;
    term_machine machine_;
    fencing_token token_;
    std::uint64_t generation_ = 0;  // tells an answer to an earlier term's renewal
    bool refused_ = false;          // the store has said that the term is over
    std::error_code last_error_;    // of the last renewal
    time_point closed_until_{};
    std::optional<std::stop_source> stop_;  // made when somebody asks for a token
    engine_link<Clock> engine_;
};

}  // namespace leasehold::inline v0::renewal

#endif
