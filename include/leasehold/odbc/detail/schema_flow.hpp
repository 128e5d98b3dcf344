// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SCHEMA_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_SCHEMA_FLOW_HPP

#include <leasehold/odbc/detail/connection.hpp>
#include <leasehold/odbc/detail/fault.hpp>
#include <leasehold/odbc/detail/report.hpp>
#include <leasehold/odbc/detail/statement.hpp>

#include <string>

namespace leasehold::inline v0::odbc::detail {

// One try at having the table. Looks first, so that a user without the right to create can call it; and looks again after
// a failure, since of many that create at once some fail (PostgreSQL's "if not exists" too), and that is fine.
inline fault schema_flow(connection& db)
{
    const fault missing = db.run(statement::probe);
    if (missing != fault::schema_missing) return missing == fault::none ? db.check_expiry_column() : missing;
    fault failed = fault::none;
    for (const std::string& text : db.sql()->schema())
        if (failed == fault::none) failed = db.run_text(text);
    if (failed == fault::connection_lost) return failed;
    const report why = db.last_report();
    const fault still_missing = db.run(statement::probe);
    if (still_missing == fault::none || failed == fault::none) return still_missing;
    db.set_last_report(why);
    return failed == fault::duplicate_key ? fault::conflict : failed;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
