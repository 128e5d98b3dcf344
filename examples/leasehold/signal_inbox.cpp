// SPDX-License-Identifier: BSL-1.0
#include "signal_inbox.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace tool {

namespace {

constexpr int wake_reader = SIGURG;  // ignored by default, and nobody else's

}  // namespace

blocked_signals::blocked_signals() noexcept
{
    ::sigemptyset(&read_);
    for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT}) {
        struct sigaction now {};
        if (::sigaction(each, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
        ::sigaddset(&read_, each);
    }
    sigset_t block = read_;
    ::sigaddset(&block, wake_reader);
    ::sigaddset(&block, SIGPIPE);
    ::sigaddset(&block, SIGTTOU);  // so that the terminal can be taken back
    ::pthread_sigmask(SIG_BLOCK, &block, &before_);
}

signal_queue::signal_queue()
{
    if (::pipe(pipe_) != 0) throw std::system_error{errno, std::generic_category(), "can't create a pipe"};
    for (const int end : pipe_) {
        ::fcntl(end, F_SETFD, FD_CLOEXEC);
        ::fcntl(end, F_SETFL, O_NONBLOCK);
    }
}

signal_queue::~signal_queue()
{
    for (const int end : pipe_) ::close(end);
}

void signal_queue::put(int signal) const noexcept
{
    const auto byte = static_cast<unsigned char>(signal);
    [[maybe_unused]] const auto written = ::write(pipe_[1], &byte, 1);  // full: it is readable already
}

std::optional<int> signal_queue::take() const noexcept
{
    unsigned char byte = 0;
    if (::read(pipe_[0], &byte, 1) != 1) return std::nullopt;
    return byte;
}

signal_inbox::signal_inbox(const blocked_signals& blocked, bool hangup_ends)
    : read_{blocked.read()}, hangup_ends_{hangup_ends}
{
    ::sigaddset(&read_, wake_reader);
    reader_ = std::thread{[this] { read_signals(); }};
}

signal_inbox::~signal_inbox()
{
    over_ = true;
    ::pthread_kill(reader_.native_handle(), wake_reader);
    reader_.join();
}

void signal_inbox::end(int signal)
{
    int none = 0;
    ended_by_.compare_exchange_strong(none, signal);
    end_.request_stop();
}

void signal_inbox::read_signals()
{
    for (int signal = 0; !over_;) {
        if (::sigwait(&read_, &signal) != 0 || signal == wake_reader) continue;
        if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || (signal == SIGHUP && hangup_ends_)) end(signal);
        if (signal == SIGTSTP && !passing_on_)
            ::kill(::getpid(), SIGSTOP);
        else
            put(signal);
    }
}

}  // namespace tool
