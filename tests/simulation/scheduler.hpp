// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_SCHEDULER_HPP
#define LEASEHOLD_TESTS_SIMULATION_SCHEDULER_HPP

#include "fiber.hpp"
#include "process.hpp"
#include "random.hpp"

#include <leasehold/clock/waker.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace sim {

// Runs fibers and actions in the order of simulated time; what happens at the same instant happens in a random order.
class scheduler {
public:
    scheduler(random_source& random, std::uint64_t seed) : random_{random}, seed_{seed}
    {
        running_ = this;
        ++made_;
    }
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;
    ~scheduler() { running_ = nullptr; }

    // The one there is: for what production code makes without being able to hand anything over.
    static scheduler& running() noexcept { return *running_; }

    [[nodiscard]] instant now() const noexcept { return now_; }
    [[nodiscard]] fiber* current() const noexcept { return current_; }
    [[nodiscard]] random_source& random() noexcept { return random_; }
    // From the end of the schedule on nothing takes time any more: every wait ends at once, so that all functions return and
    // all destructors run.
    [[nodiscard]] bool draining() const noexcept { return draining_; }
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

    fiber& start(process& of, std::function<void()> body)
    {
        fibers_.push_back(std::make_unique<fiber>(of, std::move(body)));
        fiber& started = *fibers_.back();
        push({now_ + random_.below(20'000), 0, 0, &started, 0, nullptr, nullptr});
        return started;
    }

    void at(instant when, void (*act)(void*, std::uint64_t), void* with, std::uint64_t number)
    {
        push({std::max(when, now_), 0, 0, nullptr, number, act, with});
    }

    // Whoever reads the clock over and over without ever waiting runs for ever: time stands still meanwhile.
    void count_reading()
    {
        if (++readings_ < 1'000'000) return;
        std::printf("BROKEN after %llu schedules and 0 s: it comes to an end\n  a thread of %s never waits\n"
                    "  replay: simulate --seed %llu --trace\n",
                    static_cast<unsigned long long>(made_), current_ == nullptr ? "?" : current_->owner.label.c_str(),
                    static_cast<unsigned long long>(seed_));
        std::fflush(stdout);
        std::_Exit(1);
    }

    // From a fiber: until `when`, or until `w` is woken (then true, and the wake is taken).
    bool wait(instant when, leasehold::waker* w = nullptr)
    {
        fiber& self = *current_;
        if (w != nullptr && (w->woken() || (when <= now_ && !draining_))) return w->wait_for(leasehold::duration::zero());
        ++self.wait_number;
        if (when != never) push({std::max(when, now_), 0, 0, &self, self.wait_number, nullptr, nullptr});
        if (w != nullptr) {
            self.waits_for = w;
            self.wake_due = false;
            self.owner.waiting.push_back(&self);
        }
        self.suspend();
        if (w == nullptr) return false;
        self.waits_for = nullptr;
        std::erase(self.owner.waiting, &self);
        return w->wait_for(leasehold::duration::zero()) || draining_;
    }

    void sleep_until(instant when) { wait(when); }

    // Makes a fiber go on that waits without a waker.
    void wake(fiber& sleeper, std::int64_t after = 0)
    {
        push({now_ + after, 0, 0, &sleeper, sleeper.wait_number, nullptr, nullptr});
    }

    // From the outside, whoever runs.
    void freeze(process& p, std::int64_t how_long)
    {
        if (p.dead || p.frozen_until > now_) return;
        p.frozen_until = now_ + how_long;
        p.frozen_total += how_long;
    }

    // From a fiber: its whole process stops here, and this fiber is the first to go on.
    void freeze_here(std::int64_t how_long)
    {
        fiber& self = *current_;
        freeze(self.owner, how_long);
        ++self.wait_number;
        push({self.owner.frozen_until, -1, 0, &self, self.wait_number, nullptr, nullptr});
        self.stopped_in_clock = true;
        self.suspend();
        self.stopped_in_clock = false;
    }

    // Those who sleep on a waker of `p` that has been woken get up soon.
    void look_at_wakers(process& p)
    {
        for (fiber* sleeper : p.waiting) {
            if (sleeper->wake_due || !sleeper->waits_for->woken()) continue;
            sleeper->wake_due = true;
            wake(*sleeper, random_.below(50'000));
        }
    }

    // One event; false when there is none left.
    bool step()
    {
        if (events_.empty()) return false;
        std::pop_heap(events_.begin(), events_.end(), later{});
        event e = events_.back();
        events_.pop_back();
        if (e.sleeper != nullptr) {
            const process& p = e.sleeper->owner;
            if (p.dead || e.sleeper->done || e.number != e.sleeper->wait_number) return true;
            if (p.frozen_until > e.at) {
                if (e.due == 0) e.due = e.at;
                e.at = p.frozen_until;
                push_as_is(e);
                return true;
            }
        }
        now_ = e.at;
        ++steps_;
        if (e.sleeper != nullptr)
            run(*e.sleeper);
        else
            e.act(e.with, e.number);
        return true;
    }

    // Lets every fiber run to its end.
    void drain()
    {
        draining_ = true;
        events_.clear();
        for (const auto& f : fibers_)
            if (f->stopped_in_clock) run(*f);  // it may have a lock of its process, so it goes on first
        for (int round = 0; !all_done(); ++round) {
            if (round == 10'000) give_up();
            now_ += 1'000'000'000'000;
            for (std::size_t i = 0; i < fibers_.size(); ++i)  // more may be started meanwhile
                if (!fibers_[i]->done) run(*fibers_[i]);
            events_.clear();
        }
    }

private:
    // Not by an exception: what would be destroyed on its way needs fibers to wait in.
    [[noreturn]] static void give_up()
    {
        std::fputs("simulation: a fiber does not end\n", stderr);
        std::abort();
    }

    struct event {
        instant at;
        instant due;  // 0: as `at`; -1: before all others
        std::uint64_t tie;
        fiber* sleeper;
        std::uint64_t number;
        void (*act)(void*, std::uint64_t);
        void* with;
    };

    struct later {
        bool operator()(const event& a, const event& b) const noexcept
        {
            if (a.at != b.at) return a.at > b.at;
            const instant due_a = a.due == 0 ? a.at : a.due, due_b = b.due == 0 ? b.at : b.due;
            return due_a != due_b ? due_a > due_b : a.tie > b.tie;
        }
    };

    void push(event e)
    {
        // The low part keeps two events of one instant apart, whatever was drawn.
        e.tie = (random_.next() & ~std::uint64_t{0xFFFFFFFF}) | ++pushed_;
        push_as_is(e);
    }

    void push_as_is(const event& e)
    {
        events_.push_back(e);
        std::push_heap(events_.begin(), events_.end(), later{});
    }

    void run(fiber& f)
    {
        current_ = &f;
        readings_ = 0;
        f.resume();
        current_ = nullptr;
        if (f.done)
            for (fiber* joiner : f.joiners) wake(*joiner);
        look_at_wakers(f.owner);
    }

    [[nodiscard]] bool all_done() const
    {
        return std::ranges::all_of(fibers_, [](const auto& f) { return f->done; });
    }

    static inline scheduler* running_ = nullptr;
    static inline std::uint64_t made_ = 0;  // so many schedules so far

    random_source& random_;
    std::uint64_t seed_;  // to be printed
    std::uint64_t readings_ = 0;
    instant now_ = 0;
    fiber* current_ = nullptr;
    bool draining_ = false;
    std::uint64_t steps_ = 0;
    std::uint32_t pushed_ = 0;
    std::vector<event> events_;
    std::vector<std::unique_ptr<fiber>> fibers_;
};

}  // namespace sim

#endif
