// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_ODBC_ERRORS_HPP
#define LEASEHOLD_TESTS_CONTRACT_ODBC_ERRORS_HPP

// For the library's own tests: it needs more of tests/support than is installed.
// What a store on a database says when something is wrong with what it was given.

#include <contract/asked_once.hpp>
#include <contract/scene.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/database_server.hpp>
#include <support/environment.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold_test {

namespace lh = leasehold;

/// What is to be said about a failure.
struct expected_failure {
    lh::errc code = lh::errc::store_failure;
    std::vector<std::string> sqlstates{};  ///< beginnings, any of which will do; empty: any
    std::vector<std::string> words{};      ///< of our own, which help the reader of the message
    std::vector<std::string> secrets{};    ///< that must appear nowhere, beside the servers' password
    bool can_read = false;                 ///< asking what is held works nevertheless
    std::string name = "name";             ///< to try it with
    std::string owner = "owner";
};

inline void check_message(const lh::store_error& error, const expected_failure& expected)
{
    const std::string what = error.what();
    BOOST_TEST_INFO_SCOPE("the message is: " << what);
    BOOST_TEST(error.code() == make_error_code(expected.code));
    bool fits = expected.sqlstates.empty();
    for (const std::string& beginning : expected.sqlstates)
        fits = fits || (error.sqlstate().size() == 5 && error.sqlstate().starts_with(beginning));
    BOOST_TEST(fits, "SQLSTATE " << error.sqlstate() << " fits");
    // Ours comes first; the server's own words, in brackets, may say anything.
    const std::string ours = what.substr(0, what.find(" [SQLSTATE"));
    for (const std::string& word : expected.words)
        BOOST_TEST(ours.find(word) != std::string::npos, "our words contain \"" << word << '"');
    std::vector<std::string> secrets = expected.secrets;
    secrets.emplace_back(database_server::password);
    for (const std::string& secret : secrets) {
        BOOST_TEST(what.find(secret) == std::string::npos, "the message hides the password");
        BOOST_TEST(error.server_message().find(secret) == std::string_view::npos, "the server's words hide the password");
    }
}

