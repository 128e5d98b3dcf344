// SPDX-License-Identifier: BSL-1.0
// needs: server, program
// Settings of unixODBC in odbcinst.ini that change what a connection is.
#include <contract/asked_once.hpp>
#include <contract/odbc_connection.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/detail/driver/driver_manager.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr const char* plain = "PostgreSQL Unicode";

// In the place of the system's, to the end of the program: unixODBC keeps what it has read.
class odbcinst_ini {
public:
    odbcinst_ini()
    {
        const std::string file = "Driver = " + lh::odbc::detail::ini_value({"/etc/odbcinst.ini"}, plain, "Driver") + '\n';
        std::ofstream{folder_.path() / "odbcinst.ini"} << "[ODBC]\nPooling = Yes\n"
                                                       << "[Pooled]\n" + file + "CPTimeout = 120\n"
                                                       << "[Serialized]\n" + file + "Threading = 3\n"
                                                       << '[' + std::string{plain} + "]\n" + file;
        std::ofstream{folder_.path() / "odbc.ini"} << "[source]\nDriver = Pooled\n";
        ::setenv("ODBCSYSINI", folder_.path().c_str(), 1);
    }

private:
    temporary_directory folder_;
};
const odbcinst_ini instead_of_the_systems;

std::string with_driver(const postgresql_server& server, const std::string& driver)
{
    const std::string text = server.connection_string();
    return driver + text.substr(text.find(';'));
}

std::string sessions_of(postgresql_server& server)
{
    return server.execute_sql("select count(*) from pg_stat_activity where usename = 'leasehold'");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(driver_manager)

BOOST_AUTO_TEST_CASE(connections_that_are_kept_for_others_are_refused)
{
    postgresql_server server;
    for (const char* driver : {"Driver=Pooled", "driver = {pooled}", "DSN=source"}) {
        BOOST_TEST_CONTEXT(driver)
        {
            {
                lh::odbc_store store{with_driver(server, driver)};
                std::error_code ec;
                store.create_schema(ec);
                BOOST_TEST((ec == lh::errc::store_failure), ec.message());
                BOOST_TEST(store.diagnostics().advice.find("CPTimeout") != std::string::npos, store.diagnostics().advice);
            }
            BOOST_TEST(sessions_of(server) == "0\n");
        }
    }
    // With no CPTimeout unixODBC ends a session when the process connects again.
    lh::odbc_store{with_driver(server, "Driver=PostgreSQL Unicode")}.create_schema();
}

// Else a waiter in the server would keep the holder from renewing.
BOOST_AUTO_TEST_CASE(waiters_poll_where_one_call_of_the_process_keeps_out_the_others)
{
    BOOST_TEST_PASSPOINT();
    const postgresql_server server;
    lh::odbc_store store{with_driver(server, "Driver=Serialized"), {.call_timeout = 2s}};
    store.create_schema();
    lh::basic_lease held{store, "n", lh::lease_terms{.ttl = 3s}};
    auto guard = held.acquire();
    lh::basic_lease waits{store, "n", lh::lease_terms{.ttl = 3s}};
    std::jthread waiter{[&] { BOOST_TEST(is_held(waits.try_acquire_for(20s))); }};
    BOOST_TEST(throughout([&] { return guard.held(); }, 4s));
    BOOST_TEST(store.abandoned_calls() == 0U);
    guard.release();
    waiter.join();
    const lh::store_health found = store.health();
    BOOST_TEST(found.one_call_at_a_time);
    BOOST_TEST(!found.wakes);
    lh::odbc_store plain{with_driver(server, "Driver=PostgreSQL Unicode")};
    BOOST_TEST(!plain.health().one_call_at_a_time);
    BOOST_TEST(plain.health().wakes);
}

BOOST_AUTO_TEST_SUITE_END()
