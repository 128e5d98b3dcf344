// SPDX-License-Identifier: BSL-1.0
// ctest:

// The lease is in one database, and the data that it protects is in another: the resource itself refuses a late write, by
// its token.
//
// A process can sleep between its last check of the guard and its write (garbage collection, a suspended host), and wake up
// when somebody else has the lease. So every write carries the fencing token. The resource remembers the largest token that
// it has seen, and a smaller token changes nothing. If lease and data are in the same database, fenced_write.cpp is simpler.
#include "thread_service/connection.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <sql.h>
#include <sqlext.h>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>

namespace lh = leasehold;
using namespace std::chrono_literals;

// The protected resource: one document in an SQLite file of its own, with the token of its last writer.
class document {
public:
    explicit document(const std::string& connection_string) : connection_{connection_string}
    {
        connection_.run("drop table if exists document");
        connection_.run("create table document (text varchar(200), last_token bigint)");
        connection_.run("insert into document values ('', 0)");
        connection_.commit();
    }

    // False: a later holder has already written, so this writer no longer has the lease.
    bool write(std::string text, lh::fencing_token token)
    {
        SQLBIGINT number = token.value();
        SQLHSTMT statement = nullptr;
        SQLAllocHandle(SQL_HANDLE_STMT, connection_.handle(), &statement);
        SQLBindParameter(statement, 1, SQL_PARAM_INPUT, SQL_C_CHAR, SQL_VARCHAR, 200, 0, text.data(), 0, nullptr);
        for (const SQLUSMALLINT parameter : {SQLUSMALLINT{2}, SQLUSMALLINT{3}})
            SQLBindParameter(statement, parameter, SQL_PARAM_INPUT, SQL_C_SBIGINT, SQL_BIGINT, 0, 0, &number, 0, nullptr);
        std::string sql = "update document set text = ?, last_token = ? where last_token <= ?";
        SQLLEN rows = 0;
        const SQLRETURN result = SQLExecDirect(statement, reinterpret_cast<SQLCHAR*>(sql.data()), SQL_NTS);
        if (SQL_SUCCEEDED(result)) SQLRowCount(statement, &rows);
        const std::string why = SQL_SUCCEEDED(result) || result == SQL_NO_DATA ? "" : connection::message(SQL_HANDLE_STMT, statement);
        SQLFreeHandle(SQL_HANDLE_STMT, statement);
        if (!why.empty()) throw std::runtime_error{sql + ": " + why};
        connection_.commit();
        return rows == 1;
    }

private:
    connection connection_;
};

int main()
{
    lh::odbc_store store{"Driver=SQLite3;Database=guarded_write_leases.db"};
    store.create_schema();
    document shared{"Driver=SQLite3;Database=guarded_write_document.db"};

    // Two processes in one: the first sleeps through the end of its term, as if its host had been suspended.
    lh::basic_lease first{store, "document", lh::lease_terms{.ttl = 200ms}, lh::steady_clock{}, lh::random_owner_id{},
                          lh::no_renewal{}};
    lh::basic_lease second{store, "document", lh::lease_terms{.ttl = 10s}};

    const auto sleeper = first.try_acquire();
    if (!sleeper) return 1;
    const lh::fencing_token token = sleeper.token();  // looked at before it falls asleep
    std::cout << "first: holds the lease with token " << token << ", and falls asleep\n";

    const auto other = second.try_acquire_for(5s);
    const bool written = other.held() && shared.write("by the second", other.token());
    std::cout << "second: token " << other.token() << ", its write is " << (written ? "taken" : "refused") << '\n';

    const bool late = shared.write("by the first", token);
    std::cout << "first: wakes up and writes; that is " << (late ? "taken" : "refused") << '\n';
    return written && !late ? 0 : 1;
}
