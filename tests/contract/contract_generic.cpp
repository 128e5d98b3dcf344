// SPDX-License-Identifier: BSL-1.0
// The dialect for databases nobody has written one for. LEASEHOLD_GENERIC_ON says on which: postgresql (unless it is said),
// mariadb, hsqldb, virtuoso, or a connection string of yours, where a table `leasehold` is made if there is none.
//
// Who hasn't looked doesn't know that a term is over, so one store is everybody's in this process; others have their own.
// What an operator is shown is what isn't released, over or not, so those cases are left out.
#include <contract/contract.hpp>
#include <contract/odbc_connection.hpp>
#include <contract/odbc_fixture.hpp>

#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/hsqldb_server.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/virtuoso_server.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace contract_generic {
namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;
using store_type = lh::basic_odbc_store<lh::dialect::generic>;

class database {
public:
    database()
    {
        if (asked_ == "postgresql")
            server_ = std::make_unique<leasehold_test::postgresql_server>();
        else if (asked_ == "mariadb")
            server_ = std::make_unique<leasehold_test::mariadb_server>();
        else if (asked_ == "hsqldb")
            server_ = std::make_unique<leasehold_test::hsqldb_server>(as_bytes_and_at_once());
        else if (asked_ == "virtuoso")
            server_ = std::make_unique<leasehold_test::virtuoso_server>();
        connection_string_ = server_ ? server_->connection_string() : asked_;
        if (asked_ == "mariadb") make_table_of_bytes();
        store_.emplace(connection_string_).create_schema();
    }
    [[nodiscard]] const std::string& connection_string() const { return connection_string_; }
    store_type& store() { return *store_; }
    /// The library has a dialect of its own for what LEASEHOLD_GENERIC_ON says.
    [[nodiscard]] bool has_own_dialect() const { return asked_ == "postgresql" || asked_ == "mariadb"; }
    /// A character that takes four bytes makes the server close the connection.
    [[nodiscard]] bool takes(std::string_view text) const
    {
        return asked_ != "hsqldb" || std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0xf0; });
    }

private:
    // Unless told otherwise HSQLDB ignores spaces at the end of a text, and answers before it has written.
    static std::vector<std::string> as_bytes_and_at_once() { return {"sql.pad_space=false", "hsqldb.write_delay=false"}; }

    // MariaDB's texts ignore case unless told otherwise.
    void make_table_of_bytes() const
    {
        leasehold_test::odbc_connection{connection_string_}.execute(
            "create table leasehold (name varbinary(190) primary key, owner varbinary(190) not null, token bigint not null,"
            " version bigint not null, ttl_us bigint not null, " + leasehold_test::handover_columns + ")");
    }

    static std::string asked()
    {
        const char* where = std::getenv("LEASEHOLD_GENERIC_ON");
        return where ? where : "postgresql";
    }

    std::string asked_ = asked();
    std::unique_ptr<leasehold_test::database_server> server_;
    std::string connection_string_;
    std::optional<store_type> store_;
};

// A name is in capitals in some databases, unless it is quoted.
std::string quoted(const leasehold_test::odbc_connection& on, const std::string& name)
{
    std::array<char, 8> quote{};
    SQLGetInfo(on.handle(), SQL_IDENTIFIER_QUOTE_CHAR, quote.data(), static_cast<SQLSMALLINT>(quote.size()), nullptr);
    return quote.data() + name + quote.data();
}

struct generic_fixture {
    store_type& store() { return the_database().store(); }
    store_type& another_store() { return store(); }
    void let_pass(lh::duration d) { std::this_thread::sleep_for(d); }
    lh::duration short_ttl() const { return 250ms; }
    void delete_row(std::string_view name)
    {
        leasehold_test::odbc_connection own{the_database().connection_string()};
        own.execute("delete from " + quoted(own, "leasehold") + " where " + quoted(own, "name") + " = '" + std::string{name} + "'");
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
                                                     "several_rights", "many_attempts", "handover", "checkpoints", "holds",
                                                     "waits_for_holds", "observers", "groups", "races",
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

// Never taken for another text. A case of the suite with a text that is refused can't pass.
BOOST_AUTO_TEST_CASE(text_is_kept_byte_by_byte_or_refused)
{
    database& here = generic_fixture::the_database();
    store_type& store = here.store();
    for (const std::string& text : lh::contract::lookalikes()) {
        BOOST_TEST_CONTEXT("the text is \"" << text << '"')
        {
            const std::string name = "kept " + text;
            std::error_code ec;
            const lh::fencing_token token = store.try_acquire(name, text, 10min, ec).token;
            BOOST_TEST(!ec == here.takes(text), ec << store.diagnostics().advice);
            if (ec) continue;
            BOOST_TEST(store.publish(name, text, token, text, ec));
            BOOST_TEST(store.save_checkpoint(name, text, token, text, ec));
            const auto record = store.inspect(name, ec);
            BOOST_REQUIRE(record.has_value());
            BOOST_TEST((record->name == name && record->owner == text && record->data == text));
            BOOST_TEST(store.checkpoint(name).value().text == text);
            BOOST_TEST(!store.release(name, text + ' ', token, 0s, ec));
            BOOST_TEST(store.release(name, text, token, 0s, ec));
        }
    }
}

BOOST_AUTO_TEST_CASE(fence_and_checkpoint_are_part_of_the_applications_transaction)
{
    const std::string& connection_string = generic_fixture::the_database().connection_string();
    store_type& store = generic_fixture::the_database().store();
    leasehold_test::odbc_connection own{connection_string};
    const std::string name = "fenced-" + std::to_string(lh::steady_clock{}.now().time_since_epoch().count());
    lh::basic_lease lease{store, name, {.ttl = 1min}};
    const auto guard = lease.try_acquire();
    own.begin();
    BOOST_TEST(lh::odbc::fence(own.handle(), guard));
    BOOST_TEST(lh::odbc::save_checkpoint(own.handle(), guard, "offset=1"));
    own.roll_back();
    BOOST_TEST(!store.checkpoint(name).has_value());
    BOOST_TEST(lh::odbc::save_checkpoint(own.handle(), guard, "offset=2"));
    own.commit();
    BOOST_TEST(store.checkpoint(name).value().text == "offset=2");
    store_type{connection_string}.force_release(name);
    BOOST_TEST(!lh::odbc::fence(own.handle(), guard));
    own.roll_back();
}

BOOST_AUTO_TEST_CASE(database_that_the_library_does_not_know_gets_this_dialect)
{
    database& here = generic_fixture::the_database();
    if (here.has_own_dialect()) return;
    lh::odbc_store detected{here.connection_string()};
    BOOST_TEST(detected.schema_sql() == here.store().schema_sql(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace contract_generic
