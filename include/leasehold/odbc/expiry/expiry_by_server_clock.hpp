// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_EXPIRY_EXPIRY_BY_SERVER_CLOCK_HPP
#define LEASEHOLD_ODBC_EXPIRY_EXPIRY_BY_SERVER_CLOCK_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/odbc/expiry/concept.hpp>

namespace leasehold::inline v0 {

/// The database's clock judges, in the statement. A dead holder's lease can be taken the moment its ttl is over, also by a
/// process that has just started. A step of that clock forward by more than the safety margin ends terms too early.
///
/// dialect::generic can't use it: its terms always expire by observation.
struct expiry_by_server_clock {
    /// See odbc_expiry.
    [[nodiscard]] static dialect::spec applied_to(dialect::spec d) { return d; }
};

static_assert(odbc_expiry<expiry_by_server_clock>);

}  // namespace leasehold::inline v0

#endif
