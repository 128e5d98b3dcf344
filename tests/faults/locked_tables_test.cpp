// SPDX-License-Identifier: BSL-1.0
// needs: server
// Somebody locks the whole table, or the server has limits of its own for statements: no statement of ours outlives its call, and
// none that is to wait is ended.
#include <contract/odbc_connection.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(locked_tables)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

// An attempt, a renewal and a release meet the lock; `waiting`: how many statements wait for it on the server.
void check_calls_end(const std::string& connection_string, const std::string& lock, const std::string& unlock, const std::string& waiting)
{
    lh::odbc_store store{connection_string, {.call_timeout = 3s, .lock_timeout = 500ms}};
    store.create_schema();
    std::error_code ec;
    const auto ours = store.try_acquire("n", "we", 10min, ec);
    BOOST_REQUIRE(ours.granted());
    odbc_connection somebody{connection_string};
    odbc_connection administrator{connection_string};
    somebody.execute(lock);
    BOOST_TEST(!store.try_acquire("m", "we", 10min, ec).granted());
    BOOST_TEST(ec);
    BOOST_TEST(!store.renew("n", "we", ours.token, 10min, ec));
    BOOST_TEST(ec);
    BOOST_TEST(!store.release("n", "we", ours.token, 0s, ec));
    BOOST_TEST(ec);
    BOOST_TEST(eventually([&] { return administrator.execute(waiting) == "0"; }));
    BOOST_TEST(eventually([&] { return store.hanging_calls() == 0; }));
    somebody.execute(unlock);
    BOOST_TEST(store.try_acquire("m", "we", 10min, ec).granted());
    BOOST_TEST(!ec);
    BOOST_TEST(store.renew("n", "we", ours.token, 10min, ec));
    BOOST_TEST(store.release("n", "we", ours.token, 0s, ec));
}

// Somebody has the row's lock for longer than a call lasts: that is no frozen server, and the connection is as good as before.
void check_locked_row(const std::string& connection_string, lh::duration call_timeout)
{
    BOOST_TEST_CONTEXT("call_timeout " << call_timeout / 1ms << " ms")
    {
        lh::odbc_store store{connection_string, {.call_timeout = call_timeout, .pool_size = 1}};
        store.create_schema();
        std::error_code ec;
        const auto ours = store.try_acquire("locked", "we", 10min, ec);
        BOOST_REQUIRE(ours.granted());
        odbc_connection somebody{connection_string};
        somebody.begin();
        somebody.execute("select * from leasehold where name = 'locked' for update");
        const auto is_conflict = [&](const char* call) {
            BOOST_TEST((ec == lh::errc::store_conflict), call << ": " << ec.message() << ' ' << store.diagnostics().advice);
            BOOST_TEST(store.diagnostics().advice.find("locked") != std::string::npos, store.diagnostics().advice);
            BOOST_TEST(store.abandoned_calls() == 0U);
        };
        BOOST_TEST(!store.renew("locked", "we", ours.token, 10min, ec));
        is_conflict("renew");
        BOOST_TEST(!store.release("locked", "we", ours.token, 0s, ec));
        is_conflict("release");
        std::vector<lh::term_renewal> renewals{{"locked", "we", ours.token, 10min}};
        std::vector<lh::batch_answer> answers(renewals.size());
        store.renew_many(renewals, answers, call_timeout, ec);
        is_conflict("renew_many");
        store.force_release("locked", ec);
        is_conflict("force_release");
        BOOST_TEST(!store.try_acquire("locked", "we", 10min, ec).granted());  // busy for others, and no answer to its own holder
        is_conflict("try_acquire");
        somebody.roll_back();
        BOOST_TEST(store.renew("locked", "we", ours.token, 10min, ec));
        BOOST_TEST(!ec, store.diagnostics().advice);
        BOOST_TEST(store.sessions() == 1U);
        BOOST_TEST(store.release("locked", "we", ours.token, 0s, ec));
    }
}

// The call has less time than a lock time-out: that is no frozen server either, and the terms whose rows nobody has locked are renewed.
void check_renewals_within_short_time(const std::string& connection_string, std::size_t terms, const std::vector<std::size_t>& locked)
{
    BOOST_TEST_CONTEXT(locked.size() << " locked of " << terms)
    {
        lh::odbc_store store{connection_string};
        store.create_schema();
        std::error_code ec;
        std::vector<std::string> names;
        for (std::size_t i = 0; i < terms; ++i) names.push_back("term " + std::to_string(i));
        std::vector<lh::term_renewal> renewals;
        for (const std::string& name : names)
            renewals.push_back({name, "we", store.try_acquire(name, "we", 10min, ec).token, 10min});
        odbc_connection somebody{connection_string};
        somebody.begin();
        for (const std::size_t i : locked) somebody.execute("select * from leasehold where name = '" + names[i] + "' for update");
        std::vector<lh::batch_answer> answers(terms, lh::batch_answer::unknown);
        store.renew_many(renewals, answers, 850ms, ec);
        BOOST_TEST((ec == lh::errc::store_conflict), ec.message() << ' ' << store.diagnostics().advice);
        BOOST_TEST(store.abandoned_calls() == 0U);
        for (std::size_t i = 0; i < terms; ++i) {
            const bool is_locked = std::ranges::find(locked, i) != locked.end();
            BOOST_TEST((answers[i] == (is_locked ? lh::batch_answer::unknown : lh::batch_answer::yes)), names[i]);
        }
        somebody.roll_back();
        for (const lh::term_renewal& each : renewals) BOOST_TEST(store.release(each.name, "we", each.token, 0s, ec));
        BOOST_TEST(store.sessions() == 1U);
    }
}

