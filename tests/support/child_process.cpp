// SPDX-License-Identifier: BSL-1.0
#include <support/child_process.hpp>

#include <support/eventually.hpp>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace leasehold_test {

namespace {

[[noreturn]] void fail(int error, const std::string& doing)
{
    throw std::system_error{error, std::generic_category(), doing};
}

void close_if_open(int& descriptor) noexcept
{
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes)
{
    std::vector<std::string> environment;
    for (char** entry = environ; *entry; ++entry) {
        const std::string text = *entry;
        if (!changes.contains(text.substr(0, text.find('=')))) environment.push_back(text);
    }
    for (const auto& [name, value] : changes) environment.push_back(name + "=" + value);
    return environment;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts)
{
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// All that the child needs, ready before the fork: after it, in a program with threads, nothing may allocate.
struct launch {
    std::vector<char*> arguments;
    std::vector<char*> environment;
    const passwd* user = nullptr;
    const char* root = nullptr;
    const std::vector<std::pair<std::string, std::string>>* shared = nullptr;
    int input = -1;
    int output = -1;
    bool errors_too = false;
    int death_signal = SIGKILL;
    int report = -1;
    pid_t parent = -1;
};

// What a system in a folder has of ours: its servers' data is in our folders, and belongs to our users.
std::vector<std::pair<std::string, std::string>> shared_with(const std::filesystem::path& root)
{
    std::vector<std::pair<std::string, std::string>> shared;
    for (const char* path : {"/proc", "/dev", "/tmp", "/var/tmp", "/etc/passwd", "/etc/group"})
        shared.emplace_back(path, root.string() + path);
    return shared;
}

// In mounts of its own, which go with it and its children.
bool enter(const launch& plan) noexcept
{
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    for (const auto& [here, there] : *plan.shared)
        if (::mount(here.c_str(), there.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) return false;
    return ::chroot(plan.root) == 0 && ::chdir("/") == 0;
}

[[noreturn]] void run_child(const launch& plan) noexcept
{
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    bool ready = ::dup2(plan.input, STDIN_FILENO) >= 0;
    if (plan.output >= 0) ready = ready && ::dup2(plan.output, STDOUT_FILENO) >= 0;
    if (plan.errors_too) ready = ready && ::dup2(plan.output, STDERR_FILENO) >= 0;
    if (plan.root) ready = ready && enter(plan);
    if (plan.user)
        ready =
            ready && ::setgroups(0, nullptr) == 0 && ::setgid(plan.user->pw_gid) == 0 && ::setuid(plan.user->pw_uid) == 0;
    // After the change of user, which would clear it. The parent may have died before it was set.
    ready = ready && ::prctl(PR_SET_PDEATHSIG, plan.death_signal) == 0;
    if (ready && ::getppid() != plan.parent) ::_exit(127);
    if (ready) {
        environ = const_cast<char**>(plan.environment.data());
        ::execvp(plan.arguments[0], plan.arguments.data());
    }
    const int error = errno;
    [[maybe_unused]] const auto written = ::write(plan.report, &error, sizeof error);
    ::_exit(127);
}

// The kernel sends a death signal when the thread that forked ends, not its process. So one thread that never ends does all
// of it, one after the other.
class lasting_thread {
public:
    static void run(const std::function<void()>& task)
    {
        // Never destroyed, since the thread looks at it until the process ends. A child that was forked without it has its own.
        static lasting_thread* the_one = new lasting_thread;
        if (the_one->process_ != ::getpid()) the_one = new lasting_thread;
        the_one->run_there(task);
    }

private:
    lasting_thread()
    {
        // Signals are for the threads of the test.
        sigset_t all, before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        std::thread{[this] { work(); }}.detach();
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    void run_there(const std::function<void()>& task)
    {
        const std::lock_guard one_at_a_time{callers_};
        std::unique_lock lock{mutex_};
        task_ = &task;
        changed_.notify_all();
        changed_.wait(lock, [this] { return task_ == nullptr; });
    }

    [[noreturn]] void work()
    {
        std::unique_lock lock{mutex_};
        for (;;) {
            changed_.wait(lock, [this] { return task_ != nullptr; });
            (*task_)();
            task_ = nullptr;
            changed_.notify_all();
        }
    }

    const pid_t process_ = ::getpid();
    std::mutex callers_;
    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void()>* task_ = nullptr;
};

// Both after the fork: the child's number, or -1; and why the program does not run, or 0.
struct launched {
    pid_t pid = -1;
    int fork_error = 0;
    int exec_error = 0;
};

launched launch_from_lasting_thread(const launch& plan, int report)
{
    launched result;
    lasting_thread::run([&] {
        result.pid = ::fork();
        if (result.pid == 0) run_child(plan);
        if (result.pid < 0) {
            result.fork_error = errno;
            return;
        }
        // Ours would keep the pipe open. What is forked meanwhile would do so too: so nothing is, before its end is read.
        ::close(plan.report);
        ssize_t size = 0;
        do size = ::read(report, &result.exec_error, sizeof result.exec_error);
        while (size < 0 && errno == EINTR);
    });
    return result;
}

}  // namespace

pid_t forked(void (*in_child)(const void*) noexcept, const void* argument)
{
    pid_t child = -1;
    int error = 0;
    lasting_thread::run([&] {
        child = ::fork();
        error = errno;
        if (child != 0) return;
        in_child(argument);
        ::_exit(0);
    });
    if (child < 0) fail(error, "fork");
    return child;
}

child_process::child_process(const std::vector<std::string>& command, const process_options& options)
{
    std::vector<std::string> arguments = command;
    std::vector<std::string> environment = environment_with(options.environment);
    launch plan;
    plan.arguments = pointers_to(arguments);
    plan.environment = pointers_to(environment);
    plan.death_signal = options.death_signal;
    plan.parent = ::getpid();
    const auto shared = shared_with(options.root);
    if (!options.root.empty()) {
        plan.root = options.root.c_str();
        plan.shared = &shared;
    }
    if (!options.user.empty() && ::geteuid() == 0) {
        plan.user = ::getpwnam(options.user.c_str());
        if (!plan.user) throw std::runtime_error{"no user named " + options.user};
    }

    // A pipe that closes when the program starts, or brings the reason why it could not.
    std::array<int, 2> report{-1, -1};
    std::array<int, 2> in{-1, -1};
    std::array<int, 2> out{-1, -1};
    const auto close_all = [&] {
        for (auto* pair : {&report, &in, &out})
            for (int& descriptor : *pair) close_if_open(descriptor);
    };
    bool ready = ::pipe2(report.data(), O_CLOEXEC) == 0;
    if (options.capture) {
        // Sockets for the input: writing to a child that is gone must not raise SIGPIPE.
        ready = ready && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) == 0 &&
                ::pipe2(out.data(), O_CLOEXEC) == 0;
    } else {
        in[0] = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (!options.output_file.empty()) {
            out[1] = ::open(options.output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
            plan.errors_too = true;
        }
        ready = ready && in[0] >= 0 && (options.output_file.empty() || out[1] >= 0);
    }
    if (!ready) {
        const int error = errno;
        close_all();
        fail(error, "preparing to run " + command.at(0));
    }
    plan.input = in[0];
    plan.output = out[1];
    plan.report = report[1];

    const launched result = launch_from_lasting_thread(plan, report[0]);
    pid_ = result.pid;
    if (pid_ > 0) report[1] = -1;  // closed by now
    if (pid_ < 0) {
        close_all();
        fail(result.fork_error, "fork");
    }
    for (int* descriptor : {&report[0], &in[0], &out[1]}) close_if_open(*descriptor);
    input_ = std::exchange(in[1], -1);
    output_ = std::exchange(out[0], -1);
    if (result.exec_error != 0) {
        kill();
        close_if_open(input_);
        close_if_open(output_);
        fail(result.exec_error, "running " + command.at(0));
    }
}

child_process::child_process(child_process&& other) noexcept
    : pid_{std::exchange(other.pid_, -1)}, output_{std::exchange(other.output_, -1)},
      input_{std::exchange(other.input_, -1)}, at_end_{other.at_end_}, buffer_{std::move(other.buffer_)}, status_{
                                                                                                              other.status_}
{
}

child_process& child_process::operator=(child_process&& other) noexcept
{
    child_process taken{std::move(other)};
    std::swap(pid_, taken.pid_);
    std::swap(output_, taken.output_);
    std::swap(input_, taken.input_);
    std::swap(at_end_, taken.at_end_);
    buffer_.swap(taken.buffer_);
    std::swap(status_, taken.status_);
    return *this;
}

child_process::~child_process()
{
    if (pid_ > 0 && !status_) kill();
    close_if_open(input_);
    close_if_open(output_);
}

void child_process::signal(int number) const
{
    // A reaped process's number may belong to somebody else.
    if (!status_ && ::kill(pid_, number) != 0) fail(errno, "signalling process " + std::to_string(pid_));
}

std::optional<exit_status> child_process::wait_for(std::chrono::milliseconds timeout)
{
    const auto ended = [this] {
        if (status_) return true;
        int raw = 0;
        const pid_t reaped = ::waitpid(pid_, &raw, WNOHANG);
        if (reaped == pid_) status_ = WIFSIGNALED(raw) ? exit_status{0, WTERMSIG(raw)} : exit_status{WEXITSTATUS(raw), 0};
        return reaped == pid_;
    };
    return eventually(ended, timeout) ? status_ : std::nullopt;
}

exit_status child_process::wait(std::chrono::milliseconds timeout)
{
    if (const auto status = wait_for(timeout)) return *status;
    kill();
    throw std::runtime_error{"process " + std::to_string(pid_) + " did not end in " + std::to_string(timeout.count()) +
                             " ms"};
}

void child_process::kill()
{
    if (status_) return;
    ::kill(pid_, SIGKILL);
    int raw = 0;
    while (::waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {}
    status_ = WIFSIGNALED(raw) ? exit_status{0, WTERMSIG(raw)} : exit_status{WEXITSTATUS(raw), 0};
}

// False at the end of the output, or when nothing came in time.
bool child_process::fill(std::chrono::steady_clock::time_point until)
{
    if (at_end_) return false;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd waiting{output_, POLLIN, 0};
    const int found = ::poll(&waiting, 1, left.count() < 0 ? 0 : static_cast<int>(left.count()) + 1);
    if (found < 0 && errno == EINTR) return fill(until);
    if (found <= 0) return false;
    std::array<char, 4096> chunk;
    const ssize_t size = ::read(output_, chunk.data(), chunk.size());
    at_end_ = size <= 0;
    if (size > 0) buffer_.append(chunk.data(), static_cast<std::size_t>(size));
    return size > 0;
}

std::optional<std::string> child_process::read_line(std::chrono::milliseconds timeout)
{
    const auto until = std::chrono::steady_clock::now() + timeout;
    std::size_t end = 0;
    while ((end = buffer_.find('\n')) == std::string::npos)
        if (!fill(until)) return std::nullopt;
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
}

std::string child_process::read_all(std::chrono::milliseconds timeout)
{
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (fill(until)) {}
    if (!at_end_) throw std::runtime_error{"the output did not end in time; so far: " + buffer_};
    return std::exchange(buffer_, {});
}

bool child_process::write(std::string_view text) const
{
    while (!text.empty()) {
        const ssize_t size = ::send(input_, text.data(), text.size(), MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
}

void child_process::close_input() { close_if_open(input_); }

std::vector<pid_t> process_tree(pid_t root)
{
    std::multimap<pid_t, pid_t> children;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        std::ostringstream text;  // does not throw for a process that ends meanwhile
        text << std::ifstream{entry.path() / "stat"}.rdbuf();
        const std::string stat = text.str();
        // "pid (command) state parent ...": the command may have blanks and brackets of its own.
        const std::size_t bracket = stat.rfind(')');
        if (bracket == std::string::npos || bracket + 4 > stat.size()) continue;
        children.emplace(std::stoi(stat.substr(bracket + 4)), std::stoi(name));
    }
    std::vector<pid_t> tree{root};
    for (std::size_t i = 0; i < tree.size(); ++i)
        for (auto [child, end] = children.equal_range(tree[i]); child != end; ++child) tree.push_back(child->second);
    return tree;
}

}  // namespace leasehold_test
