// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_FAILURE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_FAILURE_HPP

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

}  // namespace tool

#endif
