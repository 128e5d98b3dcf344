// SPDX-License-Identifier: BSL-1.0
// Data that a holder publishes with its term.
#include <leasehold/leasehold.hpp>

#include <support/printing.hpp>
#include <support/scripted_store.hpp>
#include <unit/handover_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>

namespace lease_guard_published_data_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::fate;
using leasehold_test::operation;

namespace {

bool names_data(const std::system_error& e) { return e.code() == lh::errc::invalid_data; }

}  // namespace

}  // namespace lease_guard_published_data_test

BOOST_FIXTURE_TEST_SUITE(lease_guard_published_data_test, leasehold_test::handover_fixture)

BOOST_AUTO_TEST_CASE(published_data_is_shown_while_the_term_lasts)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(record()->data == "");
    BOOST_TEST(guard.publish("10.0.0.7:8443"));
    BOOST_TEST(record()->data == "10.0.0.7:8443");
    BOOST_TEST(other.inspect()->data == "10.0.0.7:8443");
    BOOST_TEST(store.leases.list("").front().data == "10.0.0.7:8443");
    BOOST_TEST(guard.renew());
    BOOST_TEST(guard.publish("grüße, 世界"));
    BOOST_TEST(record()->data == "grüße, 世界");
    BOOST_TEST(guard.publish(""));
    BOOST_TEST(record()->data == "");
}

BOOST_AUTO_TEST_CASE(next_term_begins_without_data_and_without_a_request)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(guard.publish("old"));
    BOOST_TEST(other.request_handover("please"));
    guard.release();
    auto next = other.try_acquire();
    BOOST_TEST(record()->data == "");
    BOOST_TEST(!record()->handover_request.has_value());
    BOOST_TEST(!next.handover_requested());
}

// Candidates ask again by themselves.
BOOST_AUTO_TEST_CASE(request_of_a_candidate_leaves_one_that_is_nobody_s_priority_in_place)
{
    auto guard = lease.try_acquire();
    const auto shows_after = [this](const char* reason) {
        BOOST_TEST(other.request_handover(reason));
        return record()->handover_request.value_or("none");
    };
    BOOST_TEST(shows_after("priority 7") == "priority 7");
    BOOST_TEST(shows_after("priority 6") == "priority 6");
    BOOST_TEST(shows_after("please") == "please");
    BOOST_TEST(shows_after("priority 7") == "please");
    BOOST_TEST(shows_after("priority x") == "priority x");
    guard.release();
    guard = lease.try_acquire();
    BOOST_TEST(shows_after("priority 7") == "priority 7");
}

BOOST_AUTO_TEST_CASE(request_of_a_member_of_a_shard_group_leaves_one_that_is_nobody_s_to_repeat_in_place)
{
    const auto guard = lease.try_acquire();
    const auto shows_after = [this](const char* reason) {
        BOOST_TEST(other.request_handover(reason));
        return record()->handover_request.value_or("none");
    };
    BOOST_TEST(shows_after("as shard 3 of a") == "as shard 3 of a");
    BOOST_TEST(shows_after("as shard 2 of b") == "as shard 2 of b");
    BOOST_TEST(shows_after("maintenance") == "maintenance");
    BOOST_TEST(shows_after("as shard 3 of a") == "maintenance");
}

BOOST_AUTO_TEST_CASE(own_new_term_begins_without_data_too)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(guard.publish("old"));
    BOOST_TEST(store.leases.try_acquire("n", lease.owner(), 30s, ec).granted());
    BOOST_TEST(record()->data == "");
    BOOST_TEST(!guard.publish("late"));
    BOOST_TEST(record()->data == "");
}

BOOST_AUTO_TEST_CASE(data_is_not_shown_of_a_name_that_is_only_kept_closed)
{
    lease_type careful{store, "n", lh::lease_terms{.ttl = 30s, .min_hold = 20s}, clock};
    auto guard = careful.try_acquire();
    BOOST_TEST(guard.publish("old"));
    guard.release();
    BOOST_TEST_REQUIRE(record().has_value());
    BOOST_TEST(record()->data == "");
    BOOST_TEST(!other.request_handover("please"));
}

BOOST_AUTO_TEST_CASE(publishing_does_not_extend_the_term)
{
    auto guard = lease.try_acquire();
    clock.advance(5s);
    BOOST_TEST(guard.publish("x"));
    BOOST_TEST(guard.remaining() == 22s);
    BOOST_TEST((record()->remaining == 25s));
    BOOST_TEST(other.request_handover(""));
    BOOST_TEST((record()->remaining == 25s));
}

