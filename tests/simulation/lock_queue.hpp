// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_LOCK_QUEUE_HPP
#define LEASEHOLD_TESTS_SIMULATION_LOCK_QUEUE_HPP

#include "world.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace sim {

// The session locks of the server: one for each name, first come, first served. A lock ends with its session, which the server
// learns of late. A stopped process keeps what it has.
class lock_queue {
public:
    // Told in the process that asked; has_lock: the session has it.
    using answer = std::function<void(bool has_lock)>;

    explicit lock_queue(world& of) : world_{of} {}

    // A session of its own begins to wait. Returns its number.
    int wait(process& of, int name, answer told) { return open(of, name, std::move(told), false); }
    // Does not wait.
    int try_lock(process& of, int name, answer told) { return open(of, name, std::move(told), true); }

    // The session ends: its wait, or its lock.
    void end(int number)
    {
        later(delay(), [this, number] { end_at_server(number); });
    }

    // Something that the process does by itself after so long, unless it is dead by then.
    void after(process& of, std::int64_t how_long, std::function<void()> act)
    {
        later(how_long, [this, &of, act = std::move(act)]() mutable { in_process(of, std::move(act)); });
    }

    // Stands for the state of all locks.
    [[nodiscard]] std::uint64_t fingerprint() const noexcept
    {
        std::uint64_t print = 0;
        for (const std::uint64_t each : histories_) print = mixed(print, each);
        return print;
    }

    // Its sessions end; who waits learns of it, or not.
    void server_died()
    {
        for (std::size_t i = 0; i < sessions_.size(); ++i) {
            session& s = sessions_[i];
            if (s.at == state::waiting && world_.choose.maybe(700)) answer_later(static_cast<int>(i), false);
            s.at = state::gone;
        }
        for (auto& each : waiting_) each.clear();
        holder_.fill(none);
    }

    void process_died(const process& p)
    {
        for (std::size_t i = 0; i < sessions_.size(); ++i)
            if (sessions_[i].of == &p)
                later(world_.choose.between(0, world_.planned.ttl / 4), [this, i] { end_at_server(static_cast<int>(i)); });
    }

private:
    static constexpr int none = -1;
    enum class state : std::uint8_t { sent, waiting, holding, gone };
    struct session {
        process* of;
        int name;
        answer told;
        bool once;
        state at = state::sent;
    };

    int open(process& of, int name, answer told, bool once)
    {
        const int number = static_cast<int>(sessions_.size());
        sessions_.push_back({&of, name, std::move(told), once});
        ++world_.faults.locks;
        later(delay(), [this, number] { at_server(number); });
        return number;
    }

    session& at(int number) { return sessions_[static_cast<std::size_t>(number)]; }
    int& holder_of(int name) { return holder_[static_cast<std::size_t>(name)]; }
    std::deque<int>& queue_of(int name) { return waiting_[static_cast<std::size_t>(name)]; }

    void at_server(int number)
    {
        session& s = at(number);
        take_note(s.name);
        if (s.at == state::gone) return;
        if (world_.time.now() < world_.db.down_until) {
            s.at = state::gone;
            return answer_later(number, false);
        }
        if (world_.time.now() < world_.db.frozen_until)
            return later(world_.db.frozen_until - world_.time.now() + 1, [this, number] { at_server(number); });
        if (holder_of(s.name) == none) {
            give(number);
        } else if (s.once) {
            s.at = state::gone;
            answer_later(number, false);
        } else {
            s.at = state::waiting;
            queue_of(s.name).push_back(number);
        }
    }

    void give(int number)
    {
        session& s = at(number);
        holder_of(s.name) = number;
        s.at = state::holding;
        answer_later(number, true);
    }

    void end_at_server(int number)
    {
        session& s = at(number);
        if (world_.time.now() < world_.db.frozen_until)
            return later(world_.db.frozen_until - world_.time.now() + 1, [this, number] { end_at_server(number); });
        take_note(s.name);
        const state was = std::exchange(s.at, state::gone);
        if (was == state::waiting) std::erase(queue_of(s.name), number);
        if (was != state::holding) return;
        holder_of(s.name) = none;
        if (queue_of(s.name).empty()) return;
        const int next = queue_of(s.name).front();
        queue_of(s.name).pop_front();
        give(next);
    }

    void answer_later(int number, bool has_lock)
    {
        later(delay(), [this, number, has_lock] {
            in_process(*at(number).of, [this, number, has_lock] { at(number).told(has_lock); });
        });
    }

    void in_process(process& of, std::function<void()> act)
    {
        if (of.dead) return;
        const instant now = world_.time.now();
        if (of.frozen_until > now)
            return later(of.frozen_until - now + 1, [this, &of, act = std::move(act)]() mutable { in_process(of, std::move(act)); });
        world_.time.affect(of);
        act();
    }

    // What happens to a lock depends on all that has happened to it, and so does what comes of it.
    void take_note(int name)
    {
        std::uint64_t& so_far = histories_[static_cast<std::size_t>(name)];
        so_far = world_.time.observe(so_far);
    }

    std::int64_t delay() { return world_.choose.between(20'000, world_.planned.quick_delay); }

    void later(std::int64_t how_long, std::function<void()> act)
    {
        acts_.push_back(std::move(act));
        world_.time.at(world_.time.now() + how_long, &run, this, acts_.size() - 1);
    }
    static void run(void* self, std::uint64_t number)
    {
        auto& acts = static_cast<lock_queue*>(self)->acts_;
        const auto act = std::move(acts[static_cast<std::size_t>(number)]);
        act();
    }

    world& world_;
    std::deque<session> sessions_;
    std::array<std::deque<int>, lease_names.size()> waiting_;
    std::array<int, lease_names.size()> holder_ = [] { std::array<int, lease_names.size()> all{}; all.fill(none); return all; }();
    std::array<std::uint64_t, lease_names.size()> histories_{};
    std::deque<std::function<void()>> acts_;
};

}  // namespace sim

#endif
