// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_TERMS_CHOICE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_TERMS_CHOICE_HPP

#include <leasehold/duration.hpp>
#include <leasehold/lease_terms.hpp>

#include <chrono>
#include <optional>

namespace tool {

/// What was said about a lease's durations; what wasn't follows from the rest.
struct asked_terms {
    leasehold::duration ttl = std::chrono::seconds{30};
    std::optional<leasehold::duration> margin{};
    std::optional<leasehold::duration> kill_after{};
    leasehold::duration min_hold{};
};

struct chosen_terms {
    leasehold::lease_terms lease;
    leasehold::duration kill_after{};    ///< from SIGTERM to SIGKILL; never longer than the margin
    leasehold::duration call_timeout{};  ///< for the store: short enough to try a renewal again within the term
};

/// The command must be dead before the store lets somebody else in, and that is `margin` after the deadline at which it gets
/// its SIGTERM. So the margin is the time it has for ending, and a fifth of that for a machine that is slow to kill.
/// Throws failure (exit_code::usage), naming the option that must change and what it may be.
[[nodiscard]] chosen_terms choose_terms(const asked_terms& asked);

}  // namespace tool

#endif
