// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_DETECTED_HPP
#define LEASEHOLD_ODBC_DIALECT_DETECTED_HPP

#include <leasehold/odbc/dialect/concept.hpp>
#include <leasehold/odbc/dialect/generic.hpp>
#include <leasehold/odbc/dialect/mariadb.hpp>
#include <leasehold/odbc/dialect/postgresql.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>

#include <string_view>

namespace leasehold::inline v0::dialect {

/// The dialect that fits what the driver says it is connected to.
struct detected {
    /// See odbc_dialect.
    static constexpr bool in_process = false;  // not known yet

    /// See odbc_dialect.
    [[nodiscard]] static description describe(const circumstances& at)
    {
        const auto is = [&at](std::string_view name) { return at.dbms_name.find(name) != std::string_view::npos; };
        if (is("PostgreSQL")) return postgresql::describe(at);
        if (is("MariaDB") || is("MySQL")) return mariadb::describe(at);
        if (is("SQLite")) return sqlite::describe(at);
        return generic::describe(at);
    }
};

static_assert(odbc_dialect<postgresql> && odbc_dialect<mariadb> && odbc_dialect<sqlite> && odbc_dialect<generic> &&
              odbc_dialect<detected>);

}  // namespace leasehold::inline v0::dialect

#endif
