// SPDX-License-Identifier: BSL-1.0
// Waiting through basic_lease, over stores in memory: with and without somebody who wakes.
#include <contract/asked_once.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>

#include <leasehold/leasehold.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(lease_wait_test)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr lh::lease_terms terms{.ttl = 10s};

bool are_waiting(std::size_t threads, lh::duration at_most = 10s)
{
    return eventually([threads] { return lh::waiting::own_queue::threads_waiting() == threads; }, at_most);
}

struct counted {
    std::atomic<int> attempts = 0;
    void operator()(const lh::store_call& call, const lh::store_call_report&)
    {
        if (call.operation == lh::store_operation::try_acquire) ++attempts;
    }
};

struct count_in {
    counted& counter;
    void operator()(const lh::store_call& call, const lh::store_call_report& report) { counter(call, report); }
};

// Hides what the memory store can do beyond the four operations.
class plain_store {
    using text = std::string_view;

public:
    lh::acquire_result try_acquire(text n, text o, lh::duration d, std::error_code& ec) { return inner.try_acquire(n, o, d, ec); }
    bool renew(text n, text o, lh::fencing_token t, lh::duration d, std::error_code& ec) { return inner.renew(n, o, t, d, ec); }
    bool release(text n, text o, lh::fencing_token t, lh::duration d, std::error_code& ec) { return inner.release(n, o, t, d, ec); }
    std::optional<lh::lease_record> inspect(std::string_view n, std::error_code& ec) { return inner.inspect(n, ec); }

private:
    lh::memory_store inner;
};
static_assert(lh::notifying_store<lh::memory_store> && !lh::notifying_store<plain_store>);

// Counts the sleeps of the thread that says so: the lease's own threads, which renew, sleep with the same clock.
struct counting_clock {
    static inline thread_local bool counts_this_thread = false;

    [[nodiscard]] lh::time_point now() const noexcept { return lh::steady_clock{}.now(); }
    bool wait_until(lh::waker& w, lh::time_point t) const
    {
        if (counts_this_thread) ++*sleeps;
        return lh::steady_clock{}.wait_until(w, t);
    }
    friend bool operator==(const counting_clock& a, const counting_clock& b) noexcept { return a.sleeps == b.sleeps; }

    std::shared_ptr<std::atomic<int>> sleeps = std::make_shared<std::atomic<int>>(0);
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_zero_timeout_is_exactly_one_attempt)
{
    lh::memory_store memory;
    counted count;
    lh::hooked_store store{memory, count_in{count}};
    lh::basic_lease holder{memory, "n", terms};
    lh::basic_lease lease{store, "n", terms};
    BOOST_TEST(is_held(lease.try_acquire_for(0s)));
    const auto guard = holder.try_acquire();
    BOOST_TEST(!is_held(lease.try_acquire_for(0s)));
    BOOST_TEST(!is_held(lease.try_acquire_for(-1s)));
    BOOST_TEST(!is_held(lease.try_acquire_until(std::chrono::steady_clock::now())));
    BOOST_TEST(count.attempts == 4);
}

BOOST_AUTO_TEST_CASE(a_token_asked_to_stop_before_means_no_store_call)
{
    lh::memory_store memory;
    counted count;
    lh::hooked_store store{memory, count_in{count}};
    lh::basic_lease lease{store, "n", terms};
    std::stop_source stop;
    stop.request_stop();
    BOOST_TEST(!is_held(lease.acquire(stop.get_token())));
    BOOST_TEST(!is_held(lease.try_acquire_for(0s, stop.get_token())));
    BOOST_TEST(!is_held(lease.try_acquire_for(1s, stop.get_token())));
    BOOST_TEST(count.attempts == 0);
}

