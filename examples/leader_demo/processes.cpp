// SPDX-License-Identifier: BSL-1.0
#include "processes.hpp"

#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace demo {

namespace {

[[noreturn]] void raise_errno(const std::string& what) { throw std::system_error{errno, std::generic_category(), what}; }

std::vector<char*> pointers_to(std::vector<std::string>& texts)
{
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// Between fork() and exec() only what is safe in a signal handler: other threads may have held any lock.
[[noreturn]] void become(pid_t parent, char* const* arguments, char* const* environment)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // it had died before it could be asked for
    // Ctrl-C reaches every process of a terminal: the conductor alone answers, and stops the others.
    ::signal(SIGINT, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve("/proc/self/exe", arguments, environment);
    ::_exit(127);
}

}  // namespace

blocked_signals::blocked_signals(std::initializer_list<int> signals)
{
    ::sigemptyset(&set_);
    for (const int signal : signals) ::sigaddset(&set_, signal);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
}

int blocked_signals::wait_for(std::chrono::milliseconds time) const
{
    const std::timespec limit{.tv_sec = static_cast<std::time_t>(time.count() / 1000),
                              .tv_nsec = static_cast<long>(time.count() % 1000) * 1'000'000};
    const int signal = ::sigtimedwait(&set_, nullptr, &limit);
    return signal > 0 ? signal : 0;
}

stop_on_sigterm::stop_on_sigterm()
    : waiter_{[this](const std::stop_token& over) {
          while (!over.stop_requested() && !stop_.stop_requested())
              if (signals_.wait_for(std::chrono::milliseconds{50}) != 0) stop_.request_stop();
      }}
{
}

child::child(std::vector<std::string> arguments, const std::vector<std::string>& environment)
{
    arguments.insert(arguments.begin(), "leader_demo");
    std::vector<std::string> variables = environment;  // first, for of two with one name the first counts
    for (char** variable = environ; *variable; ++variable) variables.emplace_back(*variable);
    const std::vector<char*> argv = pointers_to(arguments);
    const std::vector<char*> envp = pointers_to(variables);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) raise_errno("can't start a process");
    if (pid_ == 0) become(parent, argv.data(), envp.data());
}

child::~child() { end_within(std::chrono::milliseconds::zero()); }

std::optional<int> child::status()
{
    int state = 0;
    if (!status_ && ::waitpid(pid_, &state, WNOHANG) == pid_)
        status_ = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return status_;
}

void child::send(int signal)
{
    if (!status()) ::kill(pid_, signal);
}

int child::end_within(std::chrono::milliseconds time)
{
    const auto limit = std::chrono::steady_clock::now() + time;
    for (bool killed = false; !status(); std::this_thread::sleep_for(std::chrono::milliseconds{2})) {
        if (killed || std::chrono::steady_clock::now() < limit) continue;
        killed = true;
        ::kill(pid_, SIGKILL);
    }
    return *status_;
}

scratch_folder::scratch_folder(bool keep)
{
    std::string name = (std::filesystem::temp_directory_path() / "leasehold-demo-XXXXXX").string();
    if (!::mkdtemp(name.data())) raise_errno("can't make a folder like " + name);
    path_ = name;
    if (keep) return;
    try {
        start_janitor();
    }
    catch (...) {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
        throw;
    }
}

scratch_folder::~scratch_folder()
{
    if (janitor_ < 0) return;
    ::close(lifeline_);
    ::waitpid(janitor_, nullptr, 0);
}

void scratch_folder::start_janitor()
{
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) raise_errno("can't make a pipe");
    janitor_ = ::fork();
    if (janitor_ == 0) {
        ::setsid();  // out of reach of the terminal, and of a signal to the whole group
        ::close(pipe[1]);
        for (int file = 0; file <= 2; ++file) ::close(file);  // who reads our output needn't wait for us
        char nothing = 0;
        while (::read(pipe[0], &nothing, 1) < 0 && errno == EINTR) {}
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
        ::_exit(0);
    }
    const int error = errno;
    ::close(pipe[0]);
    lifeline_ = pipe[1];
    if (janitor_ > 0) return;
    ::close(lifeline_);
    throw std::system_error{error, std::generic_category(), "can't start a process"};
}

}  // namespace demo
