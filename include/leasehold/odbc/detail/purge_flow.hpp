// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_PURGE_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_PURGE_FLOW_HPP

#include <leasehold/odbc/detail/fault.hpp>
#include <leasehold/odbc/detail/flow.hpp>
#include <leasehold/odbc/detail/statement.hpp>
#include <leasehold/odbc/dialect/purge_sql.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

// The protocol of a purge: as in flow.hpp, no ODBC and no SQL. `Database` has text() and set_upper() besides.
namespace leasehold::inline v0::odbc::detail {

// What a step of a purge came to.
struct purge_step {
    std::int64_t removed = 0;
    std::string last{};  // the name after which the next step begins; empty: there is none
};

// No new name may get a token that a name has had which is about to go. `above`: the first one that none of them has had.
template <class Database>
fault raise_floor(Database& db, std::int64_t above)
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

// One step. What is counted as unused here is judged again by the statement that removes it, after the floor was raised:
// what has been used since has a greater token or a later time.
template <class Database>
fault purge_flow(Database& db, purge_step& step)
{
    step = {};
    if (const fault failed = db.run(statement::look); failed != fault::none) return failed;
    const std::int64_t looked_at = db.found() ? db.number(column::count) : 0;
    const std::int64_t above = db.number(column::token);
    if (looked_at == 0) return fault::none;
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
    return fault::none;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
