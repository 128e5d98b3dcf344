// SPDX-License-Identifier: BSL-1.0
// Which session has the lock of which name, for which terms; and what each session has to do about it when it is idle.
#include <leasehold/odbc/detail/session/bounded_session.hpp>
#include <leasehold/odbc/detail/session/term_locks.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace term_locks_test {

using namespace std::chrono_literals;
namespace od = leasehold::odbc::detail;

namespace {

// They are never used for more than their addresses.
std::shared_ptr<od::bounded_session> a_session()
{
    static const auto config = std::make_shared<const od::configuration>("Driver=none", leasehold::odbc_options{}, nullptr);
    return std::make_shared<od::bounded_session>(config, false, od::bounded_session::handlers{});
}

struct scene {
    od::term_locks locks{2};
    od::term_locks::time_point now{1h};
    const std::shared_ptr<od::bounded_session> first_session = a_session(), second_session = a_session();
    const od::term_locks::session_id a = first_session.get(), b = second_session.get();

    std::optional<od::term_locks::chore> next(od::term_locks::session_id of) { return locks.begin(of, now); }
    // The lock is taken after its first pause.
    void granted_and_taken(std::string_view term, std::int64_t token, std::string_view name, od::term_locks::session_id by,
                           std::uint64_t connection = 1)
    {
        locks.granted(term, token, name, by, now);
        now += od::first_lock_pause;
        const auto chore = next(by);
        BOOST_REQUIRE((chore && chore->takes() && chore->name == name));
        locks.tried(name, by, connection, now);
    }
    bool gives_back(od::term_locks::session_id of, std::string_view name, std::uint64_t connection = 1)
    {
        const auto chore = next(of);
        return chore && !chore->takes() && chore->name == name && chore->connection == connection;
    }
};

}  // namespace
}  // namespace term_locks_test

BOOST_FIXTURE_TEST_SUITE(term_locks_test, scene)

BOOST_AUTO_TEST_CASE(session_that_was_granted_a_term_takes_its_lock_a_little_later)
{
    locks.granted("n", 5, "n", a, now);
    BOOST_TEST((locks.next_due(a) == now + od::first_lock_pause));
    BOOST_TEST(!locks.next_due(b).has_value());
    BOOST_TEST(!next(a).has_value());
    now += od::first_lock_pause;
    BOOST_TEST(!next(b).has_value());
    const auto chore = next(a);
    BOOST_REQUIRE(chore.has_value());
    BOOST_TEST(chore->takes());
    BOOST_TEST(chore->name == "n");
    BOOST_TEST(!next(a).has_value());  // it is being tried
    locks.tried("n", a, 3, now);
    BOOST_TEST(!locks.next_due(a).has_value());
    BOOST_TEST(locks.holder_of("n", 5) == a);
    locks.ended("n", 5);
    BOOST_TEST(gives_back(a, "n", 3));
    BOOST_TEST(locks.empty());
}

BOOST_AUTO_TEST_CASE(term_that_is_over_before_its_lock_was_taken_leaves_no_chore)
{
    locks.granted("n", 5, "n", a, now);
    locks.ended("n", 5);
    now += 1h;
    BOOST_TEST(!next(a).has_value());
    BOOST_TEST(locks.empty());
}

BOOST_AUTO_TEST_CASE(lock_that_somebody_else_has_is_tried_again_after_growing_pauses)
{
    locks.granted("n", 5, "n", a, now);
    auto last = 0ns;
    for (int i = 0; i < 12; ++i) {
        const auto due = locks.next_due(a);
        BOOST_REQUIRE(due.has_value());
        const auto pause = *due - now;
        BOOST_TEST((pause >= last || pause == od::longest_lock_pause));
        last = pause;
        now = *due;
        BOOST_REQUIRE(next(a).has_value());
        locks.tried("n", a, 0, now);
    }
    BOOST_TEST((last == od::longest_lock_pause));
    BOOST_TEST(locks.holder_of("n", 5) == nullptr);
}

BOOST_AUTO_TEST_CASE(lock_that_comes_after_its_term_is_over_goes_back_at_once)
{
    locks.granted("n", 5, "n", a, now);
    now += od::first_lock_pause;
    BOOST_REQUIRE(next(a).has_value());
    locks.ended("n", 5);
    BOOST_TEST(!locks.has_to_release());
    locks.tried("n", a, 4, now);
    BOOST_TEST((locks.next_due(a) == od::term_locks::time_point::min()));
    BOOST_TEST(gives_back(a, "n", 4));
}

