// SPDX-License-Identifier: BSL-1.0
// needs: server, program
// The servers of the test support themselves, through plain ODBC: what the other tests stand on.
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <sql.h>
#include <sqlext.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

// One query on a connection of its own; what it returned, or the SQLSTATE.
std::string answer(const std::string& connection_string, const std::string& sql)
{
    SQLHENV environment = SQL_NULL_HENV;
    SQLHDBC connection = SQL_NULL_HDBC;
    SQLHSTMT statement = SQL_NULL_HSTMT;
    const auto text = [](const std::string& from) { return reinterpret_cast<SQLCHAR*>(const_cast<char*>(from.c_str())); };
    SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment);
    SQLSetEnvAttr(environment, SQL_ATTR_ODBC_VERSION, reinterpret_cast<SQLPOINTER>(SQL_OV_ODBC3), 0);
    SQLAllocHandle(SQL_HANDLE_DBC, environment, &connection);
    SQLRETURN result =
        SQLDriverConnect(connection, nullptr, text(connection_string), SQL_NTS, nullptr, 0, nullptr, SQL_DRIVER_NOPROMPT);
    std::string value(64, '\0');
    SQLLEN size = 0;
    if (SQL_SUCCEEDED(result)) {
        SQLAllocHandle(SQL_HANDLE_STMT, connection, &statement);
        result = SQLExecDirect(statement, text(sql), SQL_NTS);
        if (SQL_SUCCEEDED(result)) result = SQLFetch(statement);
        if (SQL_SUCCEEDED(result)) result = SQLGetData(statement, 1, SQL_C_CHAR, value.data(), 64, &size);
    }
    if (SQL_SUCCEEDED(result)) {
        value.resize(static_cast<std::size_t>(size));
    } else {
        value.assign(5, '?');
        SQLINTEGER native = 0;
        SQLGetDiagRec(statement ? SQL_HANDLE_STMT : SQL_HANDLE_DBC, statement ? statement : connection, 1,
                      reinterpret_cast<SQLCHAR*>(value.data()), &native, nullptr, 0, nullptr);
    }
    if (statement) SQLFreeHandle(SQL_HANDLE_STMT, statement);
    SQLDisconnect(connection);
    SQLFreeHandle(SQL_HANDLE_DBC, connection);
    SQLFreeHandle(SQL_HANDLE_ENV, environment);
    return value;
}

using servers = boost::mpl::list<postgresql_server, mariadb_server>;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(server_answers_freezes_thaws_dies_and_restarts, Server, servers)
{
    Server server;
    BOOST_TEST_CONTEXT("port " << server.port())
    {
        BOOST_TEST(answer(server.connection_string(), "select 40 + 2") == "42");

        server.execute_sql("create table kept (n int); insert into kept values (7)");
        BOOST_TEST(server.execute_sql("select n, n + 1 from kept") == "7\t8\n");
        BOOST_CHECK_THROW(server.execute_sql("select nothing from nowhere"), std::runtime_error);

        server.freeze();
        std::atomic<bool> answered = false;
        std::string late;
        std::thread caller{[&] {
            late = answer(server.connection_string(), "select 1");
            answered = true;
        }};
        BOOST_TEST(throughout([&] { return !answered.load(); }, 300ms));
        server.thaw();
        BOOST_TEST(eventually([&] { return answered.load(); }));
        caller.join();
        BOOST_TEST(late == "1");

        const int port = server.port();
        server.restart();
        BOOST_TEST(server.port() == port);
        BOOST_TEST(server.execute_sql("select n from kept") == "7\n");

        server.kill();
        BOOST_TEST(!server.running());
        BOOST_TEST(answer(server.connection_string(), "select 1") != "1");
        server.start();
        BOOST_TEST(answer(server.connection_string(), "select 1") == "1");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(server_refuses_a_wrong_password_and_an_unknown_database, Server, servers)
{
    Server server;
    const auto refused = [&server](const std::string& user, const std::string& password, const std::string& database) {
        return answer(server.connection_string(user, password, database), "select 1");
    };
    BOOST_TEST(refused(Server::user, "wrong", Server::database) != "1");
    BOOST_TEST(refused("nobody-we-know", Server::password, Server::database) != "1");
    BOOST_TEST(refused(Server::user, Server::password, "no-such-database") != "1");
}

BOOST_AUTO_TEST_CASE(extra_arguments_reach_the_servers)
{
    postgresql_server postgresql{{"-c", "default_transaction_isolation=serializable"}};
    BOOST_TEST(answer(postgresql.connection_string(), "show default_transaction_isolation") == "serializable");
    mariadb_server mariadb{{"--transaction-isolation=SERIALIZABLE"}};
    BOOST_TEST(answer(mariadb.connection_string(), mariadb.is_mysql() ? "select @@transaction_isolation" : "select @@tx_isolation") ==
               "SERIALIZABLE");
}

BOOST_AUTO_TEST_CASE(two_servers_of_a_kind_live_side_by_side)
{
    mariadb_server one;
    mariadb_server other;
    BOOST_TEST(one.port() != other.port());
    one.execute_sql("create table only_here (n int)");
    BOOST_TEST(other.execute_sql("show tables") == "");
}

BOOST_AUTO_TEST_CASE(frozen_server_can_be_killed_and_started_again)
{
    postgresql_server server;
    server.freeze();
    server.kill();
    server.start();
    BOOST_TEST(answer(server.connection_string(), "select 1") == "1");
}
