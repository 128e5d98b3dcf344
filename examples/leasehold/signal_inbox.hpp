// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_SIGNAL_INBOX_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_SIGNAL_INBOX_HPP

#include <atomic>
#include <csignal>
#include <optional>
#include <stop_token>
#include <thread>

namespace tool {

/// Keeps the signals that signal_inbox is for from ending the process; to be made before there are other threads.
class blocked_signals {
public:
    blocked_signals() noexcept;
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;

    [[nodiscard]] const sigset_t& before() const noexcept { return before_; }
    /// Those that are read; one that was ignored when the tool was started (nohup) stays so.
    [[nodiscard]] const sigset_t& read() const noexcept { return read_; }

private:
    sigset_t before_{};
    sigset_t read_{};
};

/// Numbers of signals as something to wait for beside other descriptors. Any thread may put them, and take them; neither waits.
class signal_queue {
public:
    signal_queue();
    signal_queue(const signal_queue&) = delete;
    signal_queue& operator=(const signal_queue&) = delete;
    ~signal_queue();

    /// Readable when there is something to take().
    [[nodiscard]] int descriptor() const noexcept { return pipe_[0]; }
    /// The next signal, or 0 for a wake(); nothing where there is none.
    [[nodiscard]] std::optional<int> take() const noexcept;
    void put(int signal) const noexcept;
    /// Makes the descriptor readable.
    void wake() const noexcept { put(0); }

private:
    int pipe_[2] = {-1, -1};
};

/// The signals that this process gets.
class signal_inbox : public signal_queue {
public:
    /// `hangup_ends`: SIGHUP is the end of the terminal, not an order to read a configuration again.
    signal_inbox(const blocked_signals& blocked, bool hangup_ends);
    ~signal_inbox();

    /// Asked to stop by the first signal that is to end the tool.
    [[nodiscard]] std::stop_token asked_to_end() const noexcept { return end_.get_token(); }
    /// Which signal that was, or 0.
    [[nodiscard]] int ended_by() const noexcept { return ended_by_; }
    /// As if that signal had come: a terminal sends Ctrl-C to the process group that has it, not to us.
    void end(int signal);

    /// Whether there is somebody to pass signals on to; else SIGTSTP stops the tool, as it would without us.
    void passing_on(bool value) noexcept { passing_on_ = value; }

private:
    void read_signals();

    sigset_t read_;
    bool hangup_ends_;
    std::stop_source end_;
    std::atomic<int> ended_by_ = 0;
    std::atomic<bool> passing_on_ = false;
    std::atomic<bool> over_ = false;
    std::thread reader_;
};

}  // namespace tool

#endif
