// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_PERMIT_POOL_HPP
#define LEASEHOLD_DETAIL_PERMIT_POOL_HPP

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/attempt_one.hpp>
#include <leasehold/detail/batch_attempt.hpp>
#include <leasehold/detail/counted_store.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/guard_sets.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/new_stop_source.hpp>
#include <leasehold/detail/permit_names.hpp>
#include <leasehold/detail/permit_search.hpp>
#include <leasehold/detail/permit_wait.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/lease_set_guard.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/renew_policy/concept.hpp>
#include <leasehold/renewal/broken_rule.hpp>
#include <leasehold/renewal/runtime_traits.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/queue_ticket.hpp>
#include <leasehold/waiting/wait_on_thread.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0::detail {

// The renew policy of a permit: the user's, and what the permit's terms refer to until the last renewal has come back.
template <renew_policy Policy>
class policy_of_permit {
public:
    static constexpr bool never_renews = never_renewing_policy<Policy>;

    policy_of_permit(Policy policy, std::shared_ptr<const void> kept) noexcept
        : policy_{std::move(policy)}, kept_{std::move(kept)}
    {
    }

    [[nodiscard]] std::optional<duration> next(renewal_state state) const noexcept { return policy_.next(state); }

private:
    Policy policy_;
    std::shared_ptr<const void> kept_;
};

// Lets one thread at a time through. If its call fails, the threads behind it fail too: during an outage, no thread waits through the
// call timeouts of all others.
template <lease_clock Clock>
class turnstile {
public:
    class turn {
    public:
        // `ec` must hold the turn's result when the turn ends. If the constructor sets it, the turn before failed, and this is none.
        turn(turnstile& parent, std::error_code& ec) : parent_{parent}, ec_{ec}
        {
            std::unique_lock lock{parent_.mutex_};
            const std::uint64_t failures = parent_.failures_;
            while (parent_.taken_ && parent_.failures_ == failures) parent_.changed_.wait(lock);
            if (parent_.failures_ == failures)
                parent_.taken_ = begun_ = true;
            else
                ec_ = parent_.last_failure_;
        }
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;
        ~turn()
        {
            if (!begun_) return;
            const std::lock_guard lock{parent_.mutex_};
            parent_.taken_ = false;
            if (ec_) {
                ++parent_.failures_;
                parent_.last_failure_ = ec_;
            }
            parent_.changed_.notify_all();
        }

    private:
        turnstile& parent_;
        std::error_code& ec_;
        bool begun_ = false;
    };

private:
    std::mutex mutex_;
    typename renewal::runtime_traits<Clock>::condition_variable changed_;
    std::uint64_t failures_ = 0;
    std::error_code last_failure_;
    bool taken_ = false;
};

// Permits: leases of names that differ in a number, so that at most `count` hold at once. Also keeps their leases, each made
// when it is first asked for. The count may change: see counted_store.
//
// Thread safety: any thread may call any function. Lifetime: the store must outlive it; its guards need not.
template <lease_store Store, lease_clock Clock, renew_policy Policy>
class permit_pool {
public:
    using store_type = Store;
    using clock_type = Clock;
    using counted_type = counted_store<Store, Clock>;
    using lease_type = basic_lease<counted_type, Clock, fixed_owner_id, policy_of_permit<Policy>>;
    using guard_type = lease_guard<lease_type>;
    struct attempt_result {
        guard_type guard{};
        std::size_t index = 0;
        bool too_late = false;  // granted, but the term was over before the answer came
        duration busy_for{};    // busy: until there may be one, as far as is known; 0: unknown
        duration sleep{};       // busy: how long a waiter may sleep unless it is woken; 0: nobody wakes it
        bool gave_back = false;   // busy: some were granted, and given back
        bool of_another = false;  // the error is that of another thread's attempt, for which this one has waited
    };

    using set_type = lease_set_guard<lease_type>;
    // The result of an attempt at several permits.
    struct some_result {
        set_type guard{};
        std::vector<std::size_t> indexes{};  // of the permits, in ascending order
        bool too_late = false;
        duration busy_for{};
        duration sleep{};
        bool gave_back = false;
        bool of_another = false;
    };

