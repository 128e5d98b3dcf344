// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

namespace handover_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::fate;
using leasehold_test::gate;
using leasehold_test::operation;
using leasehold_test::scripted_store;

namespace {

using lease_type = lh::basic_lease<scripted_store, lh::manual_clock>;

struct fixture {
    ~fixture() { hang.open(); }  // whatever failed, nobody is left hanging

    std::optional<lh::lease_record> record() { return store.leases.inspect("n", ec); }

    // Turns the clock to the next renewal, and returns when that and what follows it are done.
    void to_next_renewal()
    {
        const int before = store.answered(operation::renew);
        clock.advance(10s);
        BOOST_TEST_REQUIRE(eventually([&] { return store.answered(operation::renew) > before; }));
    }

    bool looked(int times)
    {
        return eventually([&] { return store.answered(operation::handover_requested) >= times; });
    }

    lh::manual_clock clock;
    gate hang{clock};
    scripted_store store{clock};
    lease_type lease{store, "n", lh::lease_terms{.ttl = 30s}, clock};
    lease_type other{store, "n", lh::lease_terms{.ttl = 30s}, clock};
    std::error_code ec;
};

bool names_data(const std::system_error& e) { return e.code() == lh::errc::invalid_data; }

}  // namespace
}  // namespace handover_test

BOOST_FIXTURE_TEST_SUITE(handover_test, fixture)

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
        return [words](const std::system_error& e) { return names_data(e) && std::string_view{e.what()}.find(words) != std::string_view::npos; };
    };
    BOOST_CHECK_EXCEPTION(guard.publish("\xFF"), std::system_error, says("the data must be valid UTF-8"));
    BOOST_CHECK_EXCEPTION(guard.publish("a\0b"sv), std::system_error, says("the data must not contain a NUL"));
    BOOST_CHECK_EXCEPTION(other.request_handover("\xC0\x80"), std::system_error, says("the reason must be valid UTF-8"));
    BOOST_CHECK_EXCEPTION(other.request_handover(std::string(1025, 'x')), std::system_error, says("the reason is longer than the 1024 bytes"));
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

BOOST_AUTO_TEST_CASE(request_for_a_free_name_says_that_nobody_was_asked)
{
    BOOST_TEST(!other.request_handover("please"));
    BOOST_TEST(!record().has_value());
    auto guard = lease.try_acquire();
    BOOST_TEST(!guard.handover_requested());
}

BOOST_AUTO_TEST_CASE(request_is_seen_by_the_first_call_and_then_after_each_renewal)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(!guard.handover_requested());
    BOOST_TEST(store.sent(operation::handover_requested) == 1);
    BOOST_TEST(other.request_handover("a new version"));
    BOOST_TEST(!guard.handover_requested());  // no I/O
    BOOST_TEST(store.sent(operation::handover_requested) == 1);
    to_next_renewal();
    BOOST_TEST(looked(2));
    BOOST_TEST(eventually([&] { return guard.handover_requested(); }));
    BOOST_TEST(guard.handover_reason() == "a new version");
    BOOST_TEST(*record()->handover_request == "a new version");
    BOOST_TEST(guard.held());
}

BOOST_AUTO_TEST_CASE(renewal_of_the_holders_own_looks_before_it_returns)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(!guard.handover_requested());
    BOOST_TEST(other.request_handover(""));
    BOOST_TEST(guard.renew());
    BOOST_TEST(guard.handover_requested());
    BOOST_TEST(guard.handover_reason() == "");
}

BOOST_AUTO_TEST_CASE(request_from_before_the_first_call_is_not_missed)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(other.request_handover("early"));
    to_next_renewal();
    BOOST_TEST(store.sent(operation::handover_requested) == 0);  // nobody wants to know yet
    BOOST_TEST(guard.handover_requested());
}

BOOST_AUTO_TEST_CASE(nobody_who_does_not_want_to_know_looks)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(other.request_handover("x"));
    for (int i = 0; i < 3; ++i) to_next_renewal();
    BOOST_TEST(guard.renew());
    BOOST_TEST(store.sent(operation::handover_requested) == 0);
}

BOOST_AUTO_TEST_CASE(request_is_looked_for_no_more_once_it_was_seen)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(other.request_handover("x"));
    BOOST_TEST(guard.handover_requested());
    BOOST_TEST(guard.renew());
    to_next_renewal();
    BOOST_TEST(store.sent(operation::handover_requested) == 1);
}

BOOST_AUTO_TEST_CASE(holder_that_does_not_answer_keeps_its_term)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(other.request_handover("please"));
    BOOST_TEST(guard.handover_requested());
    for (int i = 0; i < 5; ++i) to_next_renewal();
    BOOST_TEST(guard.held());
    BOOST_TEST(other.try_acquire().empty());
}

BOOST_AUTO_TEST_CASE(request_ends_with_its_term)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(other.request_handover("x"));
    BOOST_TEST(guard.handover_requested());
    guard.release();
    BOOST_TEST(!guard.handover_requested());
    guard = lease.try_acquire();
    BOOST_TEST(!guard.handover_requested());
}

BOOST_AUTO_TEST_CASE(lost_term_is_asked_nothing_any_more)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(other.request_handover("x"));
    BOOST_TEST(guard.handover_requested());
    store.always(operation::renew, fate::fails);
    clock.advance(30s);
    BOOST_TEST(!guard.handover_requested());
}

