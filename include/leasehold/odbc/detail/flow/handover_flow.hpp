// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_HANDOVER_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_HANDOVER_FLOW_HPP

#include <leasehold/detail/handover_priority.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What is said during a term: its data, and requests to hand over. As in flow.hpp, no ODBC and no SQL.
namespace leasehold::inline v0::odbc::detail {

// If the count of rows says nothing, or the database does not count a row that was as it should be, what `read` finds shows whether
// it is written.
outcome<bool> write_and_check(flow_database auto& db, statement write, statement read, auto shows)
{
    if (const fault failed = db.run(write); failed != fault::none) return failed;
    if (!db.reads_back() && db.rows() > 0) return true;
    return unless(db.run(read), [&] { return db.found() && shows(); });
}

outcome<bool> publish_flow(flow_database auto& db, std::int64_t token, std::string_view data)
{
    db.set_token(token);
    return write_and_check(db, statement::publish, statement::published, [&] { return db.text(column::data) == data; });
}

// A candidate of an election, or a member of a shard_group, asks again by itself, so it leaves the request of somebody who doesn't: that
// has come since it looked.
outcome<bool> request_flow(flow_database auto& db, std::string_view reason)
{
    const bool repeated = leasehold::detail::is_repeated(reason);
    return write_and_check(db, repeated ? statement::request_of_candidate : statement::request, statement::said,
                           [&] { return db.has_text(column::request); });
}

outcome<std::optional<std::string>> requested_flow(flow_database auto& db, std::int64_t token)
{
    db.set_token(token);
    const fault failed = db.run(statement::requested);
    return unless(failed, [&] { return db.found() ? std::optional<std::string>{db.text(column::request)} : std::nullopt; });
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