/// All operations fail in the expected way, in both forms; none says busy, false or empty instead.
template <class Store>
void check_failure(Store& store, const expected_failure& expected)
{
    lh::basic_lease lease{store, expected.name, {}, lh::steady_clock{}, lh::fixed_owner_id{expected.owner}};
    const auto fails = [&](auto operation) {
        try {
            operation();
            BOOST_ERROR("no store_error was thrown");
        } catch (const lh::store_error& error) {
            check_message(error, expected);
        }
    };
    fails([&] { static_cast<void>(lease.try_acquire()); });
    std::error_code ec;
    BOOST_TEST(!is_held(lease.try_acquire(ec)));
    BOOST_TEST(ec == make_error_code(expected.code));
    BOOST_TEST(!store.diagnostics().advice.empty());
    if (expected.can_read) {
        BOOST_CHECK_NO_THROW(static_cast<void>(lease.inspect()));
        BOOST_CHECK_NO_THROW(static_cast<void>(store.list()));
        return;
    }
    fails([&] { static_cast<void>(lease.inspect()); });
    fails([&] { static_cast<void>(store.list()); });
    fails([&] { store.force_release("name"); });
    ec.clear();
    static_cast<void>(store.renew("name", "owner", lh::fencing_token{1}, lh::duration{1'000'000'000}, ec));
    BOOST_TEST(ec == make_error_code(expected.code));
    ec.clear();
    store.release("name", "owner", lh::fencing_token{1}, lh::duration::zero(), ec);
    BOOST_TEST(ec == make_error_code(expected.code));
    ec.clear();
    static_cast<void>(store.inspect("name", ec));
    BOOST_TEST(ec == make_error_code(expected.code));
    ec.clear();
    static_cast<void>(store.list("name", ec));
    BOOST_TEST(ec == make_error_code(expected.code));
}

/// The store does what it is there for.
template <class Store>
void check_works(Store& store, std::string_view name = "name")
{
    lh::basic_lease lease{store, name};
    auto guard = lease.try_acquire();
    BOOST_TEST(guard.held());
    BOOST_TEST(guard.token() > lh::fencing_token{});
    BOOST_TEST(guard.renew());
    BOOST_TEST((guard && guard.release() == lh::release_outcome::released));
}

inline lh::odbc_options with_table(std::string table)
{
    lh::odbc_options options;
    options.table = std::move(table);
    return options;
}

// The table is not there; then it is.
inline void check_missing_table(const std::string& connection_string, const std::vector<std::string>& sqlstates)
{
    lh::odbc_store store{connection_string, with_table("not_there_yet")};
    check_failure(store, {.code = lh::errc::schema_missing, .sqlstates = sqlstates, .words = {"table", "create_schema()"}});
    store.create_schema();
    check_works(store);
    store.create_schema();  // once more does no harm
    check_works(store);
}

// A table of shape (name, owner, expiry) from before: `execute` runs SQL, `text` and `timestamp` are column types, `past`
// and `future` expressions.
template <class Execute>
void check_taking_a_table_over(const std::string& connection_string, Execute execute, const std::string& text,
                               const std::string& timestamp, const std::string& past, const std::string& future,
                               const std::vector<std::string>& sqlstates)
{
    execute("create table shedlock (lock_name " + text + " not null primary key, locked_by " + text +
            " not null, lock_until " + timestamp + " not null)");
    execute("insert into shedlock values ('over', 'Old Owner', " + past + "), ('held', 'Old Owner', " + future + ")");
    lh::odbc_options options = with_table("shedlock");
    options.columns = {.name = "lock_name", .owner = "locked_by", .token = "fencing_token", .expires_at = "lock_until"};
    lh::odbc_store store{connection_string, options};
    check_failure(store, {.code = lh::errc::schema_missing, .sqlstates = sqlstates, .words = {"column", "token", "docs/migrating.md"}});

    for (const char* column : {"fencing_token bigint not null default 0", "holder_data varchar(1024)", "holder_data_token bigint",
                               "handover_request varchar(1024)", "handover_token bigint", "checkpoint varchar(4096)",
                               "checkpoint_token bigint"})
        execute("alter table shedlock add column " + std::string{column});
    using lh::contract::acquire;
    const auto taken = acquire(store, "over", "a");
    BOOST_TEST(taken.granted());
    BOOST_TEST(taken.token > lh::fencing_token{});
    const auto old = lh::contract::inspect(store, "held");
    BOOST_REQUIRE(old.has_value());
    BOOST_TEST(old->owner == "Old Owner");
    for (const char* other : {"a", "old owner", "Old Owner ", "OLD OWNER"})
        BOOST_TEST(!acquire(store, "held", other).granted());
    const auto again = acquire(store, "held", "Old Owner");
    BOOST_TEST(again.granted());
    check_works(store, "new");
}

// Many set the same table up at once, each with a store of its own.
inline void check_schema_created_by_many(const std::string& connection_string)
{
    lh::contract::at_once(8, [&](std::size_t i) {
        lh::odbc_store store{connection_string, with_table("made_by_many")};
        store.create_schema();
        if (!lh::contract::acquire(store, "name " + std::to_string(i), "a").granted())
            throw std::logic_error{"busy on a free name"};
    });
    lh::odbc_store store{connection_string, with_table("made_by_many")};
    BOOST_TEST(store.list().size() == 8);
}

// What does not depend on the database.
inline void check_connection_strings(const std::string& good)
{
    const auto refused = [](const std::string& text) {
        try {
            lh::odbc_store store{text};
        } catch (const std::system_error& e) {
            return e.code() == std::errc::invalid_argument &&
                   std::string_view{e.what()}.find("connection string") != std::string_view::npos;
        }
        return false;
    };
    BOOST_TEST(refused(good + std::string(1, '\0') + ";x=y"));

    const std::string secret = "PWD=hush-hush";
    lh::odbc_store unknown{"Driver=No Such Driver;Server=127.0.0.1;" + secret};
    check_failure(
        unknown,
        {.code = lh::errc::store_unavailable, .sqlstates = {"01000", "IM"}, .words = {"driver"}, .secrets = {"hush-hush"}});
    for (const char* text : {"", "just words", ";;=;"}) {
        lh::odbc_store nonsense{text};
        check_failure(nonsense,
                      {.code = lh::errc::store_unavailable, .sqlstates = {"IM", "01000"}, .words = {"keyword=value"}, .secrets = {}});
    }
    lh::odbc_store no_driver{"Server=127.0.0.1;UID=somebody;" + secret};
    check_failure(no_driver,
                  {.code = lh::errc::store_unavailable, .sqlstates = {"IM"}, .words = {"DSN"}, .secrets = {"hush-hush"}});
    lh::odbc_store no_dsn{"DSN=no-such-dsn;" + secret};
    check_failure(no_dsn,
                  {.code = lh::errc::store_unavailable, .sqlstates = {"IM"}, .words = {"DSN"}, .secrets = {"hush-hush"}});
    lh::odbc_store unbalanced{"Driver={SQLite3;Database=x;" + secret};
    check_failure(unbalanced, {.code = lh::errc::store_unavailable, .words = {"driver"}, .secrets = {"hush-hush"}});
}

// Messages quote names, and names may be words of other messages.
inline void check_names_in_messages(const std::string& connection_string, const std::vector<std::string>& no_such_table)
{
    for (const char* table : {"password_locks", "too_many_clients"}) {
        lh::odbc_store store{connection_string, with_table(table)};
        check_failure(store, {.code = lh::errc::schema_missing, .sqlstates = no_such_table, .words = {"create_schema()"}});
        store.create_schema();
        // First grants of one name, of which all but one meet a duplicate key.
        for (int i = 0; i < 20; ++i) {
            const std::string name = "password reset, the database system is " + std::to_string(i);
            lh::contract::at_once(4, [&](std::size_t owner) {
                std::error_code ec;
                static_cast<void>(store.try_acquire(name, std::to_string(owner), std::chrono::seconds{60}, ec));
                if (ec) throw std::logic_error{ec.message() + ": " + store.diagnostics().advice};
            });
        }
        BOOST_TEST(store.list().size() == 20U);
    }
}

// What servers have in common: log-in, database, address, table, rights. `attributes` end each connection string.
inline void check_servers_errors(database_server& server, const std::string& attributes, const std::string& no_such_table)
{
    const std::string user = database_server::user;
    const std::string password = database_server::password;
    const std::string database = database_server::database;
    const auto as = [&](const std::string& some_user, const std::string& secret, const std::string& some_database) {
        return server.connection_string(some_user, secret, some_database) + attributes;
    };
    const std::string good = as(user, password, database);
    const auto unavailable = [&](const std::string& connection_string, const std::string& word, const std::string& secret) {
        BOOST_TEST_CONTEXT("trying " << word)
        {
            lh::odbc_store store{connection_string};
            check_failure(store, {.code = lh::errc::store_unavailable,
                                  .sqlstates = {"08", "28", "HY000", "3D", "42000"},
                                  .words = {word},
                                  .secrets = {secret}});
        }
    };
    unavailable(as(user, "incorrect-horse", database), "password", "incorrect-horse");
    unavailable(as(user, "{in;correct}}horse}", database), "password", "correct}");
    std::string forgotten = as(user, "x2", database);
    forgotten.replace(forgotten.find(";PWD="), 1, " ");  // the server quotes it as part of the user's name
    unavailable(forgotten, "password", "x2");
    unavailable(as("nobody-we-know", "incorrect-horse", database), "user", "incorrect-horse");
    unavailable(as(user, password, "no_such_database"), "Database", "incorrect-horse");
    std::string elsewhere = good;
    const std::string port = "Port=" + std::to_string(server.port());
    elsewhere.replace(elsewhere.find(port), port.size(), "Port=" + std::to_string(free_port()));
    unavailable(elsewhere, "Port", "incorrect-horse");

    check_missing_table(good, {no_such_table});
    std::string spaced = good;
    for (std::size_t at = spaced.find(';'); at != std::string::npos; at = spaced.find(';', at + 1)) spaced.insert(at + 1, " ");
    lh::odbc_store same_server{spaced, with_table("not_there_yet")};
    check_works(same_server);
    check_schema_created_by_many(good);
    check_names_in_messages(good, {no_such_table});

    lh::odbc_options options;
    options.on_connect = {"select broken from nowhere"};
    lh::odbc_store broken_set_up{good, options};
    std::error_code ec;
    static_cast<void>(broken_set_up.inspect("name", ec));
    BOOST_TEST(static_cast<bool>(ec));
    BOOST_TEST(broken_set_up.diagnostics().advice.find("on_connect") != std::string::npos,
               broken_set_up.diagnostics().advice);
}

}  // namespace leasehold_test

#endif
