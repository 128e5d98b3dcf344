// SPDX-License-Identifier: BSL-1.0
#include "odbc_connection.hpp"

#include "exit_code.hpp"
#include "failure.hpp"

#include <array>
#include <cstdint>

#include <sqlext.h>

namespace tool {

namespace {

SQLCHAR* odbc_text(const std::string& text) { return reinterpret_cast<SQLCHAR*>(const_cast<char*>(text.c_str())); }

SQLHENV new_environment()
{
    SQLHENV made = SQL_NULL_HENV;
    if (!SQL_SUCCEEDED(::SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &made))) return SQL_NULL_HENV;
    ::SQLSetEnvAttr(made, SQL_ATTR_ODBC_VERSION, reinterpret_cast<SQLPOINTER>(static_cast<std::uintptr_t>(SQL_OV_ODBC3)), 0);
    return made;
}

// The first column of the row, however long it is. Nothing if it is NULL.
std::optional<std::string> whole_text(SQLHSTMT statement)
{
    std::string all;
    for (;;) {
        std::array<char, 512> piece{};
        SQLLEN length = 0;
        const SQLRETURN done = ::SQLGetData(statement, 1, SQL_C_CHAR, piece.data(), static_cast<SQLLEN>(piece.size()), &length);
        if (done == SQL_NO_DATA) return all;
        if (!SQL_SUCCEEDED(done) || length == SQL_NULL_DATA) return std::nullopt;
        all += piece.data();
        if (done == SQL_SUCCESS) return all;
    }
}

}  // namespace

odbc_connection::odbc_connection(const std::string& connection_string) : environment_{new_environment()}
{
    const bool made =
        environment_ != SQL_NULL_HENV && SQL_SUCCEEDED(::SQLAllocHandle(SQL_HANDLE_DBC, environment_, &connection_));
    if (made) {
        ::SQLSetConnectAttr(connection_, SQL_ATTR_LOGIN_TIMEOUT,
                            reinterpret_cast<SQLPOINTER>(static_cast<std::uintptr_t>(5)), SQL_IS_UINTEGER);
        if (SQL_SUCCEEDED(::SQLDriverConnect(connection_, nullptr, odbc_text(connection_string), SQL_NTS, nullptr, 0,
                                             nullptr, SQL_DRIVER_NOPROMPT)))
            return;
        ::SQLFreeHandle(SQL_HANDLE_DBC, connection_);
    }
    if (environment_ != SQL_NULL_HENV) ::SQLFreeHandle(SQL_HANDLE_ENV, environment_);
    throw failure{exit_code::store, "can't connect to the database"};
}

odbc_connection::~odbc_connection()
{
    ::SQLDisconnect(connection_);
    ::SQLFreeHandle(SQL_HANDLE_DBC, connection_);
    ::SQLFreeHandle(SQL_HANDLE_ENV, environment_);
}

connection_facts odbc_connection::facts() const
{
    const auto info = [this](SQLUSMALLINT what) {
        std::array<char, 256> text{};
        SQLSMALLINT length = 0;
        ::SQLGetInfo(connection_, what, text.data(), static_cast<SQLSMALLINT>(text.size()), &length);
        return std::string{text.data()};
    };
    return {info(SQL_DRIVER_NAME), info(SQL_DRIVER_VER), info(SQL_DBMS_NAME), info(SQL_DBMS_VER)};
}

std::optional<std::string> odbc_connection::ask(const std::string& query) const
{
    SQLHSTMT statement = SQL_NULL_HSTMT;
    if (!SQL_SUCCEEDED(::SQLAllocHandle(SQL_HANDLE_STMT, connection_, &statement))) return std::nullopt;
    std::optional<std::string> answer;
    if (SQL_SUCCEEDED(::SQLExecDirect(statement, odbc_text(query), SQL_NTS)) && SQL_SUCCEEDED(::SQLFetch(statement)))
        answer = whole_text(statement);
    ::SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return answer;
}

}  // namespace tool
