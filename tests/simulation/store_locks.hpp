// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_STORE_LOCKS_HPP
#define LEASEHOLD_TESTS_SIMULATION_STORE_LOCKS_HPP

#include "lock_queue.hpp"

#include <leasehold/clock/waker.hpp>
#include <leasehold/odbc/detail/pauses.hpp>
#include <leasehold/odbc/detail/queue/queue_machine.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace sim {

// The session locks of one process's terms: of a waiter, who has it already, or taken some milliseconds later.
class store_locks {
public:
    store_locks(world& w, lock_queue& locks, process& of) : world_{w}, locks_{locks}, of_{of} {}

    [[nodiscard]] world& all() const noexcept { return world_; }
    [[nodiscard]] lock_queue& queue() const noexcept { return locks_; }
    [[nodiscard]] process& self() const noexcept { return of_; }

    // Whether the last wake-up that was due came.
    bool& wakes_come(int name) { return wakes_come_[static_cast<std::size_t>(name)]; }

    // By a single attempt. `wakes`: for which lock the waiters queue that the end of the term wakes; nobody: for none.
    void granted(int name, std::int64_t token, int wakes)
    {
        older_are_over(name, token);
        if (!world_.planned.has_locks() || wakes == nobody) return;
        auto& its = lock_of(wakes);
        if (!its) {
            its = std::make_shared<lock>();
            locks_.after(of_, in_ns(leasehold::odbc::detail::first_lock_pause), [this, wakes, of = its] { take(wakes, of); });
        }
        ++its->terms;
        term_of(name) = {token, wakes};
    }

    // To a waiter, whose session has the lock.
    void granted_at_head(int name, std::int64_t token, int session)
    {
        older_are_over(name, token);
        if (auto& left = lock_of(name)) left->over = true;  // that session had none
        lock_of(name) = std::make_shared<lock>();
        lock_of(name)->session = session;
        lock_of(name)->terms = 1;
        term_of(name) = {token, name};
    }

    void term_is_over(int name, std::int64_t token)
    {
        if (term_of(name).token == token) give_back(name);
    }

    void older_are_over(int name, std::int64_t token)
    {
        if (term_of(name).token != 0 && term_of(name).token < token) give_back(name);
    }

private:
    // One for all terms that wake those who queue for one name.
    struct lock {
        int terms = 0;
        std::optional<int> session;  // that has it
        leasehold::detail::backoff pauses{leasehold::odbc::detail::first_lock_pause, leasehold::odbc::detail::longest_lock_pause};
        bool over = false;
    };
    struct term {
        std::int64_t token = 0;  // 0: there is none
        int wakes = nobody;
    };

    static std::int64_t in_ns(std::chrono::nanoseconds time) { return time.count(); }
    term& term_of(int name) { return terms_[static_cast<std::size_t>(name)]; }
    std::shared_ptr<lock>& lock_of(int name) { return taken_[static_cast<std::size_t>(name)]; }

    void give_back(int name)
    {
        const term ended = std::exchange(term_of(name), {});
        auto& its = lock_of(ended.wakes);
        if (!its || --its->terms > 0) return;
        its->over = true;
        if (its->session) locks_.end(*its->session);
        its = nullptr;
    }

    // Again and again, while somebody else has it: a waiter may have it for a moment.
    void take(int name, const std::shared_ptr<lock>& of)
    {
        if (of->over) return;
        const auto session = std::make_shared<int>();
        *session = locks_.try_lock(of_, name, [this, name, of, session](bool has_lock) {
            if (has_lock && of->over) return locks_.end(*session);
            if (has_lock) {
                of->session = *session;
                return;
            }
            locks_.after(of_, in_ns(of->pauses.next()), [this, name, of] { take(name, of); });
        });
    }

    world& world_;
    lock_queue& locks_;
    process& of_;
    std::array<bool, lease_names.size()> wakes_come_ = [] { std::array<bool, lease_names.size()> all{}; all.fill(true); return all; }();
    std::array<term, lease_names.size()> terms_{};
    std::array<std::shared_ptr<lock>, lease_names.size()> taken_;
};

// A waiter's place in the queue: the library's machine, and a session of the simulated server.
class queue_place {
public:
    queue_place(store_locks& of, int name, leasehold::waker& to_wake) : of_{of}, state_{std::make_shared<state>()}
    {
        state_->machine = leasehold::odbc::detail::queue_machine{of.wakes_come(name)};
        state_->name = name;
        state_->to_wake = &to_wake;
    }
    queue_place(const queue_place&) = delete;
    queue_place& operator=(const queue_place&) = delete;
    ~queue_place()
    {
        const auto was = state_->machine.leave();
        if (was != position::outside && was != position::left && !of_.all().time.draining()) of_.queue().end(state_->session);
    }

    [[nodiscard]] leasehold::odbc::detail::queue_action next() const { return state_->machine.next(now()); }

    // Returns when to look.
    leasehold::duration queue_up()
    {
        state_->machine.queued(now());
        state_->session = of_.queue().wait(of_.self(), state_->name, [of = &of_, state = state_](bool has_lock) {
            if (state->machine.position() == position::left) return;  // the session has been ended
            state->machine.wait_ended(has_lock, now_of(*of));
            if (has_lock) of->wakes_come(state->name) = true;
            state->to_wake->wake();
            of->all().time.look_at_wakers(of->self());
        });
        return state_->machine.look_after(now());
    }

    leasehold::turn_answer turn()
    {
        if (state_->machine.next(now()) == leasehold::odbc::detail::queue_action::queue_up) static_cast<void>(queue_up());
        return state_->machine.turn(now());
    }

    void passed() noexcept
    {
        state_->machine.passed();
        of_.wakes_come(state_->name) = false;
    }

    // The term has the session from now on.
    int take_lock()
    {
        state_->machine.granted();
        return state_->session;
    }

    void lost()
    {
        state_->machine.lost(now());
        of_.queue().end(state_->session);
    }

    leasehold::duration seen(leasehold::fencing_token term, leasehold::duration remaining)
    {
        state_->machine.seen(term, remaining, now());
        return state_->machine.after_term(remaining, now());
    }

    leasehold::duration busy_at_head(leasehold::fencing_token term, leasehold::duration remaining)
    {
        const auto answer = state_->machine.busy_at_head(term, remaining, now());
        if (answer.unlocks) {
            ++of_.all().faults.yields;
            of_.queue().end(state_->session);
        }
        return answer.retry_after;
    }

    std::optional<leasehold::duration> wait_for_next(leasehold::fencing_token token)
    {
        const auto delay = state_->machine.wait_for_next(token, now());
        if (!delay) of_.wakes_come(state_->name) = false;
        return delay;
    }

private:
    using position = leasehold::odbc::detail::queue_position;

    struct state {
        leasehold::odbc::detail::queue_machine machine;
        int name = 0;
        int session = 0;
        leasehold::waker* to_wake = nullptr;
    };

    // The process's own clock.
    static leasehold::odbc::detail::queue_machine::time_point now_of(const store_locks& of)
    {
        return leasehold::odbc::detail::queue_machine::time_point{std::chrono::nanoseconds{of.self().clock.at(of.all().time.now())}};
    }
    [[nodiscard]] leasehold::odbc::detail::queue_machine::time_point now() const { return now_of(of_); }

    store_locks& of_;
    std::shared_ptr<state> state_;
};

}  // namespace sim

#endif
