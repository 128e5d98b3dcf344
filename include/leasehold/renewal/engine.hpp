// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_ENGINE_HPP
#define LEASEHOLD_RENEWAL_ENGINE_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/renewal/batch_tier.hpp>
#include <leasehold/renewal/call_queue.hpp>
#include <leasehold/renewal/deadline_heap.hpp>
#include <leasehold/renewal/job_queue.hpp>
#include <leasehold/renewal/runtime_traits.hpp>
#include <leasehold/renewal/signal_queue.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/ticket_limit.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

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
    /// The largest number of workers. Another worker starts when jobs have to wait. Two workers can hang for one lease: one
    /// in the renewal of a lost term, the other in that of the next term.
    static constexpr std::size_t workers_max = 3;
    /// The largest number of callers. Calls have threads of their own, since a renewal can't wait for an attempt that hangs.
    static constexpr std::size_t callers_max = 2;
    /// With what a store needs for so many callers, this makes eight threads for any number of asynchronous waiters: watchdog,
    /// signaller, worker, two callers, two sessions for their calls, and one session that waits.
    static constexpr std::size_t tickets_with_threads_max = 1;

    /// Starts the watchdog, the signaller and one worker. Throws std::system_error if a thread can't be started.
    explicit engine(Clock clock) : shared_{std::make_shared<shared>(std::move(clock))}
    {
        shared_->start(threads_);
    }

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
        --shared_->enrolled;
    }

    /// Makes the engine call term->step() at `at` or earlier, and term->step_early() if others renew between `early_from`
    /// and `at`. To be called under the lock that these functions take.
    void schedule(std::shared_ptr<watched_term> term, time_point at, time_point early_from = time_point::max()) noexcept
    {
        // A wake that comes too early costs little: step() reads the clock and schedules the next wake. So a lease that is
        // acquired and released in a loop seldom touches the shared queue.
        if (at == time_point::max() || term->wakes_at() <= at) return;
        bool first = false;
        {
            const std::lock_guard lock{shared_->mutex};
            first = at < shared_->queue.first_at();
            shared_->queue.put(std::move(term), at, early_from);
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
    using background = runtime_traits<Clock>;

    // One of the threads. It sleeps on the clock, so that a manual clock knows when the thread has nothing more to do.
    struct sleeper {
        typename background::thread thread;
        waker to_wake;
        bool idle = false;
    };

    struct shared;

    // Stops and joins the threads that it has started, even if its owner's constructor fails half way.
    struct threads {
        threads() = default;
        threads(const threads&) = delete;
        threads& operator=(const threads&) = delete;
        ~threads()
        {
            if (!runs) return;
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

        std::shared_ptr<shared> runs;
    };

    // A separate object, which outlives an engine that one of its own threads destroys (in a stop callback).
    struct shared : std::enable_shared_from_this<shared> {
        explicit shared(Clock c) : clock{std::move(c)} {}

        void start(threads& owned)
        {
            owned.runs = this->shared_from_this();
            run(watchdog, [](shared& s) { s.watch(); });
            run(signaller, [](shared& s) { s.see_to(s.signaller, s.signals, [](watched_term& term) { term.signal(); }); });
            const std::lock_guard lock{mutex};
            add_worker();
        }

        template <class Loop>
        void run(sleeper& on, Loop loop)
        {
            announce(on);
            on.thread = background::start([s = this->shared_from_this(), &on, loop] {
                s->announce(on);
                loop(*s);
            });
        }

        // Waits for nothing. A manual clock's advance() waits for the thread from the first call on, which is made before the
        // thread runs, and knows by the second which thread it is.
        void announce(sleeper& on) { clock.wait_until(on.to_wake, clock.now()); }

        void start_listener()
        {
            const std::lock_guard lock{mutex};
            if (listens || stopping) return;
            run(listener, [](shared& s) { s.see_to(s.listener, s.looks, [](watched_term& term) { term.look(); }); });
            listens = true;
        }

        void stop() noexcept
        {
            {
                const std::lock_guard lock{mutex};
                stopping = true;
            }
            watchdog.to_wake.wake();
            signaller.to_wake.wake();
            listener.to_wake.wake();
            for (sleeper& worker : workers) worker.to_wake.wake();
            for (sleeper& caller : callers) caller.to_wake.wake();
        }

        void watch()
        {
            coalescing gathered;
            for (;;) {
                time_point next;
                std::shared_ptr<watched_term> due;
                duration lead{};
                {
                    const std::lock_guard lock{mutex};
                    if (stopping) return;
                    next = queue.first_at();
                    if (next <= clock.now()) {
                        lead = queue.first_lead();
                        due = queue.take_first();
                    }
                }
                if (due) {
                    if (due->step()) stage(std::move(due), lead, gathered);
                }
                else if (gathered.terms != 0) {
                    gather_early(gathered);
                    publish(gathered);
                }
                else {
                    clock.wait_until(watchdog.to_wake, next);
                }
            }
        }

        // The jobs staged since workers were last told. The workers wait for all that is due, to send it together.
        struct coalescing {
            std::size_t terms = 0;
            std::size_t most = 1;
            duration lead{};
            std::vector<std::shared_ptr<watched_term>> early;
        };

        void stage(std::shared_ptr<watched_term> term, duration lead, coalescing& gathered)
        {
            gathered.most = term->batch_kind() ? term->batch_size() : 1;
            gathered.lead = std::max(gathered.lead, lead);
            push(std::move(term), gathered);
            if (gathered.terms >= gathered.most) publish(gathered);
        }

        void push(std::shared_ptr<watched_term> term, coalescing& gathered)
        {
            const std::lock_guard lock{mutex};
            batch_limit = gathered.most;
            jobs.push(std::move(term));
            ++gathered.terms;
        }

        // Adds the terms that are due soon.
        void gather_early(coalescing& gathered)
        {
            std::error_code without;
            const std::size_t most = largest_batch(batch_tier::many, gathered.most);
            const std::size_t room = most - std::min(most, gathered.terms);
            detail::catch_into(without, [&] { gathered.early.reserve(room); });
            if (without || gathered.lead == duration::zero()) return;
            {
                const std::lock_guard lock{mutex};
                const time_point now = clock.now();
                queue.each_early(now, now + gathered.lead, room, [&](const auto& term) { gathered.early.push_back(term); });
            }
            for (auto& term : gathered.early)
                if (term->step_early()) push(std::move(term), gathered);
            gathered.early.clear();
        }

        void publish(coalescing& gathered)
        {
            const std::lock_guard lock{mutex};
            published += gathered.terms;
            call_worker();
            gathered.terms = 0;
            gathered.lead = duration::zero();
        }

        void work(sleeper& self)
        {
            std::vector<std::shared_ptr<watched_term>> together;
            std::size_t room = 1;
            std::unique_lock lock{mutex};
            while (!stopping) {
                if (jobs.empty()) published = 0;  // a term may have been staged twice
                if (published == 0) {
                    self.idle = true;
                    lock.unlock();
                    clock.wait_until(self.to_wake, time_point::max());
                    lock.lock();
                    self.idle = false;
                    continue;
                }
                if (room < batch_limit) {
                    room = batch_limit;
                    lock.unlock();
                    std::error_code without;  // without memory: in smaller batches, or one by one
                    detail::catch_into(without, [&] { together.reserve(largest_batch(batch_tier::many, room)); });
                    lock.lock();
                    continue;
                }
                std::shared_ptr<watched_term> first = jobs.pop();
                --published;
                fill_batch(*first, together);
                // This worker may hang in its call. The remaining jobs must not wait for it.
                if (published != 0 && !jobs.empty()) call_worker();
                lock.unlock();
                renew(std::move(first), together);
                lock.lock();
            }
        }

        // Takes the next jobs of the same store, as far as they may go together; one place is kept for `first`.
        void fill_batch(const watched_term& first, std::vector<std::shared_ptr<watched_term>>& others)
        {
            const void* const kind = first.batch_kind();
            const std::size_t most = kind ? std::min(largest_batch(first.tier(), batch_limit), others.capacity()) : 1;
            while (others.size() + 1 < most && published != 0 && !jobs.empty() && jobs.first()->batch_kind() == kind &&
                   jobs.first()->tier() >= first.tier()) {
                others.push_back(jobs.pop());
                --published;
            }
        }

        static void renew(std::shared_ptr<watched_term> first, std::vector<std::shared_ptr<watched_term>>& others)
        {
            if (others.empty()) return first->renew();
            others.push_back(std::move(first));
            std::error_code without;  // without memory, nothing has been sent
            detail::catch_into(without, [&] { others.back()->renew_together(others); });
            if (without)
                for (const auto& each : others) each->renew();
            others.clear();
        }

        template <class Act>
        void see_to(sleeper& self, signal_queue& waiting, Act act)
        {
            std::unique_lock lock{mutex};
            for (;;) {
                if (!waiting.empty()) {
                    std::shared_ptr<watched_term> term = waiting.pop();
                    lock.unlock();
                    act(*term);
                    term.reset();  // may destroy the lease's last shared state, so not under the lock
                    lock.lock();
                }
                else if (stopping) {
                    return;
                }
                else {
                    lock.unlock();
                    clock.wait_until(self.to_wake, time_point::max());
                    lock.lock();
                }
            }
        }

        void make_calls(sleeper& self)
        {
            std::unique_lock lock{mutex};
            while (!stopping) {
                if (calls.empty()) {
                    self.idle = true;
                    lock.unlock();
                    clock.wait_until(self.to_wake, time_point::max());
                    lock.lock();
                    self.idle = false;
                    continue;
                }
                std::shared_ptr<call_job> next = calls.pop();
                lock.unlock();
                next->run();
                next.reset();  // may be the last that uses the engine, so not under the lock
                lock.lock();
            }
        }

        // To be called under the mutex. A thread that was called is no longer idle; otherwise it could be called twice, and
        // another one not at all.
        template <class Sleepers>
        static bool wake_idle(Sleepers& some) noexcept
        {
            for (sleeper& each : some) {
                if (!each.idle) continue;
                each.idle = false;
                each.to_wake.wake();
                return true;
            }
            return false;
        }

        // To be called under the mutex.
        void wake_caller() noexcept
        {
            if (wake_idle(callers) || caller_count == callers_max || stopping) return;
            std::error_code ignored;  // one caller runs
            detail::catch_into(ignored, [this] { add_caller(); });
        }

        void add_caller()
        {
            sleeper& added = callers[caller_count];
            run(added, [&added](shared& s) { s.make_calls(added); });
            ++caller_count;
        }

        // To be called under the mutex.
        void call_worker() noexcept
        {
            if (wake_idle(workers)) return;
            if (worker_count == workers_max || stopping) return;
            // If one worker runs, the lack of a second is slower, but not a failure.
            std::error_code ignored;
            detail::catch_into(ignored, [this] { add_worker(); });
        }

        void add_worker()
        {
            sleeper& added = workers[worker_count];
            run(added, [&added](shared& s) { s.work(added); });
            ++worker_count;
        }

        const Clock clock;
        sleeper watchdog;
        sleeper signaller;
        sleeper listener;
        std::mutex mutex;
        deadline_heap queue;
        job_queue jobs;
        signal_queue signals{watched_term::queue::losses};
        signal_queue looks{watched_term::queue::requests};
        std::size_t published = 0;    // how many jobs the workers may take; the others are still being gathered
        std::size_t batch_limit = 1;  // the store's last batch_size()
        std::size_t enrolled = 0;
        std::size_t worker_count = 0;
        std::array<sleeper, workers_max> workers;
        call_queue calls;
        std::size_t caller_count = 0;
        std::array<sleeper, callers_max> callers;
        waiting::ticket_limit tickets{tickets_with_threads_max};
        bool stopping = false;
        bool listens = false;  // the listener was started
    };

    std::shared_ptr<shared> shared_;
    threads threads_;
};

}  // namespace leasehold::inline v0::renewal

#endif
