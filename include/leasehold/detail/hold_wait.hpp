// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_HOLD_WAIT_HPP
#define LEASEHOLD_DETAIL_HOLD_WAIT_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/hold_machine.hpp>
#include <leasehold/detail/hold_text.hpp>
#include <leasehold/detail/host.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/detail/store_failure.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/deadline.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/queue_ticket.hpp>
#include <leasehold/waiting/ticket_limit.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// A hold, once it is granted: what it needs memory for is made before. Unlike a guard's term, it stays when this is destroyed; it ends when
// something else takes its place here.
template <lease_store Store>
class hold_grant {
public:
    hold_grant() noexcept = default;
    hold_grant(std::string name, std::string owner) noexcept : name_{std::move(name)}, owner_{std::move(owner)} {}

    hold_grant(hold_grant&& other) noexcept
        : store_{std::exchange(other.store_, nullptr)}, name_{std::move(other.name_)}, owner_{std::move(other.owner_)}, token_{other.token_}
    {
    }
    hold_grant& operator=(hold_grant&& other) noexcept
    {
        hold_grant taken{std::move(other)};
        std::swap(store_, taken.store_);
        name_.swap(taken.name_);
        owner_.swap(taken.owner_);
        std::swap(token_, taken.token_);
        std::error_code ignored;  // then it runs out
        taken.end(ignored);
        return *this;
    }
    ~hold_grant() = default;

    void granted(Store& store, fencing_token token) noexcept
    {
        store_ = &store;
        token_ = token;
    }

    // Ends the hold. If that fails, the hold stays until it runs out.
    void end(std::error_code& ec) noexcept
    {
        Store* const in = std::exchange(store_, nullptr);
        if (!in) return;
        catch_into(ec, [&] { static_cast<void>(in->release(name_, owner_, token_, duration::zero(), ec)); });
        waiting::released(*in, name_);
    }

    [[nodiscard]] bool empty() const noexcept { return store_ == nullptr; }

private:
    Store* store_ = nullptr;
    std::string name_, owner_;
    fencing_token token_;
};

// How a name becomes held: as a lease is acquired, in line with all waiters for the name, but its holder is asked to hand over. A waiter
// with a thread and one without take the same steps; see waiting::wait_on_thread and steppable_wait.
//
// Not thread-safe, but for what wakes. Lifetime: the store and the waker must outlive it.
template <lease_store Store, waitable_clock Clock>
class hold_wait {
public:
    struct attempt_result {
        hold_grant<Store> guard{};
    };

    // `limit`: see waiting::limited_ticket.
    hold_wait(Store& store, std::string_view name, duration ttl, std::string_view reason, Clock clock, duration at_most, waker& to_wake,
              waiting::ticket_limit* limit = nullptr)
        : store_{store}, name_{name}, ttl_{ttl}, reason_{reason}, owner_{owner_of_hold(random_hex(), reason)}, clock_{std::move(clock)},
          deadline_{waiting::deadline_after(clock_, at_most)}, to_wake_{to_wake},
          machine_{deadline_, waiting::pauses_of(store_), waiting::random_seed(owner_, clock_.now())}, ticket_{store_, to_wake_, limit}
    {
        place_.emplace(waiting::queue_of(store_), waiting::key_of(store_, name_), to_wake_);
    }
    hold_wait(const hold_wait&) = delete;
    hold_wait& operator=(const hold_wait&) = delete;

    // May throw what the store's enqueue() throws.
    [[nodiscard]] waiting::wait_step next(time_point now, bool cancelled)
    {
        cancelled_ = cancelled;
        first_ = first_ || place_->first();
        if (first_ && !cancelled) ticket_.take(name_);
        if (!first_) decisions_.in_line(now);
        waiting::wait_step step = first_ ? machine_.next(now, cancelled) : in_line(now);
        looks_ = !cancelled && !is_attempt(step) && now >= decisions_.look_at();
        if (looks_) return {waiting::wait_action::attempt, now};
        gave_up_ = step.action == waiting::wait_action::give_up;
        if (step.action == waiting::wait_action::sleep) step.at = std::min(step.at, decisions_.look_at());
        return step;
    }

    void woken(time_point now) noexcept
    {
        if (first_) machine_.woken(now);
    }

    // Does what next() has asked for: an attempt, or a look at who has the name. May throw std::bad_alloc, and what the store throws as it
    // looks; then there is no hold.
    [[nodiscard]] attempt_result attempt(waiting::wait_action how, std::error_code& ec)
    {
        if (looks_) return look(ec), attempt_result{};
        attempt_result result{hold_grant<Store>{name_, owner_}};
        acquire_result answer;
        auto* const queued = how == waiting::wait_action::attempt ? ticket_.get() : nullptr;
        catch_into(ec, [&] {
            if (queued)
                answer = waiting::try_acquire(store_, *queued, name_, owner_, ttl_, ec);
            else
                answer = store_.try_acquire(name_, owner_, ttl_, ec);
        });
        if (ec) return after_failure(std::move(result), ec);
        if (answer.granted()) {
            result.guard.granted(store_, answer.token);
            return result;
        }
        const time_point now = clock_.now();
        machine_.busy(now, answer);
        decisions_.busy(answer.token, now);
        return {};
    }

