// SPDX-License-Identifier: BSL-1.0
#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/owner_id/static_owner_id.hpp>
#include <leasehold/store/static_memory_store.hpp>

#include <support/printing.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

namespace static_memory_store_test {

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

// Time as a microcontroller has it: it begins at zero, and may be set below.
struct ticks {
    lh::time_point now() const noexcept { return lh::time_point{std::chrono::milliseconds{*at}}; }
    const std::int64_t* at;
};

struct one_time {
    lh::time_point now() const noexcept { return lh::time_point{}; }
};

// Counts, and knows whether it is locked.
struct counting_mutex {
    void lock()
    {
        BOOST_TEST_REQUIRE(!locked);
        locked = true;
        ++locks;
    }
    void unlock() { locked = false; }
    bool locked = false;
    static inline int locks = 0;
};

constexpr lh::static_text_limits short_texts{.name_bytes = 4, .owner_bytes = 3};

using mutexes = boost::mpl::list<lh::spin_mutex, std::mutex>;

struct small_store {
    std::int64_t milliseconds = 0;
    lh::basic_static_memory_store<2, ticks, counting_mutex, short_texts> store{ticks{&milliseconds}};
    std::error_code ec;
    lh::plain_error plain;
};

static_assert(lh::lease_store<lh::static_memory_store<1>> && lh::polled_store<lh::static_memory_store<1>>);
static_assert(!lh::notifying_store<lh::static_memory_store<1>>);
static_assert(lh::basic_lockable<lh::spin_mutex> && lh::basic_lockable<std::mutex>);
static_assert(lh::static_memory_store<7>::capacity == 7 && lh::static_memory_store<7>::max_name_bytes == lh::max_name_bytes);

// What threads that hold a lease by turns have done without a further lock, and whether any two held it at once.
struct contention {
    std::atomic<int> terms = 0;
    std::atomic<int> inside = 0;
    std::atomic<int> at_once = 0;
    std::atomic<int> failures = 0;
};

template <class Mutex>
void contend(contention& seen)
{
    constexpr int threads = 4;
    lh::static_memory_store<2, lh::steady_clock, Mutex> store;
    std::latch start{threads};
    const auto until = std::chrono::steady_clock::now() + 300ms;
    std::vector<std::jthread> contenders;
    for (int i = 0; i < threads; ++i)
        contenders.emplace_back([&, owner = std::to_string(i)] {
            start.arrive_and_wait();
            while (std::chrono::steady_clock::now() < until || seen.terms == 0) {
                lh::plain_error ec;
                const auto result = store.try_acquire("n", owner, 1min, ec);
                if (ec) ++seen.failures;
                if (!result.granted()) {
                    std::this_thread::yield();
                    continue;
                }
                if (seen.inside.fetch_add(1) != 0) ++seen.at_once;
                ++seen.terms;
                seen.inside.fetch_sub(1);
                if (!store.release("n", owner, result.token, 0s, ec)) ++seen.failures;
            }
        });
}

// Made before any code runs, and without a destructor that does.
constinit lh::basic_static_memory_store<3, one_time> made_when_compiling;
static_assert(std::is_trivially_destructible_v<decltype(made_when_compiling)>);

}  // namespace
}  // namespace static_memory_store_test

BOOST_FIXTURE_TEST_SUITE(static_memory_store_test, small_store)

BOOST_AUTO_TEST_CASE(a_name_more_than_there_is_room_for_is_an_error_and_not_busy)
{
    BOOST_TEST(store.try_acquire("a", "o", 10ms, ec).granted());
    BOOST_TEST(store.try_acquire("b", "o", 10ms, ec).granted());
    BOOST_TEST(!store.try_acquire("c", "o", 10ms, ec).granted());
    BOOST_TEST(ec == lh::errc::store_failure);
    BOOST_TEST(!store.try_acquire("c", "o", 10ms, plain).granted());
    BOOST_TEST((plain == lh::errc::store_failure));
    BOOST_TEST(!store.inspect("c", ec).has_value());
    // Those that have a place are served.
    BOOST_TEST(!store.try_acquire("a", "p", 10ms, ec).granted());
    BOOST_TEST(!ec);
    BOOST_TEST(store.try_acquire("b", "o", 10ms, plain).granted());
    BOOST_TEST(!plain);
}

