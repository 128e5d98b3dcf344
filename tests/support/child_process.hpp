// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_CHILD_PROCESS_HPP
#define LEASEHOLD_TESTS_SUPPORT_CHILD_PROCESS_HPP

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace leasehold_test {

/// How a process ended.
struct exit_status {
    int code = 0;    ///< what it returned, if it ended by itself
    int signal = 0;  ///< what killed it, or 0

    [[nodiscard]] bool success() const noexcept { return code == 0 && signal == 0; }
    friend bool operator==(const exit_status&, const exit_status&) = default;
    friend std::ostream& operator<<(std::ostream& out, const exit_status& status)
    {
        return status.signal ? out << "killed by signal " << status.signal : out << "exit status " << status.code;
    }
};

struct process_options {
    std::map<std::string, std::string> environment{};  ///< added to this process's, or instead of its values
    std::string user{};                                ///< run as this user, when we are root
    std::filesystem::path root{};         ///< run in the system in this folder (chroot), which sees our users, /tmp and /var/tmp
    bool capture = false;                 ///< standard input and output are ours: write(), read_line(), read_all()
    std::filesystem::path output_file{};  ///< standard output and error are appended to it
    int death_signal = SIGKILL;           ///< what it gets when this process ends
};

/// A program that runs beside the test and never outlives it.
///
/// The destructor kills and reaps it. Should the test crash, the kernel sends `death_signal`. Any thread may start it, and end
/// before it does.
/// Thread safety: as one object of a container; signal() and pid() may be called while another thread waits or reads.
class child_process {
public:
    /// `command[0]` is looked for in PATH. Throws std::system_error when it can't be run.
    explicit child_process(const std::vector<std::string>& command, const process_options& options = {});
    child_process(child_process&& other) noexcept;
    child_process& operator=(child_process&& other) noexcept;
    ~child_process();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    void signal(int number) const;

    [[nodiscard]] bool running() { return !wait_for(std::chrono::milliseconds{0}); }
    /// Nothing: it still runs.
    [[nodiscard]] std::optional<exit_status> wait_for(std::chrono::milliseconds timeout);
    /// Throws std::runtime_error, after killing it, when it takes longer than `timeout`.
    exit_status wait(std::chrono::milliseconds timeout = std::chrono::seconds{60});
    /// SIGKILL, and reaped.
    void kill();

    /// The next line, without its end; nothing at the end of the output or after `timeout`.
    [[nodiscard]] std::optional<std::string> read_line(std::chrono::milliseconds timeout = std::chrono::seconds{30});
    /// All until the end of the output. Throws std::runtime_error when that does not come in time.
    [[nodiscard]] std::string read_all(std::chrono::milliseconds timeout = std::chrono::seconds{60});
    /// False when it no longer reads.
    bool write(std::string_view text) const;
    void close_input();

private:
    [[nodiscard]] bool fill(std::chrono::steady_clock::time_point until);

    pid_t pid_ = -1;
    int output_ = -1;
    int input_ = -1;
    bool at_end_ = false;
    std::string buffer_;
    std::optional<exit_status> status_;
};

/// `root` and all its descendants, parents first.
[[nodiscard]] std::vector<pid_t> process_tree(pid_t root);

}  // namespace leasehold_test

#endif
