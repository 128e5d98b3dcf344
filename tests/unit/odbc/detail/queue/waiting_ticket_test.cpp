// SPDX-License-Identifier: BSL-1.0
// What a ticket tells the other waiters of its process about wake-ups.
#include <leasehold/odbc/detail/queue/waiting_ticket.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <thread>

namespace waiting_ticket_test {

namespace od = leasehold::odbc::detail;

namespace {

// No driver is there: no session is asked for either.
struct scene {
    leasehold::waker woken;
    std::shared_ptr<od::pool> sessions = std::make_shared<od::pool>(
        std::make_shared<const od::configuration>("Driver=/no/such/driver.so", leasehold::odbc_options{},
                                                  &leasehold::dialect::detected::describe),
        false);
    const od::session_lock_key key{"leasehold", "n"};

    std::shared_ptr<od::waiting_ticket> ticket() { return std::make_shared<od::waiting_ticket>(sessions, "leasehold", "n", woken); }
};

}  // namespace
}  // namespace waiting_ticket_test

BOOST_FIXTURE_TEST_SUITE(waiting_ticket_test, scene)

BOOST_AUTO_TEST_CASE(a_look_that_finds_nothing_out_leaves_what_others_have_learnt)
{
    const auto place = ticket();
    sessions->note_wake(key, false);  // by another waiter, or of another name in the same place
    const auto delay = place->wait_for_next(leasehold::fencing_token{7});
    BOOST_REQUIRE(delay.has_value());
    BOOST_TEST(!sessions->wakes_come(key));
}

BOOST_AUTO_TEST_CASE(a_look_that_finds_the_lock_stuck_is_known_to_the_next_ticket)
{
    const auto place = ticket();
    while (const auto delay = place->wait_for_next(leasehold::fencing_token{7})) std::this_thread::sleep_for(*delay);
    BOOST_TEST(!sessions->wakes_come(key));
}

BOOST_AUTO_TEST_SUITE_END()
