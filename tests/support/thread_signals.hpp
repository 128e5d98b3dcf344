// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_THREAD_SIGNALS_HPP
#define LEASEHOLD_TESTS_SUPPORT_THREAD_SIGNALS_HPP

#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <utility>

namespace leasehold_test {

/// Signals that others send: a thread of the library must not take them from the program.
inline constexpr std::array sent_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD, SIGPIPE, SIGALRM, SIGWINCH};

/// Signals that a thread causes itself, or a profiler sends to each: handlers must see them on every thread.
inline constexpr std::array caused_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};

/// The signals that a thread blocks, bit by bit (the lowest is signal 1), by thread; empty where the system doesn't tell.
inline std::map<std::string, std::uint64_t> blocked_signals_of_threads()
{
    std::map<std::string, std::uint64_t> masks;
    std::error_code none;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task", none}) {
        std::ifstream status{task.path() / "status"};
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("SigBlk:")) masks[task.path().filename().string()] = std::stoull(line.substr(7), nullptr, 16);
    }
    return masks;
}

inline bool blocks(std::uint64_t mask, int signal) { return ((mask >> static_cast<unsigned>(signal - 1)) & 1U) != 0; }

}  // namespace leasehold_test

#endif