BOOST_AUTO_TEST_CASE(look_that_fails_is_made_up_for_by_the_next)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(other.request_handover("x"));
    store.next(operation::handover_requested, fate::fails);
    BOOST_TEST(!guard.handover_requested());
    store.next(operation::handover_requested, fate::throws);
    BOOST_TEST(guard.renew(ec));
    BOOST_TEST(!ec);
    BOOST_TEST(!guard.handover_requested());
    BOOST_TEST(guard.renew());
    BOOST_TEST(guard.handover_requested());
}

BOOST_AUTO_TEST_CASE(token_is_asked_to_stop_after_the_next_renewal)
{
    auto guard = lease.try_acquire();
    const std::stop_token asked = guard.handover_token();
    BOOST_TEST(looked(1));
    BOOST_TEST(other.request_handover("x"));
    BOOST_TEST(!asked.stop_requested());
    to_next_renewal();
    BOOST_TEST(eventually([&] { return asked.stop_requested(); }));
    BOOST_TEST(guard.handover_reason() == "x");
    BOOST_TEST(!guard.stop_token().stop_requested());
}

BOOST_AUTO_TEST_CASE(token_tells_of_a_request_that_is_already_known)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(other.request_handover("x"));
    BOOST_TEST(guard.handover_requested());
    const std::stop_token asked = guard.handover_token();
    BOOST_TEST(eventually([&] { return asked.stop_requested(); }));
}

BOOST_AUTO_TEST_CASE(callback_may_release_the_guard)
{
    auto guard = lease.try_acquire();
    std::atomic<bool> released = false;
    const std::stop_callback hand_over{guard.handover_token(), [&] {
                                           std::error_code ignored;
                                           released = guard.release(ignored) == lh::release_outcome::released;
                                       }};
    BOOST_TEST(looked(1));
    BOOST_TEST(other.request_handover("x"));
    to_next_renewal();
    BOOST_TEST(eventually([&] { return released.load(); }));
    BOOST_TEST(!other.try_acquire().empty());
}

BOOST_AUTO_TEST_CASE(callback_that_hangs_delays_no_renewal_and_no_loss)
{
    auto guard = lease.try_acquire();
    const std::stop_callback slow{guard.handover_token(), [&] { hang.pass(); }};
    BOOST_TEST(other.request_handover("x"));
    to_next_renewal();
    BOOST_TEST_REQUIRE(hang.reached_by());
    lease_type third{store, "m", lh::lease_terms{.ttl = 30s}, clock};
    auto elsewhere = third.try_acquire();
    const std::stop_token lost = elsewhere.stop_token();
    to_next_renewal();
    BOOST_TEST(guard.held());
    store.always(operation::renew, fate::refused);
    to_next_renewal();
    BOOST_TEST(eventually([&] { return lost.stop_requested(); }));
    hang.open();  // the destructor of the callback waits for it
}

BOOST_AUTO_TEST_CASE(look_that_hangs_delays_no_renewal_and_no_loss)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(!guard.handover_requested());
    const std::stop_token lost = guard.stop_token();
    store.before(operation::handover_requested, [this](std::string_view) { hang.pass(); });
    to_next_renewal();
    BOOST_TEST_REQUIRE(hang.reached_by());
    to_next_renewal();
    to_next_renewal();
    BOOST_TEST(guard.held());
    BOOST_TEST(!guard.handover_requested());  // does not wait for it
    store.always(operation::renew, fate::refused);
    to_next_renewal();
    BOOST_TEST(eventually([&] { return lost.stop_requested(); }));
}

BOOST_AUTO_TEST_CASE(answer_for_an_earlier_term_does_not_reach_the_next)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(!guard.handover_requested());
    BOOST_TEST(other.request_handover("for the first"));
    store.after(operation::handover_requested, [this](std::string_view) { hang.pass(); });
    to_next_renewal();
    BOOST_TEST_REQUIRE(hang.reached_by());
    guard.release();
    auto next = lease.try_acquire();
    store.after(operation::handover_requested, {});
    BOOST_TEST(!next.handover_requested());
    hang.open();
    to_next_renewal();
    BOOST_TEST(looked(3));
    BOOST_TEST(!next.handover_requested());
}

BOOST_AUTO_TEST_CASE(decorators_pass_on_what_their_store_can)
{
    std::atomic<int> calls = 0;
    lh::hooked_store hooked{store, [&](const lh::store_call& call, const lh::store_call_report& report) {
                                if (call.operation >= lh::store_operation::publish) calls += report.succeeded ? 1 : 100;
                            }};
    bool outage = false;
    lh::faulty_store flaky{hooked, [&](const lh::store_call&) { return outage ? lh::store_fault::lose_request : lh::store_fault::none; }};
    using flaky_store = decltype(flaky);
    lh::sharded_store<flaky_store> sharded{{{"a", flaky}}};
    static_assert(lh::handover_store<decltype(sharded)>);
    lh::basic_lease through{sharded, "n", lh::lease_terms{.ttl = 30s}, clock};
    auto guard = through.try_acquire();
    BOOST_TEST(guard.publish("x"));
    BOOST_TEST(through.request_handover("y"));
    BOOST_TEST(guard.handover_requested());
    BOOST_TEST(calls == 3);
    outage = true;
    BOOST_TEST(!guard.publish("x", ec));
    BOOST_TEST((ec == lh::errc::store_unavailable));
    BOOST_TEST(calls == 3);
}

BOOST_AUTO_TEST_SUITE_END()