    // Throws std::system_error for arguments that can't work. Does no I/O. `follows`: it takes the count that is agreed on already.
    permit_pool(Store& store, permit_names names, std::string owner, const lease_terms& terms, Clock clock, Policy policy,
                bool follows = false)
        : names_{std::move(names)}, owner_{std::move(owner)}, terms_{terms}, clock_{std::move(clock)},
          policy_{std::move(policy)}, counted_{std::make_shared<counted_type>(store, clock_, names_, follows)},
          random_{waiting::random_seed(owner_, clock_.now()) | 1U}
    {
        validate_owner(owner_);
        if (const char* rule = renewal::broken_rule(terms_, policy_)) raise_invalid(errc::invalid_terms, rule);
    }
    permit_pool(const permit_pool&) = delete;
    permit_pool& operator=(const permit_pool&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return names_.name; }
    [[nodiscard]] const std::string& owner() const noexcept { return owner_; }
    [[nodiscard]] const lease_terms& terms() const noexcept { return terms_; }
    [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
    [[nodiscard]] std::size_t count() const noexcept { return counted_->count(); }  // as far as is known
    [[nodiscard]] Store& store() const noexcept { return counted_->underlying(); }
    [[nodiscard]] counted_type& counted() const noexcept { return *counted_; }

    // A lease of the same store and owner.
    [[nodiscard]] lease_type make_lease(std::string_view name) const
    {
        return lease_type{
            *counted_, name, terms_, clock_, fixed_owner_id{owner_}, policy_of_permit<Policy>{policy_, counted_}};
    }

    // The lease of the gate.
    [[nodiscard]] lease_type make_gate() const { return make_lease(names_.name + std::string{names_.of_gate}); }

    // The lease of a permit. May throw std::bad_alloc.
    [[nodiscard]] lease_type& lease(std::size_t i)
    {
        const std::lock_guard lock{mutex_};
        if (i >= leases_.size()) leases_.resize(std::max(i + 1, count()));
        if (!leases_[i]) leases_[i] = std::make_unique<lease_type>(make_lease(names_.of_permit(i)));
        return *leases_[i];
    }

    // Whether the end of its leases may wait for the store.
    [[nodiscard]] bool end_takes_time() const noexcept
    {
        const auto may_wait = [](const auto& made) { return made && lease_access::keeper(*made).end_takes_time(); };
        const std::lock_guard lock{mutex_};
        return may_wait(of_first_) || std::ranges::any_of(leases_, may_wait);
    }

    // The search begins with the permit that was released last, which is probably free, or anywhere.
    [[nodiscard]] permit_search new_search() noexcept
    {
        const std::size_t recent = recent_.load(), permits = count();
        return {permits, recent < permits ? recent : random()};
    }

    // Makes one round of attempts at any of the permits.
    attempt_result try_any(permit_search& search, std::error_code& ec)
    {
        attempt_result result;
        for (bool again = counted_->settle(terms_.ttl, ec); again;) {
            const std::size_t asked_for = count();
            search.follow(asked_for);
            result = one_round(search, asked_for, ec);
            again = result.guard.empty() && !ec && (count() > asked_for || counted_->has_grown(terms_.ttl, ec));
        }
        result.busy_for = search.remaining(clock_.now());
        return result;
    }

    // Attempts one permit: the one that was released last, or any.
    attempt_result try_likely(permit_search& search, std::error_code& ec)
    {
        const std::size_t recent = recent_.exchange(none), permits = count();
        search.follow(permits);
        return try_one(recent < permits ? recent : random() % permits, search, ec);
    }

    // Makes one round of attempts at `wanted` permits, all or none. A waiter asks for them only if enough seem to be free: permits that it
    // takes and gives back are in the way of others.
    some_result try_some(permit_search& search, std::size_t wanted, std::error_code& ec)
    {
        if (wanted > 0 && (!counted_->agree(terms_.ttl, ec) || !counted_->settle(terms_.ttl, ec))) return {};
        if (wanted > count()) static_cast<void>(counted_->has_grown_for_sure(terms_.ttl, ec));
        if (ec) return {};
        if (wanted == 0 || wanted > count()) {
            counted_->refuse("'" + printable(name()) + "' has " + std::to_string(count()) + " permits, so 1 to " +
                                 std::to_string(count()) + " can be taken at once, not " + std::to_string(wanted), ec);
            return {};
        }
        some_result result = look_and_take_some(search, wanted, ec);
        if (!result.guard.empty() || ec || !counted_->has_grown(terms_.ttl, ec)) return result;
        const bool gave_back = result.gave_back;
        result = look_and_take_some(search, wanted, ec);
        result.gave_back = result.gave_back || gave_back;
        return result;
    }

    // Attempts all permits that the caller doesn't have; guards[first + i] is for permit i. A caller that gets all of them has the
    // gate, where the others wait: nobody waits for these terms. `all`: stops at a busy one.
    // `waiting_since`: since when the caller has waited, if it has. Returns the time until the last of the busy ones ends, as far as is
    // known; 0: unknown.
    duration try_all(std::vector<guard_type>& guards, std::size_t first, bool all, bool& too_late,
                     std::optional<time_point> waiting_since, std::error_code& ec)
    {
        duration busy_for{};
        const auto take = [&](std::size_t i, auto attempt) {
            too_late = too_late || attempt.too_late;
            busy_for = std::max(busy_for, attempt.answer.remaining);
            guards[first + i] = std::move(attempt.guard);
            return !all || !guards[first + i].empty();
        };
        if constexpr (batch_acquiring_store<counted_type>) {
            std::vector<std::size_t> missing;
            missing.reserve(count());
            for (std::size_t i = 0; i < count(); ++i)
                if (guards[first + i].empty()) missing.push_back(i);
            // Its own terms must not take the lock whose release tells it that the last of the others has left.
            each_batch(missing.size(), [&](std::size_t k) { return missing[k]; }, [&] { return count(); }, wakes_nobody, waiting_since, ec,
                       take);
        } else {
            for (std::size_t i = 0; i < count() && !ec; ++i)
                if (guards[first + i].empty() && !take(i, lease_access::attempts(lease(i)).attempt_once(ec, waiting_since))) break;
        }
        return busy_for;
    }

    // If nothing is free, returns whether there are more than this process knew of. Asks the store now and then.
    bool has_grown(std::error_code& ec) { return counted_->has_grown(terms_.ttl, ec); }

    // The first of the line waits for several. It takes a small lease. While it has that, waiters who would pass it leave the permits
    // alone, however long it waits. The lease is renewed like a permit, so it runs out if its process dies. Not for pools with a gate,
    // which does the same for writers.
    guard_type keep_for_first(std::error_code& ec)
    {
        static_assert(ordered_store<counted_type>);
        guard_type taken;
        const auto take = [&taken](auto attempt) { taken = std::move(attempt.guard); };
        if constexpr (batch_acquiring_store<counted_type>) {
            batch_attempt<lease_type> alone{1};
            if (!alone.add(lease_of_first(), wakes_nobody, ec)) return taken;
            alone.send(1, {}, ec, [&](std::size_t, auto attempt) { take(std::move(attempt)); });
        } else {
            take(lease_access::attempts(lease_of_first()).attempt_once(ec));
        }
        if (!taken.empty()) lease_access::forget_min_hold(taken);
        return taken;
    }

    // It is not released.
    static void let_run_out(guard_type& kept) noexcept
    {
        if (!kept.empty()) std::exchange(lease_access::body(kept), {}).leave();
    }

    // Whether another owner has that lease.
    bool is_kept_for_another(std::error_code& ec)
    {
        if (!names_.of_gate.empty()) return false;
        const std::optional<lease_record> record = counted_->inspect(name_of_first(), ec);
        return !ec && record && !record->owner.empty() && record->owner != owner_;
    }

    // The waiters of this object.
    [[nodiscard]] waiting::local_queue& waiters() noexcept { return waiters_; }

    // A single attempt waits for nothing; see permit_waiter.
    static attempt_result wait_for(std::string_view, duration remaining, std::error_code&) { return {.busy_for = remaining}; }
    static bool is_overdue(std::error_code&) noexcept { return false; }
    static void missed() noexcept {}

    // Makes another attempt of a waiter, with its ticket for one.
    template <class Ticket>
    attempt_result try_with(Ticket& ticket, std::size_t permit, std::optional<time_point> waiting_since, std::error_code& ec)
    {
        auto attempt = lease_access::attempts(lease(permit)).attempt(ticket, ec, waiting_since);
        return {.guard = std::move(attempt.guard), .index = permit, .too_late = attempt.too_late, .sleep = attempt.answer.retry_after};
    }

    // Returns any number, another with each call.
    [[nodiscard]] std::uint64_t random() noexcept
    {
        std::uint64_t x = random_.fetch_add(0x9E3779B97F4A7C15ULL);  // Sebastiano Vigna's splitmix64
        x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
        return (x ^ (x >> 31U)) >> 1U;
    }

    // A permit was released in this process, so it is probably free.
    void released_last(std::size_t permit) noexcept { recent_.store(permit); }

    // Waits until attempt(search, waiter, ec) has a guard or an error, at most until the deadline: what permit_wait decides, on this
    // thread. `waiter` makes the attempts at any permit.
    template <class Attempt>
    auto wait(time_point deadline, const std::stop_token& stop, std::error_code& ec, Attempt attempt)
        -> std::invoke_result_t<Attempt&, permit_search&, permit_pool&, std::error_code&>
    {
        if (stop.stop_requested()) return {};
        if (deadline <= clock_.now()) return attempt_once(attempt, ec);
        waker to_wake;
        permit_wait<permit_pool, Attempt> waits{*this, std::move(attempt), deadline, to_wake};
        return waiting::wait_on_thread(waits, clock_, to_wake, stop, ec);
    }

    // Makes one attempt of such a kind.
    template <class Attempt>
    auto attempt_once(Attempt& attempt, std::error_code& ec)
    {
        permit_search search = new_search();
        return attempt(search, *this, ec);
    }

    // `failed`: the call that did, if the store was called after it.
    [[noreturn]] void raise_failure(std::error_code ec, std::string_view operation, bool too_late = false, bool of_another = false,
                                    const set_failure& failed = {})
    {
        for (const errc refused : {errc::invalid_terms, errc::held_closed})
            if (const std::string found = counted_->disagreement(); ec == refused && !found.empty()) raise_invalid(refused, found);
        if (of_another || ec == errc::lost) {
            store_diagnostics diagnostics;  // the store's own are about this thread's calls
            diagnostics.advice = of_another ? "another thread's attempt failed, for which this one waited"
                                            : "the gate or a share was lost before the writer had all of them";
            raise_failed_call(ec, std::string{operation} + " '" + name() + "'", std::move(diagnostics));
        }
        if (too_late) lease_access::attempts(lease(0)).raise_failure(ec, operation, true);
        if (failed.error()) failed.raise(operation);
        raise_store_failure(store(), ec, operation, name());
    }

private:
    [[nodiscard]] std::string name_of_first() const { return names_.prefix() + "^"; }

    lease_type& lease_of_first()
    {
        const std::lock_guard lock{mutex_};
        if (!of_first_) of_first_ = std::make_unique<lease_type>(make_lease(name_of_first()));
        return *of_first_;
    }

    // `permits`: as many as the search knows of. The count may have changed since.
    attempt_result one_round(permit_search& search, std::size_t permits, std::error_code& ec)
    {
        if constexpr (batch_acquiring_store<counted_type>) {
            if (permits > 1 && attempts_together(*counted_) > 1) return try_recent_or_any_together(search, permits, ec);
        }
        while (const std::optional<std::size_t> i = search.next(clock_.now())) {
            attempt_result result = try_one(*i, search, ec);
            if (ec || !result.guard.empty()) return result;
        }
        return {};
    }

    attempt_result try_one(std::size_t i, permit_search& search, std::error_code& ec)
    {
        auto attempt = lease_access::attempts(lease(i)).attempt_once(ec, search.waiting_since());
        if (attempt.guard.empty() && !ec && !attempt.closed) search.busy(i, clock_.now(), attempt.answer);
        return {std::move(attempt.guard), i, attempt.too_late};
    }

    attempt_result try_recent_or_any_together(permit_search& search, std::size_t permits, std::error_code& ec)
    {
        const std::size_t recent = recent_.exchange(none);
        if (recent < permits) {
            attempt_result attempt = try_one(recent, search, ec);
            if (ec || !attempt.guard.empty()) return attempt;
        }
        // Otherwise another thread's attempt at all of them would look as if all were taken.
        const typename turnstile<Clock>::turn alone{turnstile_, ec};
        if (ec) return {.of_another = true};
        attempt_result result;
        search.begin_with_all();
        const std::size_t start = random();
        each_batch(permits, [&](std::size_t k) { return (start + k) % permits; }, [] { return std::size_t{1}; },
                   counted_->permits_wake(), search.waiting_since(), ec,
                   [&](std::size_t i, auto attempt) {
                       result.too_late = result.too_late || attempt.too_late;
                       if (attempt.guard.empty()) {
                           search.busy(i, clock_.now(), attempt.answer);
                           return true;
                       }
                       result.guard = std::move(attempt.guard);
                       result.index = i;
                       return false;
                   });
        if (!result.guard.empty()) ec.clear();  // whatever became of the others
        return result;
    }

    some_result look_and_take_some(permit_search& search, std::size_t wanted, std::error_code& ec)
    {
        if (listing_store<Store> && search.may_rely_on_list(clock_.now(), terms_.ttl)) {
            const auto held = counted_->held(ec);
            if (ec || held.count + held.kept_closed + wanted > count())
                return {.busy_for = held.first_ends == duration::max() ? duration::zero() : held.first_ends};
        }
        const std::size_t permits = count();
        search.follow(permits);
        search.begin_round(clock_.now());
        return take_some(search, permits, wanted, ec);
    }

    some_result take_some(permit_search& search, std::size_t permits, std::size_t wanted, std::error_code& ec)
    {
        std::vector<guard_type> guards;
        some_result result;
        guards.reserve(wanted);
        result.indexes.reserve(wanted);
        const bool alone = ask_for_some(search, permits, wanted, guards, result, ec);
        if (!alone) return {.of_another = true};
        std::vector<std::size_t> order(guards.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (guards.size() == wanted) ec = make_error_code_if(std::ranges::any_of(guards, [](const auto& guard) { return !guard.held(); }));
        if (ec || guards.size() < wanted) {
            result.too_late = result.too_late || guards.size() == wanted;
            const bool gave_back = !guards.empty();
            back_out(guards, order);
            return {.too_late = result.too_late, .busy_for = search.remaining(clock_.now()), .gave_back = gave_back};
        }
        std::stop_source lost = new_stop_source();
        for (const auto& guard : guards) lease_access::share_stop(guard, lost);
        result.guard = set_access::make<set_type>(std::move(guards), std::move(order), std::move(lost));
        return result;
    }

    // Returns the error of a term that is over before all answers have come.
    static std::error_code make_error_code_if(bool over) noexcept
    {
        return over ? make_error_code(errc::store_timeout) : std::error_code{};
    }

    // In ascending order: of two waiters that want more than half each, one gets them all, if the store takes one attempt in a call.
    // False: this thread waited for another one's attempt, which failed.
    bool ask_for_some(permit_search& search, std::size_t permits, std::size_t wanted, std::vector<guard_type>& guards, some_result& result,
                      std::error_code& ec)
    {
        const auto missing = [&] { return wanted - guards.size(); };
        const auto take = [&](std::size_t i, auto attempt) {
            result.too_late = result.too_late || attempt.too_late;
            if (attempt.guard.empty()) {
                if (!attempt.closed) search.busy(i, clock_.now(), attempt.answer);
            } else {
                guards.push_back(std::move(attempt.guard));
                result.indexes.push_back(i);
            }
            return missing() > 0;
        };
        if constexpr (batch_acquiring_store<counted_type>) {
            if (attempts_together(*counted_) > 1) {
                const typename turnstile<Clock>::turn alone{turnstile_, ec};
                if (ec) return false;
                search.begin_with_all();
                each_batch(permits, [](std::size_t k) { return k; }, missing, counted_->permits_wake(), search.waiting_since(), ec, take);
                return true;
            }
        }
        search.begin_with_all();
        for (std::size_t i = 0; i < permits && permits - i >= missing() && missing() > 0 && !ec; ++i)
            take(i, lease_access::attempts(lease(i)).attempt_once(ec, search.waiting_since()));
        return true;
    }

    // Asks for this many permits, in the order of permit_at, in as few calls as the store takes; most() of them in each. `wakes`: see
    // term_request. Stops after the call in which each_answer(permit, answer) was false.
    template <class PermitAt, class Most, class EachAnswer>
    void each_batch(std::size_t permits, PermitAt permit_at, Most most, std::optional<std::string_view> wakes,
                    std::optional<time_point> waiting_since, std::error_code& ec, EachAnswer each_answer)
    {
        const std::size_t size = std::clamp<std::size_t>(attempts_together(*counted_), 1, std::max<std::size_t>(permits, 1));
        batch_attempt<lease_type> together{size};
        std::vector<std::size_t> numbers;
        numbers.reserve(size);
        bool go_on = true;
        for (std::size_t k = 0; k < permits && go_on && !ec;) {
            for (numbers.clear(); k < permits && numbers.size() < size && !ec; ++k)
                if (together.add(lease(permit_at(k)), wakes, ec)) numbers.push_back(permit_at(k));
            if (ec) return together.cancel();
            together.send(most(), waiting_since, ec,
                          [&](std::size_t at, auto attempt) { go_on = each_answer(numbers[at], std::move(attempt)) && go_on; });
        }
    }

    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    const permit_names names_;
    const std::string owner_;
    const lease_terms terms_;
    const Clock clock_;
    const Policy policy_;
    const std::shared_ptr<counted_type> counted_;
    mutable std::mutex mutex_;  // guards what follows
    std::vector<std::unique_ptr<lease_type>> leases_;
    std::unique_ptr<lease_type> of_first_;  // see keep_for_first()
    // Both are only where a search begins, so any value will do; exchange() and fetch_add() give a value to one search.
    std::atomic<std::size_t> recent_ = none;  // the permit that was released last
    std::atomic<std::uint64_t> random_;
    turnstile<Clock> turnstile_;
    waiting::local_queue waiters_;  // those that wait through this object
};

}  // namespace leasehold::inline v0::detail

#endif
