// SPDX-License-Identifier: BSL-1.0
// needs: server
// Tables that were others' before: expiries that no lease of ours would have, and shapes that can't work.
#include <contract/odbc_connection.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

BOOST_AUTO_TEST_SUITE(taken_over_tables)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

/// A table in which `for_ever` are names that are held for longer than a clock can tell, and `long_over` are free.
template <class Store>
void check_strange_expiries(Store& store, const std::vector<std::string>& for_ever, const std::vector<std::string>& long_over)
{
    std::error_code ec;
    for (const std::string& name : for_ever) {
        BOOST_TEST_CONTEXT(name)
        {
            const auto answer = store.try_acquire(name, "new", 30s, ec);
            BOOST_TEST(!ec, ec.message() << ' ' << store.diagnostics().server_message);
            BOOST_TEST(!answer.granted());
            BOOST_TEST((answer.remaining > 24h * 365));
            const auto record = store.inspect(name, ec);
            BOOST_TEST(!ec, ec.message() << ' ' << store.diagnostics().server_message);
            BOOST_REQUIRE(record.has_value());
            BOOST_TEST(record->owner == "old");
            BOOST_TEST((record->remaining > 24h * 365));
        }
    }
    const auto records = store.list();
    BOOST_TEST(records.size() == for_ever.size());
    for (const auto& each : records) BOOST_TEST((each.remaining > 24h * 365));
    for (const std::string& name : long_over) {
        BOOST_TEST_CONTEXT(name)
        {
            BOOST_TEST(!store.inspect(name, ec).has_value());
            BOOST_TEST(!ec, ec.message() << ' ' << store.diagnostics().server_message);
            const auto answer = store.try_acquire(name, "new", 30s, ec);
            BOOST_TEST(!ec, ec.message() << ' ' << store.diagnostics().server_message);
            BOOST_TEST(answer.granted());
        }
    }
    // An operator can end even those.
    for (const std::string& name : for_ever) {
        BOOST_TEST(store.force_release(name));
        BOOST_TEST(store.try_acquire(name, "new", 30s, ec).granted());
    }
}

lh::odbc_options shedlock()
{
    lh::odbc_options options;
    options.table = "shedlock";
    options.columns = {.name = "name", .owner = "locked_by", .token = "token", .expires_at = "lock_until"};
    return options;
}

std::string insert(const std::string& name, const std::string& expiry)
{
    return "insert into leasehold (name, owner, token, expires_at) values ('" + name + "', 'old', 7, " + expiry + ")";
}

/// For a table whose columns ignore case: it is the store that tells owners apart, by a single attempt and by many at once, which have
/// statements of their own.
void check_owners_are_told_apart(const std::string& connection_string)
{
    lh::odbc_store holders{connection_string, shedlock()};
    std::error_code ec;
    const auto held = holders.try_acquire("held", "Some Owner", 1h, ec);
    BOOST_TEST(!ec, ec.message() << ' ' << holders.diagnostics().server_message);
    BOOST_REQUIRE(held.granted());
    int others = 0;
    for (const std::string other : {"some owner", "SOME OWNER"}) {
        BOOST_TEST_CONTEXT(other)
        {
            lh::odbc_store store{connection_string, shedlock()};
            BOOST_TEST(!store.try_acquire("held", other, 1h, ec).granted(), "at first");
            BOOST_TEST(!store.try_acquire("held", other, 1h, ec).granted(), "by a store that remembers that it was busy");
            const std::string free = "free " + std::to_string(++others);
            const std::vector<lh::term_request> requests{{"held", other, 1h}, {free, other, 1h}};
            std::vector<std::optional<lh::acquire_result>> answers(requests.size());
            store.acquire_many(requests, requests.size(), answers, ec);
            BOOST_TEST(!ec, ec.message() << ' ' << store.diagnostics().server_message);
            BOOST_REQUIRE((answers[0] && answers[1]));
            BOOST_TEST(!answers[0]->granted());
            BOOST_TEST(answers[1]->granted());
        }
    }
    BOOST_TEST(holders.renew("held", "Some Owner", held.token, 1h, ec));
    BOOST_TEST(holders.try_acquire("held", "Some Owner", 1h, ec).granted());
    BOOST_TEST(!ec, ec.message() << ' ' << holders.diagnostics().server_message);
}

/// With a column of that type every term would be over at once, and each attempt granted.
void check_expiry_is_refused(const std::string& connection_string, const std::string& type)
{
    odbc_connection{connection_string}.execute("create table shedlock (name varchar(64) not null primary key, lock_until " + type +
                                               " not null, locked_by varchar(255) not null, token bigint not null default 0, " +
                                               handover_columns + ")");
    lh::odbc_store store{connection_string, shedlock()};
    std::error_code ec;
    for (const char* owner : {"we", "others"}) {
        BOOST_TEST(!store.try_acquire("n", owner, 30s, ec).granted());
        BOOST_TEST((ec == lh::errc::store_failure), ec.message());
        BOOST_TEST(store.diagnostics().advice.find("type") != std::string::npos, store.diagnostics().advice);
    }
}

