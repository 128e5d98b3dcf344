// SPDX-License-Identifier: BSL-1.0
// The other protocols of the library in which threads meet without a mutex. What needs a driver is repeated here, step by step.
#include <memory_orders/library.hpp>

namespace protocols {

BOOST_AUTO_TEST_SUITE(protocols_test)

constexpr std::string_view half_made = "an atomic is used that another thread has not been seen to make";

void one_adds_the_other_writes(fiber_execution& run)
{
    lh::detail::name_table names{2};
    std::uint64_t written = 0;
    run.threads({[&] { names.of("a").calls[0][0].fetch_add(1, relaxed); },
                 [&] {
                     names.for_each([&](std::string_view, const lh::detail::name_series& of) {
                         written += of.calls[0][0].load(relaxed);
                     });
                 }});
    run.require(written <= 1, "counted twice");
    run.require(names.of("a").calls[0][0].load(relaxed) == 1, "a count is lost");
}

auto two_add(std::string_view first, std::string_view second, std::size_t most)
{
    return [=](fiber_execution& run) {
        lh::detail::name_table names{most};
        run.threads({[&] { names.of(first).calls[0][0].fetch_add(1, relaxed); },
                     [&] { names.of(second).calls[0][0].fetch_add(1, relaxed); }});
        std::uint64_t counted = 0;
        std::size_t entries = 0;
        names.for_each([&](std::string_view, const lh::detail::name_series& of) {
            counted += of.calls[0][0].load(relaxed);
            ++entries;
        });
        run.require(counted == 2, "a count is lost");
        run.require(entries == (first == second ? 1U : 2U), "another number of entries");
    };
}

BOOST_AUTO_TEST_CASE(name_that_is_found_in_the_table_is_whole)
{
    check_holds("name table, read", explore(one_adds_the_other_writes));
    check_breaks("name table, read, without acquire", explore(one_adds_the_other_writes, weakening{.acquire = true}),
                 half_made);
    check_breaks("name table, read, without release", explore(one_adds_the_other_writes, weakening{.release = true}),
                 half_made);
}

BOOST_AUTO_TEST_CASE(threads_that_add_a_name_at_once_share_its_entry)
{
    check_holds("name table, one name", explore(two_add("a", "a", 2)));
    check_holds("name table, two names", explore(two_add("a", "b", 2)));
    check_holds("name table, one name, one place", explore(two_add("a", "a", 1)));
    check_holds("name table, no room for the second", explore(two_add("a", "b", 1)));
    check_breaks("name table, one name, without acquire", explore(two_add("a", "a", 2), weakening{.acquire = true}),
                 half_made);
}

template <class Take>
auto two_that_take_one_ticket(Take take)
{
    return [=](fiber_execution& run) {
        lh::waiting::ticket_limit limit{1};
        atomic<int> broken_limit{1};
        int taken = 0;
        const auto once = [&] {
            if (!take(limit, broken_limit)) return;
            ++taken;
            orders::current->give_way(nullptr);
            run.require(taken == 1, "too many tickets");
            --taken;
            limit.give_back();
        };
        run.threads({once, once});
    };
}

BOOST_AUTO_TEST_CASE(tickets_do_not_exceed_their_limit)
{
    const auto take = [](lh::waiting::ticket_limit& limit, atomic<int>&) { return limit.take(); };
    check_holds("tickets", explore(two_that_take_one_ticket(take)));
    check_holds("tickets, all relaxed", explore(two_that_take_one_ticket(take), all_relaxed));
    const auto take_in_two_steps = [](lh::waiting::ticket_limit&, atomic<int>& left) {
        if (left.load() == 0) return false;
        left.store(0);
        return true;
    };
    check_breaks("tickets, taken in two steps", explore(two_that_take_one_ticket(take_in_two_steps)), "too many tickets");
}

void two_that_count_under_a_spin_mutex(fiber_execution& run)
{
    run.most_steps = 12;
    lh::spin_mutex guards;
    plain<int> count;
    const auto add = [&] {
        const std::lock_guard lock{guards};
        count = count + 1;
    };
    run.threads({add, [&] {
                     if (!guards.try_lock()) return;
                     count = count + 1;
                     guards.unlock();
                 }});
}

BOOST_AUTO_TEST_CASE(spin_mutex_orders_what_it_guards)
{
    check_holds("spin mutex", explore(two_that_count_under_a_spin_mutex));
    check_breaks("spin mutex, without acquire", explore(two_that_count_under_a_spin_mutex, weakening{.acquire = true}),
                 "data race: a read");
    check_breaks("spin mutex, without release", explore(two_that_count_under_a_spin_mutex, weakening{.release = true}),
                 "data race: a read");
}

// Where a lease is, and how one asks for it: under a mutex, as in memory_store; or in an atomic of a store without a lock.
struct row_under_a_mutex {
    bool is_held()
    {
        const std::lock_guard lock{guards};
        return held;
    }
    void release()
    {
        const std::lock_guard lock{guards};
        held = false;
    }
    orders::mutex guards;
    plain<bool> held{true};
};
template <bool Sequential>
struct row_in_an_atomic {
    bool is_held() { return held.load(Sequential ? seq_cst : acquire); }
    void release() { held.store(false, Sequential ? seq_cst : protocols::release); }
    atomic<bool> held{true};
};

template <class Row>
void waiter_and_release(fiber_execution& run)
{
    Row row;
    lh::waiting::local_queue queue;
    lh::waker to_wake;
    const lh::waiting::queue_key key{.name = "job"};
    std::optional<lh::waiting::local_queue::place> place;
    bool sleeps = false;
    run.threads({[&] {
                     place.emplace(queue, key, to_wake);
                     sleeps = row.is_held();
                 },
                 [&] {
                     row.release();
                     queue.released(key);
                 }});
    run.require(!sleeps || to_wake.woken(), "a waiter sleeps though the lease is free");
}

BOOST_AUTO_TEST_CASE(waiter_is_woken_or_finds_the_lease_free)
{
    constexpr std::string_view asleep = "a waiter sleeps though the lease is free";
    check_holds("local queue, row under a mutex", explore(waiter_and_release<row_under_a_mutex>));
    check_holds("local queue, row under a mutex, all relaxed", explore(waiter_and_release<row_under_a_mutex>, all_relaxed));
    check_holds("local queue, row in an atomic", explore(waiter_and_release<row_in_an_atomic<true>>));
    check_breaks("local queue, row in an atomic, not sequential",
                 explore(waiter_and_release<row_in_an_atomic<true>>, weakening{.sequential = true}), asleep);
    // Not the queue's to mend: it is why docs/writing_a_store.md asks for one order of a store's calls.
    check_breaks("local queue, row released and acquired", explore(waiter_and_release<row_in_an_atomic<false>>), asleep);
}

// bounded_session::run() and serve(): the caller looks at the state without the mutex before it sleeps.
void call_and_session_thread(fiber_execution& run)
{
    enum class state : std::uint8_t { idle, queued, working, done };
    run.most_steps = 22;
    orders::mutex guards;
    atomic<state> is{state::idle};
    plain<int> request, result;
    run.threads({[&] {
                     request = 1;
                     {
                         const std::lock_guard lock{guards};
                         is = state::queued;
                     }
                     bool done = is == state::done;
                     while (!done && !run.cut) {
                         const std::lock_guard lock{guards};
                         done = is == state::done;
                     }
                     if (run.cut) return;
                     is = state::idle;
                     run.require(result == 2, "another result");
                     request = 3;  // of the next call
                 },
                 [&] {
                     for (bool queued = false; !queued && !run.cut;) {
                         const std::lock_guard lock{guards};
                         queued = is == state::queued;
                         if (queued) is = state::working;
                     }
                     if (run.cut) return;
                     result = request + 1;
                     const std::lock_guard lock{guards};
                     is = state::done;
                 }});
}

BOOST_AUTO_TEST_CASE(caller_that_sees_a_call_done_has_its_result)
{
    check_holds("session", explore(call_and_session_thread));
    check_holds("session, not sequential", explore(call_and_session_thread, weakening{.sequential = true}));
    check_breaks("session, without acquire", explore(call_and_session_thread, weakening{.acquire = true}),
                 "data race: a read");
    check_breaks("session, without release", explore(call_and_session_thread, weakening{.release = true}),
                 "data race: a read");
}

// session_lock::wait() and cancel(): a wait for a session lock has no limit, so one that is cancelled either does not begin, or
// is known by a number by which the server can end it.
void wait_and_cancel(fiber_execution& run)
{
    atomic<std::int64_t> backend{0};
    atomic<bool> cancelled{false};
    bool waits = false, ended_on_server = false;
    run.threads({[&] {
                     backend = 7;
                     waits = !cancelled;
                 },
                 [&] {
                     cancelled = true;
                     ended_on_server = backend != 0;
                 }});
    run.require(!waits || ended_on_server, "a wait goes on that nobody ends");
}

BOOST_AUTO_TEST_CASE(cancelled_wait_does_not_begin_or_can_be_ended)
{
    check_holds("cancel", explore(wait_and_cancel));
    check_breaks("cancel, not sequential", explore(wait_and_cancel, weakening{.sequential = true}),
                 "a wait goes on that nobody ends");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace protocols
