// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_SCHEDULER_HPP
#define LEASEHOLD_TESTS_SIMULATION_SCHEDULER_HPP

#include "chooser.hpp"
#include "fiber.hpp"
#include "fingerprint.hpp"
#include "process.hpp"

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

// Runs fibers and actions in the order of simulated time; what happens at the same instant happens in the order that the chooser
// makes.
class scheduler {
public:
    explicit scheduler(chooser& choose) : choose_{choose}
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
    [[nodiscard]] chooser& choose() noexcept { return choose_; }
    // From the end of the schedule on nothing takes time any more: every wait ends at once, so that all functions return and
    // all destructors run.
    [[nodiscard]] bool draining() const noexcept { return draining_; }
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

    fiber& start(process& of, std::function<void()> body)
    {
        fibers_.push_back(std::make_unique<fiber>(of, std::move(body)));
        fiber& started = *fibers_.back();
        push({now_ + choose_.between(0, 19'999), 0, 0, &started, 0, nullptr, nullptr, 0, nullptr, true});
        return started;
    }

    // `concerns`: the only process that has to do with it; none: any may. `inside`: it does something in that process only.
    void at(instant when, void (*act)(void*, std::uint64_t), void* with, std::uint64_t number, const process* concerns = nullptr,
            bool inside = false)
    {
        const bool any_time = when >= chooser::whenever;
        push({any_time ? never : std::max(when, now_), any_time ? when - chooser::whenever : 0, 0, nullptr, number, act, with, 0, concerns,
              inside});
    }

    // A thread that reads the clock over and over without ever waiting runs for ever: time stands still meanwhile.
    void count_reading()
    {
        if (++readings_ < 1'000'000) return;
        std::printf("BROKEN after %llu schedules and 0 s: it comes to an end\n  a thread of %s never waits\n"
                    "  replay: %s\n",
                    static_cast<unsigned long long>(made_), current_ == nullptr ? "?" : current_->owner.label.c_str(),
                    choose_.replay().c_str());
        std::fflush(stdout);
        std::_Exit(1);
    }

    // From a fiber: until `when`, or until `w` is woken (then true, and the wake is taken).
    bool wait(instant when, leasehold::waker* w = nullptr)
    {
        fiber& self = *current_;
        if (w != nullptr && (w->woken() || (when <= now_ && !draining_))) return w->wait_for(leasehold::duration::zero());
        ++self.wait_number;
        if (when != never) push({std::max(when, now_), 0, 0, &self, self.wait_number, nullptr, nullptr, 0, nullptr, true});
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
        push({now_ + after, 0, 0, &sleeper, sleeper.wait_number, nullptr, nullptr, 0, nullptr, true});
    }

    // From the outside, whichever thread runs.
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
        push({self.owner.frozen_until, -1, 0, &self, self.wait_number, nullptr, nullptr, 0, nullptr, true});
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
            wake(*sleeper, choose_.between(0, 49'999));
        }
    }

    // One event; false when there is none left.
    bool step()
    {
        event e;
        if (!(choose_.enumerates() ? take_any(e) : take_earliest(e))) return false;
        if (e.sleeper == nullptr && e.act == nullptr) return true;  // nothing came of it
        now_ = e.at;
        ++steps_;
        story_ = mixed_all(e.sleeper != nullptr ? e.sleeper->owner.history : 0, e.id, now_);
        const bool alone = std::exchange(first_may_do_, false);
        const std::uint64_t seen_before = alone ? seen_from_outside() : 0;
        if (e.sleeper != nullptr)
            run(*e.sleeper);
        else
            e.act(e.with, e.number);
        if (alone && seen_from_outside() == seen_before) choose_.first_will_do();
        return true;
    }

    // Two worlds are in the same state if all that is below is equal: what each process has seen so far (its fibers can't know
    // more), what is to come, and the time. The step that is under way has a story, of what led to it and what it has seen; it
    // becomes part of the histories that it affects, and of all that comes out of it. So the order in which two processes did
    // what neither of them noticed makes no difference.

    // The step has seen `x`, which did not follow from its story. Returns the story.
    std::uint64_t observe(std::uint64_t x) noexcept { return story_ = mixed(story_, x); }

    // An action (no fiber) is about to change something in `p`.
    void affect(process& p) noexcept { p.history = observe(p.history); }

    [[nodiscard]] std::uint64_t fingerprint() const noexcept
    {
        std::uint64_t to_come = 0;
        for (const event& e : events_)
            if (!is_over(e)) to_come += mixed_all(e.id, e.at, e.due);
        return mixed(to_come, static_cast<std::uint64_t>(now_));
    }

    // Where all is enumerated: told while time goes on and nothing happens, last a nanosecond before something does.
    std::function<void()> before_time_goes_on;
    // The same: asked before a process does something, which it does later or never if this has stopped it or made it crash.
    std::function<bool(process&)> strikes;
    // The same: what those who judge see of all processes.
    std::function<std::uint64_t()> seen_from_outside;
    // The same: nothing that one process does makes another go on at once.
    bool processes_meet_at_server_only = false;

    // Lets every fiber run to its end.
    void drain()
    {
        draining_ = true;
        events_.clear();
        // One that was stopped may have a lock of its process, so it goes on first. It may start others.
        for (std::size_t i = 0; i < fibers_.size(); ++i)
            if (fibers_[i]->stopped_in_clock) run(*fibers_[i]);
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
        instant due;  // 0: as `at`; -1: before all others. Where `at` is never: at the latest
        std::uint64_t tie;
        fiber* sleeper;
        std::uint64_t number;
        void (*act)(void*, std::uint64_t);
        void* with;
        std::uint64_t id;  // the story of what it comes from
        const process* concerns;
        bool inside;
        [[nodiscard]] const process* whose() const noexcept { return sleeper != nullptr ? &sleeper->owner : concerns; }
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
        e.tie = (choose_.tie() & ~std::uint64_t{0xFFFFFFFF}) | ++pushed_;
        e.id = observe(1);
        push_as_is(e);
    }

    void push_as_is(const event& e)
    {
        events_.push_back(e);
        std::push_heap(events_.begin(), events_.end(), later{});
    }

    // A wake-up that nobody waits for any more.
    [[nodiscard]] static bool is_over(const event& e) noexcept
    {
        return e.sleeper != nullptr && (e.sleeper->owner.dead || e.sleeper->done || e.number != e.sleeper->wait_number);
    }

    // Drawn: by time, then by what was drawn when it was pushed. False: none is left.
    bool take_earliest(event& e)
    {
        if (events_.empty()) return false;
        std::pop_heap(events_.begin(), events_.end(), later{});
        e = events_.back();
        events_.pop_back();
        if (e.sleeper == nullptr) return true;
        const bool stopped = e.sleeper->owner.frozen_until > e.at;
        if (!is_over(e) && !stopped) return true;
        if (!is_over(e)) {
            if (e.due == 0) e.due = e.at;
            e.at = e.sleeper->owner.frozen_until;
            push_as_is(e);
        }
        e.sleeper = nullptr;
        return true;
    }

    // Stopped with its whole process, perhaps with a lock, it goes on before the process's other fibers.
    [[nodiscard]] bool waits_for_stopped(const event& e) const
    {
        if (e.sleeper == nullptr || e.due == -1) return false;
        return std::ranges::any_of(events_, [&](const event& other) {
            return other.due == -1 && other.sleeper != nullptr && &other.sleeper->owner == &e.sleeper->owner;
        });
    }

    // To the next instant at which something happens. What may arrive at any time arrives then, or later.
    void go_on()
    {
        instant next = never;
        for (const event& e : events_) next = std::min(next, e.at == never ? e.due : e.at);
        while (before_time_goes_on && now_ < next - 1) {
            now_ = std::min(now_ + look_every, next - 1);
            before_time_goes_on();
        }
        now_ = next;
        for (event& e : events_)
            if (e.at == never && (e.due <= now_ || choose_.one_of(2) == 1)) e.at = now_;
    }

    // What is next may be done first, before all else that is due now and in no other order: it does something inside of one
    // process, and nothing else that is due now concerns that process. Unless it can be seen from the outside.
    [[nodiscard]] bool is_private(const event& e, const std::vector<std::size_t>& fibers) const
    {
        if (!processes_meet_at_server_only || !e.inside) return false;
        const auto concerns_it = [&](const event& other) {
            return &other != &e && other.at <= now_ && other.sleeper == nullptr && (other.whose() == nullptr || other.whose() == e.whose());
        };
        if (std::ranges::any_of(events_, concerns_it)) return false;
        const auto its_fibers = std::ranges::count_if(fibers, [&](std::size_t i) { return events_[i].whose() == e.whose(); });
        return its_fibers == 0 || (e.sleeper != nullptr && (its_fibers == 1 || !choose_.swaps()));
    }

    // Any one of the actions and of the processes that can go on; and then one of the process's fibers.
    std::size_t choose_next()
    {
        std::vector<std::size_t> next;    // every action, and the first fiber of each process
        std::vector<std::size_t> fibers;  // of all processes, in the order of their turns
        for (std::size_t i = 0; i < events_.size(); ++i)
            if (events_[i].at <= now_ && !waits_for_stopped(events_[i])) (events_[i].sleeper != nullptr ? fibers : next).push_back(i);
        std::ranges::sort(fibers, [this](std::size_t a, std::size_t b) { return later{}(events_[b], events_[a]); });
        const auto of_process = [this](const process& p) { return [this, &p](std::size_t i) { return &events_[i].sleeper->owner == &p; }; };
        for (auto i = fibers.begin(); i != fibers.end(); ++i)
            if (std::none_of(fibers.begin(), i, of_process(events_[*i].sleeper->owner))) next.push_back(*i);
        const auto quiet = std::ranges::find_if(next, [&](std::size_t i) { return is_private(events_[i], fibers); });
        first_may_do_ = quiet != next.end();
        if (first_may_do_) std::iter_swap(next.begin(), quiet);
        const std::size_t answer = first_may_do_ ? choose_.one_of_or_first(next.size()) : choose_.one_of(next.size());
        first_may_do_ = first_may_do_ && answer == 0 && next.size() > 1;
        const std::size_t chosen = next[answer];
        if (events_[chosen].sleeper == nullptr) return chosen;
        std::erase_if(fibers, [&](std::size_t i) { return !of_process(events_[chosen].sleeper->owner)(i); });
        return fibers[choose_.turn_of(fibers.size())];
    }

    // Enumerated: any one of those that may be next. False: none is left.
    bool take_any(event& e)
    {
        for (;;) {
            std::erase_if(events_, is_over);
            for (event& each : events_)
                if (each.sleeper != nullptr) each.at = std::max(each.at, each.sleeper->owner.frozen_until);
            if (events_.empty()) return false;
            if (std::ranges::none_of(events_, [this](const event& each) { return each.at <= now_; })) go_on();
            const std::size_t chosen = choose_next();
            if (fiber* const sleeper = events_[chosen].sleeper; sleeper != nullptr && strikes) {
                story_ = sleeper->owner.history;
                if (strikes(sleeper->owner)) continue;
            }
            e = events_[chosen];
            e.at = now_;
            events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(chosen));
            return true;
        }
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
        f.owner.history = story_;
    }

    static constexpr std::int64_t look_every = 10'000'000;

    [[nodiscard]] bool all_done() const
    {
        return std::ranges::all_of(fibers_, [](const auto& f) { return f->done; });
    }

    static inline scheduler* running_ = nullptr;
    static inline std::uint64_t made_ = 0;  // so many schedules so far

    chooser& choose_;
    std::uint64_t readings_ = 0;
    instant now_ = 0;
    fiber* current_ = nullptr;
    bool draining_ = false;
    std::uint64_t steps_ = 0;
    std::uint64_t story_ = 0;
    bool first_may_do_ = false;  // see is_private()
    std::uint32_t pushed_ = 0;
    std::vector<event> events_;
    std::vector<std::unique_ptr<fiber>> fibers_;
};

}  // namespace sim

#endif
