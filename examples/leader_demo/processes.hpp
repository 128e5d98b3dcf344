// SPDX-License-Identifier: BSL-1.0
#ifndef LEADER_DEMO_PROCESSES_HPP
#define LEADER_DEMO_PROCESSES_HPP

// What the demo needs of the operating system: child processes, signals, and a folder that is removed in any case.

#include <chrono>
#include <csignal>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace demo {

/// Blocks signals for this thread, and so for all that it starts; they are then waited for. To be made before any thread.
class blocked_signals {
public:
    explicit blocked_signals(std::initializer_list<int> signals);

    /// The signal that came, or 0 when the time was over.
    [[nodiscard]] int wait_for(std::chrono::milliseconds time) const;

private:
    sigset_t set_{};
};

/// A stop_token that is asked to stop by SIGTERM. To be made before any other thread.
class stop_on_sigterm {
public:
    stop_on_sigterm();
    [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

private:
    blocked_signals signals_{SIGTERM};
    std::stop_source stop_;
    std::jthread waiter_;
};

/// A process of this same program. It dies with the process that started it, whatever happens to that one.
class child {
public:
    /// `environment`, as in "NAME=value", goes before this process's own. Throws std::system_error.
    child(std::vector<std::string> arguments, const std::vector<std::string>& environment = {});
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    ~child();  // kills it if it still runs

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// Its exit status, 128 + signal where one ended it; empty while it runs.
    [[nodiscard]] std::optional<int> status();
    /// Does nothing when it has ended already.
    void send(int signal);
    /// Waits for its end; kills it when the time is over.
    int end_within(std::chrono::milliseconds time);

private:
    pid_t pid_ = -1;
    std::optional<int> status_;
};

/// A new folder, which is gone again once this process and all its children are: also when they are killed.
///
/// A process apart sees to that: it waits for the end of a pipe that all of them hold open. To be made before any thread.
class scratch_folder {
public:
    /// Throws std::system_error.
    explicit scratch_folder(bool keep);
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder();  // waits until the folder is gone; no child may be left

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    void start_janitor();

    std::filesystem::path path_;
    int lifeline_ = -1;
    pid_t janitor_ = -1;
};

}  // namespace demo

#endif