BOOST_AUTO_TEST_CASE(a_timeout_leaves_nothing_behind)
{
    lh::memory_store store;
    lh::basic_lease holder{store, "n", terms};
    lh::basic_lease waiter{store, "n", terms};
    auto guard = holder.try_acquire();
    std::error_code ec = lh::errc::lost;
    BOOST_TEST(!is_held(waiter.try_acquire_for(20ms, ec)));
    BOOST_TEST(!ec);
    BOOST_TEST(lh::waiting::own_queue::threads_waiting() == 0U);
    guard.release();
    BOOST_TEST(!waiter.inspect().has_value());
}

BOOST_AUTO_TEST_CASE(cancelling_ends_a_wait_which_says_so_and_does_not_throw)
{
    lh::memory_store store;
    lh::basic_lease holder{store, "n", terms};
    lh::basic_lease waiter{store, "n", terms};
    const auto guard = holder.try_acquire();
    std::stop_source stop;
    std::jthread canceller{[&] {
        if (are_waiting(1)) stop.request_stop();
    }};
    std::error_code ec;
    BOOST_TEST(!is_held(waiter.acquire(stop.get_token(), ec)));
    BOOST_TEST(ec == std::errc::operation_canceled);
    BOOST_TEST(!is_held(waiter.acquire(stop.get_token())));
    BOOST_TEST(guard.held());
}

BOOST_AUTO_TEST_CASE(a_release_wakes_the_waiter_long_before_the_lease_would_have_run_out)
{
    lh::memory_store store;
    lh::basic_lease holder{store, "n", lh::lease_terms{.ttl = 1h}};
    lh::basic_lease waiter{store, "n", terms};
    auto guard = holder.try_acquire();
    const auto first = guard.token();
    std::jthread releaser{[&] {
        if (are_waiting(1)) guard.release();
    }};
    const auto next = waiter.acquire();
    BOOST_TEST(next.held());
    BOOST_TEST((next.token() > first));
}

BOOST_AUTO_TEST_CASE(a_waiter_holds_once_the_holders_time_has_run_out_on_a_turned_clock)
{
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    std::error_code ec;
    BOOST_REQUIRE(store.try_acquire("n", "crashed", 10s, ec).granted());
    lh::basic_lease waiter{store, "n", terms, clock};
    std::atomic<bool> holds = false;
    std::jthread waiting{[&] {
        const auto guard = waiter.acquire();
        holds = guard.held();
    }};
    BOOST_REQUIRE(eventually([&] { return clock.sleepers() == 1; }));
    clock.advance(9999ms);
    BOOST_TEST(!holds);
    clock.advance(1ms);
    BOOST_TEST(eventually([&] { return holds.load(); }));
}

BOOST_AUTO_TEST_CASE(without_a_store_that_wakes_a_release_is_found_by_polling)
{
    plain_store store;
    lh::basic_lease waiter{store, "n", terms};
    std::error_code ec;
    const auto held = store.try_acquire("n", "elsewhere", 1h, ec);
    std::jthread releaser{[&] {
        if (are_waiting(1)) static_cast<void>(store.release("n", "elsewhere", held.token, 0s, ec));
    }};
    BOOST_TEST(is_held(waiter.acquire()));
}

BOOST_AUTO_TEST_CASE(a_release_in_the_same_process_wakes_even_where_the_store_does_not)
{
    plain_store memory;
    counted count;
    lh::hooked_store store{memory, count_in{count}};
    lh::basic_lease shared{store, "n", terms};
    auto guard = shared.try_acquire();
    std::jthread releaser{[&] {
        if (are_waiting(1)) guard.release();
    }};
    BOOST_TEST(is_held(shared.acquire()));
    BOOST_TEST(count.attempts == 2);  // while our own guard was alive there was nothing to ask the store
}

