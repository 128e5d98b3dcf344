// SPDX-License-Identifier: BSL-1.0
// What a grant and its release cost, beside two bare prepared single-row UPDATEs of the same table through the same driver.
//
// The two take turns in short rounds within one run, so that a machine whose speed drifts slows both; the ratio of each
// round is taken, and the median of the rounds printed with the least and the most. Beside it the very same statements of the
// store on the calling thread: what is left of the difference is the price of calls that return in time (two changes of threads).
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sql.h>
#include <sqlext.h>

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr int rounds = 21;
constexpr int warm_up_rounds = 2;

void must(SQLRETURN code, const char* what)
{
    if (!SQL_SUCCEEDED(code)) throw std::runtime_error{std::string{"the bare connection failed: "} + what};
}

// A connection with nothing of the library in it.
class bare_update {
public:
    bare_update(const std::string& connection_string, const std::vector<std::string>& settings, const char* expiry)
    {
        must(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment_), "environment");
        must(SQLSetEnvAttr(environment_, SQL_ATTR_ODBC_VERSION, reinterpret_cast<SQLPOINTER>(SQL_OV_ODBC3), 0), "version");
        must(SQLAllocHandle(SQL_HANDLE_DBC, environment_, &connection_), "connection");
        std::string text = connection_string;
        must(SQLDriverConnect(connection_, nullptr, reinterpret_cast<SQLCHAR*>(text.data()), SQL_NTS, nullptr, 0, nullptr, SQL_DRIVER_NOPROMPT),
             "connect");
        for (const std::string& setting : settings) {
            prepare(setting);
            must(SQLExecute(statement_), setting.c_str());
            SQLFreeHandle(SQL_HANDLE_STMT, statement_);
        }
        prepare(std::string{"UPDATE leasehold SET expires_at = "} + expiry + " WHERE name = ?");
        must(SQLBindParameter(statement_, 1, SQL_PARAM_INPUT, SQL_C_CHAR, SQL_VARCHAR, 190, 0, name_, sizeof name_, &length_), "bind");
    }
    bare_update(const bare_update&) = delete;
    bare_update& operator=(const bare_update&) = delete;
    ~bare_update()
    {
        SQLFreeHandle(SQL_HANDLE_STMT, statement_);
        SQLDisconnect(connection_);
        SQLFreeHandle(SQL_HANDLE_DBC, connection_);
        SQLFreeHandle(SQL_HANDLE_ENV, environment_);
    }

    void operator()()
    {
        must(SQLExecute(statement_), "update");
        SQLLEN rows = 0;
        must(SQLRowCount(statement_, &rows), "row count");
        if (rows != 1) throw std::runtime_error{"the bare UPDATE did not meet its row"};
        SQLFreeStmt(statement_, SQL_CLOSE);
    }

private:
    void prepare(const std::string& sql)
    {
        must(SQLAllocHandle(SQL_HANDLE_STMT, connection_, &statement_), "statement");
        std::string text = sql;
        must(SQLPrepare(statement_, reinterpret_cast<SQLCHAR*>(text.data()), SQL_NTS), sql.c_str());
    }

    SQLHENV environment_ = SQL_NULL_HENV;
    SQLHDBC connection_ = SQL_NULL_HDBC;
    SQLHSTMT statement_ = SQL_NULL_HSTMT;
    char name_[6] = "floor";
    SQLLEN length_ = 5;
};

// A store's session without the thread that makes its calls return in time.
class unbounded_calls {
public:
    unbounded_calls(const std::string& connection_string, const std::vector<std::string>& settings)
        : session_{std::make_shared<const lh::odbc::detail::configuration>(
              connection_string, lh::odbc_options{.on_connect = settings}, &lh::dialect::detected::describe)}
    {
    }