struct sqlite_file {
    temporary_directory folder;
    std::string connection_string = sqlite_connection_string(folder.path() / "jobs.db");
    odbc_connection own{connection_string};
};

}  // namespace

BOOST_AUTO_TEST_CASE(postgresql_may_have_infinite_expiries)
{
    postgresql_server server;
    for (const bool session_locks : {true, false}) {
        lh::odbc_store store{server.connection_string(), {.session_locks = session_locks}};
        store.create_schema();
        odbc_connection own{server.connection_string()};
        own.execute("delete from leasehold where name <> ''");
        own.execute(insert("infinity", "'infinity'"));
        own.execute(insert("last day", "'9999-12-31 23:59:59+00'"));
        own.execute(insert("farthest", "'294276-12-31 23:59:59+00'"));
        own.execute(insert("minus infinity", "'-infinity'"));
        own.execute(insert("first day", "'4713-01-01 00:00:00+00 BC'"));
        check_strange_expiries(store, {"infinity", "last day", "farthest"}, {"minus infinity", "first day"});
    }
}

BOOST_AUTO_TEST_CASE(postgresql_tells_of_a_name_without_a_key_and_of_other_types)
{
    postgresql_server server;
    odbc_connection own{server.connection_string()};
    own.execute("create table leasehold (name text, owner text, token bigint, expires_at timestamptz, " + handover_columns + ")");
    lh::odbc_store store{server.connection_string()};
    std::error_code ec;
    BOOST_TEST(!store.try_acquire("n", "we", 30s, ec).granted());
    BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    BOOST_TEST(store.diagnostics().advice.find("primary key") != std::string::npos, store.diagnostics().advice);
    own.execute("alter table leasehold alter column expires_at type text, add primary key (name)");
    BOOST_TEST(!store.try_acquire("n", "we", 30s, ec).granted());
    BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    BOOST_TEST(store.diagnostics().advice.find("type") != std::string::npos, store.diagnostics().advice);
}

