// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FENCE_FENCE_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_FENCE_FENCE_FLOW_HPP

#include <leasehold/odbc/detail/driver/statement_catalog.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>

#include <concepts>
#include <cstdint>

// Which statement a fence runs, and what its answer means. No ODBC and no SQL.
namespace leasehold::inline v0::odbc::detail {

// The caller's connection, or a stand-in for it: runs statements, and shows what the last one came to.
template <class Connection>
concept fencing_connection = requires(Connection& on, const Connection& shown, const compiled_statement& next, fault kind, const char* advice) {
    { on.run(next) } -> std::same_as<fault>;
    { on.run(next, true) } -> std::same_as<fault>;
    { shown.has_result() } -> std::same_as<bool>;
    { shown.found() } -> std::same_as<bool>;
    { shown.number() } -> std::convertible_to<std::int64_t>;
    { shown.rows() } -> std::convertible_to<std::int64_t>;
    { on.fail(kind, advice) } -> std::same_as<fault>;
};

enum class fence_answer : std::uint8_t {
    over,
    current,
    unsettled  // the token can't change any longer; whether the term is live has to be read outside of the transaction
};

inline constexpr const char* fence_needs_index =
    "nothing would keep a take-over out, since the table has no unique index with the token in it: create one on name and"
    " token, as schema_sql() shows";
inline constexpr const char* fence_needs_new_snapshot =
    "the transaction's snapshot is from before the term, and so shows what others may have overwritten since: end the transaction"
    " and start again, with the fence first";

// What it finds is true of the table, and so kept for all fences of the store.
template <fencing_connection Connection>
fault learn_fence_kind(Connection& on, const compiled_fence& sql)
{
    if (sql.kind != fence_kind::unknown) return fault::none;
    bool cluster = false;
    if (!sql.cluster.sql.empty()) {
        if (const fault failed = on.run(sql.cluster); failed != fault::none) return failed;
        cluster = on.found();
    }
    if (!cluster && !sql.possible.sql.empty()) {
        if (const fault failed = on.run(sql.possible); failed != fault::none) return failed;
        if (!on.found()) return on.fail(fault::failure, fence_needs_index);
    }
    sql.kind = cluster ? fence_kind::write : fence_kind::lock;
    return fault::none;
}

// The driver says autocommit mode, in which a fence would end with its own statement. One that has not told the server yet does so
// with this statement, at the latest.
template <fencing_connection Connection>
fault look_for_transaction(Connection& on, const compiled_fence& sql, bool& autocommit)
{
    if (!autocommit || sql.transaction.sql.empty()) return fault::none;
    const fault failed = on.run(sql.transaction);
    autocommit = failed != fault::none || !on.found();
    return failed;
}

// An UPDATE that counts the row, or a SELECT that shows what is true of it.
template <fencing_connection Connection>
fault run_fence(Connection& on, const compiled_statement& next, fence_answer& answer)
{
    answer = fence_answer::over;
    if (const fault failed = on.run(next); failed != fault::none) return failed;
    if (!on.has_result())
        answer = on.rows() > 0 ? fence_answer::current : fence_answer::over;
    else if (on.found() && on.number() == 3)
        return on.fail(fault::conflict, fence_needs_new_snapshot);
    else if (on.found() && on.number() != 0)
        answer = on.number() == 1 ? fence_answer::current : fence_answer::unsettled;
    return fault::none;
}

// Where no count of rows is believed: what the UPDATE has written is looked for, in the same transaction.
template <fencing_connection Connection>
fault read_back_fence(Connection& on, const compiled_fence& sql, fence_answer& answer)
{
    fault failed = on.run(sql.lock, true);
    if (failed == fault::none) failed = on.run(sql.written, true);
    if (failed == fault::none && on.found()) answer = fence_answer::current;
    return failed;
}

template <fencing_connection Connection>
fault fence_flow(Connection& on, const compiled_fence& sql, fence_answer& answer)
{
    answer = fence_answer::over;
    if (sql.lock.sql.empty()) return on.fail(fault::failure, "this dialect has no fence");
    if (const fault failed = learn_fence_kind(on, sql); failed != fault::none) return failed;
    if (!sql.written.sql.empty()) return read_back_fence(on, sql, answer);
    if (const fault failed = run_fence(on, sql.lock, answer); failed != fault::none) return failed;
    if (sql.kind != fence_kind::write || answer == fence_answer::over) return fault::none;
    fault failed = run_fence(on, sql.write, answer);
    if (failed == fault::none && answer == fence_answer::current && !sql.write_back.sql.empty()) failed = on.run(sql.write_back);
    if (failed != fault::none) answer = fence_answer::over;
    return failed;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
