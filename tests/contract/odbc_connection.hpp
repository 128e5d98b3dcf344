// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_ODBC_CONNECTION_HPP
#define LEASEHOLD_TESTS_CONTRACT_ODBC_CONNECTION_HPP

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include <sql.h>
#include <sqlext.h>

namespace leasehold_test {

/// What a table taken over needs for what is said during a term and to later ones, in any database.
inline const std::string handover_columns =
    "holder_data varchar(1024), holder_data_token bigint, handover_request varchar(1024), handover_token bigint,"
    " checkpoint varchar(4096), checkpoint_token bigint";

/// An application's connection, written without the library: what it shows does not depend on the code under test.
class odbc_connection {
public:
    explicit odbc_connection(const std::string& connection_string)
    {
        SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment_);
        SQLSetEnvAttr(environment_, SQL_ATTR_ODBC_VERSION, reinterpret_cast<SQLPOINTER>(SQL_OV_ODBC3), SQL_IS_UINTEGER);
        SQLAllocHandle(SQL_HANDLE_DBC, environment_, &connection_);
        std::string text = connection_string;
        const SQLRETURN result = SQLDriverConnect(connection_, nullptr, reinterpret_cast<SQLCHAR*>(text.data()), SQL_NTS,
                                                  nullptr, 0, nullptr, SQL_DRIVER_NOPROMPT);
        if (!SQL_SUCCEEDED(result)) {
            const std::string why = last_error(SQL_HANDLE_DBC, connection_);
            free_handles();
            throw std::runtime_error{"connecting: " + why};
        }
    }

    odbc_connection(odbc_connection&& other) noexcept
        : environment_{std::exchange(other.environment_, nullptr)}, connection_{std::exchange(other.connection_, nullptr)}
    {
    }
    odbc_connection& operator=(odbc_connection&&) = delete;

    ~odbc_connection()
    {
        if (!connection_) return;
        SQLEndTran(SQL_HANDLE_DBC, connection_, SQL_ROLLBACK);
        SQLDisconnect(connection_);
        free_handles();
    }

    void begin()
    {
        SQLSetConnectAttr(connection_, SQL_ATTR_AUTOCOMMIT, reinterpret_cast<SQLPOINTER>(SQL_AUTOCOMMIT_OFF),
                          SQL_IS_UINTEGER);
    }
    void commit()
    {
        if (!SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, connection_, SQL_COMMIT)))
            throw std::runtime_error{"commit: " + last_error(SQL_HANDLE_DBC, connection_)};
    }
    void roll_back() { SQLEndTran(SQL_HANDLE_DBC, connection_, SQL_ROLLBACK); }

    [[nodiscard]] SQLHDBC handle() const noexcept { return connection_; }

    /// The first column of the first row, or nothing of the kind: an empty text.
    std::string execute(const std::string& sql)
    {
        SQLHSTMT statement = nullptr;
        SQLAllocHandle(SQL_HANDLE_STMT, connection_, &statement);
        std::string text = sql;
        const SQLRETURN result = SQLExecDirect(statement, reinterpret_cast<SQLCHAR*>(text.data()), SQL_NTS);
        if (!SQL_SUCCEEDED(result) && result != SQL_NO_DATA) {
            const std::string why = last_error(SQL_HANDLE_STMT, statement);
            SQLFreeHandle(SQL_HANDLE_STMT, statement);
            throw std::runtime_error{sql + ": " + why};
        }
        std::array<char, 256> value{};
        SQLSMALLINT columns = 0;
        SQLLEN size = 0;
        SQLNumResultCols(statement, &columns);
        rows_ = -1;
        if (columns == 0) SQLRowCount(statement, &rows_);
        if (columns > 0 && SQL_SUCCEEDED(SQLFetch(statement)))
            SQLGetData(statement, 1, SQL_C_CHAR, value.data(), value.size(), &size);
        SQLFreeHandle(SQL_HANDLE_STMT, statement);
        return value.data();
    }

    /// Rows that the last one counted; -1: it had a result.
    [[nodiscard]] SQLLEN rows() const noexcept { return rows_; }

private:
    void free_handles() noexcept
    {
        SQLFreeHandle(SQL_HANDLE_DBC, connection_);
        SQLFreeHandle(SQL_HANDLE_ENV, environment_);
    }

    static std::string last_error(SQLSMALLINT kind, SQLHANDLE handle)
    {
        std::array<SQLCHAR, 6> state{};
        std::array<SQLCHAR, 512> text{};
        SQLINTEGER native = 0;
        SQLSMALLINT size = 0;
        SQLGetDiagRec(kind, handle, 1, state.data(), &native, text.data(), text.size(), &size);
        return std::string{reinterpret_cast<const char*>(state.data())} + ' ' + reinterpret_cast<const char*>(text.data());
    }

    SQLHENV environment_ = nullptr;
    SQLHDBC connection_ = nullptr;
    SQLLEN rows_ = -1;
};

}  // namespace leasehold_test

#endif
