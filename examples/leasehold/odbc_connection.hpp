// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_ODBC_CONNECTION_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_ODBC_CONNECTION_HPP

#include <optional>
#include <string>

#include <sql.h>

namespace tool {

/// What an ODBC connection tells about itself.
struct connection_facts {
    std::string driver;  ///< its file
    std::string driver_version;
    std::string database;  ///< the product
    std::string database_version;
};

/// A connection of the tool's own, for what the store doesn't tell: a doctor asks more than a lease needs.
class odbc_connection {
public:
    /// Throws failure (exit_code::store); the driver's words are not in it, which may have a password in them.
    explicit odbc_connection(const std::string& connection_string);
    odbc_connection(const odbc_connection&) = delete;
    odbc_connection& operator=(const odbc_connection&) = delete;
    ~odbc_connection();

    [[nodiscard]] connection_facts facts() const;
    /// The first column of the first row of a query; nothing where it fails, or there is none.
    [[nodiscard]] std::optional<std::string> ask(const std::string& query) const;

private:
    SQLHENV environment_ = SQL_NULL_HENV;
    SQLHDBC connection_ = SQL_NULL_HDBC;
};

}  // namespace tool

#endif
