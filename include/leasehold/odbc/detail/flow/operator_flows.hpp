// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_OPERATOR_FLOWS_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_OPERATOR_FLOWS_HPP

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/flow/advice.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>
#include <leasehold/odbc/dialect/spec.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// The last name that begins with `prefix`: the greatest such text that fits.
inline std::string last_with_prefix(std::string_view prefix)
{
    // The last characters of four bytes, three, two and one.
    constexpr std::string_view last_characters[] = {"\xF4\x8F\xBF\xBF", "\xEF\xBF\xBF", "\xDF\xBF", "\x7F"};
    std::string last{prefix};
    for (const std::string_view character : last_characters)
        while (last.size() + character.size() <= max_name_bytes) last += character;
    return last;
}

void add_data_and_request(const flow_database auto& db, lease_record& record)
{
    record.data = db.text(column::data);
    if (db.has_text(column::request)) record.handover_request.emplace(db.text(column::request));
}

// The record of that name in the row that was shown last.
lease_record record_shown(const flow_database auto& db, std::string_view name)
{
    const std::chrono::microseconds remaining{std::max<std::int64_t>(1, db.number(column::remaining))};
    lease_record record{std::string{name}, std::string{db.text(column::owner)}, fencing_token{db.number(column::token)}, remaining};
    add_data_and_request(db, record);
    return record;
}

outcome<std::optional<lease_record>> inspect_flow(flow_database auto& db, std::string_view name)
{
    return unless(db.run(statement::inspect), [&] { return db.found() ? std::optional{record_shown(db, name)} : std::nullopt; });
}

// The record of a row that was observed, whose term lasts for `left`. Its data and request are read afterwards, and left out if another
// term has begun by then.
outcome<std::optional<lease_record>> observed_record_flow(flow_database auto& db, std::string_view name, duration left)
{
    if (left <= duration::zero()) return std::optional<lease_record>{};
    std::optional<lease_record> record = record_shown(db, name);
    record->remaining = left;
    return unless(db.run(statement::said), [&] {
        if (db.found() && db.number(column::token) == record->token.value()) add_data_and_request(db, *record);
        return std::move(record);
    });
}

// Drops the names that a foreign collation lets through besides, and those whose record judge(row, record) finds to be over; sorts by
// bytes.
template <flow_database Database, class Judge>
fault list_flow(Database& db, std::string_view prefix, std::vector<lease_record>& records, Judge judge)
{
    db.set_upper(last_with_prefix(prefix));
    records.clear();
    const fault failed = db.run_each(statement::list, [&](const Database& row) {
        if (!row.text(column::name).starts_with(prefix)) return;
        records.push_back(record_shown(row, row.text(column::name)));
        if (!judge(row, records.back())) records.pop_back();
    });
    std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return failed;
}

fault list_flow(flow_database auto& db, std::string_view prefix, std::vector<lease_record>& records)
{
    return list_flow(db, prefix, records, [](const auto&, const lease_record&) { return true; });
}

// The version of the table that this library knows.
inline constexpr int current_schema_version = 1;

// The owner of the row with the empty name ends with the table's version. A table that was taken over may have no such row: 1.
inline int schema_version_in(std::string_view record)
{
    constexpr std::string_view label = "leasehold schema ";
    int version = 1;
    if (record.starts_with(label)) std::from_chars(record.data() + label.size(), record.data() + record.size(), version);
    return version;
}

// After `probe`: the version of the table, if this library knows it.
outcome<int> version_probed(flow_database auto& db)
{
    const int version = schema_version_in(db.found() ? db.text(column::owner) : std::string_view{});
    if (version > current_schema_version) return db.fail(fault::failure, advice::later_table);
    return version;
}

// Whether the table is there with all its columns, this library knows its version, and a name can have one row only. The version.
outcome<int> check_table(flow_database auto& db)
{
    if (const fault missing = db.run(statement::probe); missing != fault::none) return missing;
    const outcome<int> version = version_probed(db);
    return version.ok() ? unless(db.check_name_key(), [&] { return *version; }) : version;
}

