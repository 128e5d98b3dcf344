// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/queue/lock_sessions.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>

BOOST_AUTO_TEST_SUITE(held_locks_test)

namespace {

using leasehold::odbc::detail::held_locks;

held_locks::entry lock_of(std::int64_t token, std::uint64_t connection = 1) { return {nullptr, connection, token}; }

}  // namespace

BOOST_AUTO_TEST_CASE(lock_is_taken_by_the_release_of_its_term_once)
{
    held_locks locks;
    BOOST_TEST(!locks.take("n", 5).has_value());
    BOOST_TEST(!locks.put("n", lock_of(5, 17)).has_value());
    BOOST_TEST(!locks.take("n", 4).has_value());
    BOOST_TEST(!locks.take("other", 5).has_value());
    const auto taken = locks.take("n", 5);
    BOOST_REQUIRE(taken.has_value());
    BOOST_TEST(taken->connection == 17U);
    BOOST_TEST(!locks.take("n", 5).has_value());
    BOOST_TEST(locks.size() == 0U);
}

BOOST_AUTO_TEST_CASE(lock_of_an_older_term_is_taken_when_somebody_else_has_a_later_one)
{
    held_locks locks;
    BOOST_TEST(!locks.take("n", 8).has_value());
    locks.put("n", lock_of(5));
    BOOST_TEST(!locks.take("n", 4).has_value());
    BOOST_TEST(!locks.take("n", 3).has_value());
    BOOST_TEST(!locks.take("other", 5).has_value());
    BOOST_TEST(locks.take("n", 5)->token == 5);
    BOOST_TEST(locks.size() == 0U);
}

BOOST_AUTO_TEST_CASE(lock_of_a_connection_that_is_gone_is_replaced_and_handed_out)
{
    held_locks locks;
    locks.put("n", lock_of(5, 1));
    const auto replaced = locks.put("n", lock_of(6, 2));
    BOOST_REQUIRE(replaced.has_value());
    BOOST_TEST(replaced->token == 5);
    BOOST_TEST(replaced->connection == 1U);
    BOOST_TEST(locks.size() == 1U);
    BOOST_TEST(locks.take("n", 6)->connection == 2U);
}

BOOST_AUTO_TEST_CASE(all_are_handed_out_at_the_end)
{
    held_locks locks;
    locks.put("a", lock_of(1));
    locks.put("b", lock_of(2));
    BOOST_TEST(locks.take_all().size() == 2U);
    BOOST_TEST(locks.size() == 0U);
    BOOST_TEST(locks.take_all().empty());
    BOOST_TEST(!locks.take("a", 1).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
