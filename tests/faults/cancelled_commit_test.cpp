// SPDX-License-Identifier: BSL-1.0
// needs: server
// Somebody cancels the wait for a synchronous standby: PostgreSQL answers with success and a warning, though a fail-over may lose what was
// changed.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <system_error>

BOOST_AUTO_TEST_SUITE(cancelled_commit)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(change_that_the_standby_has_not_confirmed_is_of_unknown_outcome)
{
    postgresql_server server;
    lh::odbc_store store{server.connection_string(), {.call_timeout = 10s, .session_locks = false}};
    store.create_schema();
    std::error_code ec;
    const auto granted = store.try_acquire("n", "we", 60s, ec);
    BOOST_REQUIRE(granted.granted());
    server.execute_sql("alter system set synchronous_standby_names = 'nobody'");
    server.execute_sql("select pg_reload_conf()");
    const auto cancel_wait = [&] {
        return server.execute_sql("select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'").starts_with("t");
    };
    // The server begins to wait some time after it was told to.
    std::atomic<bool> waits{false};
    auto commits_until_one_waits = std::async(std::launch::async, [&] {
        while (!waits) server.execute_sql("update leasehold set name = name");
    });
    BOOST_TEST(eventually([&] {
        if (cancel_wait()) waits = true;
        return waits && commits_until_one_waits.wait_for(0s) == std::future_status::ready;
    }));
    commits_until_one_waits.get();
    // The advice of a call that ends in store_timeout when its wait is cancelled.
    const auto cancelled = [&](auto call) {
        auto answer = std::async(std::launch::async, [&] {
            std::error_code failed;
            const bool done = call(failed);
            return !done && failed == lh::errc::store_timeout ? store.diagnostics().advice : "done, or: " + failed.message();
        });
        BOOST_TEST(eventually(cancel_wait));
        const std::string advice = answer.get();
        BOOST_TEST(advice.find("standby") != std::string::npos, advice);
    };
    cancelled([&](std::error_code& failed) { return store.try_acquire("m", "we", 60s, failed).granted(); });
    cancelled([&](std::error_code& failed) { return store.renew("n", "we", granted.token, 60s, failed); });
    cancelled([&](std::error_code& failed) { return store.release("n", "we", granted.token, 0s, failed); });
}

BOOST_AUTO_TEST_SUITE_END()