BOOST_AUTO_TEST_CASE(lost_term_publishes_nothing)
{
    auto guard = lease.try_acquire();
    store.always(operation::renew, fate::fails);
    clock.advance(31s);
    BOOST_TEST(!guard.publish("late"));
    BOOST_TEST(store.sent(operation::publish) == 0);
    auto next = other.try_acquire();
    BOOST_TEST(!guard.publish("late", ec));
    BOOST_TEST(!ec);
    BOOST_TEST(record()->data == "");
}

BOOST_AUTO_TEST_CASE(data_of_a_kibibyte_fits_and_one_byte_more_does_not)
{
    auto guard = lease.try_acquire();
    const std::string largest(lh::max_data_bytes, 'x');
    BOOST_TEST(lh::max_data_bytes == 1024U);
    BOOST_TEST(guard.publish(largest));
    BOOST_TEST(record()->data == largest);
    BOOST_CHECK_EXCEPTION(guard.publish(largest + "x"), std::system_error, [](const std::system_error& e) {
        return names_data(e) && std::string_view{e.what()}.find("the data is longer than the 1024 bytes") != std::string_view::npos;
    });
    BOOST_TEST(!guard.publish(largest + "x", ec));
    BOOST_TEST((ec == lh::errc::invalid_data));
    BOOST_TEST((ec == std::errc::invalid_argument));
    BOOST_TEST(record()->data == largest);
}

BOOST_AUTO_TEST_CASE(text_that_is_not_utf8_or_has_a_nul_is_refused)
{
    using namespace std::string_view_literals;
    auto guard = lease.try_acquire();
    const auto says = [](const char* words) {
        return [words](const std::system_error& e) {
            return names_data(e) && std::string_view{e.what()}.find(words) != std::string_view::npos;
        };
    };
    BOOST_CHECK_EXCEPTION(guard.publish("\xFF"), std::system_error, says("the data must be valid UTF-8"));
    BOOST_CHECK_EXCEPTION(guard.publish("a\0b"sv), std::system_error, says("the data must not contain a NUL"));
    BOOST_CHECK_EXCEPTION(other.request_handover("\xC0\x80"), std::system_error, says("the reason must be valid UTF-8"));
    BOOST_CHECK_EXCEPTION(other.request_handover(std::string(1025, 'x')), std::system_error,
                          says("the reason is longer than the 1024 bytes"));
    BOOST_TEST(!other.request_handover("a\0b"sv, ec));
    BOOST_TEST((ec == lh::errc::invalid_data));
    BOOST_TEST(store.sent(operation::publish) + store.sent(operation::request_handover) == 0);
    BOOST_TEST(!store.leases.publish("n", lease.owner(), guard.token(), "\xFF", ec));
    BOOST_TEST((ec == lh::errc::invalid_data));
    BOOST_TEST(!store.leases.request_handover("n", "\xFF", ec));
    BOOST_TEST((ec == lh::errc::invalid_data));
    BOOST_TEST(!store.leases.request_handover("", "", ec));
    BOOST_TEST((ec == lh::errc::invalid_name));
}

BOOST_AUTO_TEST_CASE(empty_guard_publishes_nothing_and_is_asked_nothing)
{
    lease_type::guard_type guard;
    BOOST_CHECK_EXCEPTION(guard.publish("x"), std::system_error, [](const std::system_error& e) { return e.code() == lh::errc::not_held; });
    BOOST_TEST(!guard.publish("x", ec));
    BOOST_TEST((ec == lh::errc::not_held));
    BOOST_TEST(!guard.handover_requested());
    BOOST_TEST(guard.handover_reason() == "");
    BOOST_TEST(!guard.handover_token().stop_possible());
}

BOOST_AUTO_TEST_CASE(failure_of_the_store_is_an_error_and_not_a_no)
{
    auto guard = lease.try_acquire();
    store.next(operation::publish, fate::fails);
    BOOST_CHECK_THROW(guard.publish("x"), lh::store_error);
    store.next(operation::publish, fate::throws);
    BOOST_TEST(!guard.publish("x", ec));
    BOOST_TEST((ec == lh::errc::store_failure));
    store.next(operation::request_handover, fate::fails);
    BOOST_CHECK_THROW(other.request_handover("x"), lh::store_error);
    BOOST_TEST(guard.held());
}

BOOST_AUTO_TEST_SUITE_END()
