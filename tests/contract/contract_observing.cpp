// SPDX-License-Identifier: BSL-1.0
// Stores that expire by observation. Who hasn't looked doesn't know that a term is over, so one store is everybody's here;
// and what an operator is shown is what isn't released, over or not.
#include <contract/contract.hpp>
#include <contract/odbc_connection.hpp>

#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/temporary_directory.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;

struct observed_database {
    leasehold_test::temporary_directory folder;
    std::string connection_string() const { return leasehold_test::sqlite_connection_string(folder.path() / "leases.db"); }

    lh::observing_odbc_store store{connection_string()};

    observed_database() { store.create_schema(); }
};

struct observing_fixture {
    lh::observing_odbc_store& store() { return database().store; }
    lh::observing_odbc_store& another_store() { return database().store; }
    void let_pass(lh::duration d) { std::this_thread::sleep_for(d); }
    lh::duration short_ttl() const { return 250ms; }
    void delete_row(std::string_view name)
    {
        leasehold_test::odbc_connection{database().connection_string()}.execute("delete from leasehold where name = '" +
                                                                                std::string{name} + "'");
    }
    static observed_database& database()
    {
        static observed_database the_database;
        return the_database;
    }
};

const lh::contract::suite<observing_fixture> contract{
    "observing",
    {"grants", "tokens", "renewals", "releases", "closings", "names", "guards", "losses", "waiting", "turns", "several", "handover",
     "checkpoints", "holds", "waits_for_holds", "observers", "store_clock", "fires", "groups", "races", "races_at_expiry", "contention",
     "deletions"}};

BOOST_AUTO_TEST_SUITE(holds_by_observation)

// What docs/observing.md says of these stores, and no other.
BOOST_AUTO_TEST_CASE(each_store_counts_a_hold_from_its_own_first_look)
{
    const observed_database& database = observing_fixture::database();
    lh::observing_odbc_store store{database.connection_string()}, late{database.connection_string()};
    std::error_code ec;
    BOOST_TEST(store.hold("hold-by-observation", 2s, "migration", ec));
    std::this_thread::sleep_for(2050ms);
    BOOST_TEST(!store.inspect("hold-by-observation", ec).has_value());
    BOOST_TEST(!store.unhold("hold-by-observation"));
    const auto seen = late.inspect("hold-by-observation", ec);
    BOOST_REQUIRE(seen.has_value());
    BOOST_TEST(seen->is_hold());
    BOOST_TEST(store.list("hold-by").empty());
    BOOST_TEST(late.list("hold-by").size() == 1U);
    BOOST_TEST(!late.try_acquire("hold-by-observation", "a", 1s, ec).granted());
    BOOST_TEST(late.unhold("hold-by-observation"));
    BOOST_TEST(late.list("hold-by").empty());
    BOOST_TEST(late.try_acquire("hold-by-observation", "a", 1s, ec).granted());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
