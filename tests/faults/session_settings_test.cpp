// SPDX-License-Identifier: BSL-1.0
// needs: server
// A connection string, a data source or on_connect can set anything about a session. What the statements rest on is put right, or the
// connection is refused with words on what is wrong and what is allowed.
#include <contract/odbc_connection.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/mount.h>

BOOST_AUTO_TEST_SUITE(session_settings)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;
using generic_store = lh::basic_odbc_store<lh::dialect::generic>;

namespace {

// Of two, three and four bytes in UTF-8, with a line feed, quotes, a backslash and blanks.
constexpr std::string_view many_letters = "n\u00e4me \u20ac \U0001F512\n'\"\\ %; ";

// A store whose connections are set up in another way is still one of the stores of its table.
template <class Store>
void check_same_leases(Store& usual, Store& other)
{
    for (const std::string_view name : {std::string_view{"plain"}, many_letters}) {
        BOOST_TEST_CONTEXT(name)
        {
            std::error_code ec;
            const auto ours = usual.try_acquire(name, many_letters, 10min, ec);
            BOOST_TEST(!ec, ec.message() << ' ' << usual.diagnostics().advice << ' ' << usual.diagnostics().server_message);
            BOOST_TEST(!other.try_acquire(name, "another", 10min, ec).granted());
            BOOST_TEST(!ec, ec.message() << ' ' << other.diagnostics().advice << ' ' << other.diagnostics().server_message);
            BOOST_TEST(other.renew(name, many_letters, ours.token, 10min, ec));
            const auto seen = other.inspect(name, ec);
            BOOST_TEST((seen && seen->owner == many_letters));
            BOOST_TEST(other.list(name, ec).size() == 1U);
            BOOST_TEST(usual.release(name, many_letters, ours.token, 0s, ec));
            const auto theirs = other.try_acquire(name, many_letters, 10min, ec);
            BOOST_TEST(theirs.token > ours.token);
            BOOST_TEST(!usual.try_acquire(name, "a third", 10min, ec).granted());
            BOOST_TEST(other.release(name, many_letters, theirs.token, 0s, ec));
        }
    }
}

// Of four terms of which one is over, three are released.
void check_releases_of_many(lh::odbc_store& store)
{
    std::vector<lh::term_release> terms;
    const std::array<std::string_view, 4> names{"a", "b", "c", "d"};
    std::error_code ec;
    for (const std::string_view name : names) {
        const auto granted = store.try_acquire(name, "we", 10min, ec);
        BOOST_REQUIRE(granted.granted());
        terms.push_back({name, "we", granted.token, 0s});
    }
    store.force_release("b", ec);
    std::vector<lh::batch_answer> answers(terms.size());
    store.release_many(terms, answers, ec);
    BOOST_TEST(!ec, ec.message() << ' ' << store.diagnostics().server_message);
    for (std::size_t i = 0; i < answers.size(); ++i)
        BOOST_TEST((answers[i] == (i == 1 ? lh::batch_answer::no : lh::batch_answer::yes)), "the answer for " << names[i]);
}

void check_refused(const std::string& connection_string, std::vector<std::string> on_connect, const std::vector<std::string>& words)
{
    lh::odbc_store store{connection_string, {.on_connect = std::move(on_connect)}};
    std::error_code ec;
    BOOST_TEST(!store.try_acquire("refused", "we", 10min, ec).granted());
    BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    const std::string advice = store.diagnostics().advice;
    for (const std::string& word : words) BOOST_TEST(advice.find(word) != std::string::npos, word << " is in: " << advice);
    BOOST_TEST((store.health().error == lh::errc::store_failure));
    BOOST_TEST(store.health().diagnostics.advice == advice);
}

struct sqlite_file {
    temporary_directory folder;
    std::string connection_string = sqlite_connection_string(folder.path() / "jobs.db");
    lh::odbc_store store{connection_string};

    sqlite_file() { store.create_schema(); }
};

}  // namespace

