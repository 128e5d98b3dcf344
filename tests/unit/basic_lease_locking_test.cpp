// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <support/scripted_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace basic_lease_locking_test {

namespace lh = leasehold;
using namespace std::chrono_literals;

// Counts how often a lock's thread is compared with the calling one, which each entry of a list that is searched costs.
struct counting_clock : lh::manual_clock {};
long comparisons = 0;
struct counted_thread {
    lh::renewal::thread_number number;
    friend bool operator==(const counted_thread& a, const counted_thread& b) noexcept
    {
        ++comparisons;
        return a.number == b.number;
    }
};

struct fixture {
    auto lease(std::string_view name = "n", const std::string& owner = "o")
    {
        return lh::basic_lease{store, name, 30s, clock, lh::fixed_owner_id{owner}, lh::no_renewal{}};
    }

    lh::manual_clock clock;
    leasehold_test::scripted_store store{clock};
};

namespace {

bool is_deadlock(const std::system_error& e) { return e.code() == std::errc::resource_deadlock_would_occur; }
bool is_not_permitted(const std::system_error& e) { return e.code() == std::errc::operation_not_permitted; }

}  // namespace
}  // namespace basic_lease_locking_test

template <>
struct leasehold::renewal::runtime_traits<basic_lease_locking_test::counting_clock> : leasehold::renewal::runtime_traits<void> {
    static basic_lease_locking_test::counted_thread this_thread() noexcept { return {leasehold::renewal::this_thread()}; }
};

BOOST_FIXTURE_TEST_SUITE(basic_lease_locking_test, fixture)

BOOST_AUTO_TEST_CASE(thread_that_would_wait_for_itself_is_told)
{
    auto a = lease();
    a.lock();
    BOOST_CHECK_EXCEPTION(a.lock(), std::system_error, is_deadlock);
    BOOST_TEST(!a.try_lock());
    a.unlock();
    a.lock();
    a.unlock();
}

BOOST_AUTO_TEST_CASE(message_of_a_deadlock_is_one_line)
{
    auto l = lease("two\nlines");
    l.lock();
    BOOST_CHECK_EXCEPTION(l.lock(), std::system_error, [](const std::system_error& e) {
        return std::string_view{e.what()}.find("'two\\nlines'") != std::string_view::npos;
    });
    l.unlock();
}

BOOST_AUTO_TEST_CASE(two_leases_of_one_name_exclude_each_other_in_one_thread)
{
    auto a = lease(), b = lease("n", "other");
    a.lock();
    for (int i = 0; i < 10; ++i) BOOST_TEST(!b.try_lock(), "that is busy, and no more");
    a.unlock();
    BOOST_TEST(b.try_lock());
    b.unlock();
}

BOOST_AUTO_TEST_CASE(what_one_lease_has_locked_is_no_lock_of_another_of_that_name)
{
    auto a = lease(), b = lease("n", "other");
    a.lock();
    BOOST_TEST(b.guard().empty());
    BOOST_CHECK_EXCEPTION(b.unlock(), std::system_error, is_not_permitted);
    BOOST_TEST(a.guard().held());
    a.unlock();
}

BOOST_AUTO_TEST_CASE(locking_searches_no_list_of_the_locks_of_other_leases)
{
    const counting_clock time;
    lh::basic_memory_store many{time};
    using lease_type = lh::basic_lease<lh::basic_memory_store<counting_clock>, counting_clock>;
    lease_type l{many, "n", 1h, time};
    const auto comparisons_of_a_lock = [&] {
        comparisons = 0;
        l.lock();
        BOOST_TEST(l.guard().held());
        l.unlock();
        return comparisons;
    };
    const long alone = comparisons_of_a_lock();
    BOOST_TEST(alone > 0);
    std::vector<std::unique_ptr<lease_type>> others;
    for (int i = 0; i < 100; ++i) {
        others.push_back(std::make_unique<lease_type>(many, "other/" + std::to_string(i), 1h, time));
        others.back()->lock();
    }
    BOOST_TEST(comparisons_of_a_lock() == alone);
    for (auto& each : others) each->unlock();
}

// The next thread is likely to have the memory, and the number, of the one that has ended.
BOOST_AUTO_TEST_CASE(thread_that_has_ended_is_not_taken_for_the_next_one)
{
    BOOST_TEST_PASSPOINT();
    auto l = lease();
    for (int i = 0; i < 10; ++i) {
        std::thread{[&] { l.lock(); }}.join();
        std::thread{[&] {
            BOOST_TEST(l.guard().empty());
            BOOST_TEST(!l.try_lock());
        }}.join();
        std::jthread next{[&] {
            BOOST_CHECK_NO_THROW(l.lock());
            BOOST_CHECK_NO_THROW(l.unlock());
        }};
        clock.advance(31s);
    }
}

BOOST_AUTO_TEST_CASE(unlock_of_a_thread_that_has_locked_nothing_is_an_error_and_ends_no_other_lock)
{
    BOOST_TEST_PASSPOINT();
    auto l = lease();
    BOOST_CHECK_EXCEPTION(l.unlock(), std::system_error, is_not_permitted);
    l.lock();
    std::thread{[&] { BOOST_CHECK_EXCEPTION(l.unlock(), std::system_error, is_not_permitted); }}.join();
    BOOST_TEST(l.guard().held());
    l.unlock();
    BOOST_CHECK_EXCEPTION(l.unlock(), std::system_error, is_not_permitted);
}

BOOST_AUTO_TEST_CASE(unlock_after_a_loss_leaves_the_lock_of_another_thread)
{
    BOOST_TEST_PASSPOINT();
    auto l = lease();
    l.lock();
    clock.advance(1h);
    std::thread{[&] {
        l.lock();
        std::thread{[&] { BOOST_TEST(l.guard().empty()); }}.join();
        BOOST_TEST(l.guard().held());
    }}.join();
    BOOST_TEST(!l.guard().held());
    l.unlock();
    BOOST_TEST(l.inspect().has_value());
    BOOST_TEST(!l.try_lock());
}

BOOST_AUTO_TEST_CASE(lock_guard_inside_another_after_a_loss_leaves_it_its_own_to_unlock)
{
    auto l = lease();
    {
        const std::lock_guard outer{l};
        clock.advance(1h);
        {
            const std::lock_guard inner{l};
            BOOST_TEST(l.guard().held());
        }
        BOOST_TEST(!l.guard().empty());
        BOOST_TEST(!l.guard().held());
    }
    BOOST_TEST(l.guard().empty());
    BOOST_TEST(!l.inspect());
}

BOOST_AUTO_TEST_CASE(thread_that_locks_next_may_destroy_the_lease_while_the_other_still_unlocks)
{
    auto l = std::make_unique<decltype(lease())>(lease());
    l->lock();
    bool asked = false;
    store.before(leasehold_test::operation::release, [&](std::string_view) {
        if (std::exchange(asked, true)) return;
        std::thread{[&] {
            l->lock();
            l->unlock();
            l.reset();
        }}.join();
    });
    l->unlock();
    BOOST_TEST(!l);
    BOOST_TEST(!lease().inspect());
}

BOOST_AUTO_TEST_SUITE_END()
