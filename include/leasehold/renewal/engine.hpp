// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_ENGINE_HPP
#define LEASEHOLD_RENEWAL_ENGINE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/renewal/batch_tier.hpp>
#include <leasehold/renewal/call_queue.hpp>
#include <leasehold/renewal/engine_threads.hpp>
#include <leasehold/renewal/runtime_traits.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/ticket_limit.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace leasehold::inline v0::renewal {

/// The threads behind all guards of one store: a watchdog, which decides and never waits; a signaller, which runs stop
/// callbacks; and workers, which send the renewals. For a batching_store they send renewals that are due at the same time,
/// or soon, together (see batch_tier.hpp). A listener asks the store who has been asked to hand over, once a guard wants to
/// know: neither its calls nor the callbacks that it runs can delay a renewal or a loss. If there are asynchronous
/// operations, callers make their calls.
///
/// Only the watchdog detects losses, so they are known on time even while every worker hangs in a call. Stop callbacks
/// run one after another on the signaller and nowhere else: a slow callback delays the callbacks after it, but no renewal.
/// Thread safety: any thread may call any function. Lifetime: the last lease that uses it destroys it, and then waits for
/// current renewals, which the store bounds by its call timeout, and for stop callbacks.
template <waitable_clock Clock>
class engine {
public:
    static constexpr std::size_t workers_max = engine_threads<Clock>::workers_max;  ///< threads that send renewals, at most
    static constexpr std::size_t callers_max = engine_threads<Clock>::callers_max;  ///< threads for asynchronous operations, at most
    /// With what a store needs for so many callers, this makes eight threads for any number of asynchronous waiters: watchdog,
    /// signaller, worker, two callers, two sessions for their calls, and one session that waits.
    static constexpr std::size_t tickets_with_threads_max = engine_threads<Clock>::tickets_with_threads_max;

    /// Starts the watchdog, the signaller and one worker. Throws std::system_error if a thread can't be started.
    explicit engine(Clock clock) : shared_{std::make_shared<shared>(std::move(clock))}, running_{shared_} { shared_->start(); }

    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;
    ~engine() = default;

    /// Makes room for one more term, so that schedule() can't fail; may throw std::bad_alloc.
    void enroll()
    {
        const std::lock_guard lock{shared_->mutex};
        shared_->queue.reserve(shared_->enrolled + 1);
        shared_->jobs.reserve(shared_->enrolled + 1);
        ++shared_->enrolled;
    }

    /// The term will not be scheduled again.
    void withdraw(const watched_term& term) noexcept
    {
        const std::lock_guard lock{shared_->mutex};
        shared_->queue.erase(term);
        shared_->jobs.erase(term);
        assert(shared_->enrolled != 0);
        --shared_->enrolled;
    }

    /// At which instants its terms had better be renewed.
    [[nodiscard]] renewal_grid grid() const noexcept { return {shared_->begun}; }

    /// Makes the engine call term->step() at `at` or earlier. To be called under the lock that step() takes.
    void schedule(std::shared_ptr<watched_term> term, time_point at) noexcept
    {
        // A wake that comes too early costs little: step() reads the clock and schedules the next wake. So a lease that is
        // acquired and released in a loop seldom touches the shared queue.
        if (at == time_point::max() || term->wakes_at() <= at) return;
        bool first = false;
        {
            const std::lock_guard lock{shared_->mutex};
            first = at < shared_->queue.first_at();
            shared_->queue.put(std::move(term), at);
        }
        if (first) shared_->watchdog.to_wake.wake();
    }

    /// Starts the thread that calls look(), unless it runs. Throws std::system_error if there is none to be had.
    void start_listener() { shared_->start_listener(); }

    /// Makes the engine call term->look() soon. Nothing happens before start_listener().
    void look(std::shared_ptr<watched_term> term) noexcept
    {
        {
            const std::lock_guard lock{shared_->mutex};
            shared_->looks.push(std::move(term));
        }
        shared_->listener.to_wake.wake();
    }

    /// step() will not be called unless it is scheduled again. To be called under the lock that schedule() is called under.
    void unschedule(const watched_term& term) noexcept
    {
        const std::lock_guard lock{shared_->mutex};
        shared_->queue.erase(term);
    }

    /// Makes call() succeed from now on: starts a caller. Throws std::system_error if the thread can't be started.
    void start_caller()
    {
        const std::lock_guard lock{shared_->mutex};
        if (shared_->caller_count == 0) shared_->add_caller();
    }

    /// Makes the engine call job->run() soon, on a caller. If the job waits for one already, that one run is for both calls.
    /// Takes no lock but the engine's own, so that it may be called under others.
    void call(std::shared_ptr<call_job> job) noexcept
    {
        const std::lock_guard lock{shared_->mutex};
        shared_->calls.push(std::move(job));
        shared_->wake_caller();
    }

    /// Whether the calling thread is one that sends renewals.
    [[nodiscard]] bool renews_on_this_thread() noexcept
    {
        const std::lock_guard lock{shared_->mutex};
        return std::ranges::any_of(shared_->workers, [](const sleeper& worker) { return background::is_this(worker.thread); });
    }
    /// Whether the calling thread is the one that calls look().
    [[nodiscard]] bool looks_on_this_thread() noexcept
    {
        const std::lock_guard lock{shared_->mutex};
        return background::is_this(shared_->listener.thread);
    }

    /// For tickets that take a thread.
    [[nodiscard]] waiting::ticket_limit& tickets() noexcept { return shared_->tickets; }

    /// Makes the engine call term->signal() soon.
    void signal(std::shared_ptr<watched_term> term) noexcept
    {
        {
            const std::lock_guard lock{shared_->mutex};
            shared_->signals.push(std::move(term));
        }
        shared_->signaller.to_wake.wake();
    }

private:
    using shared = engine_threads<Clock>;

    using background = runtime_traits<Clock>;
    using sleeper = typename shared::sleeper;

    // Stops and joins the threads, even if the engine's constructor fails half way.
    struct running {
        explicit running(std::shared_ptr<shared> threads) noexcept : runs{std::move(threads)} {}
        running(const running&) = delete;
        running& operator=(const running&) = delete;
        ~running()
        {
            runs->stop();
            finish(runs->watchdog.thread);
            for (sleeper& worker : runs->workers) finish(worker.thread);
            for (sleeper& caller : runs->callers) finish(caller.thread);
            finish(runs->signaller.thread);
            finish(runs->listener.thread);
        }

        static void finish(typename background::thread& ended) noexcept
        {
            if (!ended.joinable()) return;
            if (background::is_this(ended))
                ended.detach();
            else
                ended.join();
        }

        const std::shared_ptr<shared> runs;
    };

    const std::shared_ptr<shared> shared_;
    const running running_;
};

}  // namespace leasehold::inline v0::renewal

#endif
