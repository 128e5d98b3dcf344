// SPDX-License-Identifier: BSL-1.0
// The holder is asked to hand over: when it learns of it, and what that may not delay.
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>
#include <unit/handover_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string_view>
#include <system_error>

namespace basic_lease_handover_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::fate;
using leasehold_test::operation;

}  // namespace basic_lease_handover_test

BOOST_FIXTURE_TEST_SUITE(basic_lease_handover_test, leasehold_test::handover_fixture)

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
    BOOST_TEST(other.request_handover(ec));
    BOOST_TEST(!ec);
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

BOOST_AUTO_TEST_CASE(holder_that_does_not_ask_for_requests_does_not_look)
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
    BOOST_TEST(is_empty(other.try_acquire()));
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

BOOST_AUTO_TEST_CASE(token_is_asked_to_stop_after_the_holders_own_renewal)
{
    auto guard = lease.try_acquire();
    const std::stop_token asked = guard.handover_token();
    BOOST_TEST(looked(1));
    BOOST_TEST(other.request_handover("x"));
    BOOST_TEST(guard.renew());
    BOOST_TEST(eventually([&] { return asked.stop_requested(); }));
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
    BOOST_TEST(!is_empty(other.try_acquire()));
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
    static_assert(lh::handover_store<decltype(flaky)>);
    lh::basic_lease through{flaky, "n", lh::lease_terms{.ttl = 30s}, clock};
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
