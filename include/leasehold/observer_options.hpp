// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OBSERVER_OPTIONS_HPP
#define LEASEHOLD_OBSERVER_OPTIONS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <system_error>

namespace leasehold::inline v0 {

/// How an observer looks. Both functions are called on the observer's thread; what they throw is ignored.
struct observer_options {
    duration every = std::chrono::seconds{1};  ///< how often it looks: one statement each; at least 1 ms
    /// Is told of each look that failed. Until one succeeds, nothing has changed as far as the observer knows, and its age() grows.
    std::function<void(std::error_code)> on_error{};
    /// Receives what the function that is told of changes has thrown. The observer then continues with the next change.
    std::function<void(std::exception_ptr)> on_exception{};
};

}  // namespace leasehold::inline v0

#endif
