// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>
#include <leasehold/waiting/local_queue.hpp>

#include <contract/asked_once.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>

BOOST_AUTO_TEST_SUITE(local_queue_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::throughout;
using lh::waiting::local_queue;
using lh::waiting::own_queue;

namespace {

// The four operations only, in what it wraps or by itself.
template <class Inner>
struct wrapper {
    Inner inner;

    lh::acquire_result try_acquire(std::string_view n, std::string_view o, lh::duration d, std::error_code& ec)
    {
        return inner.try_acquire(n, o, d, ec);
    }
    bool renew(std::string_view n, std::string_view o, lh::fencing_token t, lh::duration d, std::error_code& ec)
    {
        return inner.renew(n, o, t, d, ec);
    }
    bool release(std::string_view n, std::string_view o, lh::fencing_token t, lh::duration d, std::error_code& ec)
    {
        return inner.release(n, o, t, d, ec);
    }
    std::optional<lh::lease_record> inspect(std::string_view n, std::error_code& ec) { return inner.inspect(n, ec); }
};

struct counting_attempts {
    std::atomic<int>& attempts;

    void operator()(const lh::store_call& call, const lh::store_call_report&)
    {
        if (call.operation == lh::store_operation::try_acquire) ++attempts;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(first_come_is_first_and_each_name_has_a_line_of_its_own)
{
    local_queue queue;
    lh::waker first, second, other;
    const local_queue::place of_other{queue, {.name = "other"}, other};
    std::optional<local_queue::place> a{std::in_place, queue, lh::waiting::queue_key{.name = "n"}, first};
    const local_queue::place b{queue, {.name = "n"}, second};
    BOOST_TEST((a->first() && !b.first() && of_other.first()));
    queue.released({.name = "n"});
    BOOST_TEST((first.woken() && !second.woken() && !other.woken()));
    a.reset();
    BOOST_TEST((b.first() && second.woken() && !other.woken()));
    BOOST_TEST(queue.waiting() == 2U);
}

BOOST_AUTO_TEST_CASE(stores_at_one_address_are_told_apart)
{
    wrapper<wrapper<lh::memory_store>> outer;
    auto& inner = outer.inner;
    BOOST_TEST(static_cast<void*>(&outer) == static_cast<void*>(&inner));
    BOOST_TEST((lh::waiting::key_of(outer, "n") == lh::waiting::key_of(outer, "n")));
    BOOST_TEST(!(lh::waiting::key_of(outer, "n") == lh::waiting::key_of(inner, "n")));
}

BOOST_AUTO_TEST_CASE(decorators_share_the_queue_of_what_they_decorate)
{
    lh::memory_store memory;
    std::atomic<int> attempts = 0;
    lh::hooked_store hooked{memory, counting_attempts{attempts}};
    BOOST_TEST(&hooked.local_waiters() == &memory.local_waiters());
}

BOOST_AUTO_TEST_CASE(waiter_through_a_decorator_is_not_kept_by_the_end_of_a_former_term)
{
    lh::memory_store memory;
    std::atomic<int> attempts = 0;
    lh::hooked_store first{memory, counting_attempts{attempts}}, second{memory, counting_attempts{attempts}};
    lh::basic_lease holder{memory, "n", 1h};
    lh::basic_lease a{first, "n", 1500ms, lh::no_renewal{}}, b{second, "n", 1500ms, lh::no_renewal{}};
    auto guard = holder.try_acquire();
    std::atomic<int> granted = 0;
    const auto take = [&granted](auto& lease) {
        auto taken = lease.try_acquire_for(10s);
        granted += taken.empty() ? 0 : 1;  // and not held(): a busy machine can take longer than the term to get here
        while (taken.held()) std::this_thread::sleep_for(1ms);  // its time runs out, and nobody is woken
    };
    std::jthread one{[&] { take(a); }}, other{[&] { take(b); }};
    BOOST_TEST(eventually([] { return own_queue::threads_waiting() == 2; }));
    guard.release();
    BOOST_TEST(eventually([&] { return granted == 2; }));
}

BOOST_AUTO_TEST_CASE(polling_by_others_makes_the_first_waiter_ask_no_more_often)
{
    lh::memory_store memory;
    std::atomic<int> attempts = 0;
    lh::hooked_store store{memory, counting_attempts{attempts}};
    lh::basic_lease holder{memory, "n", 1h}, poller{memory, "n", 1h};
    lh::basic_lease waiter{store, "n", 1h};
    const auto guard = holder.try_acquire();
    std::stop_source stop;
    bool granted = false;
    std::jthread waits{[&] { granted = is_held(waiter.acquire(stop.get_token())); }};
    BOOST_TEST(eventually([&] { return attempts == 1; }));
    for (int i = 0; i < 500; ++i) BOOST_TEST(!is_held(poller.try_acquire()));
    BOOST_TEST(!is_held(waiter.try_acquire()));
    BOOST_TEST(throughout([&] { return attempts <= 2; }, 20ms), "the waiter's own and the single one");
    stop.request_stop();
    waits.join();
    BOOST_TEST(!granted);
}

BOOST_AUTO_TEST_CASE(waiter_behind_its_own_object_stands_in_nobody_elses_way)
{
    lh::memory_store store;
    lh::basic_lease mine{store, "n", 1h}, other{store, "n", 1h};
    auto guard = mine.try_acquire();
    std::stop_source stop;
    std::jthread behind_its_own{[&] { std::ignore = mine.acquire(stop.get_token()); }};
    BOOST_TEST(eventually([] { return own_queue::threads_waiting() == 1; }));
    BOOST_TEST(store.local_waiters().waiting() == 0U);
    std::atomic<bool> granted = false;
    {
        std::jthread waits{[&] { granted = is_held(other.try_acquire_for(10s)); }};
        BOOST_TEST(eventually([] { return own_queue::threads_waiting() == 2; }));
        BOOST_TEST(store.force_release("n"));  // the holder does not know yet, and neither do those behind it
        BOOST_TEST(eventually([&] { return granted.load(); }));
    }
    stop.request_stop();
}

BOOST_AUTO_TEST_SUITE_END()