BOOST_AUTO_TEST_CASE(a_name_whose_time_is_over_makes_room)
{
    for (int i = 0; i < 5; ++i) store.release("a", "o", store.try_acquire("a", "o", 10ms, ec).token, 0ms, ec);
    const auto a = store.try_acquire("a", "o", 10ms, ec);
    const auto b = store.try_acquire("b", "o", 20ms, ec);
    milliseconds = 9;
    store.try_acquire("c", "o", 10ms, ec);
    BOOST_TEST(ec == lh::errc::store_failure);
    milliseconds = 10;
    const auto c = store.try_acquire("c", "o", 10ms, ec);
    BOOST_TEST(c.granted());
    BOOST_TEST(!store.renew("a", "o", a.token, 10ms, ec));
    BOOST_TEST(!ec);
    BOOST_TEST(store.release("b", "o", b.token, 0ms, ec));
    const auto again = store.try_acquire("a", "o", 10ms, ec);
    BOOST_TEST(again.granted());
    // Its place was another name's meanwhile, and still the token grew.
    BOOST_TEST((again.token > a.token));
}

BOOST_AUTO_TEST_CASE(a_name_that_is_kept_closed_takes_room)
{
    store.release("a", "o", store.try_acquire("a", "o", 10ms, ec).token, 5ms, ec);
    store.try_acquire("b", "o", 100ms, ec);
    store.try_acquire("c", "o", 10ms, ec);
    BOOST_TEST(ec == lh::errc::store_failure);
    BOOST_TEST(!store.try_acquire("a", "o", 10ms, ec).granted());
    BOOST_TEST(!ec);
    milliseconds = 5;
    BOOST_TEST(store.try_acquire("c", "o", 10ms, ec).granted());
}

BOOST_AUTO_TEST_CASE(neither_a_renewal_nor_the_same_owner_shortens_a_term)
{
    const auto term = store.try_acquire("a", "o", 10ms, ec);
    BOOST_TEST(store.renew("a", "o", term.token, 5ms, ec));
    BOOST_TEST((store.look_up("a")->remaining == 10ms));
    const auto again = store.try_acquire("a", "o", 5ms, ec);
    BOOST_TEST((again.token > term.token));
    BOOST_TEST((store.look_up("a")->remaining == 10ms));
    milliseconds = 6;
    BOOST_TEST(store.renew("a", "o", again.token, 5ms, plain));
    BOOST_TEST((store.look_up("a")->remaining == 5ms));
}

BOOST_AUTO_TEST_CASE(only_the_very_term_is_renewed_or_released)
{
    const auto term = store.try_acquire("a", "o", 10ms, ec);
    const lh::fencing_token another{term.token.value() + 1};
    BOOST_TEST(!store.renew("a", "p", term.token, 50ms, ec));
    BOOST_TEST(!store.renew("a", "o", another, 50ms, ec));
    BOOST_TEST(!store.renew("b", "o", term.token, 50ms, ec));
    BOOST_TEST(!store.release("a", "p", term.token, 0ms, ec));
    BOOST_TEST(!store.release("a", "o", another, 0ms, plain));
    BOOST_TEST((store.look_up("a")->remaining == 10ms));
}

