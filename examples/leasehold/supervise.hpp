// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_SUPERVISE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_SUPERVISE_HPP

#include "keeper.hpp"
#include "signal_inbox.hpp"

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/schedule/concept.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tool {

/// How a command came to its end.
struct command_end {
    enum class kind : std::uint8_t { ended, not_started, keeper_gone };
    kind how = kind::ended;
    int status = 0;                   ///< ended: as waitpid() gives it
    int error = 0;                    ///< not_started: errno
    std::int64_t notes = of_its_own;  ///< ended: see end_note
    bool overdue = false;             ///< it ran for longer than running_term::max_hold, and was ended

    [[nodiscard]] bool lost() const noexcept { return (notes & made_to_end) != 0; }
    /// Its own status as a shell tells it: 128 and the signal for one that was killed, 127 or 126 for one that isn't there
    /// or can't be run, 70 where the system has no process for it. exit_code::overdue for one that ran for too long, however it has ended.
    [[nodiscard]] int shell_status() const noexcept;
    /// The command isn't there, or is none. It is not that the system had no process, memory or file for it for a moment.
    [[nodiscard]] bool can_never_run() const noexcept;
    /// The signal that killed it, or 0.
    [[nodiscard]] int signal() const noexcept;
};

/// The term a command runs in.
struct running_term {
    leasehold::fencing_token token;
    std::stop_token lost;
    std::function<leasehold::duration()> remaining;  ///< to the deadline
    std::function<void()> on_lost;                   ///< told once, before the command has ended
    std::vector<leasehold::fencing_token> tokens{};  ///< of several leases, instead of the one
    std::optional<std::size_t> number{};             ///< which of several rights it is
    std::stop_token asked{};                         ///< to hand over
    int signal_if_asked = 0;                         ///< what the command then gets, once
    std::optional<std::string> checkpoint{};         ///< what the last holder has saved
    std::optional<leasehold::fire_time> fire{};      ///< of a schedule
    std::vector<std::size_t> numbers{};              ///< which of several rights they are, if it is more than one
    std::optional<leasehold::duration> max_hold{};   ///< how long the command may run
};

/// When to tell the keeper of the deadline again: often where it is near, so that a renewal in the last moment counts.
[[nodiscard]] leasehold::duration tell_again_after(leasehold::duration remaining) noexcept;

/// Starts the keeper's command and stays with it to its end: passes signals on, tells the keeper how long the lease lasts,
/// and of its loss. A lease that is lost by then starts nothing.
[[nodiscard]] command_end supervise(const keeper& by, signal_inbox& signals, const running_term& term);
/// The same for one of several commands, which has no terminal: somebody else puts the signals that are for it into the queue.
[[nodiscard]] command_end supervise(const keeper& by, signal_queue& signals, const running_term& term);

}  // namespace tool

#endif