// The second waits for the session of the first, and then has no time left for a lock.
void check_locked_row_for_two(const std::string& connection_string)
{
    lh::odbc_store store{connection_string, {.pool_size = 1}};
    store.create_schema();
    std::error_code ec;
    const auto ours = store.try_acquire("wanted twice", "we", 10min, ec);
    BOOST_REQUIRE(ours.granted());
    odbc_connection somebody{connection_string};
    somebody.begin();
    somebody.execute("select * from leasehold where name = 'wanted twice' for update");
    std::error_code of_other;
    {
        const std::jthread other{[&] { BOOST_TEST(!store.renew("wanted twice", "we", ours.token, 10min, of_other)); }};
        BOOST_TEST(!store.renew("wanted twice", "we", ours.token, 10min, ec));
    }
    const auto conflicts = std::ranges::count(std::array{ec, of_other}, std::error_code{lh::errc::store_conflict});
    const auto without_session = std::ranges::count(std::array{ec, of_other}, std::error_code{lh::errc::store_timeout});
    BOOST_TEST(conflicts == 1);
    BOOST_TEST(without_session == 1);
    BOOST_TEST(store.abandoned_calls() == 0U);
    somebody.roll_back();
    BOOST_TEST(store.renew("wanted twice", "we", ours.token, 10min, ec));
}

// Nobody holds these names, and nobody can write: that is an outage, not somebody else's term.
void check_unwritable(const std::string& connection_string, const std::string& lock, const std::string& unlock, const char* cause)
{
    BOOST_TEST_CONTEXT(lock)
    {
        lh::odbc_store store{connection_string, {.call_timeout = 10s, .lock_timeout = 500ms}};
        store.create_schema();
        std::error_code ec;
        const auto once = store.try_acquire("released", "we", 10min, ec);
        BOOST_REQUIRE(store.release("released", "we", once.token, 0s, ec));
        const auto held = store.try_acquire("held", "we", 10min, ec);
        BOOST_REQUIRE(held.granted());
        odbc_connection somebody{connection_string};
        somebody.execute(lock);
        for (const char* const name : {"released", "new"}) {
            BOOST_TEST(!store.try_acquire(name, "another", 10min, ec).granted());
            BOOST_TEST((ec == lh::errc::store_conflict), name << ": " << ec.message() << ' ' << store.diagnostics().advice);
            BOOST_TEST(store.diagnostics().advice.find(cause) != std::string::npos, name << ": " << store.diagnostics().advice);
        }
        const std::vector<lh::term_request> wanted{{"released", "another", 10min}, {"new", "another", 10min}};
        std::vector<std::optional<lh::acquire_result>> answers(wanted.size());
        store.acquire_many(wanted, wanted.size(), answers, ec);
        BOOST_TEST((ec == lh::errc::store_conflict), "many: " << ec.message() << ' ' << store.diagnostics().advice);
        BOOST_TEST(store.diagnostics().advice.find(cause) != std::string::npos, "many: " << store.diagnostics().advice);
        BOOST_TEST(store.abandoned_calls() == 0U);
        BOOST_TEST((store.try_acquire("held", "another", 10min, ec).token == held.token));
        BOOST_TEST(!ec, ec.message());
        somebody.execute(unlock);
        const auto again = store.try_acquire("released", "another", 10min, ec);
        BOOST_TEST(again.granted());
        BOOST_TEST(store.release("released", "another", again.token, 0s, ec));
        BOOST_TEST(store.release("held", "we", held.token, 0s, ec));
    }
}

