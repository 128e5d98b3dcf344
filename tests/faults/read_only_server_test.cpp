// SPDX-License-Identifier: BSL-1.0
// needs: server
// A server that a fail-over has made read-only goes on answering. A store leaves it as soon as the address leads elsewhere.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/tcp_gate.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>

BOOST_AUTO_TEST_SUITE(read_only_server)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;
using servers = boost::mpl::list<postgresql_server, mariadb_server>;

namespace {

void make_read_only(postgresql_server& server)
{
    server.execute_sql("alter system set default_transaction_read_only = on");
    server.execute_sql("select pg_reload_conf()");
}

void make_read_only(mariadb_server& server) { server.execute_sql("set global read_only = 1"); }

std::string through(const tcp_gate& gate, const database_server& server)
{
    std::string text = server.connection_string();
    const std::string port = "Port=" + std::to_string(server.port());
    return text.replace(text.find(port), port.size(), "Port=" + std::to_string(gate.port()));
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(is_left_once_the_address_leads_to_another, Server, servers)
{
    Server old_primary, new_primary;
    for (Server* each : {&old_primary, &new_primary}) lh::odbc_store{each->connection_string()}.create_schema();
    tcp_gate gate{old_primary.port()};
    lh::odbc_store store{through(gate, old_primary)};
    std::error_code ec;
    BOOST_TEST(store.try_acquire("n", "a", 60s, ec).granted());
    make_read_only(old_primary);
    // A session of PostgreSQL takes the setting up when it is next idle.
    for (int i = 0; i < 50 && !ec; ++i) static_cast<void>(store.try_acquire("n", "a", 60s + i * 1s, ec));
    BOOST_TEST((ec == lh::errc::store_failure));
    BOOST_TEST(store.diagnostics().advice.find("read-only") != std::string::npos, store.diagnostics().advice);
    gate.lead_to(new_primary.port());
    BOOST_TEST(store.try_acquire("n", "a", 60s, ec).granted());
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(lh::odbc_store{new_primary.connection_string()}.list().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
