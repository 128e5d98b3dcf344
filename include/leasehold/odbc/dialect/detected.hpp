// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_DETECTED_HPP
#define LEASEHOLD_ODBC_DIALECT_DETECTED_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/config.hpp>
#include <leasehold/odbc/dialect/concept.hpp>

namespace leasehold::inline v0::dialect {

/// The dialect that fits what the driver says it is connected to.
struct detected {
    /// See odbc_dialect.
    static constexpr bool in_process = false;  // not known yet

    /// See odbc_dialect.
    [[nodiscard]] LEASEHOLD_DECL static spec describe(const server_info& at);
};

static_assert(odbc_dialect<detected>);

}  // namespace leasehold::inline v0::dialect

#endif
