// SPDX-License-Identifier: BSL-1.0
// The SQL of docs/: dialects.md shows the DDL that the library runs, and fencing.md the fence, to the letter; what operators are
// told to run by hand (blocks of SQL whose first line names databases in a comment) runs.
#include <contract/asked_once.hpp>
#include <contract/odbc_connection.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/detail/driver/statement_catalog.hpp>
#include <leasehold/odbc/fence_sql.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

std::string page(const std::string& name)
{
    std::ifstream file{std::string{DOCS} + "/" + name};
    return {std::istreambuf_iterator<char>{file}, {}};
}

template <class Dialect, class Expiry = lh::expiry_by_server_clock>
void check_schema()
{
    const lh::odbc_options options;
    const lh::odbc::detail::statement_catalog program{
        Expiry::applied_to(Dialect::describe({.dbms_name = {}, .dbms_version = {}, .lock_timeout = {}, .call_timeout = {}})), options};
    BOOST_TEST_REQUIRE(!program.schema().empty());
    const std::string text = page("dialects.md");
    for (const std::string& statement : program.schema())
        BOOST_TEST(text.find("\n" + statement + ";\n") != std::string::npos, "docs/dialects.md lacks: " << statement);
}

// The statements of a page's blocks whose first line is a comment that names the database.
std::vector<std::string> statements(const std::string& of_page, const std::string& database)
{
    const std::string text = page(of_page);
    const std::string begin = "```sql\n-- ";
    std::vector<std::string> found;
    for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
        const std::size_t line_end = text.find('\n', at + begin.size());
        if (text.substr(at, line_end - at).find(database) == std::string::npos) continue;
        std::string block = text.substr(line_end + 1, text.find("```", line_end) - line_end - 1);
        for (std::size_t end = block.find(';'); end != std::string::npos; end = block.find(';')) {
            found.push_back(block.substr(0, end));
            block.erase(0, end + 1);
        }
    }
    BOOST_TEST_REQUIRE(!found.empty(), of_page << " has no SQL for " << database);
    return found;
}

bool is_query(const std::string& sql) { return sql.find("select name") == 0 || sql.find("select convert(name") == 0; }

// What operations.md says, while a lease is held: queries show it, and tokens that are lifted are never given again.
void run_operations(const std::string& connection_string, const std::string& database)
{
    lh::odbc_store store{connection_string};
    store.create_schema();
    lh::basic_lease lease{store, "held", lh::lease_terms{.ttl = 60s}, lh::steady_clock{}, lh::random_owner_id{}, lh::no_renewal{}};
    const auto guard = lease.try_acquire();
    BOOST_TEST_REQUIRE(guard.held());
    leasehold_test::odbc_connection operators{connection_string};
    for (const std::string& sql : statements("operations.md", database)) {
        if (sql.starts_with("grant")) continue;
        const std::string first = operators.execute(sql);
        if (is_query(sql)) BOOST_TEST(first == "held");
    }
    store.force_release("held");
    lh::basic_lease next{store, "held", lh::lease_terms{.ttl = 60s}};
    BOOST_TEST(token_of(next.try_acquire()).value() > guard.token().value() + 1'000'000 - 1);
}

// The rights that operations.md names are enough for all that a store does.
template <class Server>
void run_with_little_rights(Server& server, const std::string& database, const std::string& create_user)
{
    server.execute_sql(create_user);
    for (const std::string& sql : statements("operations.md", database))
        if (sql.starts_with("grant")) server.execute_sql(sql);
    lh::odbc_store store{server.connection_string("app", "secret", server.database)};
    store.create_schema();
    lh::basic_lease one{store, "of the app", lh::lease_terms{.ttl = 60s}}, two{store, "of the app", lh::lease_terms{.ttl = 60s}};
    auto guard = one.try_acquire();
    BOOST_TEST(guard.held());
    BOOST_TEST(guard.renew());
    BOOST_TEST(!is_held(two.try_acquire_for(20ms)));
    BOOST_TEST(store.list("of the").size() == 1U);
    BOOST_TEST((guard.release() == lh::release_outcome::released));
    auto next = two.try_acquire_for(5s);
    BOOST_TEST(next.held());
    BOOST_TEST(store.force_release("of the app"));
}

// Of two names in a table that was taken over: one is free, the other is still held.
void check_taken_over(lh::odbc_store& store)
{
    store.create_schema();
    for (const char* name : {"over", "new"}) {
        lh::basic_lease lease{store, name, lh::lease_terms{.ttl = 60s}};
        lh::basic_lease other{store, name, lh::lease_terms{.ttl = 60s}};
        auto guard = lease.try_acquire();
        BOOST_TEST(guard.held());
        BOOST_TEST(!is_held(other.try_acquire()));
        BOOST_TEST(guard.publish("here"));
        BOOST_TEST(other.request_handover("please"));
        BOOST_TEST(lease.inspect()->data == "here");
        BOOST_TEST((lease.inspect()->handover_request == "please"));
    }
    lh::basic_lease held{store, "held"};
    BOOST_TEST(!is_held(held.try_acquire()));
    BOOST_TEST((held.inspect().value().remaining > 24h));
}