BOOST_AUTO_TEST_CASE(a_release_wakes_a_waiter_at_another_lease_object_even_where_the_store_does_not)
{
    lh::manual_clock clock;  // stands still, so that no poll comes instead
    plain_store memory;
    counted count;
    lh::hooked_store store{memory, count_in{count}};
    lh::basic_lease holder{store, "n", terms, clock};
    lh::basic_lease waiter{store, "n", terms, clock};
    auto guard = holder.try_acquire();
    std::atomic<bool> holds = false;
    std::stop_source stop;
    std::jthread waiting{[&] { holds = is_held(waiter.acquire(stop.get_token())); }};
    BOOST_TEST(eventually([&] { return count.attempts == 2; }));
    guard.release();
    BOOST_TEST(eventually([&] { return holds.load(); }));
    stop.request_stop();
}

BOOST_AUTO_TEST_CASE(a_release_wakes_a_thread_that_waits_for_the_same_lease_object)
{
    lh::manual_clock clock;  // stands still, so that the end of the guard's term does not come instead
    plain_store store;
    lh::basic_lease shared{store, "n", terms, clock};
    auto guard = shared.try_acquire();
    std::atomic<bool> holds = false;
    std::stop_source stop;
    std::jthread waiting{[&] { holds = is_held(shared.acquire(stop.get_token())); }};
    BOOST_TEST(are_waiting(1));
    BOOST_TEST(throughout([&] { return !holds; }, 20ms));
    guard.release();
    BOOST_TEST(eventually([&] { return holds.load(); }));
    stop.request_stop();
}

BOOST_AUTO_TEST_CASE(a_waiter_that_gives_up_leaves_the_next_in_line_to_ask_the_store)
{
    lh::manual_clock clock;
    lh::basic_memory_store memory{clock};
    counted count;
    lh::hooked_store store{memory, count_in{count}};
    lh::basic_lease first{store, "n", terms, clock};
    lh::basic_lease next{store, "n", terms, clock};
    std::error_code ec;
    BOOST_REQUIRE(memory.try_acquire("n", "crashed", 10s, ec).granted());
    std::stop_source give_up;
    std::stop_source stop;
    std::atomic<bool> holds = false;
    std::jthread giving_up{[&] { static_cast<void>(first.acquire(give_up.get_token())); }};
    BOOST_TEST(eventually([&] { return count.attempts == 1; }));
    std::jthread waiting{[&] { holds = is_held(next.acquire(stop.get_token())); }};
    BOOST_TEST(eventually([&] { return memory.local_waiters().waiting() == 2; }));
    BOOST_TEST(throughout([&] { return count.attempts == 1; }, 20ms));
    give_up.request_stop();
    giving_up.join();
    BOOST_TEST(eventually([&] { return count.attempts == 2 && clock.sleepers() == 1; }));
    clock.advance(10s);
    BOOST_TEST(eventually([&] { return holds.load(); }));
    stop.request_stop();
}

BOOST_AUTO_TEST_CASE(a_waiter_whose_faulty_store_hangs_keeps_none_of_the_wrapped_store_behind_it)
{
    lh::memory_store memory;
    gate hang;
    lh::faulty_store hangs{memory, [&](const lh::store_call&) {
                               hang.pass();
                               return lh::store_fault::none;
                           }};
    lh::basic_lease one_host{hangs, "n", terms};
    lh::basic_lease other_host{memory, "n", terms};
    std::stop_source stop;
    std::jthread waiting{[&] { static_cast<void>(one_host.acquire(stop.get_token())); }};
    BOOST_TEST(hang.reached_by());
    BOOST_TEST(is_held(other_host.try_acquire_for(2s)));
    stop.request_stop();
    hang.open();
}

