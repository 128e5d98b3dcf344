// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FENCE_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_FENCE_FLOW_HPP

#include <leasehold/odbc/detail/fault.hpp>
#include <leasehold/odbc/detail/program.hpp>

#include <cstdint>

// Which statement a fence runs, and what its answer means. No ODBC and no SQL; `Connection` is anything that has run(),
// has_result(), found(), number(), rows() and fail(), as fence_connection has.
namespace leasehold::inline v0::odbc::detail {

enum class fence_answer : std::uint8_t {
    over,
    current,
    unsettled  // the token can't change any longer; whether the term is live has to be read outside of the transaction
};

inline constexpr const char* fence_needs_index =
    "nothing would keep a take-over out, since the table has no unique index with the token in it: create one on name and"
    " token, as schema_sql() shows";

// What it finds is true of the table, and so kept for all fences of the store.
template <class Connection>
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

template <class Connection>
fault fence_flow(Connection& on, const compiled_fence& sql, fence_answer& answer)
{
    answer = fence_answer::over;
    if (sql.lock.sql.empty()) return on.fail(fault::failure, "this dialect has no fence");
    if (const fault failed = learn_fence_kind(on, sql); failed != fault::none) return failed;
    const compiled_statement& next = sql.kind == fence_kind::write ? sql.write : sql.lock;
    const bool reads_back = !sql.written.sql.empty();
    if (const fault failed = on.run(next, reads_back); failed != fault::none) return failed;
    if (reads_back) {
        if (const fault failed = on.run(sql.written, true); failed != fault::none) return failed;
        answer = on.found() ? fence_answer::current : fence_answer::over;
    } else if (!on.has_result())
        answer = on.rows() > 0 ? fence_answer::current : fence_answer::over;
    else if (on.found() && on.number() != 0)
        answer = on.number() == 1 ? fence_answer::current : fence_answer::unsettled;
    return fault::none;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
