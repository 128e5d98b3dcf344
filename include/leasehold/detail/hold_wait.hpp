// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_HOLD_WAIT_HPP
#define LEASEHOLD_DETAIL_HOLD_WAIT_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/hold_machine.hpp>
#include <leasehold/detail/hold_text.hpp>
#include <leasehold/detail/host.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/deadline.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/queue_ticket.hpp>
#include <leasehold/waiting/ticket_limit.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// How a name becomes held: as a lease is acquired, in line with all who wait for the name, but its holder is asked to hand over.
// For one thread. Lifetime: the store and the texts must outlive it.
template <lease_store Store, waitable_clock Clock>
class hold_wait {
public:
    hold_wait(Store& store, std::string_view name, duration ttl, std::string_view reason, Clock clock)
        : store_{store}, name_{name}, ttl_{ttl}, reason_{reason}, owner_{owner_of_hold(random_hex(), reason)}, clock_{std::move(clock)}
    {
    }
    hold_wait(const hold_wait&) = delete;
    hold_wait& operator=(const hold_wait&) = delete;

    // Whether the name is held now; if not, `ec` says why. May throw what the store throws, and std::bad_alloc.
    bool wait(duration at_most, const std::stop_token& stop, std::error_code& ec)
    {
        const time_point deadline = waiting::deadline_after(clock_, at_most);
        const std::stop_callback wake_when_cancelled{stop, [this] { waker_.wake(); }};
        waiting::wait_machine machine{deadline, waiting::pauses_of(store_), waiting::random_seed(owner_, clock_.now())};
        const waiting::local_queue::place place{waiting::queue_of(store_), waiting::key_of(store_, name_), waker_};
        waiting::limited_ticket<Store> ticket{store_, waker_, nullptr};
        ec.clear();
        while (!ec) {
            const bool first = place.first();
            if (first) ticket.take(name_);
            const time_point now = clock_.now();
            const bool cancelled = stop.stop_requested();
            const waiting::wait_step step = first ? machine.next(now, cancelled) : in_line(now, deadline, cancelled);
            if (is_attempt(step)) {
                if (attempt(step.action, ticket, machine, ec)) return true;
            } else if (!cancelled && now >= decisions_.look_at()) {
                look(ec);
            } else if (step.action == waiting::wait_action::give_up) {
                ec = std::make_error_code(cancelled ? std::errc::operation_canceled : std::errc::timed_out);
            } else if (clock_.wait_until(waker_, std::min(step.at, decisions_.look_at())) && first) {
                machine.woken(clock_.now());
            }
        }
        return false;
    }

    // What an error of wait() is about. Empty: it is the store's.
    [[nodiscard]] std::string why(std::error_code ec) const
    {
        const std::string here = "hold '" + printable(name_) + "': ";
        if (ec == errc::held_closed) return here + words_of_hold();
        if (ec == errc::invalid_terms)
            return here + "the name keeps the record of " + printable(in_the_way_->owner) +
                   ", which several hold: only the name of one lease can be held closed";
        if (ec == std::make_error_code(std::errc::operation_canceled)) return here + "the wait was cancelled";
        if (ec != std::make_error_code(std::errc::timed_out)) return {};
        if (!in_the_way_ || in_the_way_->owner.empty()) return here + "it did not become free in time";
        return here + "'" + printable(in_the_way_->owner) + "' was asked to hand over, and has not done so in time";
    }

private:
    static bool is_attempt(const waiting::wait_step& step) noexcept
    {
        return step.action == waiting::wait_action::attempt || step.action == waiting::wait_action::last_attempt;
    }

    // Others of this process came first.
    waiting::wait_step in_line(time_point now, time_point deadline, bool cancelled) noexcept
    {
        decisions_.in_line(now);
        if (cancelled || now >= deadline) return {waiting::wait_action::give_up, now};
        return {waiting::wait_action::sleep, deadline};
    }

    bool attempt(waiting::wait_action how, waiting::limited_ticket<Store>& ticket, waiting::wait_machine& machine, std::error_code& ec)
    {
        acquire_result said;
        auto* const queued = how == waiting::wait_action::attempt ? ticket.get() : nullptr;
        if (queued)
            said = waiting::try_acquire(store_, *queued, name_, owner_, ttl_, ec);
        else
            said = store_.try_acquire(name_, owner_, ttl_, ec);
        if (ec || said.granted()) return !ec;
        const time_point now = clock_.now();
        machine.busy(now, said);
        decisions_.busy(said.token, now);
        return false;
    }

    void look(std::error_code& ec)
    {
        std::optional<lease_record> found = store_.inspect(name_, ec);
        if (ec) return;
        const hold_step step = decisions_.looked(found, clock_.now());
        in_the_way_ = std::move(found);
        if (step == hold_step::refuse_held) ec = errc::held_closed;
        if (step == hold_step::refuse_count) ec = errc::invalid_terms;
        if constexpr (handover_store<Store>)
            if (step == hold_step::ask) static_cast<void>(store_.request_handover(name_, request_of_hold(reason_), ec));
    }

    [[nodiscard]] std::string words_of_hold() const
    {
        const std::string reason = in_the_way_->hold_reason();
        const auto left = std::chrono::ceil<std::chrono::seconds>(in_the_way_->remaining).count();
        return "it is held closed already for another " + std::to_string(left) + " s, " +
               (reason.empty() ? "without a reason" : "for the reason '" + printable(reason) + "'");
    }

    Store& store_;
    const std::string_view name_;
    const duration ttl_;
    const std::string_view reason_;
    const std::string owner_;
    const Clock clock_;
    waker waker_;
    hold_machine decisions_;
    std::optional<lease_record> in_the_way_;  // as the last look found it
};

}  // namespace leasehold::inline v0::detail

#endif