BOOST_AUTO_TEST_CASE(a_waiter_that_met_another_threads_failing_attempt_is_woken_by_its_end)
{
    scripted_store store{lh::manual_clock{}};
    lh::basic_lease shared{store, "n", terms};
    gate hold_back;
    std::atomic<bool> first = true;
    store.before(operation::try_acquire, [&](std::string_view) {
        if (first.exchange(false)) hold_back.pass();
    });
    store.next(operation::try_acquire, fate::fails);
    std::jthread trying{[&] {
        std::error_code ec;
        static_cast<void>(shared.try_acquire(ec));
    }};
    BOOST_REQUIRE(hold_back.reached_by());
    std::atomic<bool> holds = false;
    std::stop_source stop;
    std::jthread waiting{[&] { holds = is_held(shared.acquire(stop.get_token())); }};
    BOOST_REQUIRE(are_waiting(1));
    BOOST_TEST(throughout([&] { return !holds; }, 20ms));
    hold_back.open();
    BOOST_TEST(eventually([&] { return holds.load(); }));
    stop.request_stop();
}

BOOST_AUTO_TEST_CASE(a_waiter_that_met_another_threads_busy_attempt_keeps_its_place)
{
    lh::memory_store memory;
    gate hold_back;
    const std::thread::id here = std::this_thread::get_id();
    std::atomic<std::thread::id> held_back{here};
    std::atomic<bool> asked_by_first = false;
    lh::hooked_store store{memory, [&](const lh::store_call& call, const lh::store_call_report&) {
        if (call.operation != lh::store_operation::try_acquire) return;
        if (counting_clock::counts_this_thread) asked_by_first = true;
        if (std::this_thread::get_id() == held_back.load()) hold_back.pass();
    }};
    const counting_clock clock;
    lh::basic_lease shared{store, "n", terms, clock};
    lh::basic_lease other{store, "n", terms};
    std::error_code ec;
    const auto foreign = memory.try_acquire("n", "foreign", 1h, ec);
    std::mutex mutex;
    std::vector<int> served;
    const auto take = [&](auto& lease, int number, const std::stop_token& stop) {
        const auto guard = lease.acquire(stop);
        const std::lock_guard lock{mutex};
        served.push_back(number);
    };
    std::jthread first{[&](const std::stop_token& stop) {
        counting_clock::counts_this_thread = true;
        take(shared, 1, stop);
    }};
    // Its first sleeps are those of the lease's threads as they start, before it is in the queue.
    BOOST_TEST(eventually([&] { return memory.local_waiters().waiting() == 1 && asked_by_first; }));
    std::jthread second{[&](const std::stop_token& stop) { take(other, 2, stop); }};
    BOOST_TEST(eventually([&] { return memory.local_waiters().waiting() == 2; }));
    std::jthread trying{[&] {
        held_back = std::this_thread::get_id();
        std::error_code ignored;
        BOOST_TEST(!is_held(shared.try_acquire(ignored)));
    }};
    BOOST_TEST(hold_back.reached_by());
    const int sleeps = *clock.sleeps;
    memory.release("n", "foreign", foreign.token, 0s, ec);
    BOOST_TEST(eventually([&] { return *clock.sleeps > sleeps; }), "it has met the attempt");
    hold_back.open();
    first.join();
    second.join();
    BOOST_TEST(served == (std::vector{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(however_many_threads_wait_the_store_sees_one)
{
    lh::memory_store memory;
    counted count;
    lh::hooked_store store{memory, count_in{count}};
    constexpr lh::lease_terms long_terms{.ttl = 1h};  // 200 threads may take 10 s to start
    lh::basic_lease holder{memory, "n", long_terms};
    lh::basic_lease shared{store, "n", long_terms};
    const auto guard = holder.try_acquire();
    std::stop_source stop;
    std::atomic<int> granted = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 200; ++i)
            threads.emplace_back([&] {
                if (is_held(shared.acquire(stop.get_token()))) ++granted;
            });
        BOOST_TEST(are_waiting(200, 1min));
        BOOST_TEST(eventually([&] { return count.attempts == 1; }));
        BOOST_TEST(throughout([&] { return count.attempts == 1; }, 30ms));
        stop.request_stop();
    }
    BOOST_TEST(lh::waiting::own_queue::threads_waiting() == 0U);
    BOOST_TEST(granted == 0);
}

BOOST_AUTO_TEST_CASE(threads_of_a_process_get_their_turn_in_the_order_they_came)
{
    constexpr std::size_t threads = 20;
    lh::memory_store store;
    lh::basic_lease holder{store, "n", terms};
    auto guard = holder.try_acquire();
    std::deque<lh::basic_lease<lh::memory_store>> leases;
    std::vector<std::size_t> order;
    std::mutex order_mutex;
    std::vector<std::jthread> waiting;
    for (std::size_t i = 0; i < threads; ++i) {
        auto& lease = leases.emplace_back(store, "n", terms);
        waiting.emplace_back([&, i] {
            const auto turn = lease.acquire();
            const std::lock_guard lock{order_mutex};
            order.push_back(i);
        });
        BOOST_REQUIRE(eventually([&] { return lh::waiting::queue_of(store).waiting() == i + 1; }));
    }
    guard.release();
    waiting.clear();
    BOOST_REQUIRE(order.size() == threads);
    BOOST_TEST(std::ranges::is_sorted(order));
}

BOOST_AUTO_TEST_CASE(an_outage_ends_the_wait_with_an_error)
{
    lh::memory_store memory;
    counted count;
    lh::hooked_store answered{memory, count_in{count}};
    std::atomic<bool> outage = false;
    lh::faulty_store store{answered, [&](const lh::store_call&) { return outage ? lh::store_fault::lose_request : lh::store_fault::none; }};
    lh::basic_lease holder{memory, "n", terms};
    lh::basic_lease waiter{store, "n", terms};
    auto guard = holder.try_acquire();
    std::jthread breaker{[&] {
        // Not before the first attempt was answered: one under way would still be granted.
        if (!eventually([&] { return count.attempts >= 1; })) return;
        outage = true;
        guard.release();
    }};
    BOOST_CHECK_EXCEPTION(static_cast<void>(waiter.acquire()), lh::store_error,
                          [](const lh::store_error& e) { return e.code() == lh::errc::store_unavailable; });
}

BOOST_AUTO_TEST_CASE(a_lease_is_a_timed_lockable)
{
    lh::memory_store store;
    lh::basic_lease a{store, "a", terms};
    lh::basic_lease b{store, "b", terms};
    {
        const std::unique_lock lock{a};
        BOOST_TEST(a.guard().held());
        BOOST_TEST(!a.try_lock());
        BOOST_TEST(!a.try_lock_for(1ms));
        const std::unique_lock timed{b, 10ms};
        BOOST_TEST(timed.owns_lock());
        BOOST_TEST(!b.try_lock_until(std::chrono::steady_clock::now() + 1ms));
    }
    BOOST_TEST(!a.guard());
    BOOST_TEST(store.list().empty());
}

BOOST_AUTO_TEST_CASE(locking_two_leases_in_opposite_orders_ends)
{
    lh::memory_store store;
    lh::basic_lease a{store, "a", terms};
    lh::basic_lease b{store, "b", terms};
    int together = 0;
    const auto work = [&](auto& first, auto& second) {
        for (int i = 0; i < 300; ++i) {
            const std::scoped_lock both{first, second};
            ++together;
        }
    };
    {
        const std::jthread one{[&] { work(a, b); }};
        const std::jthread other{[&] { work(b, a); }};
    }
    BOOST_TEST(together == 600);
}

BOOST_AUTO_TEST_CASE(threads_waiting_in_turn_never_hold_together)
{
    lh::memory_store store;
    lh::basic_lease shared{store, "n", terms};
    std::atomic<int> inside = 0;
    std::atomic<int> turns = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] {
                lh::basic_lease own{store, "n", terms};
                for (int i = 0; i < 200; ++i) {
                    const auto guard = i % 2 != 0 ? shared.acquire() : own.acquire();
                    if (++inside == 1) ++turns;
                    --inside;
                }
            });
    }
    BOOST_TEST(turns == 800);
}

BOOST_AUTO_TEST_SUITE_END()
