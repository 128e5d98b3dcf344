// SPDX-License-Identifier: BSL-1.0
#include <support/database_server.hpp>

#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/launch.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace leasehold_test {

namespace {

void signal_all(const std::vector<pid_t>& processes, int number) noexcept
{
    for (const pid_t process : processes) ::kill(process, number);
}

// MySQL makes its files in five seconds, and in two minutes where the processors have other work.
constexpr std::chrono::minutes patience{5};

struct guarded {
    std::array<int, 2> pipe;
    const pid_t* processes;
    std::size_t count;
};

void guard(const void* argument) noexcept
{
    const guarded& what = *static_cast<const guarded*>(argument);
    ::close(what.pipe[1]);
    char thawed = 0;
    ssize_t size = 0;
    do size = ::read(what.pipe[0], &thawed, 1);
    while (size < 0 && errno == EINTR);
    for (std::size_t i = 0; size == 0 && i < what.count; ++i) ::kill(what.processes[i], SIGKILL);
}

std::string contents(const std::filesystem::path& path)
{
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

// "pid (command) state ...", where T is stopped, and Z and X are ended; the command may have brackets of its own.
bool all_threads_are_stopped(pid_t process)
{
    std::error_code gone;
    for (const auto& thread : std::filesystem::directory_iterator{"/proc/" + std::to_string(process) + "/task", gone}) {
        std::ifstream file{thread.path() / "stat"};
        const std::string stat{std::istreambuf_iterator<char>{file}, {}};
        const std::size_t bracket = stat.rfind(')');
        if (bracket != std::string::npos && bracket + 2 < stat.size() && !std::strchr("TZX", stat[bracket + 2])) return false;
    }
    return true;
}

// Another program was quicker at the port; if clients know that port by now, it may become free again. Of the port on which a
// Galera node receives a copy, the log says only that the program behind it ended. Galera also sets the priority of a thread of
// its own that it may not find yet.
bool failed_by_chance(const std::string& log)
{
    constexpr std::array signs{"in use", "rsync or stunnel daemon", "Failed to set thread schedparams other:0: System error: 3"};
    return std::ranges::any_of(signs, [&log](const char* sign) { return log.find(sign) != std::string::npos; });
}

}  // namespace

std::string account_for_server(const std::vector<std::string>& names)
{
    if (::geteuid() != 0) return {};
    for (const std::string& name : names)
        if (::getpwnam(name.c_str())) return name;
    throw missing_requirement{"we are root, who may not run a database server, and there is no user " + names.front()};
}

database_server::database_server(std::string account, std::vector<std::string> extra_arguments, int polite_signal,
                                 int death_signal, std::filesystem::path root)
    : account_{std::move(account)}, extra_arguments_{std::move(extra_arguments)}, polite_signal_{polite_signal},
      death_signal_{death_signal}, root_{std::move(root)}, folder_{account_}
{
}

database_server::~database_server()
{
    // Not SIGKILL at once: each PostgreSQL killed so leaves a shared memory segment behind until the next boot.
    if (running()) {
        thaw();
        ::kill(process_->pid(), death_signal_);
        static_cast<void>(process_->wait_for(std::chrono::seconds{5}));
    }
    kill();
}

void database_server::start()
{
    constexpr int attempts = 20;
    constexpr std::chrono::milliseconds pause{500};  // what is in use may take a while to become free
    for (int attempt = 1; process_ = std::nullopt, attempt <= attempts; ++attempt) {
        if (!port_is_promised_) port_ = free_port();
        const auto log_file = folder() / "log";
        std::filesystem::remove(log_file);
        process_.emplace(command(), process_options{.environment = {{"TMPDIR", folder().string()}},
                                                    .user = account_,
                                                    .root = root_,
                                                    .output_file = log_file,
                                                    .death_signal = death_signal_});
        const bool decided = eventually([this] { return ready() || !process_->running(); }, patience);
        if (decided && process_->running()) {
            port_is_promised_ = true;
            return;
        }
        if (!decided || !failed_by_chance(log()))
            throw std::runtime_error{"the server does not start:\n" + log()};
        if (port_is_promised_) std::this_thread::sleep_for(pause);
    }
    throw std::runtime_error{"the server does not start, tried " + std::to_string(attempts) + " times:\n" + log()};
}

void database_server::stop()
{
    if (!running()) return;
    thaw();
    process_->signal(polite_signal_);
    process_->wait(patience);
}

void database_server::restart()
{
    stop();
    start();
}

void database_server::kill()
{
    if (running()) {
        // Stopped first, so that the tree is complete: a session that is born meanwhile would outlive its parent, and may wait for ever,
        // with the server's memory, for a lock of a sibling that was killed.
        const pid_t parent = process_->pid();
        ::kill(parent, SIGSTOP);
        [[maybe_unused]] const bool stopped = eventually([&] { return all_threads_are_stopped(parent); });
        std::vector<pid_t> processes = process_tree(parent);
        signal_all(processes, SIGKILL);
        process_->kill();
        // Its children are nobody's now; a new start would trip over one that is still dying.
        [[maybe_unused]] const bool gone = eventually([&] {
            std::erase_if(processes, [](pid_t process) { return ::kill(process, 0) != 0; });
            return processes.empty();
        });
    }
    frozen_.clear();
    end_guardian();
}

// A frozen server does not notice that its test died, and its sessions' processes would stay, stopped, for ever. So while
// it is frozen a guardian process waits for the end of a pipe whose other end is ours alone.
void database_server::freeze()
{
    frozen_ = process_tree(pid());
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::system_error{errno, std::generic_category(), "pipe"};
    // What waits in buffers would be written by both: ThreadSanitizer's _exit flushes.
    std::cout.flush();
    std::fflush(nullptr);
    const guarded what{pipe, frozen_.data(), frozen_.size()};
    guardian_ = forked(&guard, &what);
    ::close(pipe[0]);
    guardian_pipe_ = pipe[1];
    // Twice: a session may have been born in between. The parent is stopped first, so the second look sees all.
    signal_all(frozen_, SIGSTOP);
    frozen_ = process_tree(pid());
    signal_all(frozen_, SIGSTOP);
    // The signal takes effect a while later: a server of many threads has answered for 31 ms more.
    if (!eventually([&] { return std::ranges::all_of(frozen_, &all_threads_are_stopped); }))
        throw std::runtime_error{"the server does not stop"};
}

void database_server::thaw()
{
    if (frozen_.empty()) return;
    signal_all(frozen_, SIGCONT);
    frozen_.clear();
    end_guardian();
}

void database_server::end_guardian()
{
    if (guardian_ < 0) return;
    [[maybe_unused]] const auto written = ::write(guardian_pipe_, "t", 1);
    ::close(std::exchange(guardian_pipe_, -1));
    while (::waitpid(guardian_, nullptr, 0) < 0 && errno == EINTR) {}
    guardian_ = -1;
}

std::string database_server::program(const std::vector<std::string>& names) const
{
    return find_program_in(root_, names).string();
}

std::string database_server::log() const { return contents(folder() / "log"); }

std::string database_server::run(const std::vector<std::string>& arguments, bool as_account) const
{
    const temporary_directory output;
    const auto file = output.path() / "output";
    // TMPDIR: ours may be a folder in which the server's user can't write.
    child_process helper{
        arguments,
        {.environment = {{"TMPDIR", folder().string()}}, .user = as_account ? account_ : "", .root = root_, .output_file = file}};
    const exit_status status = helper.wait(patience);
    std::string said = contents(file);
    if (!status.success()) throw std::runtime_error{arguments.front() + " failed:\n" + said};
    return said;
}

}  // namespace leasehold_test