// As a table of another library has them: not of bytes.
BOOST_AUTO_TEST_CASE(a_connection_string_of_mariadb_changes_no_lease)
{
    const mariadb_server server;
    odbc_connection own{server.connection_string()};
    own.execute("create table taken (name varchar(190) collate utf8mb4_general_ci primary key, owner varchar(190) collate"
                " utf8mb4_general_ci not null, token bigint not null, expires_at datetime(6) not null, " + handover_columns + ")");
    for (const char* table : {"leasehold", "taken"}) {
        lh::odbc_store usual{server.connection_string(), {.table = table}};
        usual.create_schema();
        for (const char* set :
             {"CHARSET=latin1", "CHARSET=utf8", "CHARSET=utf8mb4", "INITSTMT={set autocommit = 0}", "INITSTMT={set time_zone = '+09:00'}",
              "INITSTMT={set session transaction isolation level serializable}", "INITSTMT={set sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'}",
              "INITSTMT={set character_set_results = latin1, character_set_client = latin1}", "INITSTMT={set timestamp = 1000000000}",
              "INITSTMT={set sql_select_limit = 0}", "INITSTMT={set names utf8mb4 collate utf8mb4_bin}"}) {
            BOOST_TEST_CONTEXT(table << ", " << set)
            {
                lh::odbc_store other{server.connection_string() + ";" + set, {.table = table}};
                check_same_leases(usual, other);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_connection_string_of_mariadb_changes_no_lease_of_the_generic_dialect)
{
    const mariadb_server server;
    odbc_connection own{server.connection_string()};
    own.execute("create table leasehold (name varchar(190) collate utf8mb4_bin primary key, owner varchar(190) collate utf8mb4_bin"
                " not null, token bigint not null, version bigint not null, ttl_us bigint not null, " + handover_columns + ")");
    generic_store usual{server.connection_string()};
    for (const char* set : {"CHARSET=latin1", "INITSTMT={set character_set_results = latin1, character_set_client = latin1}"}) {
        BOOST_TEST_CONTEXT(set)
        {
            generic_store other{server.connection_string() + ";" + set};
            check_same_leases(usual, other);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_session_of_mariadb_that_on_connect_spoils_is_refused)
{
    const mariadb_server server;
    const std::string good = server.connection_string();
    lh::odbc_store{good}.create_schema();
    check_refused(good, {"set autocommit = 0"}, {"autocommit is off and must be on", "on_connect"});
    check_refused(good, {"set time_zone = '+09:00'"}, {"time_zone is +09:00 and must be +00:00"});
    check_refused(good, {"set session transaction isolation level repeatable read"},
                  {"isolation is REPEATABLE-READ and must be READ-COMMITTED"});
    check_refused(good, {"set sql_mode = ''"}, {"sql_mode", "STRICT_ALL_TABLES"});
    check_refused(good, {"set character_set_client = latin1"}, {"character_set_client is latin1 and must be utf8mb4"});
    check_refused(good, {"set character_set_results = null"}, {"character_set_results", "must be utf8mb4"});
    check_refused(good, {"set timestamp = 1000000000"}, {"timestamp"});
    check_refused(good, {"set session transaction read only"}, {"read_only is on and must be off", "on_connect"});
    check_refused(good + ";INITSTMT={set session transaction read only}", {}, {"read_only is on and must be off", "connection string"});
    lh::odbc_store harmless{good, {.on_connect = {"set sql_mode = 'STRICT_ALL_TABLES,ANSI_QUOTES'", "set lock_wait_timeout = 3"}}};
    std::error_code ec;
    BOOST_TEST(harmless.try_acquire("harmless", "we", 10min, ec).granted());
    BOOST_TEST(!ec, harmless.diagnostics().advice);
}

BOOST_AUTO_TEST_CASE(a_connection_string_of_postgresql_changes_no_lease)
{
    const postgresql_server server;
    odbc_connection own{server.connection_string()};
    own.execute("create table taken (name varchar(190) primary key, owner varchar(190) not null, token bigint not null,"
                " expires_at timestamp not null, " + handover_columns + ")");
    for (const char* table : {"leasehold", "taken"}) {
        lh::odbc_store usual{server.connection_string(), {.table = table}};
        usual.create_schema();
        for (const char* set :
             {"ConnSettings={set client_encoding to 'LATIN1'}", "ConnSettings={set time zone 'Asia/Tokyo'}",
              "ConnSettings={set default_transaction_isolation to serializable}", "ConnSettings={set standard_conforming_strings to off}",
              "pqopt={options='-c timezone=Asia/Tokyo -c default_transaction_isolation=serializable'}", "Protocol=7.4-2"}) {
            BOOST_TEST_CONTEXT(table << ", " << set)
            {
                lh::odbc_store other{server.connection_string() + ";" + set, {.table = table}};
                check_same_leases(usual, other);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_session_of_postgresql_that_on_connect_spoils_is_refused)
{
    const postgresql_server server;
    const std::string good = server.connection_string();
    lh::odbc_store{good}.create_schema();
    check_refused(good, {"set client_encoding to 'LATIN1'"}, {"client_encoding is LATIN1 and must be UTF8", "on_connect"});
    check_refused(good, {"set time zone 'Asia/Tokyo'"}, {"TimeZone is Asia/Tokyo and must be UTC"});
    check_refused(good, {"set default_transaction_isolation to 'repeatable read'"},
                  {"default_transaction_isolation is repeatable read and must be read committed"});
    const std::string reads_only = "default_transaction_read_only is on and must be off";
    check_refused(good, {"set default_transaction_read_only = on"}, {reads_only, "on_connect"});
    check_refused(good, {"set session characteristics as transaction read only"}, {reads_only});
    check_refused(good + ";ConnSettings={set default_transaction_read_only = on}", {}, {reads_only, "connection string"});
    check_refused(good + ";pqopt={options='-c default_transaction_read_only=on'}", {}, {reads_only});
    lh::odbc_store harmless{good, {.on_connect = {"set work_mem to '4MB'", "set search_path to public"}}};
    std::error_code ec;
    BOOST_TEST(harmless.try_acquire("harmless", "we", 10min, ec).granted());
    BOOST_TEST(!ec, harmless.diagnostics().advice);
}

// It would grant by a statement that the driver takes for a SELECT, and refuse to renew and to release.
BOOST_AUTO_TEST_CASE(a_connection_that_the_driver_keeps_from_writing_is_refused)
{
    const postgresql_server server;
    lh::odbc_store usual{server.connection_string()};
    usual.create_schema();
    check_refused(server.connection_string() + ";ReadOnly=1", {}, {"ReadOnly"});
    std::error_code ec;
    BOOST_TEST(!usual.inspect("refused", ec));
}

// A name with a line feed would come back as another one, and so be left out of a list.
BOOST_AUTO_TEST_CASE(a_driver_that_converts_line_feeds_is_refused)
{
    const postgresql_server server;
    lh::odbc_store{server.connection_string()}.create_schema();
    check_refused(server.connection_string() + ";LFConversion=1", {}, {"LFConversion"});
}

// As a pragma with a key has one.
BOOST_AUTO_TEST_CASE(a_failing_statement_of_on_connect_shows_nothing_of_itself)
{
    const temporary_directory folder;
    const postgresql_server postgresql;
    const mariadb_server mariadb;
    const struct {
        std::string connection_string, statement;
    } all[]{{sqlite_connection_string(folder.path() / "jobs.db"), "pragma key = 'hush-hush' hush"},
            {sqlite_connection_string(folder.path() / "jobs.db"), "select 'x' from \"hush-hush\""},
            {postgresql.connection_string(), "set role 'hush-hush'"},
            {postgresql.connection_string(), "select * from \"hush-hush\""},
            {mariadb.connection_string(), "set role 'hush-hush'"},
            {mariadb.connection_string(), "select 'hush-hush' from"}};
    for (const auto& each : all) {
        BOOST_TEST_CONTEXT(each.statement)
        {
            lh::odbc_store store{each.connection_string, {.on_connect = {each.statement}}};
            try {
                store.create_schema();
                BOOST_ERROR("no error");
            } catch (const lh::store_error& error) {
                const std::string what = error.what();
                BOOST_TEST(what.find("hush") == std::string::npos, what);
                BOOST_TEST(what.find("on_connect") != std::string::npos, what);
                BOOST_TEST(error.sqlstate().size() == 5U);
            }
        }
    }
}

BOOST_FIXTURE_TEST_CASE(a_connection_string_of_sqlite_changes_no_lease, sqlite_file)
{
    for (const char* set : {"NoTXN=1", "StepAPI=1", "NoTXN=1;StepAPI=1", "NoTXN = Yes", "StepAPI=true", "SyncPragma=OFF", "JDConv=1",
                            "BigInt=0", "Timeout=60000", "NoWCHAR=1", "LongNames=1", "FKSupport=1"}) {
        BOOST_TEST_CONTEXT(set)
        {
            lh::odbc_store other{connection_string + ";" + set};
            check_same_leases(store, other);
            check_releases_of_many(other);
        }
    }
}

// Each name of a file has a log of its own beside it, so what is granted by one name is not seen by another.
BOOST_AUTO_TEST_CASE(a_file_of_sqlite_with_another_name_is_refused)
{
    const temporary_directory folder;
    const std::filesystem::path file = folder.path() / "jobs.db", other = folder.path() / "other.db";
    const auto try_it = [](const std::filesystem::path& path, std::error_code& ec) {
        lh::odbc_store store{sqlite_connection_string(path)};
        store.create_schema(ec);
        if (!ec) BOOST_TEST(store.try_acquire("n", "we", 10min, ec).granted());
        return store.diagnostics().advice;
    };
    const auto check_refused = [&](const std::filesystem::path& path) {
        std::error_code ec;
        const std::string advice = try_it(path, ec);
        BOOST_TEST((ec == lh::errc::store_unavailable), ec.message());
        BOOST_TEST(advice.find("another name") != std::string::npos, path.filename() << ": " << advice);
    };
    std::error_code ec;
    try_it(file, ec);
    std::filesystem::create_symlink(file, other);  // SQLite looks where it leads
    try_it(other, ec);
    BOOST_TEST(!ec, ec.message());
    std::filesystem::remove(other);
    std::filesystem::create_hard_link(file, other);
    check_refused(file);
    check_refused(other);
    std::filesystem::remove(other);
    std::ofstream{other}.close();
    if (::mount(file.c_str(), other.c_str(), nullptr, MS_BIND, nullptr) != 0) {
        BOOST_TEST_MESSAGE("not run: a bind mount needs root");
        return;
    }
    check_refused(other);
    ::umount2(other.c_str(), MNT_DETACH);
}

BOOST_AUTO_TEST_SUITE_END()