    // Returns the error after next() has given up.
    [[nodiscard]] std::error_code error_of_end() const noexcept
    {
        return std::make_error_code(cancelled_ ? std::errc::operation_canceled : std::errc::timed_out);
    }

    // Whether an attempt has failed, and the look after it too: there may be a hold, which nobody has seen.
    [[nodiscard]] bool in_doubt() const noexcept { return in_doubt_; }
    // Returns what the store said about the failed attempt; without one, what it says now.
    [[nodiscard]] store_diagnostics diagnostics() { return failed_ ? std::move(*failed_) : diagnostics_of(store_); }

    [[nodiscard]] bool end_takes_time() const noexcept { return ticket_.end_takes_time(); }
    void leave_queues() noexcept { place_.reset(); }

    // Explains the error with which the wait ended. Empty: the error is the store's, whatever its code.
    [[nodiscard]] std::string explanation() const
    {
        const std::string here = "hold '" + printable(name_) + "': ";
        if (found_ == hold_step::refuse_held) return here + words_of_hold();
        if (found_ == hold_step::refuse_count)
            return here + "the name keeps the record of " + printable(in_the_way_->owner) +
                   ", which several hold: only the name of one lease can be held closed";
        if (!gave_up_) return {};
        if (cancelled_) return here + "the wait was cancelled";
        if (!in_the_way_ || in_the_way_->owner.empty()) return here + "it did not become free in time";
        return here + "'" + printable(in_the_way_->owner) + "' was asked to hand over, and has not done so in time";
    }

private:
    static bool is_attempt(const waiting::wait_step& step) noexcept
    {
        return step.action == waiting::wait_action::attempt || step.action == waiting::wait_action::last_attempt;
    }

    // Others of this process came first.
    [[nodiscard]] waiting::wait_step in_line(time_point now) const noexcept
    {
        if (cancelled_ || now >= deadline_) return {waiting::wait_action::give_up, now};
        return {waiting::wait_action::sleep, deadline_};
    }

    // The store may have made the hold, and only its reply was lost. Without a look, the caller's next hold() would be refused
    // for the hold of this one.
    [[nodiscard]] attempt_result after_failure(attempt_result result, std::error_code& ec) noexcept
    {
        std::error_code without, of_look;
        catch_into(without, [this] { failed_ = diagnostics_of(store_); });
        std::optional<lease_record> found;
        catch_into(of_look, [&] { found = store_.inspect(name_, of_look); });
        in_doubt_ = bool{of_look};
        if (of_look || !found || found->owner != owner_) return result;
        ec.clear();
        result.guard.granted(store_, found->token);
        return result;
    }

    void look(std::error_code& ec)
    {
        std::optional<lease_record> found = store_.inspect(name_, ec);
        if (ec) return;
        found_ = decisions_.looked(found, clock_.now());
        in_the_way_ = std::move(found);
        if (found_ == hold_step::refuse_held) ec = errc::held_closed;
        if (found_ == hold_step::refuse_count) ec = errc::invalid_terms;
        if constexpr (handover_store<Store>)
            if (found_ == hold_step::ask) static_cast<void>(store_.request_handover(name_, request_of_hold(reason_), ec));
    }

    [[nodiscard]] std::string words_of_hold() const
    {
        const std::string reason = in_the_way_->hold_reason();
        const auto left = std::chrono::ceil<std::chrono::seconds>(in_the_way_->remaining).count();
        return "it is held closed already for another " + std::to_string(left) + " s, " +
               (reason.empty() ? "without a reason" : "for the reason '" + printable(reason) + "'");
    }

    Store& store_;
    const std::string name_;
    const duration ttl_;
    const std::string reason_;
    const std::string owner_;
    const Clock clock_;
    const time_point deadline_;
    waker& to_wake_;
    waiting::wait_machine machine_;
    hold_machine decisions_;
    std::optional<lease_record> in_the_way_;  // as the last look found it
    hold_step found_ = hold_step::wait;
    bool first_ = false;
    bool looks_ = false;  // next() has asked for a look
    bool cancelled_ = false;
    bool gave_up_ = false;
    bool in_doubt_ = false;
    std::optional<store_diagnostics> failed_;
    // Left in the reverse order: the next waiter of this process finds no other ticket of its own.
    std::optional<waiting::local_queue::place> place_;
    waiting::limited_ticket<Store> ticket_;
};

}  // namespace leasehold::inline v0::detail

#endif
