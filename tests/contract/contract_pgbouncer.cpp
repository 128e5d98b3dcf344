// SPDX-License-Identifier: BSL-1.0
// PostgreSQL behind PgBouncer. LEASEHOLD_POOL_MODE says in which mode: transaction (unless it is said) or session. What an
// operator or another application does, it does past the pooler.
#include <contract/contract.hpp>
#include <contract/odbc_connection.hpp>
#include <contract/odbc_fixture.hpp>
#include <contract/odbc_health.hpp>

#include <leasehold/odbc/odbc_store.hpp>
#include <support/pgbouncer.hpp>
#include <support/postgresql_server.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <string>

namespace contract_pgbouncer {
namespace {

namespace lh = leasehold;

leasehold_test::pool_mode asked_mode()
{
    const char* asked = std::getenv("LEASEHOLD_POOL_MODE");
    const bool session = asked && std::string{asked} == "session";
    return session ? leasehold_test::pool_mode::session : leasehold_test::pool_mode::transaction;
}

struct pooled_database {
    leasehold_test::postgresql_server server;
    // In session mode each connection of a store keeps a session of the server.
    leasehold_test::pgbouncer pooler{server, asked_mode(), asked_mode() == leasehold_test::pool_mode::session ? 150 : 10};
    lh::odbc_store store{connection_string()};
    lh::odbc_store another{connection_string()};

    pooled_database() { store.create_schema(); }
    std::string connection_string() const { return pooler.connection_string(); }
};

struct pgbouncer_fixture : leasehold_test::odbc_fixture<pooled_database> {
    using odbc_fixture::database;

    auto open_transaction() { return leasehold_test::odbc_transaction{database().server.connection_string()}; }
};

const lh::contract::suite<pgbouncer_fixture> contract{"pgbouncer"};

BOOST_AUTO_TEST_SUITE(pgbouncer_health)

BOOST_AUTO_TEST_CASE(only_in_session_mode_a_release_wakes_waiters)
{
    const bool session = asked_mode() == leasehold_test::pool_mode::session;
    leasehold_test::check_health(pgbouncer_fixture::database().connection_string(), {.has_clock = true, .wakes = session});
    BOOST_TEST(pgbouncer_fixture::database().store.health().pooled == !session);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace contract_pgbouncer
