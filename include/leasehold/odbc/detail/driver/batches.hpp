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

inline bool connection::batches() const noexcept { return catalog_->batches().available() && !config_->batches_disabled(); }

template <class Many>
fault connection::execute(batch_kind kind, const Many& terms, std::span<const item_number> items)
{
    const compiled_batches& all = catalog_->batches();
    const std::size_t index = all.index_of(kind, items.size());
    const compiled_statement& sql = all.statements[index];
    const std::size_t places = all.room(index);
    if (!all.arrays) batches_.reserve(places);
    return execute(batches_.prepared(index), sql, places, [&](SQLHANDLE handle) -> SQLRETURN {
        if (all.arrays) return batches_.fill_arrays(handle, sql, terms, items);
        batches_.fill_lists(places, terms, items);
        return SQL_SUCCESS;
    });
}

inline fault connection::run_batch(batch_kind kind, const batch& terms, std::span<const item_number> items)
{
    if (const fault failed = execute(kind, terms, items); failed != fault::none) return failed;
    const statement_handle& handle = prepared_for(kind, items.size());
    count_rows(handle.get());
    ::SQLFreeStmt(handle.get(), SQL_CLOSE);
    return fault::none;
}

inline std::size_t connection::attempts_together() const noexcept
{
    return batches() ? catalog_->batches().most_attempts : 0;
}

// `attempted` gets what the statement granted or showed. rows() says how many rows it changed.
inline fault connection::run_attempts(batch_kind kind, attempts& attempted, std::span<const item_number> items)
{
    in_.most = static_cast<SQLBIGINT>(std::min(attempted.left(), items.size()));
    if (const fault failed = execute(kind, attempted, items); failed != fault::none) return failed;
    const statement_handle& handle = prepared_for(kind, items.size());
    if (kind == batch_kind::takes || kind == batch_kind::inserts)
        count_rows(handle.get());
    else if (const fault failed = read_answers(kind, attempted, items); failed != fault::none)
        return failed;
    ::SQLFreeStmt(handle.get(), SQL_CLOSE);
    return fault::none;
}

// Sets the answers after the last row, since a driver may find out late that the statement has failed.
inline fault connection::read_answers(batch_kind kind, attempts& attempted, std::span<const item_number> items)
{
    const auto columns = catalog_->batches().statements[catalog_->batches().index_of(kind, items.size())].columns;
    std::vector<std::pair<item_number, grant_answer>> answers;
    std::vector<item_number> by_name{items.begin(), items.end()};
    if (kind == batch_kind::reads) attempted.sort_by_name(by_name);
    for (;;) {
        if (const fault failed = fetch(prepared_for(kind, items.size()), columns); failed != fault::none) return failed;
        if (!found_) break;
        const std::chrono::microseconds remaining{number(column::remaining)};
        const std::int64_t token = number(column::token);
        if (kind != batch_kind::reads) {
            const auto place = static_cast<std::size_t>(number(column::count));
            if (place < 1 || place > items.size()) continue;
            if (number(column::granted) == 1)
                answers.emplace_back(items[place - 1], granted(token, number(column::fresh) != 0));
            else if (number(column::granted) == 0)
                answers.emplace_back(items[place - 1], busy_for(token, remaining));
            continue;
        }
        const std::string_view name = text(column::name);
        const auto found = std::ranges::lower_bound(by_name, name, {}, [&](item_number i) { return attempted.name(i); });
        if (found == by_name.end() || attempted.name(*found) != name) continue;
        const std::string_view holder = text(column::owner);
        const std::int64_t live = number(column::live);
        attempted.set_row(*found, {token, live > 0, live < 0, holder == attempted.owner(*found), remaining, std::string{holder}});
    }
    for (const auto& [i, answer] : answers) attempted.set_answer(i, answer);
    if (kind != batch_kind::reads && items.size() > compiled_batches::few) {
        // A new name's token is 1, unless names were purged.
        const auto had_free_row = [](const auto& answered) { return answered.second.fresh && answered.second.result.token.value() > 1; };
        mostly_free_ = std::ranges::count_if(answers, had_free_row) > std::ssize(items) / 2;
    }
    return fault::none;
}

inline fault connection::begin_transaction()
{
    return SQL_SUCCEEDED(set_autocommit(SQL_AUTOCOMMIT_OFF)) ? fault::none : fail(SQL_HANDLE_DBC, connection_.get());
}

// SQLite rolls back by itself where it can't write. libsqliteodbc doesn't notice: it begins no other transaction before it has ended
// the one rolled back, and does not let the connection be closed.
inline bool connection::roll_back()
{
    const auto done = [this] { return SQL_SUCCEEDED(::SQLEndTran(SQL_HANDLE_DBC, connection_.get(), SQL_ROLLBACK)); };
    return done() || (catalog_->spec().in_process && execute_once("begin") == fault::none && done());
}

// Rolls back and turns autocommit on again even if the commit failed: a connection can't be closed otherwise. The first failure counts. If
// the transaction can't be rolled back, the connection's end does so, since autocommit would commit it.
inline fault connection::end_transaction(bool commit)
{
    fault failed = fault::none;
    if (commit && !SQL_SUCCEEDED(::SQLEndTran(SQL_HANDLE_DBC, connection_.get(), SQL_COMMIT))) {
        commit_failed_ = true;
        failed = fail(SQL_HANDLE_DBC, connection_.get());
    }
    const report first = report_;
    const bool ended = (commit && failed == fault::none) || roll_back();
    const bool usable = ended && SQL_SUCCEEDED(set_autocommit(SQL_AUTOCOMMIT_ON));
    if (!usable && first.kind == fault::none)
        fail(SQL_HANDLE_DBC, connection_.get());
    else
        report_ = first;
    if (!usable) report_.kind = fault::connection_lost;
    return usable ? failed : fault::connection_lost;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
