// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FAULTS_FENCED_DATABASES_HPP
#define LEASEHOLD_TESTS_FAULTS_FENCED_DATABASES_HPP

// What the tests of the fence stand on: the databases, and an application that writes to them.

#include <contract/odbc_connection.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/mysql_programs.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <boost/mpl/list.hpp>

#include <chrono>
#include <string>
#include <system_error>
#include <utility>

namespace leasehold_test {

namespace lh = leasehold;
using namespace std::chrono_literals;

inline constexpr auto lock_timeout = 1s;
inline constexpr auto call_timeout = 20s;

struct postgresql_database {
    using store_type = lh::odbc_store;
    static constexpr bool renewals_pass = true;
    static constexpr bool observes = false;
    static constexpr const char* levels[] = {"read committed", "repeatable read", "serializable"};
    static constexpr const char* show_level = "select replace(current_setting('transaction_isolation'), ' ', '-')";

    postgresql_server server{};

    std::string connection_string() const { return server.connection_string(); }
    static lh::odbc_options options() { return {.call_timeout = call_timeout, .lock_timeout = lock_timeout}; }
    static std::string set_level(const std::string& level)
    {
        return "set session characteristics as transaction isolation level " + level;
    }
};

struct mariadb_database {
    using store_type = lh::odbc_store;
    static constexpr bool renewals_pass = true;
    static constexpr bool observes = false;
    static constexpr const char* levels[] = {"read committed", "repeatable read", "serializable"};
    static inline const std::string show_level =
        is_mysql(mysql_root()) ? "select lower(@@transaction_isolation)" : "select lower(@@tx_isolation)";

    mariadb_server server{};

    std::string connection_string() const { return server.connection_string(); }
    static lh::odbc_options options() { return {.call_timeout = call_timeout, .lock_timeout = lock_timeout}; }
    static std::string set_level(const std::string& level) { return "set session transaction isolation level " + level; }
};

struct sqlite_database {
    using store_type = lh::odbc_store;
    static constexpr bool renewals_pass = false;
    static constexpr bool observes = false;

    temporary_directory folder{};

    std::string connection_string() const { return sqlite_connection_string(folder.path() / "own.db"); }
    static lh::odbc_options options() { return {.call_timeout = call_timeout, .lock_timeout = lock_timeout}; }
};

// Its own lock time-out is the user's to set, as here.
struct generic_database {
    using store_type = lh::basic_odbc_store<lh::dialect::generic>;
    static constexpr bool renewals_pass = false;
    static constexpr bool observes = true;

    postgresql_server server{};

    std::string connection_string() const { return server.connection_string(); }
    static lh::odbc_options options()
    {
        return {.call_timeout = call_timeout, .on_connect = {"set lock_timeout = 1000"}};
    }
};

using databases = boost::mpl::list<postgresql_database, mariadb_database, sqlite_database, generic_database>;
using networked = boost::mpl::list<postgresql_database, mariadb_database>;

inline lh::time_point now() { return lh::steady_clock{}.now(); }

/// What the lease is there to protect: a row that says whose write was the last, and how many came after a later holder's.
class application {
public:
    static constexpr const char* table =
        "create table written (name varchar(100) primary key, token bigint, regressions integer)";

    application(const std::string& connection_string, std::string name, const std::string& level = {})
        // SQLite's, in ms; no other driver has it.
        : connection_{connection_string + ";Timeout=3000"}, name_{std::move(name)}
    {
        if (!level.empty()) connection_.execute(level);
        connection_.begin();
    }

    static void prepare(const std::string& connection_string, const std::string& name)
    {
        odbc_connection{connection_string}.execute("insert into written (name, token, regressions)"
                                                   " values ('" + name + "', 0, 0)");
    }

    void write(lh::fencing_token token)
    {
        const std::string t = std::to_string(token.value());
        connection_.execute("update written set regressions = regressions + case when token > " + t +
                            " then 1 else 0 end, token = " + t + " where name = '" + name_ + "'");
    }
    std::string last() { return connection_.execute("select token from written where name = '" + name_ + "'"); }
    std::string regressions() { return connection_.execute("select regressions from written where name = '" + name_ + "'"); }
    void commit() { connection_.commit(); }
    void roll_back() { connection_.roll_back(); }
    odbc_connection& connection() { return connection_; }
    SQLHDBC handle() { return connection_.handle(); }

private:
    odbc_connection connection_;
    std::string name_;
};

// One database for all cases, and the names of leases apart.
template <class Database>
Database& the()
{
    static Database database;
    static const bool prepared = [] {
        typename Database::store_type{database.connection_string(), database.options()}.create_schema();
        odbc_connection{database.connection_string()}.execute(application::table);
        return true;
    }();
    static_cast<void>(prepared);
    return database;
}

/// A lease and who else wants it, each with a store of its own, as two processes have. The holder's clock is turned by hand:
/// it goes on believing for as long as the test likes, and nothing is renewed behind the test's back.
template <class Database>
struct scene {
    using store_type = typename Database::store_type;
    Database& database = the<Database>();
    std::string name;
    store_type store{database.connection_string(), database.options()};
    store_type others_store{database.connection_string(), database.options()};
    lh::manual_clock stopped{};
    lh::basic_lease<store_type, lh::manual_clock, lh::random_owner_id, lh::no_renewal> lease;
    lh::basic_lease<store_type, lh::steady_clock, lh::random_owner_id, lh::no_renewal> others{others_store, name,
                                                                                              lh::lease_terms{.ttl = 60s}};
    application mine{database.connection_string(), name};

    explicit scene(std::string of, lh::duration ttl = 60s)
        : name{prepared(std::move(of))}, lease{store, name, lh::lease_terms{.ttl = ttl}, stopped}
    {
    }
    std::string prepared(std::string of)
    {
        application::prepare(database.connection_string(), of);
        return of;
    }
    bool has_run_out()
    {
        return eventually([&] { return !others_store_says_held(); }, 20s);
    }
    bool others_store_says_held()
    {
        std::error_code ec;
        return others_store.inspect(name, ec).has_value() || ec;
    }
};

}  // namespace leasehold_test

#endif
