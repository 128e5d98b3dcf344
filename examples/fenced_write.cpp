// SPDX-License-Identifier: BSL-1.0
// ctest:

// The lease is in the same database as the data that it protects: a fence in the transaction that writes keeps late writes
// out.
//
// lh::odbc::fence confirms the term inside the transaction, and nobody else gets the lease until that transaction ends.
// So it doesn't matter how long this process sleeps between the fence and the commit. This example uses SQLite; on
// PostgreSQL and MariaDB the holder's renewals go through meanwhile.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <sql.h>
#include <sqlext.h>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>

namespace lh = leasehold;
using namespace std::chrono_literals;

constexpr const char* database = "Driver=SQLite3;Database=fenced_write.db;Timeout=2000";

// The application's own connection, with transactions.
class connection {
public:
    connection()
    {
        SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment_);
        SQLSetEnvAttr(environment_, SQL_ATTR_ODBC_VERSION, reinterpret_cast<SQLPOINTER>(SQL_OV_ODBC3), 0);
        SQLAllocHandle(SQL_HANDLE_DBC, environment_, &handle_);
        std::string text = database;
        if (!SQL_SUCCEEDED(SQLDriverConnect(handle_, nullptr, reinterpret_cast<SQLCHAR*>(text.data()), SQL_NTS, nullptr, 0,
                                            nullptr, SQL_DRIVER_NOPROMPT)))
            throw std::runtime_error{"can't open the database"};
        SQLSetConnectAttr(handle_, SQL_ATTR_AUTOCOMMIT, reinterpret_cast<SQLPOINTER>(SQL_AUTOCOMMIT_OFF), SQL_IS_UINTEGER);
    }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection()
    {
        roll_back();
        SQLDisconnect(handle_);
        SQLFreeHandle(SQL_HANDLE_DBC, handle_);
        SQLFreeHandle(SQL_HANDLE_ENV, environment_);
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
    SQLHENV environment_ = nullptr;
    SQLHDBC handle_ = nullptr;
};

// One transaction; true if it was committed as the lease's holder.
template <class Guard>
bool add_entry(connection& to, const Guard& guard, const std::string& text)
{
    if (!lh::odbc::fence(to.handle(), guard)) {
        to.roll_back();
        return false;
    }
    to.run("insert into journal values ('" + text + "')");
    to.commit();
    return true;
}

int main()
{
    lh::odbc_store store{database};
    store.create_schema();
    connection application;
    application.run("create table if not exists journal (text varchar(100))");
    application.commit();

    // A stopped clock imitates a process that sleeps and doesn't know it: its guard still says that it holds the lease.
    lh::basic_lease sleeping{store, "journal", lh::lease_terms{.ttl = 200ms}, lh::manual_clock{}, lh::random_owner_id{},
                             lh::no_renewal{}};
    lh::basic_lease awake{store, "journal", lh::lease_terms{.ttl = 10s}};

    const auto sleeper = sleeping.try_acquire();
    if (!sleeper) return 1;
    const bool in_time = add_entry(application, sleeper, "the first, in time");
    std::cout << "first: its entry is " << (in_time ? "written" : "refused") << ", and it falls asleep\n";

    const auto other = awake.try_acquire_for(5s);
    const bool others = other.held() && add_entry(application, other, "the second");
    std::cout << "second: its entry is " << (others ? "written" : "refused") << '\n';

    const bool late = add_entry(application, sleeper, "the first, too late");
    std::cout << "first: wakes up, believes it holds the lease (" << (sleeper.held() ? "yes" : "no") << "); its entry is "
              << (late ? "written" : "refused") << '\n';
    return in_time && others && !late ? 0 : 1;
}
