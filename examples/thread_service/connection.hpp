// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_THREAD_SERVICE_CONNECTION_HPP
#define LEASEHOLD_EXAMPLES_THREAD_SERVICE_CONNECTION_HPP

#include <sql.h>
#include <sqlext.h>

#include <stdexcept>
#include <string>

/// The service's own connection to its data, with transactions. Yours comes from the library that you use already.
class connection {
public:
    explicit connection(std::string text)
    {
        SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment_);
        SQLSetEnvAttr(environment_, SQL_ATTR_ODBC_VERSION, reinterpret_cast<SQLPOINTER>(SQL_OV_ODBC3), 0);
        SQLAllocHandle(SQL_HANDLE_DBC, environment_, &handle_);
        if (!SQL_SUCCEEDED(SQLDriverConnect(handle_, nullptr, reinterpret_cast<SQLCHAR*>(text.data()), SQL_NTS, nullptr, 0, nullptr,
                                            SQL_DRIVER_NOPROMPT))) {
            free();
            throw std::runtime_error{"can't open the database"};
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

    void run(std::string sql)
    {
        SQLHSTMT statement = nullptr;
        SQLAllocHandle(SQL_HANDLE_STMT, handle_, &statement);
        const SQLRETURN result = SQLExecDirect(statement, reinterpret_cast<SQLCHAR*>(sql.data()), SQL_NTS);
        SQLFreeHandle(SQL_HANDLE_STMT, statement);
        if (!SQL_SUCCEEDED(result) && result != SQL_NO_DATA) throw std::runtime_error{sql};
    }
    void commit()
    {
        if (!SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, handle_, SQL_COMMIT))) throw std::runtime_error{"commit"};
    }
    void roll_back() { SQLEndTran(SQL_HANDLE_DBC, handle_, SQL_ROLLBACK); }

private:
    void free()
    {
        SQLFreeHandle(SQL_HANDLE_DBC, handle_);
        SQLFreeHandle(SQL_HANDLE_ENV, environment_);
    }

    SQLHENV environment_ = nullptr;
    SQLHDBC handle_ = nullptr;
};

#endif
