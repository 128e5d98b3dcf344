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

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <system_error>

BOOST_AUTO_TEST_SUITE(cancelled_commit)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

bool cancel_wait(postgresql_server& server)
{
    return server.execute_sql("select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'").starts_with("t");
}

// No commit of the server is confirmed from now on. It begins to wait some time after it was told to.
void lose_the_standby(postgresql_server& server)
{
    server.execute_sql("alter system set synchronous_standby_names = 'nobody'");
    server.execute_sql("select pg_reload_conf()");
    std::atomic<bool> waits{false};
    auto commits_until_one_waits = std::async(std::launch::async, [&] {
        while (!waits) server.execute_sql("update leasehold set name = name");
    });
    BOOST_TEST(eventually([&] {
        if (cancel_wait(server)) waits = true;
        return waits && commits_until_one_waits.wait_for(0s) == std::future_status::ready;
    }));
    commits_until_one_waits.get();
}

}  // namespace

BOOST_AUTO_TEST_CASE(change_that_the_standby_has_not_confirmed_is_of_unknown_outcome)
{
    postgresql_server server;
    lh::odbc_store store{server.connection_string(), {.call_timeout = 10s, .session_locks = false}};
    store.create_schema();
    std::error_code ec;
    const auto granted = store.try_acquire("n", "we", 60s, ec);
    BOOST_REQUIRE(granted.granted());
    lose_the_standby(server);
    // The advice of a call that ends in store_timeout when its wait is cancelled.
    const auto cancelled = [&](auto call) {
        auto answer = std::async(std::launch::async, [&] {
            std::error_code failed;
            const bool done = call(failed);
            return !done && failed == lh::errc::store_timeout ? store.diagnostics().advice : "done, or: " + failed.message();
        });
        BOOST_TEST(eventually([&] { return cancel_wait(server); }));
        const std::string advice = answer.get();
        BOOST_TEST(advice.find("standby") != std::string::npos, advice);
    };
    cancelled([&](std::error_code& failed) { return store.try_acquire("m", "we", 60s, failed).granted(); });
    cancelled([&](std::error_code& failed) { return store.renew("n", "we", granted.token, 60s, failed); });
    cancelled([&](std::error_code& failed) { return store.release("n", "we", granted.token, 0s, failed); });
}

// The first attempt's commit waits, with the row locked and its change seen by nobody. What writes nothing has nothing to be confirmed.
BOOST_AUTO_TEST_CASE(attempts_at_a_free_name_without_the_standby_are_errors_and_never_busy)
{
    postgresql_server server;
    lh::odbc_store store{server.connection_string(), {.call_timeout = 2s, .lock_timeout = 100ms, .session_locks = false}};
    store.create_schema();
    std::error_code ec;
    BOOST_TEST(store.release("n", "we", store.try_acquire("n", "we", 60s, ec).token, 0s, ec));
    BOOST_TEST(store.try_acquire("held", "another", 60s, ec).granted());
    lose_the_standby(server);
    for (int attempt = 0; attempt < 2; ++attempt) {
        BOOST_TEST(!store.try_acquire("n", "we", 60s, ec).granted());
        BOOST_TEST((ec == lh::errc::store_timeout), "attempt " << attempt << ": " << ec.message());
    }
    const std::array<lh::term_request, 2> wanted{{{"n", "we", 60s}, {"held", "we", 60s}}};
    std::array<std::optional<lh::acquire_result>, 2> answers{};
    store.acquire_many(wanted, wanted.size(), answers, ec);
    BOOST_TEST((ec == lh::errc::store_timeout), "many: " << ec.message());
}

BOOST_AUTO_TEST_SUITE_END()
