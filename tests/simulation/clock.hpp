// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_CLOCK_HPP
#define LEASEHOLD_TESTS_SIMULATION_CLOCK_HPP

#include "process.hpp"
#include "scheduler.hpp"

#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/renewal/runtime_traits.hpp>

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace sim {

// How often, of 1,024 times, reading the clock freezes the process just then, and for how long at most: that is where a stop
// of the process does most harm.
struct freezes_at_clock {
    std::int64_t of_1024 = 0;
    std::int64_t longest = 0;
    instant until = 0;  // not any more from here on
};

// A process's monotonic clock.
class clock {
public:
    clock(process& of, const freezes_at_clock& freezes) noexcept : of_{&of}, freezes_{&freezes} {}

    [[nodiscard]] leasehold::time_point now() const noexcept
    {
        scheduler& s = scheduler::running();
        s.count_reading();
        const leasehold::time_point before = of_->now(s.now());
        fiber* const self = s.current();
        if (freezes_->of_1024 == 0 || self == nullptr || self->no_freeze != 0 || s.now() >= freezes_->until || s.draining())
            return before;
        if (!s.choose().happens(fault_kind::stopped_in_clock, freezes_->of_1024)) return before;
        const bool stale = s.choose().maybe(512);
        s.observe(stale);
        s.freeze_here(s.choose().stop(1, freezes_->longest));
        return stale ? before : of_->now(s.now());
    }

    bool wait_until(leasehold::waker& w, leasehold::time_point t) const
    {
        const std::int64_t local = t.time_since_epoch().count();
        // As the other clocks do: the caller may have a lock, and is not to be stopped with it.
        if (t <= of_->now(scheduler::running().now())) return false;
        return scheduler::running().wait(t == leasehold::time_point::max() ? never : of_->clock.when(local), &w);
    }

    friend bool operator==(const clock& a, const clock& b) noexcept { return a.of_ == b.of_; }

private:
    process* of_;
    const freezes_at_clock* freezes_;
};

// What std::thread, std::mutex and std::condition_variable are to a process, for fibers.
class fiber_thread {
public:
    fiber_thread() noexcept = default;
    explicit fiber_thread(fiber& runs) noexcept : runs_{&runs} {}
    fiber_thread(fiber_thread&& other) noexcept : runs_{std::exchange(other.runs_, nullptr)} {}
    fiber_thread& operator=(fiber_thread&& other) noexcept
    {
        runs_ = std::exchange(other.runs_, nullptr);
        return *this;
    }

    [[nodiscard]] bool joinable() const noexcept { return runs_ != nullptr; }
    [[nodiscard]] bool is_current() const noexcept { return runs_ != nullptr && runs_ == scheduler::running().current(); }
    void detach() noexcept { runs_ = nullptr; }
    void join()
    {
        scheduler& s = scheduler::running();
        runs_->joiners.push_back(s.current());
        while (!runs_->done) s.wait(never);
        runs_ = nullptr;
    }

private:
    fiber* runs_ = nullptr;
};

// Fibers that wait for something, woken one by one in any order.
class waiting_fibers {
public:
    void wait()
    {
        scheduler& s = scheduler::running();
        waiting_.push_back(s.current());
        s.wait(never);
        std::erase(waiting_, s.current());  // still there where the wait ended for no reason
    }
    void wake_one()
    {
        if (waiting_.empty()) return;
        scheduler& s = scheduler::running();
        const auto chosen = waiting_.begin() + static_cast<std::ptrdiff_t>(s.choose().one_of(waiting_.size()));
        s.observe(static_cast<std::uint64_t>(chosen - waiting_.begin()));
        s.wake(**chosen, s.choose().between(0, 49'999));
        waiting_.erase(chosen);
    }
    void wake_all()
    {
        while (!waiting_.empty()) wake_one();
    }

private:
    std::vector<fiber*> waiting_;
};

class fiber_condition {
public:
    template <class Lock>
    void wait(Lock& lock)
    {
        lock.unlock();
        waiting_.wait();
        lock.lock();
    }
    void notify_one() { waiting_.wake_one(); }
    void notify_all() { waiting_.wake_all(); }

private:
    waiting_fibers waiting_;
};

}  // namespace sim

template <>
struct leasehold::renewal::runtime_traits<sim::clock> {
    using thread = sim::fiber_thread;
    using condition_variable = sim::fiber_condition;

    template <class Function>
    static thread start(Function&& function)
    {
        sim::scheduler& s = sim::scheduler::running();
        return thread{s.start(s.current()->owner, std::forward<Function>(function))};
    }

    [[nodiscard]] static const void* this_thread() noexcept { return sim::scheduler::running().current(); }

    [[nodiscard]] static bool is_this(const thread& other) noexcept { return other.is_current(); }
};

#endif
