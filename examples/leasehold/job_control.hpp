// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_JOB_CONTROL_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_JOB_CONTROL_HPP

#include <cstdint>

#include <sys/types.h>

namespace tool {

enum class on_stop : std::uint8_t {
    nothing,        ///< somebody stopped the command by hand, and will resume it the same way
    give_terminal,  ///< it needs the terminal, which is ours to give
    stop_too        ///< it was suspended from the keyboard, or needs a terminal that we haven't got: the shell's turn
};

/// What to do about a command that `signal` has stopped.
[[nodiscard]] on_stop decide_on_stop(int signal, bool terminal_is_ours) noexcept;

/// Who reads the terminal: the command is in a process group of its own, so that it can be ended whole, and a terminal is
/// for one group at a time. At once where tool and terminal are alone with each other; else (a pipeline) when the command
/// asks for it, so that a pager beside it keeps what is its own.
class job_control {
public:
    job_control() noexcept;
    job_control(const job_control&) = delete;
    job_control& operator=(const job_control&) = delete;
    ~job_control();

    /// Whether the terminal is with our own group now.
    [[nodiscard]] bool terminal_is_ours() const noexcept;
    /// Whether the command is to have it from the start.
    [[nodiscard]] bool give_at_start() const noexcept;

    void give(pid_t group) const noexcept;
    [[nodiscard]] bool given_to(pid_t group) const noexcept;
    /// Only from `group`: it may be somebody else's by now.
    void take_back(pid_t group) const noexcept;

private:
    int terminal_ = -1;
};

}  // namespace tool

#endif
