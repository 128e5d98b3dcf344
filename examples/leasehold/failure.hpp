// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_FAILURE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_FAILURE_HPP

#include <leasehold/error.hpp>

#include <exception>
#include <stdexcept>
#include <string>

namespace tool {

/// Ends the tool with this status, after saying why.
class failure : public std::runtime_error {
public:
    failure(int status, const std::string& why) : std::runtime_error{why}, status_{status} {}

    [[nodiscard]] int status() const noexcept { return status_; }

private:
    int status_;
};

/// What the tool says of a failure. The words of a store that has no table name the tool's own remedy.
[[nodiscard]] inline std::string words_of(const std::exception& error)
{
    const auto* const of_store = dynamic_cast<const leasehold::store_error*>(&error);
    if (!of_store || of_store->code() != leasehold::errc::schema_missing) return error.what();
    return "the table for the leases, or a column of it, doesn't exist: create it with 'leasehold init', or name another with --table"
           " [SQLSTATE " +
           std::string{of_store->sqlstate()} + ": " + std::string{of_store->server_message()} + "]";
}

}  // namespace tool

#endif
