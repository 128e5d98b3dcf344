// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_FAILURE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_FAILURE_HPP

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

/// What the tool says of a failure. Where the store has no table, that names the tool's own remedy.
[[nodiscard]] std::string words_of(const std::exception& error);

}  // namespace tool

#endif
