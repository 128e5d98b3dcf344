// SPDX-License-Identifier: BSL-1.0
// A primary and its standby behind pgpool-II. LEASEHOLD_READS says where statements that only read go: to the primary (unless it is said)
// or anywhere. What an operator or another application does, it does past pgpool-II.
#include <contract/contract.hpp>
#include <contract/odbc_connection.hpp>
#include <contract/odbc_fixture.hpp>
#include <contract/odbc_health.hpp>

#include <leasehold/odbc/odbc_store.hpp>
#include <support/pgpool.hpp>
#include <support/postgresql_server.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <string>

namespace contract_pgpool {
namespace {

namespace lh = leasehold;

leasehold_test::reads_go asked_place()
{
    const char* const asked = std::getenv("LEASEHOLD_READS");
    return asked && std::string{asked} == "anywhere" ? leasehold_test::reads_go::anywhere : leasehold_test::reads_go::to_primary;
}

struct pooled_database {
    leasehold_test::postgresql_server primary;
    leasehold_test::postgresql_server standby{leasehold_test::postgresql_server::standby_of{primary}};
    leasehold_test::pgpool pooler{primary, standby, asked_place()};
    lh::odbc_store store{connection_string()};
    lh::odbc_store another{connection_string()};

    pooled_database() { store.create_schema(); }
    std::string connection_string() const { return pooler.connection_string(); }
};

struct pgpool_fixture : leasehold_test::odbc_fixture<pooled_database> {
    using odbc_fixture::database;

    auto open_transaction() { return leasehold_test::odbc_transaction{database().primary.connection_string()}; }
};

const lh::contract::suite<pgpool_fixture> contract{"pgpool"};

BOOST_AUTO_TEST_SUITE(pgpool_health)

BOOST_AUTO_TEST_CASE(release_wakes_waiters)
{
    leasehold_test::check_health(pgpool_fixture::database().connection_string(), {.has_clock = true, .wakes = true});
    BOOST_TEST(!pgpool_fixture::database().store.health().pooled);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace contract_pgpool