BOOST_AUTO_TEST_CASE(texts_longer_than_its_limits_are_refused)
{
    BOOST_TEST(store.try_acquire("1234", "123", 10ms, ec).granted());
    store.try_acquire("12345", "123", 10ms, ec);
    BOOST_TEST(ec == lh::errc::invalid_name);
    store.try_acquire("1234", "1234", 10ms, ec);
    BOOST_TEST(ec == lh::errc::invalid_owner);
    store.try_acquire("12345", "1234", 10ms, plain);
    BOOST_TEST((plain == lh::errc::invalid_name));
    BOOST_TEST(!store.renew("12345", "123", lh::fencing_token{1}, 10ms, ec));
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE(a_clock_that_starts_at_zero_or_below_finds_an_empty_table)
{
    for (const std::int64_t start : {0, -1000}) {
        milliseconds = start;
        lh::basic_static_memory_store<1, ticks> fresh{ticks{&milliseconds}};
        BOOST_TEST(!fresh.look_up("").has_value());
        BOOST_TEST(fresh.list().empty());
        BOOST_TEST(fresh.try_acquire("a", "o", 10ms, ec).granted());
        BOOST_TEST(!fresh.try_acquire("a", "p", 10ms, ec).granted());
        milliseconds += 10;
        BOOST_TEST(fresh.try_acquire("a", "p", 10ms, ec).granted());
    }
}

BOOST_AUTO_TEST_CASE(store_made_when_compiling_works)
{
    BOOST_TEST((made_when_compiling.try_acquire("a", "o", 10ms, plain).token == lh::fencing_token{1}));
}

BOOST_AUTO_TEST_CASE(look_up_and_for_each_show_what_inspect_and_list_show)
{
    const auto term = store.try_acquire("b", "o", 10ms, ec);
    store.release("a", "o", store.try_acquire("a", "o", 10ms, ec).token, 7ms, ec);
    milliseconds = 3;
    const auto record = store.look_up("b");
    BOOST_TEST_REQUIRE(record.has_value());
    BOOST_TEST((record->name == "b" && record->owner == "o" && record->token == term.token && record->remaining == 7ms));
    BOOST_TEST((*store.inspect("b", ec) == lh::lease_record{"b", "o", term.token, 7ms}));
    BOOST_TEST(store.look_up("a")->owner.empty());
    BOOST_TEST(!store.look_up("c").has_value());
    std::vector<std::string> names;
    store.for_each([&](const auto& held) {
        names.emplace_back(held.name.view());
        BOOST_TEST((store.look_up(held.name) == held));  // the store may be asked meanwhile
    });
    BOOST_TEST(names.size() == 2U);
    BOOST_TEST((store.list()[0].name == "a" && store.list("b")[0].name == "b"));
    milliseconds = 7;
    BOOST_TEST(store.list(ec).size() == 1U);
    milliseconds = 10;
    BOOST_TEST(!store.look_up("b").has_value());
    BOOST_TEST(store.list("", ec).empty());
}

BOOST_AUTO_TEST_CASE(force_release_refuses_what_is_no_name)
{
    for (const std::string& bad : {std::string{}, std::string(191, 'x'), std::string("a\0b", 3)}) {
        BOOST_TEST(!store.force_release(bad, ec));
        BOOST_TEST(ec == lh::errc::invalid_name);
        BOOST_CHECK_THROW(store.force_release(bad), std::system_error);
    }
    BOOST_TEST(!store.force_release("longer than it has room for", ec));
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE(each_operation_locks_once_and_unlocks)
{
    const auto locks_of = [](auto operation) {
        counting_mutex::locks = 0;
        operation();
        return counting_mutex::locks;
    };
    lh::fencing_token token;
    BOOST_TEST(locks_of([&] { token = store.try_acquire("a", "o", 10ms, ec).token; }) == 1);
    BOOST_TEST(locks_of([&] { store.try_acquire("a", "p", 10ms, ec); }) == 1);
    BOOST_TEST(locks_of([&] { store.renew("a", "o", token, 10ms, ec); }) == 1);
    BOOST_TEST(locks_of([&] { static_cast<void>(store.look_up("a")); }) == 1);
    BOOST_TEST(locks_of([&] { store.release("a", "o", token, 0ms, ec); }) == 1);
    BOOST_TEST(locks_of([&] { store.force_release("a", ec); }) == 1);
    BOOST_TEST(locks_of([&] { store.for_each([](const auto&) {}); }) == 2);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(threads_hold_a_name_by_turns, Mutex, mutexes)
{
    contention seen;
    contend<Mutex>(seen);
    BOOST_TEST(seen.terms > 0);
    BOOST_TEST(seen.at_once == 0);
    BOOST_TEST(seen.failures == 0);
}

BOOST_AUTO_TEST_CASE(spin_mutex_can_be_tried)
{
    lh::spin_mutex mutex;
    BOOST_TEST(mutex.try_lock());
    BOOST_TEST(!mutex.try_lock());
    mutex.unlock();
    const std::unique_lock held{mutex};
    BOOST_TEST(!mutex.try_lock());
}

BOOST_AUTO_TEST_CASE(basic_lease_with_all_its_defaults_fits_into_it)
{
    lh::static_memory_store<1> with_defaults;
    lh::basic_lease lease{with_defaults, "n"};
    const auto guard = lease.try_acquire();
    BOOST_TEST(guard.held());
    BOOST_TEST(lease.inspect()->owner == lease.owner());
    lh::basic_lease another{with_defaults, "another", lh::lease_terms{}, lh::steady_clock{}, lh::static_owner_id{"o"}};
    BOOST_CHECK_EXCEPTION(static_cast<void>(another.try_acquire()), lh::store_error,
                          [](const lh::store_error& e) { return e.code() == lh::errc::store_failure; });
}

BOOST_AUTO_TEST_SUITE_END()
