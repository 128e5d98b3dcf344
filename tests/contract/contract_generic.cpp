// SPDX-License-Identifier: BSL-1.0
// The dialect for databases nobody has written one for. LEASEHOLD_GENERIC_ON says on which: postgresql (unless it is said),
// mariadb, or a connection string of yours, where a table `leasehold` is made if there is none.
//
// Who hasn't looked doesn't know that a term is over, so one store is everybody's in this process; others have their own.
// What an operator is shown is what isn't released, over or not, so those cases are left out.
#include <contract/contract.hpp>
#include <contract/odbc_connection.hpp>
#include <contract/odbc_fixture.hpp>

#include <leasehold/odbc/odbc_store.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;
using store_type = lh::basic_odbc_store<lh::dialect::generic>;

class database {
public:
    database()
    {
        const char* asked = std::getenv("LEASEHOLD_GENERIC_ON");
        const std::string where = asked ? asked : "postgresql";
        if (where == "postgresql")
            connection_string_ = postgresql_.emplace().connection_string();
        else if (where == "mariadb")
            connection_string_ = make_table(mariadb_.emplace());
        else
            connection_string_ = where;
        store_.emplace(connection_string_).create_schema();
    }
    [[nodiscard]] const std::string& connection_string() const { return connection_string_; }
    store_type& store() { return *store_; }

private:
    // Its texts ignore case unless told otherwise.
    static std::string make_table(leasehold_test::mariadb_server& server)
    {
        leasehold_test::odbc_connection{server.connection_string()}.execute(
            "create table leasehold (name varbinary(190) primary key, owner varbinary(190) not null, token bigint not null,"
            " version bigint not null, ttl_us bigint not null, " + leasehold_test::handover_columns + ")");
        return server.connection_string();
    }

    std::optional<leasehold_test::postgresql_server> postgresql_;
    std::optional<leasehold_test::mariadb_server> mariadb_;
    std::string connection_string_;
    std::optional<store_type> store_;
};

struct generic_fixture {
    store_type& store() { return the_database().store(); }
    store_type& another_store() { return store(); }
    void let_pass(lh::duration d) { std::this_thread::sleep_for(d); }
    lh::duration short_ttl() const { return 250ms; }
    void delete_row(std::string_view name)
    {
        leasehold_test::odbc_connection{the_database().connection_string()}.execute("delete from leasehold where name = '" +
                                                                                    std::string{name} + "'");
    }
    leasehold_test::odbc_peer start_peer(const std::vector<std::string>& orders, lh::duration clock_off_by)
    {
        return {the_database().connection_string(), orders, clock_off_by, "generic"};
    }
    static database& the_database()
    {
        static database only;
        return only;
    }
};

const lh::contract::suite<generic_fixture> contract{"generic",
                                                    {"grants", "tokens", "renewals", "releases", "closings", "names",
                                                     "guards", "losses", "waiting", "turns", "several",
                                                     "several_rights", "many_attempts", "handover", "checkpoints", "races",
                                                     "races_at_expiry", "contention", "deletions", "processes"}};

BOOST_AUTO_TEST_SUITE(generic_dialect)

// What judges is the challenger's own clock: nothing is rounded, whatever the database's clock and columns keep.
BOOST_AUTO_TEST_CASE(term_of_a_fraction_of_a_second_is_not_had_before_its_end)
{
    store_type holders{generic_fixture::the_database().connection_string()};
    store_type others{generic_fixture::the_database().connection_string()};
    const lh::steady_clock clock;
    for (int i = 0; i < 4; ++i) {
        const std::string name = "fraction-" + std::to_string(clock.now().time_since_epoch().count());
        const lh::time_point sent = clock.now();
        std::error_code ec;
        BOOST_TEST(holders.try_acquire(name, "a", 1900ms, ec).granted());
        while (!others.try_acquire(name, "b", 1s, ec).granted() && !ec) std::this_thread::sleep_for(10ms);
        BOOST_TEST(!ec);
        BOOST_TEST(clock.now() - sent >= 1900ms);
        std::this_thread::sleep_for(270ms);
    }
}

BOOST_AUTO_TEST_CASE(column_that_ignores_case_is_refused)
{
    store_type& store = generic_fixture::the_database().store();
    leasehold_test::odbc_connection own{generic_fixture::the_database().connection_string()};
    try {
        own.execute("create table careless (name varchar(190) collate utf8mb4_general_ci primary key, owner varchar(190),"
                    " token bigint not null, version bigint not null, ttl_us bigint not null, " + leasehold_test::handover_columns + ")");
    } catch (const std::exception&) {
        return;  // has no such columns
    }
    lh::odbc_options options = store.options();
    options.table = "careless";
    store_type careless{generic_fixture::the_database().connection_string(), options};
    std::error_code ec;
    BOOST_TEST(careless.try_acquire("job", "a", 1s, ec).granted());
    BOOST_TEST(!careless.try_acquire("JOB", "b", 1s, ec).granted());
    BOOST_TEST(ec == lh::errc::store_failure);
    BOOST_TEST(careless.diagnostics().advice.find("byte by byte") != std::string::npos, careless.diagnostics().advice);
    own.execute("drop table careless");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
