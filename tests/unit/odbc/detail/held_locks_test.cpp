// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/held_locks.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

BOOST_AUTO_TEST_SUITE(held_locks_test)

namespace {

using leasehold::odbc::detail::held_locks;

constexpr std::size_t max_held_locks = 8;

held_locks::entry lock_of(std::int64_t token, std::uint64_t connection = 1) { return {nullptr, connection, token}; }

}  // namespace

BOOST_AUTO_TEST_CASE(lock_is_taken_by_the_release_of_its_term_once)
{
    held_locks locks{max_held_locks};
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

BOOST_AUTO_TEST_CASE(name_whose_lock_we_still_have_is_not_locked_twice)
{
    held_locks locks{max_held_locks};
    BOOST_TEST(locks.may_lock("n"));
    locks.put("n", lock_of(5));
    BOOST_TEST(!locks.may_lock("n"));
    BOOST_TEST(locks.may_lock("other"));
    locks.take("n", 5);
    BOOST_TEST(locks.may_lock("n"));
}

BOOST_AUTO_TEST_CASE(lock_goes_with_a_new_term_that_has_none_of_its_own)
{
    held_locks locks{max_held_locks};
    locks.renew("n", 6);  // there is none
    BOOST_TEST(locks.size() == 0U);
    locks.put("n", lock_of(5));
    locks.renew("n", 6);
    BOOST_TEST(!locks.take("n", 5).has_value());
    BOOST_TEST(locks.take("n", 6).has_value());
}

BOOST_AUTO_TEST_CASE(lock_of_an_older_term_is_taken_when_somebody_else_has_a_later_one)
{
    held_locks locks{max_held_locks};
    BOOST_TEST(!locks.take_older("n", 9).has_value());
    locks.put("n", lock_of(5));
    BOOST_TEST(!locks.take_older("n", 5).has_value());
    BOOST_TEST(!locks.take_older("n", 4).has_value());
    BOOST_TEST(!locks.take_older("other", 6).has_value());
    BOOST_TEST(locks.take_older("n", 6)->token == 5);
    BOOST_TEST(locks.size() == 0U);
}

BOOST_AUTO_TEST_CASE(lock_of_a_connection_that_is_gone_is_replaced_and_handed_out)
{
    held_locks locks{max_held_locks};
    locks.put("n", lock_of(5, 1));
    const auto replaced = locks.put("n", lock_of(6, 2));
    BOOST_REQUIRE(replaced.has_value());
    BOOST_TEST(replaced->token == 5);
    BOOST_TEST(replaced->connection == 1U);
    BOOST_TEST(locks.size() == 1U);
    BOOST_TEST(locks.take("n", 6)->connection == 2U);
}

BOOST_AUTO_TEST_CASE(number_of_locks_is_bounded)
{
    held_locks locks{max_held_locks};
    for (std::size_t i = 0; i < max_held_locks; ++i) {
        BOOST_REQUIRE(locks.may_lock("one more"));
        locks.put("n" + std::to_string(i), lock_of(1));
    }
    BOOST_TEST(!locks.may_lock("one more"));
    locks.take("n7", 1);
    BOOST_TEST(locks.may_lock("one more"));
}

BOOST_AUTO_TEST_CASE(none_is_taken_where_none_is_allowed)
{
    held_locks locks{0};
    BOOST_TEST(!locks.may_lock("n"));
}

BOOST_AUTO_TEST_CASE(all_are_handed_out_at_the_end)
{
    held_locks locks{max_held_locks};
    locks.put("a", lock_of(1));
    locks.put("b", lock_of(2));
    BOOST_TEST(locks.take_all().size() == 2U);
    BOOST_TEST(locks.size() == 0U);
    BOOST_TEST(locks.take_all().empty());
    BOOST_TEST(!locks.take("a", 1).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
