// SPDX-License-Identifier: BSL-1.0
// Renewals that fail, hang, or lose their reply: what becomes of the term, and when the next one is sent.
#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>
#include <unit/renewal/kept_term.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>

BOOST_AUTO_TEST_SUITE(term_keeper_failed_renewal_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::alone;
using leasehold_test::eventually;
using leasehold_test::fate;
using leasehold_test::gate;
using leasehold_test::operation;

BOOST_AUTO_TEST_CASE(failed_renewal_is_tried_again_after_a_pause)
{
    alone a;
    a.grant();
    a.store.next(operation::renew, fate::fails);
    a.renew_when_due();
    BOOST_TEST(a.term->held());
    BOOST_TEST(!a.term->step(), "tried again at once");
    a.clock.advance(500ms);  // ttl/60
    BOOST_TEST(a.term->step());
    a.term->renew();
    BOOST_TEST(a.term->remaining() == 27s);
}

BOOST_AUTO_TEST_CASE(store_that_fails_at_once_is_asked_with_growing_pauses_up_to_the_deadline)
{
    alone a;
    a.grant();
    a.store.always(operation::renew, fate::fails);
    for (int i = 0; i < 2700; ++i) {
        BOOST_TEST_REQUIRE(a.term->held());
        if (a.term->step()) a.term->renew();
        a.clock.advance(10ms);
    }
    BOOST_TEST(!a.term->held());
    BOOST_TEST(a.store.sent(operation::renew) >= 8);
    BOOST_TEST(a.store.sent(operation::renew) <= 16);
}

BOOST_AUTO_TEST_CASE(renewal_whose_reply_was_lost_is_not_believed)
{
    alone a;
    a.grant();
    a.store.next(operation::renew, fate::loses_reply);
    a.renew_when_due();
    BOOST_TEST(a.term->remaining() == 17s);
}

BOOST_AUTO_TEST_CASE(failed_renewal_of_the_holder_leaves_the_background_as_it_was)
{
    alone a;
    a.grant();
    a.store.next(operation::renew, fate::fails);
    BOOST_TEST(!a.term->extend(std::nullopt, a.ec));
    BOOST_TEST(a.ec == lh::errc::store_unavailable);
    BOOST_TEST(a.term->remaining() == 27s);
    a.clock.advance(10s);
    BOOST_TEST(a.term->step());
}

BOOST_AUTO_TEST_CASE(background_renewal_does_not_wait_for_one_that_hangs)
{
    alone a;
    a.grant();
    gate hang{a.clock};
    a.store.before(operation::renew, [&](auto) { hang.pass(); });
    std::thread holder{[&] {
        std::error_code ec;
        a.term->extend(std::nullopt, ec);
    }};
    BOOST_TEST(hang.reached_by());
    a.clock.advance(10s);
    BOOST_TEST(a.term->step());
    std::jthread opens_at_last{[&](const std::stop_token& s) {
        // Only where it waits after all, so that the test fails and doesn't hang.
        static_cast<void>(eventually([&] { return s.stop_requested(); }, 10s));
        hang.open();
    }};
    a.term->renew();
    BOOST_TEST(hang.waiting() == 1, "a worker waited for the holder's call");
    BOOST_TEST(!a.term->step(), "tried again at once");
    opens_at_last.request_stop();
    holder.join();
    BOOST_TEST(a.term->held());
    BOOST_TEST(a.store.sent(operation::renew) == 1);
    a.clock.advance(10s);
    BOOST_TEST(a.term->step());
    a.term->renew();
    BOOST_TEST(a.store.sent(operation::renew) == 2);
}

BOOST_AUTO_TEST_SUITE_END()
