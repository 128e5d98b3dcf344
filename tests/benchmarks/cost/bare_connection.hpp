// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_COST_BARE_CONNECTION_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_COST_BARE_CONNECTION_HPP

#include <leasehold/odbc/detail/driver/bindings.hpp>
#include <leasehold/odbc/detail/driver/statement_catalog.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include <sql.h>
#include <sqlext.h>

namespace cost {

inline void must(SQLRETURN code, SQLSMALLINT type, SQLHANDLE of, const std::string& what)
{
    if (SQL_SUCCEEDED(code)) return;
    SQLCHAR state[6]{}, text[512]{};
    SQLINTEGER native = 0;
    SQLSMALLINT length = 0;
    SQLGetDiagRec(type, of, 1, state, &native, text, sizeof text, &length);
    throw std::runtime_error{"the bare connection failed: " + what + ": " + reinterpret_cast<const char*>(text)};
}

/// A connection as a user would make it by hand: no thread, no retry, no look at the clock.
class bare_connection {
public:
    bare_connection(const std::string& connection_string, const std::vector<std::string>& settings)
    {
        must(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment_), SQL_HANDLE_ENV, environment_, "environment");
        must(SQLSetEnvAttr(environment_, SQL_ATTR_ODBC_VERSION, reinterpret_cast<SQLPOINTER>(SQL_OV_ODBC3), 0), SQL_HANDLE_ENV,
             environment_, "version");
        must(SQLAllocHandle(SQL_HANDLE_DBC, environment_, &connection_), SQL_HANDLE_ENV, environment_, "connection");
        std::string text = connection_string;
        must(SQLDriverConnect(connection_, nullptr, reinterpret_cast<SQLCHAR*>(text.data()), SQL_NTS, nullptr, 0, nullptr,
                              SQL_DRIVER_NOPROMPT),
             SQL_HANDLE_DBC, connection_, "connect");
        for (std::string setting : settings) {
            SQLHSTMT once = SQL_NULL_HSTMT;
            must(SQLAllocHandle(SQL_HANDLE_STMT, connection_, &once), SQL_HANDLE_DBC, connection_, "statement");
            must(SQLExecDirect(once, reinterpret_cast<SQLCHAR*>(setting.data()), SQL_NTS), SQL_HANDLE_STMT, once, setting);
            SQLFreeHandle(SQL_HANDLE_STMT, once);
        }
    }
    bare_connection(const bare_connection&) = delete;
    bare_connection& operator=(const bare_connection&) = delete;
    ~bare_connection()
    {
        SQLDisconnect(connection_);
        SQLFreeHandle(SQL_HANDLE_DBC, connection_);
        SQLFreeHandle(SQL_HANDLE_ENV, environment_);
    }

    void use_transactions()
    {
        must(SQLSetConnectAttr(connection_, SQL_ATTR_AUTOCOMMIT, reinterpret_cast<SQLPOINTER>(SQL_AUTOCOMMIT_OFF), 0), SQL_HANDLE_DBC,
             connection_, "autocommit");
    }
    void commit() { must(SQLEndTran(SQL_HANDLE_DBC, connection_, SQL_COMMIT), SQL_HANDLE_DBC, connection_, "commit"); }

    [[nodiscard]] SQLHDBC handle() const noexcept { return connection_; }

private:
    SQLHENV environment_ = SQL_NULL_HENV;
    SQLHDBC connection_ = SQL_NULL_HDBC;
};

/// A prepared statement on it.
class bare_statement {
public:
    bare_statement(const bare_connection& on, const leasehold::odbc::detail::compiled_statement& what,
                   leasehold::odbc::detail::parameter_block& in)
        : text_{what.sql}
    {
        must(SQLAllocHandle(SQL_HANDLE_STMT, on.handle(), &statement_), SQL_HANDLE_DBC, on.handle(), "statement");
        must(SQLPrepare(statement_, reinterpret_cast<SQLCHAR*>(text_.data()), SQL_NTS), SQL_HANDLE_STMT, statement_, text_);
        SQLUSMALLINT number = 0;
        for (const auto each : what.parameters)
            must(leasehold::odbc::detail::bind(statement_, ++number, each, in), SQL_HANDLE_STMT, statement_, "bind");
    }
    bare_statement(const bare_statement&) = delete;
    bare_statement& operator=(const bare_statement&) = delete;
    ~bare_statement() { SQLFreeHandle(SQL_HANDLE_STMT, statement_); }

    /// Executes it; whether it met a row.
    bool change()
    {
        execute();
        SQLSMALLINT columns = 0;
        SQLLEN rows = 0;
        must(SQLNumResultCols(statement_, &columns), SQL_HANDLE_STMT, statement_, "columns");
        if (columns > 0)
            rows = SQL_SUCCEEDED(SQLFetch(statement_)) ? 1 : 0;
        else
            must(SQLRowCount(statement_, &rows), SQL_HANDLE_STMT, statement_, "row count");
        SQLFreeStmt(statement_, SQL_CLOSE);
        if (rows > 1) throw std::runtime_error{"a bare statement met more than its row: " + text_};
        return rows == 1;
    }
    /// Executes it, and has to meet one row.
    void change_one()
    {
        if (!change()) throw std::runtime_error{"a bare statement did not meet its row: " + text_};
    }

private:
    void execute()
    {
        const SQLRETURN code = SQLExecute(statement_);
        if (code != SQL_NO_DATA) must(code, SQL_HANDLE_STMT, statement_, text_);  // no row met
    }

    std::string text_;
    SQLHSTMT statement_ = SQL_NULL_HSTMT;
};

}  // namespace cost

#endif
