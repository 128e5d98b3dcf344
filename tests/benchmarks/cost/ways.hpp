// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_COST_WAYS_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_COST_WAYS_HPP

#include "bare_connection.hpp"

#include <leasehold/odbc/detail/session/session.hpp>
#include <leasehold/odbc/detail/session/steps.hpp>
#include <leasehold/odbc/dialect/generic.hpp>
#include <leasehold/odbc/dialect/mariadb.hpp>
#include <leasehold/odbc/dialect/postgresql.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cost {

namespace detail = leasehold::odbc::detail;

struct database {
    std::string label;
    std::string connection_string;
    std::vector<std::string> settings;
    std::string expiry;      ///< an SQL expression for a time that differs from call to call
    std::string time_type;   ///< of a column that takes it
    std::string for_update;  ///< what makes a SELECT lock its row
    const char* begin;       ///< a statement that begins a transaction, or nullptr where the driver does that
    int times;
};

/// What a way needs: parameters, and texts with `?` for the name.
class by_name {
public:
    explicit by_name(std::string_view name) { in.name.assign(name); }

    detail::compiled_statement statement(std::string text) const
    {
        return {std::move(text), {detail::parameter::name}};
    }

    detail::parameter_block in;
};

/// The floor of anything that commits: UPDATE one row by its key. Of a table with no index but its primary key: the lease table has one
/// more on most databases, which costs up to a sixth.
class bare_update {
public:
    bare_update(const database& on, const bare_connection& by)
        : parts_{"floor"}, update_{by, parts_.statement("UPDATE plain SET expires_at = " + on.expiry + " WHERE name = ?"), parts_.in}
    {
    }

    static void create_table(const database& on)
    {
        const bare_connection makes{on.connection_string,
                                    {"CREATE TABLE plain (name varchar(255) PRIMARY KEY, expires_at " + on.time_type + ")",
                                     "INSERT INTO plain VALUES ('floor', (SELECT expires_at FROM leasehold WHERE name = 'floor'))"}};
    }

    void operator()() { update_.change_one(); }

private:
    by_name parts_;
    bare_statement update_;
};

/// The floor of an answer: SELECT one row by its key.
class bare_select {
public:
    explicit bare_select(const bare_connection& by)
        : parts_{"floor"}, select_{by, parts_.statement("SELECT owner, token, expires_at FROM leasehold WHERE name = ?"), parts_.in}
    {
    }
    void operator()() { select_.change_one(); }

private:
    by_name parts_;
    bare_statement select_;
};

/// What one finds on the web: begin, select for update, update, commit; and the same for the release.
class classic_flow {
public:
    classic_flow(const database& on, bare_connection& by)
        : connection_{by}, parts_{"classic"}, select_{by,
                                                      parts_.statement("SELECT owner, expires_at FROM leasehold WHERE name = ?" +
                                                                       on.for_update),
                                                      parts_.in},
          take_{
              by,
              parts_.statement("UPDATE leasehold SET owner = 'classic', token = token + 1, expires_at = " + on.expiry + " WHERE name = ?"),
              parts_.in},
          release_{by, parts_.statement("UPDATE leasehold SET owner = '', expires_at = " + on.expiry + " WHERE name = ?"), parts_.in}
    {
        if (on.begin)
            begin_ = on.begin;
        else
            by.use_transactions();
    }

    void operator()()
    {
        transaction(take_);
        transaction(release_);
    }

private:
    void transaction(bare_statement& change)
    {
        if (!begin_.empty()) once(begin_);
        select_.change_one();
        change.change_one();
        if (begin_.empty())
            connection_.commit();
        else
            once("COMMIT");
    }

    void once(std::string text)
    {
        SQLHSTMT statement = SQL_NULL_HSTMT;
        must(SQLAllocHandle(SQL_HANDLE_STMT, connection_.handle(), &statement), SQL_HANDLE_DBC, connection_.handle(), "statement");
        must(SQLExecDirect(statement, reinterpret_cast<SQLCHAR*>(text.data()), SQL_NTS), SQL_HANDLE_STMT, statement, text);
        SQLFreeHandle(SQL_HANDLE_STMT, statement);
    }

    bare_connection& connection_;
    by_name parts_;
    bare_statement select_, take_, release_;
    std::string begin_;
};

/// The very statements of the store, written by hand.
class statements_by_hand {
public:
    statements_by_hand(const detail::statement_catalog& sql, const bare_connection& by)
        : take_{by, sql[detail::statement::take], in_}, release_{by, sql[detail::statement::release], in_}
    {
        in_.name.assign("by hand");
        in_.owner.assign("somebody on some host, with a number");
        in_.token = 1;
    }

    void operator()()
    {
        in_.us = 10'000'000;
        in_.read_host_clock();
        take_.change_one();
        ++in_.token;
        in_.us = 0;  // not kept closed
        in_.read_host_clock();
        release_.change_one();
    }

private:
    detail::parameter_block in_;
    bare_statement take_, release_;
};

/// The store's statement that saves a checkpoint under a term, written by hand.
class checkpoint_by_hand {
public:
    checkpoint_by_hand(const detail::statement_catalog& sql, const bare_connection& by, std::string_view name, std::string_view owner,
                       std::int64_t token)
        : save_{by, sql[detail::statement::save_checkpoint], in_}
    {
        in_.name.assign(name);
        in_.owner.assign(owner);
        in_.token = token;
    }

    void operator()(std::string_view text)
    {
        in_.checkpoint.assign(text);
        in_.read_host_clock();
        save_.change_one();
    }

private:
    detail::parameter_block in_;
    bare_statement save_;
};

/// The store's own session, without the thread that makes its calls return in time.
class unbounded_calls {
public:
    explicit unbounded_calls(std::shared_ptr<const detail::configuration> config) : session_{std::move(config)} {}

    void operator()()
    {
        const leasehold::acquire_result grant = attempt(name, hint_);
        if (!grant.granted()) throw std::runtime_error{"an unbounded grant failed"};
        hint_ = grant.token.value();
        auto release = detail::release_job(hint_);
        carry_out(name, release);
        if (!release.result) throw std::runtime_error{"an unbounded release failed"};
    }

    /// An attempt at what somebody else holds, as at the last attempt.
    void ask(std::string_view held)
    {
        if (attempt(held, detail::busy_last_time).granted()) throw std::runtime_error{"what is held was granted"};
    }

    /// After the first call.
    [[nodiscard]] const detail::statement_catalog& sql() { return *session_.database().sql(); }

private:
    leasehold::acquire_result attempt(std::string_view at, std::int64_t hint)
    {
        detail::attempt_job attempt{std::chrono::seconds{10}, hint};
        carry_out(at, attempt);
        return attempt.result.result;
    }
    void carry_out(std::string_view at, detail::job& wanted)
    {
        session_.prepare({.name = at, .owner = owner}, wanted, std::chrono::steady_clock::now() + std::chrono::seconds{5});
        session_.perform();
        wanted.take_result(session_.done());
    }

    static constexpr std::string_view name = "unbounded";
    static constexpr std::string_view owner = "somebody on some host, with a number";
    detail::session session_;
    std::int64_t hint_ = 0;
};

}  // namespace cost

#endif
