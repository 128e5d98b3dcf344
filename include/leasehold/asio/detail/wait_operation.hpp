// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_DETAIL_WAIT_OPERATION_HPP
#define LEASEHOLD_ASIO_DETAIL_WAIT_OPERATION_HPP

#include <leasehold/asio/detail/acquirable.hpp>
#include <leasehold/asio/detail/completion.hpp>
#include <leasehold/asio/detail/error_codes.hpp>
#include <leasehold/asio/detail/guards.hpp>
#include <leasehold/asio/detail/pending_operations.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/renewal/call_queue.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

/// One wait for a right, without a thread: does what its wait decides. The engine's watchdog wakes it at its time; callers make
/// its attempts, and wake it when the right may have become free.
template <acquirable Right>
class wait_operation final : public renewal::watched_term,
                             public renewal::call_job,
                             public cancellable,
                             public std::enable_shared_from_this<wait_operation<Right>> {
    using guard_type = typename Right::guard_type;
    using engine_type = typename decltype(std::declval<const Right&>().engine())::element_type;
    using wait_type = typename Right::wait;

public:
    /// `right` may be the last to refer to what it keeps.
    wait_operation(Right right, const std::shared_ptr<engine_type>& engine, time_point deadline)
        : call_job{renewal::call_order::second}, engine_{engine}, deadline_{deadline}, right_{std::move(right)}, to_wake_{&wake, this}
    {
        engine_->start_caller();
        engine_->enroll();
    }
    ~wait_operation() override { engine_->withdraw(*this); }

    /// Joins the queues, whose wakes need a shared_ptr to this object. May throw std::bad_alloc.
    void join() { waits_.emplace(*right_, deadline_, to_wake_, &engine_->tickets()); }

    /// After join(): from now on the handler is called.
    void start(completion<guard_type>& handler)
    {
        std::unique_lock lock{mutex_};
        handler_ = &handler;
        self_ = this->shared_from_this();
        go_on(std::move(lock), false);
    }

    void cancel() noexcept override
    {
        std::unique_lock lock{mutex_};
        cancelled_ = true;
        go_on(std::move(lock), false);
    }

    bool step() override
    {
        go_on(std::unique_lock{mutex_}, false);
        return false;
    }

    void renew() override {}

    void run() noexcept override { go_on(std::unique_lock{mutex_}, true); }

private:
    // The end of a wait that has to call the store: others wait for what it gives back, so it goes before attempts.
    struct ending final : renewal::call_job {
        explicit ending(wait_operation& ended) noexcept : call_job{renewal::call_order::first}, operation{ended} {}
        void run() noexcept override { operation.run(); }

        wait_operation& operation;
    };

    // It exists as long as it waits.
    static void wake(void* context) noexcept
    {
        auto& self = *static_cast<wait_operation*>(context);
        if (auto kept = self.weak_from_this().lock()) self.engine_->call(std::move(kept));
    }

    // `may_call`: this thread may wait for the store.
    void go_on(std::unique_lock<std::mutex> lock, bool may_call) noexcept
    {
        if (!handler_ || calling_) return;
        if (ends_) return may_call ? finish(std::move(lock), *ends_, {}) : void();
        for (;;) {
            std::error_code ec;
            const time_point decided = right_->clock().now();
            waiting::wait_step step;
            catch_into(ec, [&] {
                if (to_wake_.take()) waits_->woken(decided);
                step = waits_->next(decided, cancelled_);
            });
            if (ec) return end(std::move(lock), ec, may_call);
            switch (step.action) {
            case waiting::wait_action::give_up: return end(std::move(lock), waits_->error_of_end(), may_call);
            case waiting::wait_action::sleep: return wake_at(step.at, decided);
            default: break;
            }
            if (!may_call) {
                if (decided < deadline_) wake_at(deadline_, decided);  // all callers may hang
                return engine_->call(this->shared_from_this());
            }
            calling_ = true;
            lock.unlock();
            guard_type granted;
            catch_into(ec, [&] { granted = waits_->attempt(step.action, ec); });
            lock.lock();
            calling_ = false;
            call_failed_ = ec && !is_refusal(ec);
            if (ec || !granted.empty()) return finish(std::move(lock), ec, std::move(granted));
        }
    }

    // At a time that has passed, the watchdog would come back to this wait again and again, and to no other term.
    void wake_at(time_point at, time_point decided) noexcept
    {
        engine_->schedule(this->shared_from_this(), at > decided ? at : decided + shortest_sleep);
    }

    // An end that takes time is left to a caller; those who wait behind it in this process need not wait for that.
    void end(std::unique_lock<std::mutex> lock, std::error_code ec, bool may_call) noexcept
    {
        if (may_call || !waits_->end_takes_time()) return finish(std::move(lock), ec, {});
        ends_ = ec;
        waits_->leave_queues();
        engine_->call(std::shared_ptr<renewal::call_job>{this->shared_from_this(), &ending_});
    }

    // A grant that comes too late for a cancellation is released here.
    void finish(std::unique_lock<std::mutex> lock, std::error_code ec, guard_type guard) noexcept
    {
        completion<guard_type>* const told = std::exchange(handler_, nullptr);
        const bool cancelled = cancelled_;
        const auto kept = std::move(self_);
        engine_->unschedule(*this);
        lock.unlock();
        waits_.reset();
        if (cancelled || ec) give_back(guard, ec);
        right_.reset();  // after this, nothing refers to the store, which the handler may own
        told->complete(cancelled && !(stays && call_failed_) ? aborted() : ec, std::move(guard));
    }

    void give_back(guard_type& guard, std::error_code& ec) noexcept
    {
        if constexpr (!stays) {
            drop(guard);
        } else if (!guard.empty()) {
            guard.end(ec);
            call_failed_ = static_cast<bool>(ec);
        }
    }

    // What the store was asked says no: nothing has failed, and nothing stands.
    static bool is_refusal(const std::error_code& ec) noexcept { return ec == errc::held_closed || ec == errc::invalid_terms; }

    static constexpr duration shortest_sleep = std::chrono::milliseconds{1};
    // Whether what is granted stays without its guard, as a hold does: it may stand after a call that failed. Then the handler is told of
    // the failure, also after a cancellation.
    static constexpr bool stays = requires(guard_type& granted, std::error_code& ec) { granted.end(ec); };

    const std::shared_ptr<engine_type> engine_;
    const time_point deadline_;
    std::mutex mutex_;
    std::optional<Right> right_;
    waker to_wake_;
    std::optional<wait_type> waits_;
    completion<guard_type>* handler_ = nullptr;  // null before the start and after the end
    std::shared_ptr<wait_operation> self_;       // in between, since it may wait for nothing but a wake
    ending ending_{*this};
    std::optional<std::error_code> ends_;  // it has given up, for this reason, and a caller is to end it
    bool cancelled_ = false;
    bool calling_ = false;
    bool call_failed_ = false;
};

}  // namespace leasehold::inline v0::detail

#endif
