// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RECURRING_OPTIONS_HPP
#define LEASEHOLD_RECURRING_OPTIONS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fire_record.hpp>
#include <leasehold/schedule/concept.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string_view>

namespace leasehold::inline v0 {

/// What becomes of fires that were missed: that passed while nobody could begin them, as in an outage.
enum class catch_up : std::uint8_t {
    none,  ///< they are told, and not run; see recurring_options::begin_within
    last,  ///< the last one is run, and the others are told
    all    ///< all are run, in order
};

/// The enumerator's name; "invalid" for any other value.
[[nodiscard]] constexpr std::string_view to_string(catch_up what) noexcept
{
    switch (what) {
    case catch_up::none: return "none";
    case catch_up::last: return "last";
    case catch_up::all: return "all";
    }
    return "invalid";
}

/// Writes to_string(what).
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, catch_up what)
{
    return out << to_string(what);
}

/// The durations, the limits and the hooks of a recurring. Give all hosts the same.
///
/// A hook runs on the thread that calls try_begin() or run(), or complete() or fail() of a run. If one throws, the exception reaches that
/// caller.
struct recurring_options {
    /// How long the store keeps the lease of a host from which it no longer hears: the next one begins the fire after that.
    duration ttl = std::chrono::seconds{60};
    /// See lease_terms::safety_margin.
    std::optional<duration> safety_margin{};
    /// Which of the missed fires are run.
    leasehold::catch_up catch_up = leasehold::catch_up::last;
    /// How often a fire is begun, by all hosts together, until it is given up; 0: without a limit. With a limit, one more statement before
    /// the work counts the attempt, so that a job which ends its process is counted too.
    int max_attempts = 0;
    /// How long nobody begins a fire after its job has failed, which means that it threw in run(), or called fail(). The pause doubles with
    /// each attempt of that fire, up to retry_max. At least 1 ms.
    duration retry_min = std::chrono::seconds{1};
    /// The longest pause; see retry_min.
    duration retry_max = std::chrono::minutes{5};
    /// With catch_up::none: how late a fire may begin. One that nobody has begun by then is missed.
    duration begin_within = std::chrono::minutes{1};
    /// Whether this schedule takes the place of another one in the name's record. It begins with its next fire; fires of the other one
    /// that were due are not run. Without it, another schedule under the name is errc::invalid_terms; so it is for a recurring that finds
    /// its own schedule replaced. A new process replaces again: remove the option with the next deploy.
    bool replace_schedule = false;
    /// Called when a run of this recurring has completed its fire: by complete(), or because its job returned to run(). Once for each. One
    /// that is completed in a transaction of the user's, by complete(connection), is told when this recurring next reads the record, and
    /// finds that it was committed; run() does so at once. It is not told if another host has completed a later fire by then.
    std::function<void(fire_time)> on_completed{};
    /// Called with the last completed fire of the name, whichever host has completed it: when this recurring first reads the record, and
    /// when it finds another one there, which it looks for when a fire is due. After on_completed, if it is one of its own.
    std::function<void(const completed_fire&)> on_last_completed{};
    /// Called for each missed fire that is not run, in order, by the host that has noted so in the record; at most for the last 1,000. Once
    /// for each; never if that host dies or is stopped meanwhile, or its save and the look at what it saved both got no answer. All are
    /// told, also if it throws for one; then the first exception is rethrown. A fire that had failed when its schedule was replaced is
    /// told, too.
    std::function<void(fire_time)> on_missed{};
    /// Called when a fire is given up after max_attempts.
    std::function<void(fire_time)> on_given_up{};
    /// Called by run() when the job threw.
    std::function<void(fire_time, std::exception_ptr)> on_failed{};
    /// Called by run() when the store failed; it tries again after a pause like those between attempts.
    std::function<void(const store_error&)> on_error{};

    /// The rule that they break, in words, or nullptr; those of the ttl apart.
    [[nodiscard]] constexpr const char* broken_rule() const noexcept
    {
        if (max_attempts < 0) return "recurring_options: max_attempts must not be negative; 0 means without a limit";
        if (retry_min < std::chrono::milliseconds{1}) return "recurring_options: retry_min must be at least 1 ms";
        if (retry_max < retry_min) return "recurring_options: retry_max must not be less than retry_min";
        if (retry_max > std::chrono::hours{24 * 3650}) return "recurring_options: retry_max must be at most 10 years (3650 days)";
        if (begin_within < duration::zero()) return "recurring_options: begin_within must not be negative";
        return nullptr;
    }
};

}  // namespace leasehold::inline v0

#endif
