// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_BATCHES_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_BATCHES_HPP

#include <leasehold/odbc/detail/driver/connection.hpp>
#include <leasehold/odbc/detail/flow/batch_flow.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

// The part of a connection that is for many terms at once.
namespace leasehold::inline v0::odbc::detail {

inline bool connection::batches() const noexcept { return catalog_->batches().available() && !config_->gave_up_batches(); }

inline fault connection::prepare_batch(std::size_t which)
{
    statement_handle& handle = batches_.prepared(which);
    handle = statement_handle{connection_.get()};
    if (!handle) return fail(SQL_HANDLE_DBC, connection_.get());
    const compiled_statement& sql = catalog_->batches().statements[which];
    if (SQL_SUCCEEDED(::SQLPrepare(handle.get(), odbc_text(sql.sql.c_str()), SQL_NTS)) &&
        SQL_SUCCEEDED(batches_.bind_lists(handle.get(), sql, in_)))
        return fault::none;
    return forget_batch(which);
}

inline fault connection::forget_batch(std::size_t which)
{
    const fault kind = fail(SQL_HANDLE_STMT, batches_.prepared(which).get());
    batches_.prepared(which).reset();
    return kind;
}

inline fault connection::run_batch(batch_kind kind, const batch& of, std::span<const item_number> items)
{
    forget_report();
    if (std::chrono::steady_clock::now() >= deadline_)
        return fail(fault::timeout, "the time of the call ran out between two statements");
    if (const fault failed = learn_granularity(statement::renew); failed != fault::none) return failed;
    const compiled_batches& sql = catalog_->batches();
    const std::size_t which = sql.which(kind == batch_kind::renewals, items.size());
    const compiled_statement& text = sql.statements[which];
    if (!sql.arrays) batches_.reserve(sql.most);
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
    const SQLRETURN done = ::SQLExecute(handle);
    if (!SQL_SUCCEEDED(done) && done != SQL_NO_DATA) return conflict_if_stale(ran_before, forget_batch(which));
    if (!SQL_SUCCEEDED(::SQLRowCount(handle, &rows_))) rows_ = -1;
    ::SQLFreeStmt(handle, SQL_CLOSE);
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