    void operator()()
    {
        using lh::odbc::detail::operation;
        const auto until = std::chrono::steady_clock::now() + 5s;
        session_.prepare({operation::acquire, name, owner, hint_, 10s, {}}, until);
        session_.set_lock_order({lh::odbc::detail::lock_use::with_grant, key_});
        session_.perform();
        const auto grant = session_.result().grant;
        if (!grant.result.granted()) throw std::runtime_error{"an unbounded grant failed"};
        hint_ = grant.result.token.value();
        session_.prepare({operation::release, name, owner, hint_, {}, {}}, until);
        if (grant.locked) session_.set_lock_order({lh::odbc::detail::lock_use::have, key_, session_.connection_number(), 0});
        session_.perform();
        if (!session_.result().yes) throw std::runtime_error{"an unbounded release failed"};
    }

private:
    static constexpr std::string_view name = "unbounded";
    static constexpr std::string_view owner = "somebody on some host, with a number";
    lh::odbc::detail::session session_;
    lh::odbc::detail::session_lock_key key_{"leasehold", name};
    std::int64_t hint_ = 0;
};

template <class Work>
double microseconds_each(int times, Work work)
{
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) work();
    return std::chrono::duration<double, std::micro>{std::chrono::steady_clock::now() - begun}.count() / times;
}

double median(std::vector<double> values)
{
    std::ranges::sort(values);
    return values[values.size() / 2];
}

struct database {
    std::string_view label;
    std::string connection_string;
    std::vector<std::string> settings;
    const char* expiry;
    int times;
};

void measure(const database& of)
{
    lh::odbc_store store{of.connection_string, {.on_connect = of.settings}};
    store.create_schema();
    lh::basic_lease floor_row{store, "floor"};
    if (!floor_row.try_acquire()) throw std::runtime_error{"the floor's row is not there"};
    bare_update update{of.connection_string, of.settings, of.expiry};
    lh::basic_lease lease{store, "measured"};

    unbounded_calls same_without_bound{of.connection_string, of.settings};

    std::vector<double> floors, costs, ratios, bounds;
    for (int round = 0; round < rounds + warm_up_rounds; ++round) {
        const double floor = microseconds_each(of.times, [&] {
            update();
            update();
        });
        const double cost = microseconds_each(of.times, [&] {
            auto guard = lease.try_acquire();
            if (!guard || guard.release() != lh::release_outcome::released) throw std::runtime_error{"a grant or release failed"};
        });
        const double without_bound = microseconds_each(of.times, [&] { same_without_bound(); });
        if (round < warm_up_rounds) continue;
        bounds.push_back((cost - without_bound) / 2);
        floors.push_back(floor);
        costs.push_back(cost);
        ratios.push_back(cost / floor);
    }
    const auto [least, most] = std::ranges::minmax(ratios);
    std::printf("%-28.*s two UPDATEs %8.1f us   grant + release %8.1f us   ratio %.2f (%.2f to %.2f)   bound %.1f us a call\n", static_cast<int>(of.label.size()),
                of.label.data(), median(floors), median(costs), median(ratios), least, most, median(bounds));
    std::fflush(stdout);
}

void measure_memory()
{
    lh::memory_store store;
    lh::basic_lease lease{store, "measured"};
    std::vector<double> costs;
    for (int round = 0; round < rounds; ++round) costs.push_back(microseconds_each(100'000, [&] { auto guard = lease.try_acquire(); }));
    std::printf("%-28s %22s grant + release %8.2f us\n", "memory", "", median(costs));
}

}  // namespace

int main()
try {
    std::printf("medians of %d rounds, the two in turn; ratios with their least and most\n", rounds);
    measure_memory();
    const temporary_directory folder;
    // Another value each time: SQLite writes nothing for a row that stays as it was, and its clock has milliseconds only.
    const char* sqlite_expiry = "expires_at + 1";
    measure({"SQLite, synchronous=NORMAL", sqlite_connection_string(folder.path() / "normal.db"), {"PRAGMA synchronous=NORMAL"}, sqlite_expiry, 500});
    measure({"SQLite, synchronous=FULL", sqlite_connection_string(folder.path() / "full.db"), {"PRAGMA synchronous=FULL"}, sqlite_expiry, 200});
    {
        const postgresql_server server;
        measure({"PostgreSQL", server.connection_string(), {}, "clock_timestamp() + interval '30 seconds'", 300});
    }
    {
        const mariadb_server server;
        measure({"MariaDB", server.connection_string(), {}, "UTC_TIMESTAMP(6) + INTERVAL 30 SECOND", 300});
    }
    return EXIT_SUCCESS;
}
catch (const std::exception& e) {
    std::fprintf(stderr, "grant_release_cost: %s\n", e.what());
    return EXIT_FAILURE;
}
