// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_HANDOVER_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_HANDOVER_FLOW_HPP

#include <leasehold/detail/handover_priority.hpp>
#include <leasehold/odbc/detail/driver/errors.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What is said during a term: its data, and requests to hand over. As in flow.hpp, no ODBC and no SQL.
namespace leasehold::inline v0::odbc::detail {

// Whether a statement failed because the table is of version 1, or as good as that: the user may have rights to the older columns only.
// A database of which nothing is known says so in words of its own.
bool may_lack_columns(const flow_database auto& db, fault failed)
{
    return failed == fault::schema_missing ||
           (failed == fault::failure && (db.reads_back() || db.last_report().details.advice == advice::permission));
}

// Adds what is missing. Each statement fails where its column is there: of many that add at once all but one do. The first failure
// is the answer, and what db.last_report() tells.
fault add_columns(flow_database auto& db)
{
    report first;
    for (const std::string& text : db.sql()->added_columns()) {
        const fault failed = db.run_text(text);
        if (failed == fault::connection_lost) return failed;
        if (first.kind == fault::none) first = db.last_report();
    }
    db.set_last_report(first);
    return first.kind;
}

// For create_schema(), where the table is there. A user who may not alter it uses version 1.
fault upgrade_flow(flow_database auto& db)
{
    if (!db.hands_over()) return fault::none;
    if (const fault missing = db.run(statement::probe_said); !may_lack_columns(db, missing)) return missing;
    const fault refused = add_columns(db);
    const report why = db.last_report();
    const fault missing = refused == fault::connection_lost ? refused : db.run(statement::probe_said);
    if (!may_lack_columns(db, missing)) return missing;
    if (refused != fault::conflict && refused != fault::lock_timeout) return fault::none;
    db.set_last_report(why);
    return refused;
}

// Runs a statement that needs the columns, and adds them on their first use.
fault run_with_columns(flow_database auto& db, statement which)
{
    const fault failed = db.run(which);
    if (!may_lack_columns(db, failed)) return failed;
    const auto why = db.last_report();
    if (const fault table = db.run(statement::probe); table != fault::none) return table;
    const fault refused = add_columns(db);
    if (refused == fault::connection_lost || refused == fault::conflict || refused == fault::lock_timeout) return refused;
    const fault again = db.run(which);
    if (!may_lack_columns(db, again)) return again;
    auto explained = why;
    if (failed == fault::schema_missing) explained.details.advice = advice::version_1;
    db.set_last_report(explained);
    return failed;
}

// Runs `write`, which needs the columns. Where the count of rows says nothing, or a database does not count a row that was as it
// should be, what `read` finds shows whether it is written.
outcome<bool> write_said(flow_database auto& db, statement write, statement read, auto shows)
{
    if (const fault failed = run_with_columns(db, write); failed != fault::none) return failed;
    if (!db.reads_back() && db.rows() > 0) return true;
    return unless(db.run(read), [&] { return db.found() && shows(); });
}

outcome<bool> publish_flow(flow_database auto& db, std::int64_t token, std::string_view data)
{
    db.set_token(token);
    return write_said(db, statement::publish, statement::published, [&] { return db.text(column::data) == data; });
}

// A candidate of an election asks again by itself, so it leaves the request of somebody who doesn't: that has come since it looked.
outcome<bool> request_flow(flow_database auto& db, std::string_view reason)
{
    const bool of_candidate = leasehold::detail::priority_in(reason).has_value();
    return write_said(db, of_candidate ? statement::request_of_candidate : statement::request, statement::said,
                      [&] { return db.has_text(column::request); });
}

// Where there are no columns, nobody can have asked.
outcome<std::optional<std::string>> requested_flow(flow_database auto& db, std::int64_t token)
{
    db.set_token(token);
    const fault failed = db.run(statement::requested);
    if (may_lack_columns(db, failed)) {
        const auto why = db.last_report();
        const fault table = db.run(statement::probe);
        if (table == fault::none || failed == fault::schema_missing) return table;
        db.set_last_report(why);
        return failed;
    }
    return unless(failed, [&] { return db.found() ? std::optional<std::string>{db.text(column::request)} : std::nullopt; });
}

// Runs the first, or the second where there are no columns.
fault with_or_without_columns(const auto& db, statement with, statement without, auto run)
{
    if (!db.hands_over()) return run(without);
    const fault failed = run(with);
    return may_lack_columns(db, failed) ? run(without) : failed;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