// One try at having the table. Looks first, so that a user without the right to create can call it; and looks again after
// a failure, since of many that create at once some fail (PostgreSQL's "if not exists" too), and that is fine. A table that lacks a
// column is somebody else's, and is left as it is.
fault schema_flow(flow_database auto& db)
{
    const fault missing = db.run(statement::probe);
    const bool to_create = missing == fault::schema_missing && db.last_report().details.advice != advice::column;
    if (missing != fault::none && !to_create) return missing;
    if (!to_create) {
        if (const outcome<int> version = version_probed(db); !version.ok()) return version.failed();
        const fault unfit = db.check_expiry_column();
        return unfit == fault::none ? db.check_name_key() : unfit;
    }
    fault failed = fault::none;
    for (const std::string& text : db.sql()->schema())
        if (failed == fault::none) failed = db.run_text(text);
    if (failed == fault::connection_lost) return failed;
    const auto creation_report = db.last_report();
    const fault still_missing = db.run(statement::probe);
    if (still_missing == fault::none || failed == fault::none) return still_missing;
    db.set_last_report(creation_report);
    return failed == fault::duplicate_key ? fault::conflict : failed;
}

// The state of the store, as far as the database shows it.
struct health_answer {
    int schema_version = 0;
    std::optional<duration> clock_ahead{};
};

// Writes nothing. `wall_now`: this host's clock, since 1970.
fault health_flow(flow_database auto& db, auto wall_now, health_answer& found)
{
    found = {};
    const outcome<int> version = check_table(db);
    if (!version.ok()) return version.failed();
    found.schema_version = *version;
    if (!db.judges_by_its_clock()) return fault::none;
    const duration before = wall_now();
    const fault failed = db.run(statement::clock);
    const duration after = wall_now();
    if (failed == fault::none && db.found())
        found.clock_ahead = std::chrono::microseconds{db.number(column::clock)} - (before + (after - before) / 2);
    return failed;
}

// The result of a step of a purge.
struct purge_step {
    std::int64_t removed = 0;
    std::string last{};  // the name after which the next step begins; empty: there is none
};

// No new name may get a token that a name to be purged has had. `above`: the first token that none of these has had.
fault raise_floor(flow_database auto& db, std::int64_t above)
{
    for (int look = 0; look < max_looks; ++look) {
        if (const fault failed = db.run(statement::floor); failed != fault::none) return failed;
        const bool there = db.found();
        if (there && db.number(column::token) >= above) return fault::none;
        db.set_token(above);
        const fault failed = db.run(there ? statement::raise_floor : statement::add_floor);
        if (failed != fault::none && failed != fault::duplicate_key) return failed;
        if (there && db.rows() > 0) return fault::none;
    }
    return fault::conflict;
}

// One step. The statement that removes a name judges again whether it is unused, after the floor was raised: a name that has been used
// since has a greater token or a later time.
outcome<purge_step> purge_flow(flow_database auto& db)
{
    purge_step step;
    if (const fault failed = db.run(statement::look); failed != fault::none) return failed;
    const std::int64_t looked_at = db.found() ? db.number(column::count) : 0;
    const std::int64_t above = db.number(column::token);
    if (looked_at == 0) return step;
    std::string last{db.text(column::name)};
    if (above > 0) {
        if (const fault failed = raise_floor(db, above); failed != fault::none) return failed;
        db.set_token(above);
        db.set_upper(last);
        const fault failed = db.run(statement::remove);
        // One of them is locked, by a fence perhaps, which must keep its row: these are for the next purge.
        if (failed != fault::none && failed != fault::lock_timeout) return failed;
        if (failed == fault::none) step.removed = db.rows();
    }
    if (looked_at >= static_cast<std::int64_t>(dialect::purge_sql::rows_per_step)) step.last = std::move(last);
    return step;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
