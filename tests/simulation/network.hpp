// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_NETWORK_HPP
#define LEASEHOLD_TESTS_SIMULATION_NETWORK_HPP

#include "lock_queue.hpp"
#include "message.hpp"
#include "world.hpp"

#include <leasehold/clock/waker.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

// Carries requests to the server and replies back: late, twice, out of order, or not at all. A request whose caller has
// given up may still arrive.
class network {
public:
    explicit network(world& of) : world_{of}, locks_{of} {}

    [[nodiscard]] lock_queue& locks() noexcept { return locks_; }

    // From a fiber of `from`; waits for the reply until `until` (simulated time): fault::timeout then.
    reply call(process& from, const request& asked, instant until)
    {
        scheduler& time = world_.time;
        if (time.draining()) return failed(fault::unavailable);
        if (time.now() >= until) return failed(fault::timeout);
        const std::size_t number = calls_.size();
        calls_.push_back({time.current(), &from, false, {}});
        ++world_.faults.calls;
        send(from, asked, number);
        while (!calls_[number].answered && time.now() < until && !time.draining()) time.wait(until);
        calls_[number].caller = nullptr;
        if (time.draining()) return failed(fault::unavailable);
        if (calls_[number].answered) return calls_[number].answer;
        ++world_.faults.timeouts;
        world_.tell(from, 'T', static_cast<std::int64_t>(number), [&] { return describe(asked) + ": no answer in time"; });
        return failed(fault::timeout);
    }

    // Hints to waiters, where the store sends any.
    struct listener {
        process* of;
        int name;
        leasehold::waker* wakes;
    };
    void listen(const listener& l) { listeners_.push_back(l); }
    void forget(const leasehold::waker& w)
    {
        std::erase_if(listeners_, [&w](const listener& l) { return l.wakes == &w; });
    }

    // The server has been killed: a process that waits for an answer learns of it, or not.
    void break_all()
    {
        for (std::size_t i = 0; i < calls_.size(); ++i)
            if (calls_[i].caller != nullptr && !calls_[i].answered && world_.choose.maybe(700))
                answer_later(i, failed(fault::connection_lost), world_.choose.between(0, world_.planned.quick_delay - 1));
        for (sent& s : sent_) s.gone = true;
        waiting_.clear();
        world_.db.roll_back_all();
        locks_.server_died();
    }

    [[nodiscard]] static std::string describe(const request& asked)
    {
        static constexpr const char* asks[] = {"try_acquire", "renew", "release", "inspect", "sql", "write", "watch", "force_release",
                                                "save_checkpoint", "look_at_checkpoint", "publish", "work", "fence", "save_fenced",
                                                "commit", "roll_back"};
        std::string text = asked.what == ask::sql ? name_of(asked.which) : asks[static_cast<std::size_t>(asked.what)];
        text += " '" + std::string{lease_names[static_cast<std::size_t>(asked.name)]} + "'";
        if (asked.token != 0) text += " token " + std::to_string(asked.token);
        return text;
    }

private:
    static const char* name_of(statement which)
    {
        switch (which) {
        case statement::grant: return "grant";
        case statement::read: return "read";
        case statement::insert: return "insert";
        case statement::take: return "take";
        case statement::renew: return "renew";
        case statement::release: return "release";
        case statement::inspect: return "inspect";
        default: return "statement";
        }
    }

    struct pending {
        fiber* caller;  // none: it waits no longer
        process* of;
        bool answered;
        reply answer;
    };
    struct sent {
        request asked;
        std::size_t call;
        const process* from;
        bool gone;
        reply back;
    };

    static reply failed(fault why)
    {
        reply r;
        r.failed = why;
        return r;
    }

