// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_THREAD_SERVICE_CONNECTION_HPP
#define LEASEHOLD_EXAMPLES_THREAD_SERVICE_CONNECTION_HPP

#if __has_include(<windows.h>)
#include <windows.h>
#endif
#include <sql.h>
#include <sqlext.h>

#include <stdexcept>
#include <string>
#include <utility>

/// A program's own connection to its data, with transactions. Yours comes from the library that you use already.
class connection {
public:
    explicit connection(std::string text)
    {
        SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment_);
        SQLSetEnvAttr(environment_, SQL_ATTR_ODBC_VERSION, reinterpret_cast<SQLPOINTER>(SQL_OV_ODBC3), 0);
        SQLAllocHandle(SQL_HANDLE_DBC, environment_, &handle_);
        if (!SQL_SUCCEEDED(SQLDriverConnect(handle_, nullptr, reinterpret_cast<SQLCHAR*>(text.data()), SQL_NTS, nullptr, 0, nullptr,
                                            SQL_DRIVER_NOPROMPT))) {
            const std::runtime_error refused{"can't open the database: " + message(SQL_HANDLE_DBC, handle_)};
            free();
            throw refused;
        }
        SQLSetConnectAttr(handle_, SQL_ATTR_AUTOCOMMIT, reinterpret_cast<SQLPOINTER>(SQL_AUTOCOMMIT_OFF), SQL_IS_UINTEGER);
    }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection()
    {
        roll_back();
        SQLDisconnect(handle_);
        free();
    }

    [[nodiscard]] SQLHDBC handle() const { return handle_; }

    /// The driver's words for the last failure of a handle.
    static std::string message(SQLSMALLINT kind, SQLHANDLE handle)
    {
        SQLCHAR state[6] = "";
        SQLCHAR text[1000] = "";
        SQLINTEGER number = 0;
        SQLGetDiagRec(kind, handle, 1, state, &number, text, sizeof text, nullptr);
        return reinterpret_cast<const char*>(state) + std::string{" "} + reinterpret_cast<const char*>(text);
    }

    void run(std::string sql)
    {
        execute(std::move(sql), [](SQLHSTMT) {});
    }
    /// The number that a query answers.
    long number(std::string sql)
    {
        SQLINTEGER found = 0;
        execute(std::move(sql), [&found](SQLHSTMT statement) {
            if (SQL_SUCCEEDED(SQLFetch(statement))) SQLGetData(statement, 1, SQL_C_SLONG, &found, 0, nullptr);
        });
        return found;
    }
    void commit()
    {
        if (!SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, handle_, SQL_COMMIT)))
            throw std::runtime_error{"commit: " + message(SQL_HANDLE_DBC, handle_)};
    }
    void roll_back() { SQLEndTran(SQL_HANDLE_DBC, handle_, SQL_ROLLBACK); }

private:
    template <class Read>
    void execute(std::string sql, Read read)
    {
        SQLHSTMT statement = nullptr;
        SQLAllocHandle(SQL_HANDLE_STMT, handle_, &statement);
        const SQLRETURN result = SQLExecDirect(statement, reinterpret_cast<SQLCHAR*>(sql.data()), SQL_NTS);
        const bool failed = !SQL_SUCCEEDED(result) && result != SQL_NO_DATA;
        const std::string why = failed ? message(SQL_HANDLE_STMT, statement) : std::string{};
        if (!failed) read(statement);
        SQLFreeHandle(SQL_HANDLE_STMT, statement);
        if (failed) throw std::runtime_error{sql + ": " + why};
    }

    void free()
    {
        SQLFreeHandle(SQL_HANDLE_DBC, handle_);
        SQLFreeHandle(SQL_HANDLE_ENV, environment_);
    }

    SQLHENV environment_ = nullptr;
    SQLHDBC handle_ = nullptr;
};

#endif
