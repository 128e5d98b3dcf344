// SPDX-License-Identifier: BSL-1.0
#include "failure.hpp"

#include <leasehold/error.hpp>

#include <string_view>

namespace tool {

std::string words_of(const std::exception& error)
{
    const auto* const of_store = dynamic_cast<const leasehold::store_error*>(&error);
    if (!of_store) return error.what();
    const bool lacks_column = std::string_view{error.what()}.find("docs/migrating.md") != std::string_view::npos;
    if (of_store->code() != leasehold::errc::schema_missing || lacks_column) return error.what();
    return "the table for the leases doesn't exist: create it with 'leasehold init', or name another with --table [SQLSTATE " +
           std::string{of_store->sqlstate()} + ": " + std::string{of_store->server_message()} + "]";
}

}  // namespace tool