    std::int64_t delay(bool is_copy = false)
    {
        const plan& p = world_.planned;
        if ((is_copy && world_.choose.copy_is_late()) || happens(fault_kind::late, p.slow)) {
            ++world_.faults.slow_messages;
            return world_.choose.late(p.quick_delay, p.longest_delay());
        }
        return world_.choose.between(20'000, world_.faults_go_on() ? p.quick_delay : std::min(p.quick_delay, p.call_timeout / 40));
    }

    bool happens(fault_kind what, std::int64_t of_1024)
    {
        const bool it_does = world_.faults_go_on() && world_.choose.happens(what, of_1024);
        world_.time.observe(it_does);
        return it_does;
    }

    void send(process& from, const request& asked, std::size_t number)
    {
        const plan& p = world_.planned;
        if (happens(fault_kind::broken_connection, p.broken_connection)) {
            ++world_.faults.broken_connections;
            world_.tell("net", 'B', static_cast<std::int64_t>(number),
                        [&] { return "the connection of " + from.label + " breaks during " + describe(asked); });
            answer_later(number, failed(fault::connection_lost), delay());
        }
        if (happens(fault_kind::lost_request, p.lost_request)) {
            ++world_.faults.lost_requests;
            world_.tell("net", 'L', static_cast<std::int64_t>(number),
                        [&] { return "loses " + describe(asked) + " of " + from.label; });
            return;
        }
        dispatch(from, asked, number);
        // A user's connection does not repeat what is sent on it.
        if (asked.connection == 0 && happens(fault_kind::doubled, p.duplicate)) {
            ++world_.faults.duplicates;
            dispatch(from, asked, number, true);
        }
    }

    void dispatch(process& from, const request& asked, std::size_t number, bool is_copy = false)
    {
        sent_.push_back({asked, number, &from, false, {}});
        world_.time.at(world_.time.now() + delay(is_copy), &arrive, this, sent_.size() - 1, &from);
    }

    static void arrive(void* self, std::uint64_t number)
    {
        static_cast<network*>(self)->at_server(static_cast<std::size_t>(number));
    }

    void at_server(std::size_t number)
    {
        const instant now = world_.time.now();
        if (sent_[number].gone) return;
        if (now >= world_.db.down_until && happens(fault_kind::failover, 0)) {
            ++world_.faults.server_restarts;
            world_.tell("db", 'k', 0, [] { return std::string{"fails over"}; });
            world_.db.down_until = now + world_.planned.ttl / 4;
            break_all();
            return;
        }
        if (now < world_.db.down_until) {
            if (calls_[sent_[number].call].caller != nullptr && world_.choose.maybe(512))
                answer_later(sent_[number].call, failed(fault::connection_lost), delay());
            return;
        }
        if (now < world_.db.frozen_until) {
            world_.time.at(world_.db.frozen_until + world_.choose.between(0, 199'999), &arrive, this, number, sent_[number].from);
            return;
        }
        const request asked = sent_[number].asked;
        if (world_.db.has_to_wait(asked)) return wait_for_lock(number);
        reply said;
        if (asked.what != ask::write && happens(fault_kind::refused, world_.planned.refused)) {
            ++world_.faults.refusals;
            said.failed = world_.choose.maybe(700) ? fault::conflict : fault::lock_timeout;
            if (asked.what != ask::sql) said.failed = fault::conflict;
        } else {
            said = world_.db.execute(asked);
            tell_executed(asked, said, *sent_[number].from);
            if (world_.db.released && asked.what != ask::write) hint(asked.name);
        }
        if (asked.connection != 0) watch_transaction(asked);
        if (world_.judge.broken()) return;
        if (happens(fault_kind::lost_reply, world_.planned.lost_reply)) {
            ++world_.faults.lost_replies;
            world_.tell("net", 'R', static_cast<std::int64_t>(number),
                        [&] { return "loses the reply to " + describe(asked) + " of " + sent_[number].from->label; });
            return;
        }
        answer_later(sent_[number].call, said, delay());
    }

    // Until a transaction has ended, or for as long as a statement waits for a lock.
    void wait_for_lock(std::size_t number)
    {
        waiting_.push_back(number);
        world_.time.at(world_.time.now() + world_.planned.lock_timeout(), &lock_timeout, this, number, sent_[number].from);
    }

    static void lock_timeout(void* self, std::uint64_t number)
    {
        auto& of = *static_cast<network*>(self);
        if (std::erase(of.waiting_, static_cast<std::size_t>(number)) == 0) return;
        of.answer_later(of.sent_[static_cast<std::size_t>(number)].call, failed(fault::lock_timeout), of.delay());
    }

    // One that is open is rolled back if no other statement comes; after one that has ended, those who waited go on.
    void watch_transaction(const request& asked)
    {
        const auto* const open = world_.db.transaction_on(asked.connection);
        if (!open) return go_on();
        if (open->statements == 1) look_when_idle(asked.connection, open->last);
    }

    void look_when_idle(int connection, instant last)
    {
        world_.time.at(last + world_.planned.idle_timeout(), &idle, this, static_cast<std::uint64_t>(connection));
    }

    static void idle(void* self, std::uint64_t number)
    {
        auto& of = *static_cast<network*>(self);
        const int connection = static_cast<int>(number);
        const auto* const open = of.world_.db.transaction_on(connection);
        if (!open) return;
        if (open->last + of.world_.planned.idle_timeout() > of.world_.time.now()) return of.look_when_idle(connection, open->last);
        of.world_.tell("db", 'i', connection, [] { return std::string{"rolls back a transaction of which it hears nothing"}; });
        of.world_.db.roll_back(connection);
        of.go_on();
    }

    void go_on()
    {
        for (const std::size_t number : std::exchange(waiting_, {}))
            world_.time.at(world_.time.now(), &arrive, this, number, sent_[number].from);
    }

    void tell_executed(const request& asked, const reply& said, const process& from)
    {
        world_.tell("db", 'x', asked.token * 64 + static_cast<std::int64_t>(asked.what), [&] {
            const row_view row = world_.db.look(asked.name);
            std::string text = describe(asked) + " of " + from.label;
            if (asked.what == ask::write) return text + (said.yes ? ": written" : ": refused, a later term has written");
            if (said.failed != fault::none) return text + ": failed";
            if (asked.what == ask::sql) text += ", " + std::to_string(said.rows) + " rows";
            text += row.live ? "; held by " +
                                   (row.owner == nobody ? "nobody (closed)"
                                                        : world_.owners[static_cast<std::size_t>(row.owner)]) +
                                   " with token " + std::to_string(row.token) + " for " + seconds(row.ends - world_.db.now())
                             : "; free";
            return text;
        });
    }

    void answer_later(std::size_t call, const reply& said, std::int64_t after)
    {
        sent_.push_back({{}, call, nullptr, false, said});
        world_.time.at(world_.time.now() + after, &deliver, this, sent_.size() - 1, calls_[call].of, true);
    }

    static void deliver(void* self, std::uint64_t number)
    {
        static_cast<network*>(self)->at_caller(static_cast<std::size_t>(number));
    }

    void at_caller(std::size_t number)
    {
        pending& to = calls_[sent_[number].call];
        if (to.caller == nullptr || to.answered) return;
        world_.time.affect(*to.of);
        to.answered = true;
        to.answer = sent_[number].back;
        world_.time.wake(*to.caller);
    }

    void hint(int name)
    {
        for (const listener& l : listeners_) {
            if (l.name != name || happens(fault_kind::lost_reply, world_.planned.lost_reply)) continue;
            world_.time.affect(*l.of);
            l.wakes->wake();
            world_.time.look_at_wakers(*l.of);
        }
    }

    world& world_;
    lock_queue locks_;
    std::vector<pending> calls_;
    std::vector<sent> sent_;
    std::vector<std::size_t> waiting_;  // of those sent: for a lock
    std::vector<listener> listeners_;
};

}  // namespace sim

#endif
