// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_LIST_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_LIST_FLOW_HPP

#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/odbc/detail/connection.hpp>
#include <leasehold/odbc/detail/fault.hpp>
#include <leasehold/odbc/detail/name_range.hpp>
#include <leasehold/odbc/detail/statement.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// The record of that name in the row that was shown last.
inline lease_record record_shown(const connection& db, std::string_view name)
{
    const std::chrono::microseconds remaining{std::max<std::int64_t>(1, db.number(column::remaining))};
    return {std::string{name}, std::string{db.text(column::owner)}, fencing_token{db.number(column::token)}, remaining};
}

// What a foreign collation lets through besides is dropped here, and the order of bytes made.
inline fault list_flow(connection& db, std::string_view prefix, std::vector<lease_record>& records)
{
    db.set_upper(last_with_prefix(prefix));
    records.clear();
    const fault failed = db.run_each(statement::list, [&](const connection& row) {
        if (row.text(column::name).starts_with(prefix)) records.push_back(record_shown(row, row.text(column::name)));
    });
    std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return failed;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
