// SPDX-License-Identifier: BSL-1.0
// What runs under a lease, and what becomes of its result.
#include <leasehold/leasehold.hpp>

#include <support/printing.hpp>
#include <support/scripted_store.hpp>
#include <unit/basic_lease_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>
#include <stdexcept>
#include <string>

namespace basic_lease_try_run_test {

namespace lh = leasehold;
using leasehold_test::fate;
using leasehold_test::operation;

}  // namespace basic_lease_try_run_test

BOOST_FIXTURE_TEST_SUITE(basic_lease_try_run_test, leasehold_test::basic_lease_fixture)

BOOST_AUTO_TEST_CASE(try_run_hands_the_result_back_and_releases)
{
    auto l = lease();
    BOOST_TEST((l.try_run([](auto& guard) { return guard.held(); }) == std::optional{true}));
    BOOST_TEST((l.try_run([] { return std::string{"without a guard"}; }) == std::optional<std::string>{"without a guard"}));
    BOOST_TEST(l.try_run([] {}));
    BOOST_TEST(free());
}

BOOST_AUTO_TEST_CASE(try_run_does_not_run_when_busy_or_failed)
{
    auto l = lease();
    bool ran = false;
    store.next(operation::try_acquire, fate::fails);
    BOOST_CHECK_THROW(l.try_run([&] { ran = true; }), lh::store_error);
    store.next(operation::try_acquire, fate::fails);
    BOOST_TEST(!l.try_run([&] { ran = true; }, ec));
    BOOST_TEST((ec == lh::errc::store_unavailable));
    const auto guard = l.try_acquire();
    BOOST_TEST(!l.try_run([&] { ran = true; }));
    BOOST_TEST(!l.try_run([&] { return ran = true; }, ec).has_value());
    BOOST_TEST(!ec);
    BOOST_TEST(!ran);
}

BOOST_AUTO_TEST_CASE(function_of_try_run_may_throw_and_the_lease_is_released)
{
    auto l = lease();
    BOOST_CHECK_THROW(l.try_run([] { throw std::out_of_range{"work"}; }), std::out_of_range);
    BOOST_TEST(free());
    BOOST_CHECK_THROW(l.try_run([] { throw std::out_of_range{"work"}; }, ec), std::out_of_range);
    BOOST_TEST(free());
}

BOOST_AUTO_TEST_CASE(release_that_fails_after_try_run_is_not_reported)
{
    auto l = lease();
    store.next(operation::release, fate::fails);
    BOOST_TEST((l.try_run([] { return 7; }) == std::optional{7}));
    BOOST_TEST(!free());
}

BOOST_AUTO_TEST_SUITE_END()
