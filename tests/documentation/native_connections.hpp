// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_NATIVE_CONNECTIONS_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_NATIVE_CONNECTIONS_HPP

// An application's connection over each interface for which docs/fencing.md has a fence: one that is in no transaction, until
// begin(). execute() returns the first column of the first row, or an empty text; save() runs the statement that saves a checkpoint, and
// returns how many rows it counts; all throw what went wrong.

#include <fence_over_libpq.hpp>
#include <fence_over_mysql.hpp>
#include <fence_over_pqxx.hpp>
#include <fence_over_sqlite3.hpp>

#include <contract/asked_once.hpp>
#include <faults/fenced_databases.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold_test {

inline std::string postgresql_address(const database_server& server)
{
    return "host=127.0.0.1 port=" + std::to_string(server.port()) + " dbname=" + server.database + " user=" + server.user +
           " password=" + server.password;
}

class over_libpq {
public:
    using database_type = postgresql_database;
    static constexpr const char* dialect = "postgresql";
    static constexpr const char* label = "over libpq";
    std::string statement = leasehold::fence_sql(dialect);  ///< the fence
    std::string saving = leasehold::checkpoint_sql(dialect);

    explicit over_libpq(const postgresql_database& on) : connection_{PQconnectdb(postgresql_address(on.server).c_str()), &PQfinish}
    {
        if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error{PQerrorMessage(connection_.get())};
    }

    std::string execute(const std::string& sql)
    {
        const std::unique_ptr<PGresult, decltype(&PQclear)> result{PQexec(connection_.get(), sql.c_str()), &PQclear};
        const ExecStatusType status = PQresultStatus(result.get());
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            throw std::runtime_error{sql + ": " + PQerrorMessage(connection_.get())};
        return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
    }
    void begin() { execute("begin"); }
    void commit() { execute("commit"); }
    void roll_back() { execute("rollback"); }
    bool fence(const auto& guard) { return ::fence(connection_.get(), guard, statement); }
    int save(const auto& guard, const std::string& text)
    {
        const std::string name{guard.name()}, owner{guard.owner()}, token = std::to_string(guard.token().value());
        const std::array parameters{text.c_str(), name.c_str(), owner.c_str(), token.c_str()};
        const std::unique_ptr<PGresult, decltype(&PQclear)> result{
            PQexecParams(connection_.get(), saving.c_str(), static_cast<int>(parameters.size()), nullptr, parameters.data(), nullptr,
                         nullptr, 0),
            &PQclear};
        if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) throw std::runtime_error{PQerrorMessage(connection_.get())};
        return std::stoi(PQcmdTuples(result.get()));
    }

private:
    std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

class over_libpqxx {
public:
    using database_type = postgresql_database;
    static constexpr const char* dialect = "postgresql";
    static constexpr const char* label = "over libpqxx";
    std::string statement = leasehold::fence_sql(dialect);  ///< the fence
    std::string saving = leasehold::checkpoint_sql(dialect);

    explicit over_libpqxx(const postgresql_database& on) : connection_{std::make_unique<pqxx::connection>(postgresql_address(on.server))} {}

    std::string execute(const std::string& sql)
    {
        const auto first = [](const pqxx::result& rows) {
            return rows.empty() || rows[0][0].is_null() ? std::string{} : rows[0][0].c_str();
        };
        if (transaction_) return first(transaction_->exec(sql));
        pqxx::nontransaction alone{*connection_};
        return first(alone.exec(sql));
    }
    void begin() { transaction_ = std::make_unique<pqxx::work>(*connection_); }
    void commit() { std::exchange(transaction_, nullptr)->commit(); }
    void roll_back() { transaction_.reset(); }
    bool fence(const auto& guard)
    {
        if (!transaction_) throw std::logic_error{"there is no transaction object to call it with"};
        return ::fence(*transaction_, guard, statement);
    }
    int save(const auto& guard, const std::string& text)
    {
        const std::string name{guard.name()}, owner{guard.owner()};
        return static_cast<int>(transaction_->exec_params(saving, text, name, owner, guard.token().value()).affected_rows());
    }

private:
    std::unique_ptr<pqxx::connection> connection_;
    std::unique_ptr<pqxx::work> transaction_;
};

class over_libmariadb {
public:
    using database_type = mariadb_database;
    static constexpr const char* dialect = "mariadb";
    static constexpr const char* label = "over libmariadb";
    std::string statement;  ///< the fence
    std::string saving;