BOOST_AUTO_TEST_CASE(postgresql_tells_owners_apart_in_a_column_that_ignores_case)
{
    postgresql_server server;
    if (std::stoi(server.execute_sql("show server_version_num")) < 120'000) return;  // has no such columns
    odbc_connection own{server.connection_string()};
    own.execute("create collation any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)");
    own.execute("create table shedlock (name varchar(64) collate any_case primary key, lock_until timestamp not null,"
                " locked_by varchar(255) collate any_case not null, token bigint not null default 0, " +
                handover_columns + ")");
    check_owners_are_told_apart(server.connection_string());
}

BOOST_AUTO_TEST_CASE(postgresql_refuses_an_expiry_that_is_a_date)
{
    postgresql_server server;
    check_expiry_is_refused(server.connection_string(), "date");
}

BOOST_AUTO_TEST_CASE(mariadb_refuses_an_expiry_that_is_a_date)
{
    mariadb_server server;
    check_expiry_is_refused(server.connection_string(), "date");
}

// ShedLock's has none. The store takes it for UTC, and so does a fence, which runs in the application's own session.
BOOST_AUTO_TEST_CASE(postgresql_may_have_an_expiry_without_a_time_zone)
{
    postgresql_server server;
    odbc_connection own{server.connection_string()};
    own.execute("create table shedlock (name varchar(64) primary key, lock_until timestamp not null, locked_by varchar(255) not null,"
                " token bigint not null default 0, " + handover_columns + ", unique (name, token))");
    lh::odbc_store store{server.connection_string(), shedlock()};
    for (const std::string zone : {"UTC", "Asia/Seoul", "America/New_York"}) {
        BOOST_TEST_CONTEXT(zone)
        {
            lh::basic_lease lease{store, zone, lh::lease_terms{.ttl = 1h}, lh::no_renewal{}};
            const auto guard = lease.try_acquire();
            BOOST_REQUIRE(guard.held());
            odbc_connection application{server.connection_string()};
            application.execute("set time zone '" + zone + "'");
            application.begin();
            BOOST_TEST(lh::odbc::fence(application.handle(), guard));
            application.roll_back();
            own.execute("update shedlock set lock_until = (now() at time zone 'UTC') - interval '1 second' where name = '" + zone + "'");
            BOOST_TEST(!lh::odbc::fence(application.handle(), guard), "it has run out");
            application.roll_back();
        }
    }
}

BOOST_FIXTURE_TEST_CASE(sqlite_tells_owners_apart_in_a_column_that_ignores_case, sqlite_file)
{
    own.execute("create table shedlock (name text collate nocase not null primary key, lock_until integer not null,"
                " locked_by text collate nocase not null, token integer not null default 0, " +
                handover_columns + ")");
    check_owners_are_told_apart(connection_string);
}

// The first TIMESTAMP of a table is such a one where explicit_defaults_for_timestamp is off, as it was up to MariaDB 10.9 and MySQL 5.7.
BOOST_AUTO_TEST_CASE(mariadb_may_set_the_expiry_in_updates_that_do_not_set_it)
{
    mariadb_server server;
    odbc_connection own{server.connection_string()};
    own.execute("create table shedlock (name varchar(64) not null primary key,"
                " lock_until timestamp(3) not null default current_timestamp(3) on update current_timestamp(3),"
                " locked_by varchar(255) not null, token bigint not null default 0, " + handover_columns + ")");
    lh::odbc_store store{server.connection_string(), shedlock()};
    store.create_schema();
    std::error_code ec;
    const auto held = store.try_acquire("n", "we", 1h, ec);
    BOOST_REQUIRE(held.granted());
    const auto goes_on = [&] {
        const auto record = store.inspect("n", ec);
        return record && record->token == held.token && record->remaining > 50min;
    };
    BOOST_TEST(store.publish("n", "we", held.token, "data", ec));
    BOOST_TEST(goes_on(), "the term was ended by its data");
    BOOST_TEST(store.request_handover("n", "reason", ec));
    BOOST_TEST(goes_on(), "the term was ended by a request");
    BOOST_TEST(!ec, ec.message() << ' ' << store.diagnostics().server_message);
}

BOOST_AUTO_TEST_CASE(mariadb_may_have_expiries_of_the_last_day)
{
    mariadb_server server;
    lh::odbc_store store{server.connection_string()};
    store.create_schema();
    odbc_connection own{server.connection_string()};
    own.execute(insert("last day", "'9999-12-31 23:59:59'"));
    own.execute(insert("first day", "'1000-01-01 00:00:00'"));
    check_strange_expiries(store, {"last day"}, {"first day"});
}

BOOST_FIXTURE_TEST_CASE(sqlite_may_have_any_number, sqlite_file)
{
    lh::odbc_store store{connection_string};
    store.create_schema();
    own.execute(insert("last day", "253402300799000"));
    own.execute(insert("largest", "9223372036854775807"));
    own.execute(insert("smallest", "-9223372036854775807"));
    check_strange_expiries(store, {"last day", "largest"}, {"smallest"});
}

// ShedLock keeps text there, which is greater than any number, so each name would be held for ever.
BOOST_FIXTURE_TEST_CASE(sqlite_tells_of_expiries_that_are_text, sqlite_file)
{
    own.execute("create table shedlock (name varchar(64) not null primary key, lock_until timestamp(3) not null,"
                " locked_at timestamp(3) not null, locked_by varchar(255) not null, token bigint not null default 0, " +
                handover_columns + ")");
    own.execute("insert into shedlock (name, lock_until, locked_at, locked_by)"
                " values ('over', '2024-01-01T00:00:00.000Z', '2024-01-01T00:00:00.000Z', 'old')");
    lh::odbc_store store{connection_string, shedlock()};
    std::error_code ec;
    const auto is_told = [&](const char* word) {
        BOOST_TEST((ec == lh::errc::store_failure), ec.message());
        BOOST_TEST(store.diagnostics().advice.find(word) != std::string::npos, store.diagnostics().advice);
    };
    BOOST_TEST(!store.try_acquire("over", "new", 30s, ec).granted());
    is_told("text");
    static_cast<void>(store.inspect("over", ec));
    is_told("text");
    static_cast<void>(store.list("", ec));
    is_told("text");
    static_cast<void>(store.try_acquire("never seen", "new", 30s, ec));
    is_told("default");  // locked_at must have a value
}

BOOST_FIXTURE_TEST_CASE(sqlite_refuses_an_expiry_column_for_text, sqlite_file)
{
    own.execute("create table leasehold (name text not null primary key, owner text not null, token integer not null,"
                " expires_at text not null, " + handover_columns + ")");
    lh::odbc_store store{connection_string};
    std::error_code ec;
    store.create_schema(ec);
    BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    BOOST_TEST(store.diagnostics().advice.find("text") != std::string::npos, store.diagnostics().advice);
}

// A trigger may refuse a row without an error. An older failure of the connection is no explanation of that.
BOOST_FIXTURE_TEST_CASE(refusals_without_an_error_are_not_explained_by_an_older_one, sqlite_file)
{
    lh::odbc_store store{connection_string, {.call_timeout = 2s}};
    std::error_code ec;
    static_cast<void>(store.try_acquire("n", "we", 30s, ec));
    BOOST_TEST((ec == lh::errc::schema_missing));
    store.create_schema();
    own.execute("create trigger refusing before insert on leasehold begin select raise(ignore); end");
    BOOST_TEST(!store.try_acquire("n", "we", 30s, ec).granted());
    BOOST_TEST((ec == lh::errc::store_conflict || ec == lh::errc::store_timeout), ec.message());
    BOOST_TEST(!store.diagnostics().advice.empty());
    BOOST_TEST(store.diagnostics().advice.find("create_schema") == std::string::npos, store.diagnostics().advice);
    BOOST_TEST(store.diagnostics().server_message == "");
}

BOOST_AUTO_TEST_SUITE_END()