BOOST_AUTO_TEST_CASE(end_of_a_term_is_that_of_the_earlier_ones_too_and_of_no_later_one)
{
    granted_and_taken("n", 5, "n", a);
    locks.ended("n", 4);
    locks.ended("other", 5);
    BOOST_TEST(!locks.has_to_release());
    BOOST_TEST(locks.holder_of("n", 4) == nullptr);
    locks.ended("n", 7);
    BOOST_TEST(gives_back(a, "n"));
    locks.ended("n", 7);
    BOOST_TEST(locks.empty());
}

BOOST_AUTO_TEST_CASE(later_term_of_a_name_keeps_the_lock)
{
    granted_and_taken("n", 5, "n", a);
    locks.granted("n", 6, "n", b, now);
    BOOST_TEST(locks.holder_of("n", 6) == a);
    BOOST_TEST(!locks.next_due(b).has_value());
    locks.ended("n", 5);
    BOOST_TEST(!locks.has_to_release());
    locks.ended("n", 6);
    BOOST_TEST(gives_back(a, "n"));
}

BOOST_AUTO_TEST_CASE(lock_on_its_way_back_goes_back_although_the_name_has_a_new_term)
{
    granted_and_taken("n", 5, "n", a);
    locks.ended("n", 5);
    locks.granted("n", 6, "n", a, now);
    now += od::first_lock_pause;
    BOOST_TEST(gives_back(a, "n"));
    const auto again = next(a);
    BOOST_TEST((again && again->takes()));
}

BOOST_AUTO_TEST_CASE(terms_that_wake_one_name_have_one_lock_until_the_last_is_over)
{
    granted_and_taken("n share 0", 3, "n", a);
    locks.granted("n share 1", 9, "n", b, now);
    locks.granted("n share 2", 1, "n", b, now);
    BOOST_TEST(locks.size() == 1U);
    BOOST_TEST(!locks.next_due(b).has_value());
    BOOST_TEST(locks.holder_of("n share 0", 3) == nullptr);  // not the last
    locks.ended("n share 0", 3);
    locks.ended("n share 2", 1);
    BOOST_TEST(!locks.has_to_release());
    BOOST_TEST(locks.holder_of("n share 1", 9) == a);
    locks.ended("n share 1", 9);
    BOOST_TEST(gives_back(a, "n"));
}

BOOST_AUTO_TEST_CASE(term_that_comes_to_wake_another_name_leaves_the_first_one)
{
    granted_and_taken("n", 3, "n", a);
    granted_and_taken("n", 4, "m", b);
    BOOST_TEST(gives_back(a, "n"));
    locks.ended("n", 4);
    BOOST_TEST(gives_back(b, "m"));
    BOOST_TEST(locks.empty());
}

BOOST_AUTO_TEST_CASE(waiters_session_has_the_lock_before_the_term_and_no_limit_of_locks)
{
    granted_and_taken("x", 1, "x", a);
    granted_and_taken("y", 1, "y", a);
    locks.granted("z", 1, "z", a, now);  // one more than there may be
    BOOST_TEST(locks.size() == 2U);
    locks.granted_with_lock("n", 5, "n", b, 7);
    BOOST_TEST(locks.size() == 3U);
    BOOST_TEST(locks.holder_of("n", 5) == b);
    locks.ended("n", 5);
    BOOST_TEST(gives_back(b, "n", 7));
    locks.ended("z", 1);
    BOOST_TEST(!locks.has_to_release());
    locks.ended("x", 1);
    locks.granted("z", 2, "z", b, now);
    BOOST_TEST(locks.size() == 2U);
}

BOOST_AUTO_TEST_CASE(lock_of_a_connection_that_is_gone_is_replaced)
{
    locks.granted_with_lock("n", 5, "n", a, 1);
    locks.keep_only(a, 0);
    locks.granted_with_lock("n", 6, "n", b, 2);
    BOOST_TEST(locks.size() == 1U);
    BOOST_TEST(!locks.has_any(a));
    locks.ended("n", 5);
    BOOST_TEST(!locks.has_to_release());
    locks.ended("n", 6);
    BOOST_TEST(gives_back(b, "n", 2));
}

BOOST_AUTO_TEST_CASE(session_that_has_the_lock_already_has_it_once)
{
    locks.granted_with_lock("n", 5, "n", a, 1);
    locks.granted_with_lock("n", 6, "n", a, 2);
    locks.granted_with_lock("n", 7, "n", a, 2);
    BOOST_TEST(!locks.has_to_release());
    locks.ended("n", 7);
    BOOST_TEST(gives_back(a, "n", 2));
    BOOST_TEST(locks.empty());
}

