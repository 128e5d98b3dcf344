// SPDX-License-Identifier: BSL-1.0
#include "job_control.hpp"

#include <csignal>

#include <fcntl.h>
#include <unistd.h>

namespace tool {

on_stop decide_on_stop(int signal, bool terminal_is_ours) noexcept
{
    if (signal == SIGTSTP) return on_stop::stop_too;
    if (signal != SIGTTIN && signal != SIGTTOU) return on_stop::nothing;
    return terminal_is_ours ? on_stop::give_terminal : on_stop::stop_too;
}

job_control::job_control() noexcept : terminal_{::open("/dev/tty", O_RDWR | O_CLOEXEC)} {}

job_control::~job_control()
{
    if (terminal_ >= 0) ::close(terminal_);
}

bool job_control::terminal_is_ours() const noexcept { return given_to(::getpgrp()); }

bool job_control::give_at_start() const noexcept
{
    return ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO) && terminal_is_ours();
}

bool job_control::given_to(pid_t group) const noexcept { return terminal_ >= 0 && ::tcgetpgrp(terminal_) == group; }

void job_control::give(pid_t group) const noexcept { ::tcsetpgrp(terminal_, group); }

void job_control::take_back(pid_t group) const noexcept
{
    if (given_to(group)) give(::getpgrp());
}

}  // namespace tool
