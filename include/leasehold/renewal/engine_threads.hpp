// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_ENGINE_THREADS_HPP
#define LEASEHOLD_RENEWAL_ENGINE_THREADS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/renewal/batch_tier.hpp>
#include <leasehold/renewal/call_queue.hpp>
#include <leasehold/renewal/fifo.hpp>
#include <leasehold/renewal/runtime_traits.hpp>
#include <leasehold/renewal/term_heap.hpp>
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

/// The threads of an engine, and what they share. A separate object, which outlives an engine that one of its own threads
/// destroys (in a stop callback).
///
/// The mutex guards all that is not said to be free. The engine starts the threads and joins them.
template <waitable_clock Clock>
struct engine_threads : std::enable_shared_from_this<engine_threads<Clock>> {
    // Another worker starts when jobs have to wait. Two workers can hang for one lease: one in the renewal of a lost term, the
    // other in that of the next term.
    static constexpr std::size_t workers_max = 3;
    // Calls have threads of their own, since a renewal can't wait for an attempt that hangs.
    static constexpr std::size_t callers_max = 2;
    static constexpr std::size_t tickets_with_threads_max = 1;

    using background = runtime_traits<Clock>;

    // One of the threads. It sleeps on the clock, so that a manual clock knows when the thread has nothing more to do.
    struct sleeper {
        typename background::thread thread;
        waker to_wake;
        bool idle = false;
    };

    explicit engine_threads(Clock c) : clock{std::move(c)} {}

    // May throw std::system_error; stop() must follow even then.
    void start()
    {
        run(watchdog, [](engine_threads& s) { s.watch(); });
        run(signaller, [](engine_threads& s) { s.serve(s.signaller, s.signals, [](watched_term& term) { term.signal(); }); });
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
        run(listener, [](engine_threads& s) { s.serve(s.listener, s.looks, [](watched_term& term) { term.look(); }); });
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
            {
                const std::lock_guard lock{mutex};
                if (stopping) return;
                next = queue.first_at();
                if (next <= clock.now()) due = queue.take_first();
            }
            if (due) {
                if (due->step()) stage(std::move(due), gathered);
            }
            else if (gathered.terms != 0) {
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
    };

    void stage(std::shared_ptr<watched_term> term, coalescing& gathered)
    {
        gathered.most = term->batch_kind() ? term->batch_size() : 1;
        {
            const std::lock_guard lock{mutex};
            batch_limit = gathered.most;
            if (!jobs.has(*term)) jobs.put(term, term->renew_before());
            ++gathered.terms;
        }
        if (gathered.terms >= gathered.most) publish(gathered);
    }

    void publish(coalescing& gathered)
    {
        const std::lock_guard lock{mutex};
        published += gathered.terms;
        call_worker();
        gathered.terms = 0;
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
                std::error_code no_memory;  // then in smaller batches, or one by one
                detail::catch_into(no_memory, [&] { together.reserve(largest_batch(batch_tier::many, room)); });
                lock.lock();
                continue;
            }
            std::shared_ptr<watched_term> first = jobs.take_first();
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
            others.push_back(jobs.take_first());
            --published;
        }
    }

    static void renew(std::shared_ptr<watched_term> first, std::vector<std::shared_ptr<watched_term>>& others)
    {
        if (others.empty()) return first->renew();
        others.push_back(std::move(first));
        std::error_code no_memory;  // then nothing has been sent
        detail::catch_into(no_memory, [&] { others.back()->renew_together(others); });
        if (no_memory)
            for (const auto& term : others) term->renew();
        others.clear();
    }

    // Calls act(term) for each term that is queued, until the engine stops.
    template <class Queue, class Act>
    void serve(sleeper& self, Queue& waiting, Act act)
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
        for (sleeper& thread : some) {
            if (!thread.idle) continue;
            thread.idle = false;
            thread.to_wake.wake();
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
        run(added, [&added](engine_threads& s) { s.make_calls(added); });
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
        run(added, [&added](engine_threads& s) { s.work(added); });
        ++worker_count;
    }

    const Clock clock;
    const time_point begun = clock.now();
    sleeper watchdog;
    sleeper signaller;
    sleeper listener;
    std::mutex mutex;
    term_heap queue{watched_term::heap::instants};
    term_heap jobs{watched_term::heap::renewals};  // by the deadlines of their terms
    fifo<watched_term, &watched_term::loss_link> signals;
    fifo<watched_term, &watched_term::request_link> looks;
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

}  // namespace leasehold::inline v0::renewal

#endif