// Each node of a Galera cluster keeps the locks of its own sessions.
BOOST_AUTO_TEST_CASE(lock_that_a_session_on_another_node_has_too_is_given_back)
{
    granted_and_taken("n", 5, "n", a);
    locks.granted_with_lock("n", 6, "n", b, 2);
    BOOST_TEST(locks.holder_of("n", 6) == b);
    BOOST_TEST(!locks.has_to_release(b));
    BOOST_TEST(gives_back(a, "n", 1));
    BOOST_TEST(!locks.has_any(a));
    locks.ended("n", 6);
    BOOST_TEST(gives_back(b, "n", 2));
    BOOST_TEST(locks.empty());
}

BOOST_AUTO_TEST_CASE(lock_on_another_node_is_gone_with_its_connection)
{
    granted_and_taken("n", 5, "n", a);
    locks.granted_with_lock("n", 6, "n", b, 2);
    locks.keep_only(a, 2);
    BOOST_TEST(!locks.has_any(a));
    BOOST_TEST(locks.holder_of("n", 6) == b);
}

// The session is to take it, or is about to.
BOOST_AUTO_TEST_CASE(lock_that_comes_after_that_of_a_session_on_another_node_is_given_back)
{
    locks.granted("n", 5, "n", a, now);
    now += od::first_lock_pause;
    BOOST_TEST(next(a).has_value());
    locks.granted_with_lock("n", 6, "n", b, 2);
    BOOST_TEST(!locks.has_to_release());
    locks.tried("n", a, 1, now);
    BOOST_TEST(gives_back(a, "n", 1));
}

BOOST_AUTO_TEST_CASE(waiters_lock_takes_the_place_of_one_under_another_name)
{
    granted_and_taken("n", 4, "m", a);
    locks.granted_with_lock("n", 5, "n", b, 7);
    BOOST_TEST(gives_back(a, "m"));
    BOOST_TEST(locks.holder_of("n", 5) == b);
    locks.ended("n", 5);
    BOOST_TEST(gives_back(b, "n", 7));
    BOOST_TEST(locks.empty());
}

// The answers came in another order than the grants.
BOOST_AUTO_TEST_CASE(term_that_a_later_one_of_its_name_has_replaced_has_no_lock)
{
    granted_and_taken("n", 6, "m", a);
    locks.granted("n", 5, "x", b, now);
    BOOST_TEST(!locks.has_any(b));
    locks.granted_with_lock("n", 5, "n", b, 7);
    BOOST_TEST(gives_back(b, "n", 7));
    locks.ended("n", 6);
    BOOST_TEST(gives_back(a, "m"));
    BOOST_TEST(locks.empty());
}

BOOST_AUTO_TEST_CASE(locks_go_with_their_connection_and_with_their_session)
{
    granted_and_taken("x", 1, "x", a, 1);
    granted_and_taken("y", 1, "y", b, 1);
    locks.keep_only(a, 1);
    BOOST_TEST(locks.size() == 2U);
    locks.keep_only(a, 2);
    BOOST_TEST(!locks.has_any(a));
    locks.ended("x", 1);
    BOOST_TEST(locks.empty() == false);
    locks.forget(b);
    BOOST_TEST(locks.empty());
    locks.ended("y", 1);
    BOOST_TEST(locks.empty());
}

BOOST_AUTO_TEST_CASE(lock_to_be_given_back_is_not_when_its_connection_is_gone)
{
    granted_and_taken("n", 1, "n", a, 1);
    locks.ended("n", 1);
    locks.keep_only(a, 0);
    BOOST_TEST(locks.empty());
    locks.give_back("m", a, 1);
    locks.forget(a);
    BOOST_TEST(!next(a).has_value());
}

BOOST_AUTO_TEST_CASE(lock_to_be_taken_outlives_the_connection)
{
    locks.granted("n", 1, "n", a, now);
    locks.keep_only(a, 2);
    now += od::first_lock_pause;
    BOOST_TEST(next(a).has_value());
}

BOOST_AUTO_TEST_CASE(all_are_given_back)
{
    granted_and_taken("x", 1, "x", a);
    locks.granted("y", 1, "y", b, now);
    locks.release_all_locks();
    BOOST_TEST(locks.size() == 0U);
    BOOST_TEST(gives_back(a, "x"));
    now += 1h;
    BOOST_TEST(!next(b).has_value());
    BOOST_TEST(locks.empty());
}

BOOST_AUTO_TEST_CASE(number_of_terms_of_a_lock_is_bounded)
{
    for (std::size_t i = 0; i < od::max_terms_of_a_lock + 10; ++i) locks.granted("n" + std::to_string(i), 1, "n", a, now);
    for (std::size_t i = 0; i < od::max_terms_of_a_lock; ++i) locks.ended("n" + std::to_string(i), 1);
    BOOST_TEST(locks.empty());
}

BOOST_AUTO_TEST_SUITE_END()
