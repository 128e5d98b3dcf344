// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_ODBC_FIXTURE_HPP
#define LEASEHOLD_TESTS_CONTRACT_ODBC_FIXTURE_HPP

// For the library's own tests: it needs more of tests/support than is installed.

#include <contract/odbc_connection.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/child_process.hpp>
#include <support/environment.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

/// contract_peer, running.
class odbc_peer {
public:
    odbc_peer(const std::string& connection_string, const std::vector<std::string>& orders, leasehold::duration clock_off_by,
              const char* dialect = "")
        : process_{command(orders), {.environment = environment(connection_string, clock_off_by, dialect)}}
    {
    }

    void kill() { process_.kill(); }
    int wait()
    {
        const exit_status status = process_.wait();
        return status.signal ? 128 + status.signal : status.code;
    }

private:
    static std::vector<std::string> command(const std::vector<std::string>& orders)
    {
        std::vector<std::string> words{CONTRACT_PEER};
        words.insert(words.end(), orders.begin(), orders.end());
        return words;
    }

    static std::map<std::string, std::string> environment(const std::string& connection_string,
                                                          leasehold::duration clock_off_by, const char* dialect)
    {
        std::map<std::string, std::string> variables;
        if (clock_off_by != leasehold::duration::zero()) {
            const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(clock_off_by).count();
            variables = faketime_environment((seconds > 0 ? "+" : "") + std::to_string(seconds));
        }
        variables["LEASEHOLD_CONTRACT_STORE"] = connection_string;
        variables["LEASEHOLD_CONTRACT_DIALECT"] = dialect;
        return variables;
    }

    child_process process_;
};

/// An application's transaction that has written a row nobody else can see yet.
class odbc_transaction {
public:
    odbc_transaction(const std::string& connection_string) : mine_{connection_string}, others_{connection_string}
    {
        others_.execute("create table if not exists applications_own (id integer)");
        others_.execute("delete from applications_own");
        mine_.begin();
        mine_.execute("insert into applications_own values (1)");
    }

    /// Neither committed nor rolled back by anybody; it is afterwards.
    bool still_open()
    {
        const bool mine = mine_.execute("select count(*) from applications_own") == "1";
        const bool others = others_.execute("select count(*) from applications_own") == "0";
        mine_.roll_back();
        return mine && others && others_.execute("select count(*) from applications_own") == "0";
    }

private:
    odbc_connection mine_;
    odbc_connection others_;
};

/// The table is somewhere else for a while.
class odbc_outage {
public:
    explicit odbc_outage(const std::string& connection_string) : operator_{connection_string}
    {
        operator_.execute("alter table leasehold rename to leasehold_elsewhere");
    }
    odbc_outage(const odbc_outage&) = delete;
    odbc_outage& operator=(const odbc_outage&) = delete;
    ~odbc_outage() { operator_.execute("alter table leasehold_elsewhere rename to leasehold"); }

private:
    odbc_connection operator_;
};

/// What store_fixture asks for. `Database` is made when the first case needs it, and is gone at the program's end:
///
/// | member | is |
/// |---|---|
/// | connection_string() | for applications and peers |
/// | store, another | two stores on it |
template <class Database>
class odbc_fixture {
public:
    auto& store() { return database().store; }
    auto& another_store() { return database().another; }
    void let_pass(leasehold::duration d) { std::this_thread::sleep_for(d); }
    leasehold::duration short_ttl() const { return std::chrono::milliseconds{250}; }

    void delete_row(std::string_view name)
    {
        odbc_connection{database().connection_string()}.execute("delete from leasehold where name = '" + std::string{name} +
                                                                "'");
    }

    odbc_outage begin_outage() { return odbc_outage{database().connection_string()}; }

    odbc_peer start_peer(const std::vector<std::string>& orders, leasehold::duration clock_off_by)
    {
        return {database().connection_string(), orders, clock_off_by};
    }

protected:
    static Database& database()
    {
        static Database the_database;
        return the_database;
    }
};

}  // namespace leasehold_test

#endif