    explicit over_libmariadb(const database_server& server, const char* fence_for = dialect)
        : statement{leasehold::fence_sql(fence_for)},
          saving{leasehold::checkpoint_sql(fence_for)},
          connection_{mysql_init(nullptr), &mysql_close}
    {
        mysql_options(connection_.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
        if (!mysql_real_connect(connection_.get(), "127.0.0.1", server.user, server.password, server.database,
                                static_cast<unsigned>(server.port()), nullptr, 0))
            throw std::runtime_error{mysql_error(connection_.get())};
    }
    explicit over_libmariadb(const mariadb_database& on) : over_libmariadb{on.server} {}

    std::string execute(const std::string& sql)
    {
        if (mysql_real_query(connection_.get(), sql.data(), sql.size()))
            throw std::runtime_error{sql + ": " + mysql_error(connection_.get())};
        const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result{mysql_store_result(connection_.get()), &mysql_free_result};
        const MYSQL_ROW row = result ? mysql_fetch_row(result.get()) : nullptr;
        return row && row[0] ? row[0] : "";
    }
    void begin() { execute("start transaction"); }
    void commit() { execute("commit"); }
    void roll_back() { execute("rollback"); }
    bool fence(const auto& guard) { return ::fence(connection_.get(), guard, statement); }
    int save(const auto& guard, std::string text)
    {
        std::string name{guard.name()}, owner{guard.owner()};
        auto token = guard.token().value();
        std::array<MYSQL_BIND, 4> parameters{};
        std::size_t bound = 0;
        for (std::string* const value : {&text, &name, &owner}) {
            parameters[bound].buffer_type = MYSQL_TYPE_STRING;
            parameters[bound].buffer = value->data();
            parameters[bound++].buffer_length = value->size();
        }
        parameters[bound].buffer_type = MYSQL_TYPE_LONGLONG;
        parameters[bound].buffer = &token;
        const std::unique_ptr<MYSQL_STMT, decltype(&mysql_stmt_close)> prepared{mysql_stmt_init(connection_.get()), &mysql_stmt_close};
        if (mysql_stmt_prepare(prepared.get(), saving.data(), saving.size()) ||
            mysql_stmt_bind_param(prepared.get(), parameters.data()) || mysql_stmt_execute(prepared.get()))
            throw std::runtime_error{mysql_stmt_error(prepared.get())};
        return static_cast<int>(mysql_stmt_affected_rows(prepared.get()));
    }

private:
    std::unique_ptr<MYSQL, decltype(&mysql_close)> connection_;
};

/// With the statement for clusters, on one server.
class over_libmariadb_as_on_a_cluster : public over_libmariadb {
public:
    static constexpr const char* dialect = "galera";
    static constexpr const char* label = "over libmariadb, as on a cluster";

    explicit over_libmariadb_as_on_a_cluster(const mariadb_database& on) : over_libmariadb{on.server, dialect} {}
};

class over_sqlite {
public:
    using database_type = sqlite_database;
    static constexpr const char* dialect = "sqlite";
    static constexpr const char* label = "over sqlite3";
    std::string statement = leasehold::fence_sql(dialect);  ///< the fence
    std::string saving = leasehold::checkpoint_sql(dialect);

    explicit over_sqlite(const sqlite_database& on) : connection_{nullptr, &sqlite3_close}
    {
        sqlite3* opened = nullptr;
        const int failed = sqlite3_open((on.folder.path() / "own.db").c_str(), &opened);
        connection_.reset(opened);
        if (failed) throw std::runtime_error{sqlite3_errmsg(opened)};
        sqlite3_busy_timeout(opened, 3000);
    }

    std::string execute(const std::string& sql)
    {
        std::string first;
        const auto keep = [](void* kept, int columns, char** values, char**) {
            if (columns > 0 && values[0] && static_cast<std::string*>(kept)->empty()) *static_cast<std::string*>(kept) = values[0];
            return 0;
        };
        if (sqlite3_exec(connection_.get(), sql.c_str(), keep, &first, nullptr))
            throw std::runtime_error{sql + ": " + sqlite3_errmsg(connection_.get())};
        return first;
    }
    void begin() { execute("begin immediate"); }
    void commit() { execute("commit"); }
    void roll_back() { execute("rollback"); }
    bool fence(const auto& guard) { return ::fence(connection_.get(), guard, statement); }
    int save(const auto& guard, const std::string& text)
    {
        const std::string name{guard.name()}, owner{guard.owner()};
        sqlite3_stmt* prepared = nullptr;
        const int failed = sqlite3_prepare_v2(connection_.get(), saving.c_str(), -1, &prepared, nullptr);
        const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> ends{prepared, &sqlite3_finalize};
        int number = 0;
        const auto refused = [&](const std::string& value) {
            return sqlite3_bind_text(prepared, ++number, value.c_str(), -1, SQLITE_STATIC) != SQLITE_OK;
        };
        if (failed || refused(text) || refused(name) || refused(owner) ||
            sqlite3_bind_int64(prepared, ++number, guard.token().value()) || sqlite3_step(prepared) != SQLITE_DONE)
            throw std::runtime_error{sqlite3_errmsg(connection_.get())};
        return sqlite3_changes(connection_.get());
    }

private:
    std::unique_ptr<sqlite3, decltype(&sqlite3_close)> connection_;
};

/// What a fence has to know of a guard, kept when the guard is gone.
class kept_term {
public:
    explicit kept_term(const auto& guard) : kept_term{guard.name(), guard.owner(), guard.token()} {}
    kept_term(std::string_view name, std::string_view owner, lh::fencing_token token) : name_{name}, owner_{owner}, token_{token} {}
    const std::string& name() const { return name_; }
    const std::string& owner() const { return owner_; }
    lh::fencing_token token() const { return token_; }

private:
    std::string name_;
    std::string owner_;
    lh::fencing_token token_;
};

/// The scene of the fence's own tests, and the application's connection over an interface of its own.
template <class Interface>
struct native_scene : scene<typename Interface::database_type> {
    Interface app{this->database};

    explicit native_scene(const std::string& of, lh::duration ttl = 60s)
        : scene<typename Interface::database_type>{of + ", " + Interface::label, ttl}
    {
    }

    /// In a transaction that is begun for it, and rolled back.
    bool passes(const auto& term)
    {
        app.begin();
        const bool passed = app.fence(term);
        app.roll_back();
        return passed;
    }
    bool others_are_kept_out()
    {
        std::error_code ec;
        const bool granted = is_held(this->others.try_acquire(ec));
        BOOST_TEST(!ec, ec.message());
        return !granted;
    }
    void write(lh::fencing_token token)
    {
        app.execute("update written set token = " + std::to_string(token.value()) + " where name = '" + this->name + "'");
    }
    std::string written() { return app.execute("select token from written where name = '" + this->name + "'"); }
};

}  // namespace leasehold_test

#endif
