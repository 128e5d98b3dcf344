// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <support/scripted_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace locking_test {

namespace lh = leasehold;
using namespace std::chrono_literals;

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

}  // namespace
}  // namespace locking_test

BOOST_FIXTURE_TEST_SUITE(locking_test, fixture)

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
    const auto is_not_permitted = [](const std::system_error& e) { return e.code() == std::errc::operation_not_permitted; };
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
