// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_BATCHES_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_BATCHES_HPP

#include <leasehold/odbc/detail/driver/connection.hpp>
#include <leasehold/odbc/detail/flow/attempts.hpp>
#include <leasehold/odbc/detail/flow/batch_flow.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The part of a connection that is for many terms at once.
namespace leasehold::inline v0::odbc::detail {

// The result columns of a statement for many, in order.
constexpr std::span<const column> columns_of(batch_kind kind) noexcept
{
    switch (kind) {
    case batch_kind::grants: return columns::grants;
    case batch_kind::reads: return columns::reads;
    default: return {};
    }
}
constexpr std::span<const column> columns_of_batch(std::size_t which) noexcept { return columns_of(compiled_batches::kind_of(which)); }

inline bool connection::batches() const noexcept { return catalog_->batches().available() && !config_->gave_up_batches(); }

inline fault connection::prepare_batch(std::size_t which)
{
    statement_handle& handle = batches_.prepared(which);
    handle = statement_handle{connection_.get()};
    if (!handle) return fail(SQL_HANDLE_DBC, connection_.get());
    const compiled_batches& all = catalog_->batches();
    const compiled_statement& sql = all.statements[which];
    bool done = SQL_SUCCEEDED(::SQLPrepare(handle.get(), odbc_text(sql.sql.c_str()), SQL_NTS)) &&
                SQL_SUCCEEDED(batches_.bind_lists(handle.get(), sql, all.room(which), in_));
    SQLUSMALLINT number = 0;
    for (const column each : columns_of_batch(which)) done = done && SQL_SUCCEEDED(bind(handle.get(), ++number, each, out_));
    return done ? fault::none : forget_batch(which);
}

inline fault connection::forget_batch(std::size_t which)
{
    const fault kind = fail(SQL_HANDLE_STMT, batches_.prepared(which).get());
    batches_.prepared(which).reset();
    return kind;
}

inline fault connection::run_batch(batch_kind kind, const batch& of, std::span<const item_number> items)
{
    if (const fault failed = execute_batch(kind, of, items); failed != fault::none) return failed;
    const SQLHANDLE handle = batches_.prepared(catalog_->batches().which(kind, items.size())).get();
    if (!SQL_SUCCEEDED(::SQLRowCount(handle, &rows_))) rows_ = -1;
    ::SQLFreeStmt(handle, SQL_CLOSE);
    return fault::none;
}

// Leaves the statement open.
template <class Many>
fault connection::execute_batch(batch_kind kind, const Many& of, std::span<const item_number> items)
{
    forget_report();
    if (std::chrono::steady_clock::now() >= deadline_)
        return fail(fault::timeout, "the time of the call ran out between two statements");
    if (const fault failed = learn_granularity(statement::renew); failed != fault::none) return failed;
    const compiled_batches& sql = catalog_->batches();
    const std::size_t which = sql.which(kind, items.size());
    const compiled_statement& text = sql.statements[which];
    if (!sql.arrays) batches_.reserve(sql.room(which));
    const bool ran_before = static_cast<bool>(batches_.prepared(which));
    if (!ran_before)
        if (const fault failed = prepare_batch(which); failed != fault::none) return failed;
    const SQLHANDLE handle = batches_.prepared(which).get();
    if (!sql.arrays)
        batches_.fill_lists(sql.room(which), of, items);
    else if (!SQL_SUCCEEDED(batches_.fill_arrays(handle, text, of, items)))
        return forget_batch(which);
    in_.us = ttl_us_ + granularity_us_;
    in_.read_host_clock();
    rows_ = 0;
    const SQLRETURN done = pass_prologue(handle, ::SQLExecute(handle));
    if (!SQL_SUCCEEDED(done) && done != SQL_NO_DATA) return conflict_if_stale(ran_before, forget_batch(which));
    return fault::none;
}

inline std::size_t connection::attempts_together() const noexcept
{
    return batches() ? catalog_->batches().most_attempts : 0;
}

// What it granted, or showed, is in `of`; how many rows it has changed, in rows().
inline fault connection::run_attempts(batch_kind kind, attempts& of, std::span<const item_number> items)
{
    in_.most = static_cast<SQLBIGINT>(std::min(of.left(), items.size()));
    if (const fault failed = execute_batch(kind, of, items); failed != fault::none) return failed;
    const std::size_t which = catalog_->batches().which(kind, items.size());
    const SQLHANDLE handle = batches_.prepared(which).get();
    if (!columns_of(kind).empty()) {
        if (const fault failed = read_answers(kind, which, of, items); failed != fault::none) return failed;
    } else if (!SQL_SUCCEEDED(::SQLRowCount(handle, &rows_))) {
        rows_ = -1;
    }
    ::SQLFreeStmt(handle, SQL_CLOSE);
    return fault::none;
}

// The next row, if there is one.
inline fault connection::fetch_of_batch(std::size_t which)
{
    out_.clear();
    const SQLRETURN done = ::SQLFetch(batches_.prepared(which).get());
    found_ = SQL_SUCCEEDED(done);
    if (!found_) return done == SQL_NO_DATA ? fault::none : forget_batch(which);
    const char* wrong = !finish_row(columns_of_batch(which)) ? advice::no_integers : !has_time() ? advice::expiry_is_text : nullptr;
    if (wrong == nullptr) return fault::none;
    batches_.prepared(which).reset();
    return fail(fault::failure, wrong);
}

// Answers only after the last row: a driver may find out late that the statement has failed.
inline fault connection::read_answers(batch_kind kind, std::size_t which, attempts& of, std::span<const item_number> items)
{
    std::vector<std::pair<item_number, grant_answer>> answers;
    std::vector<item_number> by_name{items.begin(), items.end()};
    if (kind == batch_kind::reads) of.sort_by_name(by_name);
    for (;;) {
        if (const fault failed = fetch_of_batch(which); failed != fault::none) return failed;
        if (!found_) break;
        const std::chrono::microseconds remaining{number(column::remaining)};
        const fencing_token token{number(column::token)};
        if (kind == batch_kind::grants) {
            const auto place = static_cast<std::size_t>(number(column::count));
            if (place < 1 || place > items.size()) continue;
            if (number(column::granted) == 1)
                answers.emplace_back(items[place - 1], granted(token.value(), number(column::fresh) != 0));
            else if (number(column::granted) == 0)
                answers.emplace_back(items[place - 1], grant_answer{{acquire_status::busy, token, remaining}, false});
            continue;
        }
        const std::string_view name = text(column::name);
        const auto found = std::ranges::lower_bound(by_name, name, {}, [&](item_number i) { return of.name(i); });
        if (found == by_name.end() || of.name(*found) != name) continue;
        const std::string_view holder = text(column::owner);
        of.set_row(*found, {token.value(), number(column::live) != 0, holder == of.owner(*found), remaining, std::string{holder}});
    }
    for (const auto& [i, said] : answers) of.set_answer(i, said);
    return fault::none;
}

inline fault connection::begin_transaction()
{
    const auto off = reinterpret_cast<SQLPOINTER>(static_cast<std::uintptr_t>(SQL_AUTOCOMMIT_OFF));
    if (SQL_SUCCEEDED(::SQLSetConnectAttr(connection_.get(), SQL_ATTR_AUTOCOMMIT, off, SQL_IS_UINTEGER))) return fault::none;
    return fail(SQL_HANDLE_DBC, connection_.get());
}

// Rolled back and in autocommit again also where the commit failed: a connection can't be closed otherwise.
inline fault connection::end_transaction(bool commit)
{
    fault failed = fault::none;
    if (commit && !SQL_SUCCEEDED(::SQLEndTran(SQL_HANDLE_DBC, connection_.get(), SQL_COMMIT)))
        failed = fail(SQL_HANDLE_DBC, connection_.get());
    if ((!commit || failed != fault::none) && !SQL_SUCCEEDED(::SQLEndTran(SQL_HANDLE_DBC, connection_.get(), SQL_ROLLBACK)) &&
        failed == fault::none)
        failed = fail(SQL_HANDLE_DBC, connection_.get());
    const auto on = reinterpret_cast<SQLPOINTER>(static_cast<std::uintptr_t>(SQL_AUTOCOMMIT_ON));
    const SQLRETURN done = ::SQLSetConnectAttr(connection_.get(), SQL_ATTR_AUTOCOMMIT, on, SQL_IS_UINTEGER);
    if (!SQL_SUCCEEDED(done) && failed == fault::none) failed = fail(SQL_HANDLE_DBC, connection_.get());
    return failed;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
