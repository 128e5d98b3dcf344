// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_FENCE_SQL_HPP
#define LEASEHOLD_ODBC_FENCE_SQL_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/config.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/odbc/detail/driver/statement_catalog.hpp>
#include <leasehold/odbc/dialect/concept.hpp>
#include <leasehold/odbc/dialect/mariadb.hpp>
#include <leasehold/odbc/dialect/postgresql.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>
#include <leasehold/odbc/odbc_options.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc {

/// How an interface to a database marks the parameters of a statement.
enum class sql_placeholders : std::uint8_t {
    usual,           ///< as the database's own interfaces do: $1 for PostgreSQL, ? for the others
    question_marks,  ///< ?
    dollar_numbers   ///< $1, $2, $3
};

namespace detail {

[[noreturn]] inline void refuse_fence_sql(const std::string& reason, const char* function = "fence_sql")
{
    leasehold::detail::throw_exception(std::system_error{std::make_error_code(std::errc::invalid_argument),
                                                         std::string{"leasehold: "} + function + ": " + reason});
}

inline std::string numbered_parameters(std::string_view sql)
{
    std::string result;
    std::size_t number = 0;
    for (const char c : sql) {
        if (c == '?')
            result.append("$").append(std::to_string(++number));
        else
            result.push_back(c);
    }
    return result;
}

inline std::string write_fence_sql(const dialect::spec& spec, const std::string& text, const odbc_options& options, sql_placeholders style)
{
    validate(options);
    if (text.empty())
        refuse_fence_sql("the dialect " + std::string{spec.name} + " has no fence in one statement; use odbc::fence() over ODBC");
    compiled_statement fence = statement_catalog::compile(text, spec, options);
    if (fence.parameters != std::vector{parameter::name, parameter::owner, parameter::token})
        refuse_fence_sql("the fence of the dialect " + std::string{spec.name} +
                         " must have :name, :owner and :token once each, in this order");
    const bool numbers = style == sql_placeholders::usual ? spec.fence.numbers_parameters : style == sql_placeholders::dollar_numbers;
    return numbers ? numbered_parameters(fence.sql) : std::move(fence.sql);
}

inline std::string write_checkpoint_sql(const dialect::spec& spec, const odbc_options& options, sql_placeholders style)
{
    validate(options);
    if (spec.checkpoint.by_itself.empty())
        refuse_fence_sql("the dialect " + std::string{spec.name} + " has no such statement; use odbc::save_checkpoint() over ODBC",
                         "checkpoint_sql");
    compiled_statement save = statement_catalog::compile(spec.checkpoint.by_itself, spec, options);
    if (save.parameters != std::vector{parameter::checkpoint, parameter::name, parameter::owner, parameter::token})
        refuse_fence_sql("the statement of the dialect " + std::string{spec.name} +
                             " must have :checkpoint, :name, :owner and :token once each, in this order",
                         "checkpoint_sql");
    const bool numbers = style == sql_placeholders::usual ? spec.fence.numbers_parameters : style == sql_placeholders::dollar_numbers;
    return numbers ? numbered_parameters(save.sql) : std::move(save.sql);
}

}  // namespace detail

/// The fence as a statement, for a program that writes to the lease's database without ODBC: over libpq, libpqxx, MariaDB Connector/C,
/// Boost.MySQL, SQLite's own interface, or anything else that runs SQL. docs/fencing.md shows each.
///
/// Run it in the transaction that writes, before what it writes, with three parameters: the lease's name and owner, as text in
/// UTF-8, and the token, as a 64-bit integer. The term is current if the statement gives a row (PostgreSQL, MariaDB, MySQL) or
/// counts one (SQLite, Galera). No row, or none counted: it is over; roll back. Then nobody else is granted the name until the
/// transaction ends. The statement commits nothing.
///
/// The connection has to be in a transaction: in autocommit mode the fence ends with its own statement, and the database can't tell.
/// At read committed the statement may stand anywhere in the transaction. At repeatable read and above it has to be the first one: the
/// expiry is read as of the transaction's snapshot, so that a term which ended after an earlier snapshot may seem current; still
/// nobody else has been granted the name since, or is until the transaction ends. Roll back after any error of the statement.
///
/// The holder's own renewals go through meanwhile on PostgreSQL, and on MariaDB below serializable; elsewhere they wait.
/// PostgreSQL and MariaDB need the unique index on name and token that create_schema() makes: without it the one confirms no term, and
/// the other reports an error.
///
/// `options` are those of the store; only the names of table and columns are read. Dialects whose terms the database can't judge
/// (generic, and stores that expire by observation) have no such statement.
///
/// Throws std::system_error with std::errc::invalid_argument if the options break a rule, or the dialect has no such statement.
/// Thread safety: it may be called from any thread. The text stays the same, so make it once.
template <dialect::odbc_dialect Dialect>
[[nodiscard]] std::string fence_sql(Dialect, const odbc_options& options = {}, sql_placeholders placeholders = sql_placeholders::usual)
{
    const dialect::spec spec = Dialect::describe({.dbms_name = {}, .dbms_version = {}, .lock_timeout = {}, .call_timeout = {}});
    return detail::write_fence_sql(spec, spec.fence.by_itself, options, placeholders);
}