// Words that a statement of ours has, or that mean something in one.
void check_tables_named_like_words(const std::string& connection_string)
{
    for (const char* const table : {"old", "new", "excluded", "select", "row", "values", "l"}) {
        BOOST_TEST_CONTEXT(table)
        {
            lh::odbc_store store{connection_string, {.table = table}};
            store.create_schema();
            std::error_code ec;
            const auto ours = store.try_acquire("n", "we", 10min, ec);
            BOOST_TEST(!ec, ec.message() << ' ' << store.diagnostics().server_message);
            BOOST_REQUIRE(ours.granted());
            BOOST_TEST(!store.try_acquire("n", "another", 10min, ec).granted());
            BOOST_TEST(!ec, ec.message() << ' ' << store.diagnostics().server_message);
            BOOST_TEST(store.renew("n", "we", ours.token, 10min, ec));
            BOOST_TEST(store.release("n", "we", ours.token, 0s, ec));
            BOOST_TEST(store.try_acquire("n", "another", 10min, ec).token > ours.token);
            BOOST_TEST(store.list().size() == 1U);
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_table_locked_on_mariadb_keeps_no_statement_beyond_its_call)
{
    const mariadb_server server;
    check_calls_end(server.connection_string(), "lock tables leasehold write", "unlock tables",
                    "select count(*) from information_schema.processlist where state like '%lock%' and info like '%leasehold%'"
                    " and id <> connection_id()");
}

BOOST_AUTO_TEST_CASE(a_table_locked_on_postgresql_keeps_no_statement_beyond_its_call)
{
    const postgresql_server server;
    check_calls_end(server.connection_string(), "begin; lock table leasehold in access exclusive mode", "commit",
                    "select count(*) from pg_stat_activity where wait_event_type = 'Lock'");
}

BOOST_AUTO_TEST_CASE(a_row_locked_for_longer_than_a_call_is_a_conflict_on_mariadb)
{
    const mariadb_server server;
    check_locked_row(server.connection_string(), 3s);
    check_locked_row(server.connection_string(), 5s);
    check_locked_row_for_two(server.connection_string());
}

BOOST_AUTO_TEST_CASE(a_row_locked_for_longer_than_a_call_is_a_conflict_on_postgresql)
{
    const postgresql_server server;
    check_locked_row(server.connection_string(), 1s);
    check_locked_row(server.connection_string(), 5s);
    check_locked_row_for_two(server.connection_string());
}

BOOST_AUTO_TEST_CASE(of_renewals_with_little_time_a_locked_row_keeps_itself_only_on_mariadb)
{
    const mariadb_server server;
    check_renewals_within_short_time(server.connection_string(), 1, {0});
    check_renewals_within_short_time(server.connection_string(), 2, {1});
    check_renewals_within_short_time(server.connection_string(), 20, {0, 5, 6, 7, 13});
}

BOOST_AUTO_TEST_CASE(of_renewals_with_little_time_a_locked_row_keeps_itself_only_on_postgresql)
{
    const postgresql_server server;
    check_renewals_within_short_time(server.connection_string(), 1, {0});
    check_renewals_within_short_time(server.connection_string(), 2, {1});
    check_renewals_within_short_time(server.connection_string(), 20, {13});
    check_renewals_within_short_time(server.connection_string(), 20, {0, 1, 2, 3, 4, 5});
}

BOOST_AUTO_TEST_CASE(a_free_name_is_not_busy_while_nobody_can_write_on_mariadb)
{
    mariadb_server server;
    server.execute_sql(std::string{"grant reload on *.* to "} + server.user);
    for (const char* const lock : {"flush tables with read lock", "lock tables leasehold read"})
        check_unwritable(server.connection_string(), lock, "unlock tables", "locked");
}

BOOST_AUTO_TEST_CASE(a_free_name_is_not_busy_while_nobody_can_write_on_postgresql)
{
    postgresql_server server;
    check_unwritable(server.connection_string(), "begin; lock table leasehold in share mode", "commit", "locked");
    server.execute_sql("create function undone() returns trigger language plpgsql as 'begin return null; end'");
    check_unwritable(server.connection_string(), "create trigger undoes before insert or update on leasehold for each row"
                     " execute procedure undone()", "drop trigger undoes on leasehold", "trigger");
}

BOOST_AUTO_TEST_CASE(a_table_may_be_named_like_a_word_of_a_statement)
{
    check_tables_named_like_words(postgresql_server{}.connection_string());
    check_tables_named_like_words(mariadb_server{}.connection_string());
    const temporary_directory folder;
    check_tables_named_like_words(sqlite_connection_string(folder.path() / "leases.db"));
}

BOOST_AUTO_TEST_CASE(a_waiter_waits_on_although_the_server_ends_long_statements)
{
    // MariaDB's limit, and MySQL's.
    mariadb_server server{{"--loose-max-statement-time=0.2", "--loose-max-execution-time=200"}};
    lh::odbc_store store{server.connection_string()};
    store.create_schema();
    // Held by a waiter of another store, so that the term has its lock.
    lh::odbc_store other{server.connection_string()};
    lh::basic_lease held{other, "n", 10min};
    auto guard = held.acquire();
    lh::basic_lease lease{store, "n", 10min};
    lh::basic_lease<lh::odbc_store>::guard_type next;
    std::jthread waiter{[&] { next = lease.acquire(); }};
    const auto waits = [&] {
        return server.execute_sql("select count(*) from information_schema.processlist where state = 'User lock'").starts_with("1");
    };
    const auto ended_none = [&] {
        return server.execute_sql("show global status where variable_name in ('max_statement_time_exceeded', 'max_execution_time_exceeded')"
                                  " and value = '0'") != "";
    };
    BOOST_TEST(eventually(waits));
    BOOST_TEST(throughout(ended_none, 1s));
    BOOST_TEST(eventually(waits));
    guard.release();
    waiter.join();
    BOOST_TEST(next.held());
}

BOOST_AUTO_TEST_SUITE_END()
