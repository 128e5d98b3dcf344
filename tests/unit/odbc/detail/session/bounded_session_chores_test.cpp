// SPDX-License-Identifier: BSL-1.0
// What a session's thread does when it is idle, and when it was given up.
#include <leasehold/odbc/detail/session/bounded_session.hpp>
#include <leasehold/odbc/detail/session/steps.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

namespace bounded_session_chores_test {

using namespace leasehold_test;
using namespace std::chrono_literals;
namespace od = leasehold::odbc::detail;
using steady = std::chrono::steady_clock;

namespace {

// No driver is there, so that each call comes back at once.
struct scene {
    std::atomic<int> due = 0, done = 0;
    std::atomic<bool> starts = false;
    std::atomic<std::thread::id> by{};
    std::shared_ptr<od::bounded_session> session = std::make_shared<od::bounded_session>(
        std::make_shared<const od::configuration>("Driver=/no/such/driver.so", leasehold::odbc_options{},
                                                  &leasehold::dialect::detected::describe),
        false, od::bounded_session::handlers{{}, [this](od::bounded_session& its) {
                                                 by = std::this_thread::get_id();
                                                 ++due;
                                                 if (starts) its.start([this] { ++done; });
                                             }});

    ~scene()
    {
        session->ask_to_stop();
        session->wait_stopped(steady::now() + 10s);
    }
    bool call()
    {
        const auto until = steady::now() + 10s;
        session->inner().prepare({}, od::connect_job(), until);
        return session->run(until);
    }
};

}  // namespace
}  // namespace bounded_session_chores_test

BOOST_FIXTURE_TEST_SUITE(bounded_session_chores_test, scene)

BOOST_AUTO_TEST_CASE(thread_is_told_once_when_the_time_has_come)
{
    BOOST_REQUIRE(call());
    const auto when = steady::now() + 30ms;
    session->set_due(when);
    session->set_due(when + 1h);
    BOOST_REQUIRE(eventually([this] { return due == 1; }));
    BOOST_TEST((steady::now() >= when));
    BOOST_TEST((by.load() != std::this_thread::get_id()));
    BOOST_TEST(throughout([this] { return due == 1; }, 50ms));
    session->set_due(steady::now());
    BOOST_TEST(eventually([this] { return due == 2; }));
}

BOOST_AUTO_TEST_CASE(earlier_time_counts)
{
    BOOST_REQUIRE(call());
    session->set_due(steady::now() + 1h);
    BOOST_TEST(throughout([this] { return due == 0; }, 20ms));
    session->set_due(steady::now());
    BOOST_TEST(eventually([this] { return due == 1; }));
}

BOOST_AUTO_TEST_CASE(session_without_a_thread_is_told_after_its_first_call)
{
    session->set_due(steady::now());
    BOOST_TEST(throughout([this] { return due == 0; }, 20ms));
    BOOST_REQUIRE(call());
    BOOST_TEST(eventually([this] { return due == 1; }));
}

BOOST_AUTO_TEST_CASE(thread_that_is_told_can_begin_a_call_of_its_own)
{
    BOOST_REQUIRE(call());
    starts = true;
    session->set_due(steady::now());
    BOOST_REQUIRE(eventually([this] { return done == 1; }));
    BOOST_TEST(call());
    session->set_due(steady::now());
    BOOST_TEST(eventually([this] { return done == 2; }));
}

// Its thread is still busy with the end of the call before, so that it never begins the one that its caller gives up.
BOOST_AUTO_TEST_CASE(attempt_that_was_given_up_before_it_began_undoes_no_earlier_grant)
{
    const temporary_directory folder;
    const std::string database = sqlite_connection_string(folder.path() / "leases.db");
    leasehold::odbc_store store{database};
    store.create_schema();
    std::atomic<bool> undone = false;
    const auto given_up = std::make_shared<od::bounded_session>(
        std::make_shared<const od::configuration>(database, leasehold::odbc_options{}, &leasehold::dialect::detected::describe), false,
        od::bounded_session::handlers{[&undone](od::bounded_session& its) {
                                          od::undo_grants(its.inner());
                                          undone = true;
                                      },
                                      {}});
    const od::call_texts texts{.name = "n", .owner = "shared"};
    od::attempt_job attempt{1h};
    std::promise<void> told, free;
    given_up->inner().prepare(texts, attempt, steady::now() + 10s);
    given_up->start([&] {
        told.set_value();
        free.get_future().wait();
    });
    told.get_future().wait();
    attempt.take_result(given_up->inner().done());
    BOOST_REQUIRE(attempt.result.result.granted());
    given_up->inner().prepare(texts, od::attempt_job{1h}, steady::now());
    BOOST_REQUIRE(!given_up->run(steady::now()));
    BOOST_REQUIRE(given_up->give_up());
    free.set_value();
    BOOST_REQUIRE(eventually([&undone] { return undone.load(); }));
    std::error_code ec;
    BOOST_TEST(store.inspect("n", ec).has_value());
}

BOOST_AUTO_TEST_CASE(wait_that_has_ended_does_not_connect_during_an_outage)
{
    const temporary_directory folder;
    const auto config = std::make_shared<const od::configuration>(sqlite_connection_string(folder.path() / "leases.db"),
                                                                  leasehold::odbc_options{}, &leasehold::dialect::detected::describe);
    config->gate().failed({.kind = od::fault::unavailable});
    od::session waits{config};
    waits.prepare({.name = "n"}, od::lock_job(od::lock_use::waits), od::session::time_point::max());
    waits.lock().cancel();
    waits.perform();
    BOOST_TEST(waits.is_connecting());
    BOOST_TEST((waits.failed().kind == od::fault::unavailable));
    waits.prepare({.name = "n"}, od::lock_job(od::lock_use::waits), od::session::time_point::max());
    waits.perform();
    BOOST_TEST(!waits.is_connecting());
}

BOOST_AUTO_TEST_SUITE_END()