/// The same for "postgresql", "mariadb", "mysql" or "sqlite"; and for "galera", which is for XtraDB Cluster and Group Replication too:
/// an UPDATE that changes the row, since the nodes of a cluster don't see each other's locks. If another node grants the name meanwhile,
/// the transaction fails with a deadlock error (1213), at the latest in its commit. There the statement for "mariadb" and "mysql" confirms
/// no term on MariaDB's Galera, but can't tell that it is on XtraDB Cluster or Group Replication, and protects nothing.
///
/// Throws std::system_error with std::errc::invalid_argument for any other name, too.
[[nodiscard]] inline std::string fence_sql(std::string_view database, const odbc_options& options = {},
                                           sql_placeholders placeholders = sql_placeholders::usual)
{
    if (database == "postgresql") return fence_sql(dialect::postgresql{}, options, placeholders);
    if (database == "mariadb" || database == "mysql") return fence_sql(dialect::mariadb{}, options, placeholders);
    if (database == "sqlite") return fence_sql(dialect::sqlite{}, options, placeholders);
    if (database != "galera")
        detail::refuse_fence_sql("the database must be postgresql, mariadb, mysql, galera or sqlite, not '" +
                                 leasehold::detail::printable(database) + "'");
    const dialect::spec spec = dialect::mariadb::describe({.dbms_name = {}, .dbms_version = {}, .lock_timeout = {}, .call_timeout = {}});
    return detail::write_fence_sql(spec, spec.fence.by_itself_on_cluster, options, placeholders);
}

/// The statement that saves a checkpoint in the transaction of a program that writes without ODBC, as fence_sql() is the one that fences.
///
/// It has four parameters: the checkpoint, the lease's name and owner, as texts in UTF-8, and the token, as a 64-bit integer. The
/// checkpoint is at most max_checkpoint_bytes (4,096) bytes and has no NUL, which the statement does not look at. It counts one row if the
/// term is current; none: it is over, so roll back. It locks the row until the transaction ends, so nobody else is granted the name until
/// then. The holder's own renewals wait as well: run it last, where fence_sql() has to be the first.
///
/// It needs no fence in front, except where the transaction may have read before the term began: the statement doesn't notice that at read
/// committed, nor on MySQL and MariaDB before 11.6 at repeatable read, their default, where it judges the latest row and not that of the
/// snapshot. So begin the transaction after the grant there, or run fence_sql() first.
///
/// On MariaDB and MySQL the expiry needs microseconds, as create_schema() makes it. In a column that keeps less, a save of the text that is
/// there changes nothing, and a connection without CLIENT_FOUND_ROWS counts no row for it, as if the term were over.
///
/// Everything else is as for fence_sql().
template <dialect::odbc_dialect Dialect>
[[nodiscard]] std::string checkpoint_sql(Dialect, const odbc_options& options = {}, sql_placeholders placeholders = sql_placeholders::usual)
{
    const dialect::spec spec = Dialect::describe({.dbms_name = {}, .dbms_version = {}, .lock_timeout = {}, .call_timeout = {}});
    return detail::write_checkpoint_sql(spec, options, placeholders);
}

/// The same for "postgresql", "mariadb", "mysql", "galera" or "sqlite". Where the nodes of a cluster don't see each other's locks, a grant
/// at another node makes the transaction fail, at the latest in its commit.
[[nodiscard]] inline std::string checkpoint_sql(std::string_view database, const odbc_options& options = {},
                                                sql_placeholders placeholders = sql_placeholders::usual)
{
    if (database == "postgresql") return checkpoint_sql(dialect::postgresql{}, options, placeholders);
    if (database == "mariadb" || database == "mysql" || database == "galera")
        return checkpoint_sql(dialect::mariadb{}, options, placeholders);
    if (database == "sqlite") return checkpoint_sql(dialect::sqlite{}, options, placeholders);
    detail::refuse_fence_sql("the database must be postgresql, mariadb, mysql, galera or sqlite, not '" +
                                 leasehold::detail::printable(database) + "'",
                             "checkpoint_sql");
}

}  // namespace leasehold::inline v0::odbc

namespace leasehold::inline v0 {

using odbc::checkpoint_sql;
using odbc::fence_sql;

}  // namespace leasehold::inline v0

#endif