// Tables as ShedLock's documentation has it, and of one's own, with rows of their own, taken over as migrating.md says.
void run_migration(const std::string& connection_string, const std::string& database, const std::string& create_shedlock,
                   const std::string& create_locks, const std::string& over, const std::string& held)
{
    leasehold_test::odbc_connection operators{connection_string};
    operators.execute(create_shedlock);
    operators.execute("insert into shedlock (name, lock_until, locked_at, locked_by) values ('over', '2020-01-01 00:00:00', '2020-01-01 "
                      "00:00:00', 'host'), ('held', '2037-01-01 00:00:00', '2020-01-01 00:00:00', 'host')");
    operators.execute(create_locks);
    operators.execute("insert into locks (name, locked_by, locked_until) values ('over', 'host', " + over + "), ('held', 'host', " + held +
                      ")");
    lh::odbc_store shedlock{
        connection_string,
        {.table = "shedlock", .columns = {.name = "name", .owner = "locked_by", .token = "token", .expires_at = "lock_until"}}};
    lh::odbc_store locks{
        connection_string,
        {.table = "locks", .columns = {.name = "name", .owner = "locked_by", .token = "token", .expires_at = "locked_until"}}};
    for (lh::odbc_store* store : {&shedlock, &locks}) {
        std::error_code ec;
        store->create_schema(ec);
        BOOST_TEST((ec == lh::errc::schema_missing), "a table that lacks columns is left alone");
    }
    for (std::string sql : statements("migrating.md", database)) {
        operators.execute(sql);
        // The page has the columns of ShedLock's table once, with those of one's own; on SQLite that table is made anew.
        const std::string own = "table locks";
        if (const auto at = sql.find(own); at != std::string::npos && database != "SQLite")
            operators.execute(sql.replace(at, own.size(), "table shedlock"));
    }
    check_taken_over(shedlock);
    check_taken_over(locks);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(dialects_page)

BOOST_AUTO_TEST_CASE(postgresql) { check_schema<lh::dialect::postgresql>(); }
BOOST_AUTO_TEST_CASE(mariadb) { check_schema<lh::dialect::mariadb>(); }
BOOST_AUTO_TEST_CASE(sqlite) { check_schema<lh::dialect::sqlite>(); }
BOOST_AUTO_TEST_CASE(generic) { check_schema<lh::dialect::generic>(); }

BOOST_AUTO_TEST_CASE(observation)
{
    check_schema<lh::dialect::postgresql, lh::expiry_by_observation>();
    check_schema<lh::dialect::mariadb, lh::expiry_by_observation>();
    check_schema<lh::dialect::sqlite, lh::expiry_by_observation>();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fencing_page)

BOOST_AUTO_TEST_CASE(shows_the_fence_that_the_library_writes)
{
    const std::string text = page("fencing.md");
    for (const char* database : {"postgresql", "mariadb", "mysql", "galera", "sqlite"}) {
        const std::string block = "\n```sql\n" + lh::fence_sql(database) + ";\n```\n";
        BOOST_TEST(text.find(block) != std::string::npos, "docs/fencing.md lacks for " << database << ": " << lh::fence_sql(database));
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(on_sqlite)

BOOST_AUTO_TEST_CASE(operations)
{
    const leasehold_test::temporary_directory folder;
    run_operations("Driver=SQLite3;Database=" + (folder.path() / "operations.db").string(), "SQLite");
}

BOOST_AUTO_TEST_CASE(migration)
{
    const leasehold_test::temporary_directory folder;
    run_migration("Driver=SQLite3;Database=" + (folder.path() / "migration.db").string(), "SQLite",
                  "create table shedlock (name varchar(64) not null primary key, lock_until timestamp(3) not null,"
                  " locked_at timestamp(3) not null, locked_by varchar(255) not null)",
                  "create table locks (name text not null primary key, locked_by text not null, locked_until integer not null)", "0",
                  "4102444800000");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(on_servers)

BOOST_AUTO_TEST_CASE(postgresql)
{
    leasehold_test::postgresql_server server;
    run_operations(server.connection_string(), "PostgreSQL");
    run_with_little_rights(server, "PostgreSQL", "create user app password 'secret'");
    run_migration(server.connection_string(), "PostgreSQL",
                  "create table shedlock (name varchar(64) not null, lock_until timestamp not null, locked_at timestamp not null,"
                  " locked_by varchar(255) not null, primary key (name))",
                  "create table locks (name text primary key, locked_by text not null, locked_until timestamptz not null)",
                  "now() - interval '1 day'", "now() + interval '2 days'");
}

BOOST_AUTO_TEST_CASE(mariadb)
{
    leasehold_test::mariadb_server server;
    run_operations(server.connection_string(), "MariaDB");
    run_with_little_rights(server, "MariaDB", "create user app identified by 'secret'");
    run_migration(server.connection_string(), "MariaDB",
                  "create table shedlock (name varchar(64) not null, lock_until timestamp(3) not null,"
                  " locked_at timestamp(3) not null default current_timestamp(3), locked_by varchar(255) not null, primary key (name))",
                  "create table locks (name varchar(190) primary key, locked_by varchar(190) not null, locked_until datetime not null)",
                  "utc_timestamp() - interval 1 day", "utc_timestamp() + interval 2 day");
}

BOOST_AUTO_TEST_SUITE_END()
