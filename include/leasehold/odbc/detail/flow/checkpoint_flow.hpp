// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_CHECKPOINT_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_CHECKPOINT_FLOW_HPP

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/odbc/detail/flow/advice.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/flow/operator_flows.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What a term leaves for later ones, and the database's clock. As in flow.hpp, no ODBC and no SQL.
namespace leasehold::inline v0::odbc::detail {

// Whether the row that was read last has that checkpoint, saved in that term.
bool shows_checkpoint(const flow_database auto& db, std::int64_t token, std::string_view text)
{
    return db.found() && db.number(column::token) == token && db.text(column::checkpoint) == text;
}

// One UPDATE, as a rule. A read afterwards decides where no count of rows is believed, where a row that needed no change isn't counted
// (MariaDB), and where an earlier try may have written it (`repeated`), with the reply lost. `replaced`: nothing is written unless
// this is the checkpoint. `over`: the term is over, though the row does not show it, so nothing is written.
outcome<bool> save_checkpoint_flow(flow_database auto& db, std::int64_t token, std::string_view text, const std::string_view* replaced,
                                   bool repeated, bool over)
{
    if (over && !repeated) return false;
    db.set_token(token);
    if (db.reads_back() && !repeated) {
        // The read afterwards must find what this call has written, also if the term has ended by then.
        if (const fault failed = db.run(statement::saved_checkpoint); failed != fault::none) return failed;
        if (!db.found() || db.number(column::live) == 0) return false;
        if (shows_checkpoint(db, token, text)) return true;
        if (replaced && db.text(column::checkpoint) != *replaced) return false;
    }
    const statement saves = replaced ? statement::replace_checkpoint : statement::save_checkpoint;
    if (const fault failed = over ? fault::none : db.run(saves); failed != fault::none) return failed;
    if (!over && !db.reads_back() && db.rows() > 0) return true;
    if (const fault failed = db.run(statement::saved_checkpoint); failed != fault::none) return failed;
    const bool may_be_done = repeated || db.reads_back();
    if (shows_checkpoint(db, token, text)) return may_be_done || db.number(column::live) != 0;
    if (may_be_done && db.found() && db.number(column::token) > token) return db.fail(fault::overtaken, advice::checkpoint_overtaken);
    return false;
}

// In the row that was read last. `saved_by`: the column of the token of the term that saved it.
std::optional<checkpoint_record> checkpoint_shown(const flow_database auto& db, column saved_by)
{
    const std::int64_t token = db.found() ? db.number(saved_by) : 0;
    if (token == 0) return std::nullopt;
    return checkpoint_record{.text = std::string{db.text(column::checkpoint)}, .token = fencing_token{token}};
}

checkpoint_look look_shown(const flow_database auto& db, column saved_by, std::int64_t clock_us)
{
    return {.saved = checkpoint_shown(db, saved_by), .now = store_time{std::chrono::microseconds{clock_us}}};
}

outcome<std::optional<checkpoint_record>> checkpoint_flow(flow_database auto& db)
{
    return unless(db.run(statement::saved_checkpoint), [&] { return checkpoint_shown(db, column::token); });
}

// As list_flow().
template <flow_database Database>
fault list_checkpoints_flow(Database& db, std::string_view prefix, std::vector<std::pair<std::string, checkpoint_record>>& found)
{
    db.set_upper(last_with_prefix(prefix));
    found.clear();
    const fault failed = db.run_each(statement::list_checkpoints, [&](const Database& row) {
        std::optional<checkpoint_record> saved = checkpoint_shown(row, column::token);
        if (saved && row.text(column::name).starts_with(prefix)) found.emplace_back(row.text(column::name), std::move(*saved));
    });
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return failed;
}

// The database's clock, in microseconds since 1970.
outcome<std::int64_t> clock_flow(flow_database auto& db)
{
    if (!db.tells_time()) return db.fail(fault::failure, advice::no_clock);
    return unless(db.run(statement::clock), [&] { return db.number(column::clock); });
}

// All of it at once; if the dialect has no such statement, what two others tell.
outcome<checkpoint_look> look_at_checkpoint_flow(flow_database auto& db)
{
    if (!db.looks_at_checkpoint()) {
        const outcome<std::int64_t> now = clock_flow(db);
        if (now.failed() != fault::none) return now.failed();
        return unless(db.run(statement::saved_checkpoint), [&] { return look_shown(db, column::token, *now); });
    }
    return unless(db.run(statement::look_at_checkpoint), [&] {
        checkpoint_look seen = look_shown(db, column::saved_by, db.number(column::clock));
        seen.latest = fencing_token{db.number(column::token)};
        seen.open = db.number(column::live) != 0;
        return seen;
    });
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
