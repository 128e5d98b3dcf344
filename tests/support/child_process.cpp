// SPDX-License-Identifier: BSL-1.0
#include <support/child_process.hpp>

#include <support/eventually.hpp>
#include <support/launch.hpp>

#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
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

// What a system in a folder has of ours: its servers' data is in our folders, and belongs to our users.
std::vector<std::pair<std::string, std::string>> shared_with(const std::filesystem::path& root)
{
    std::vector<std::pair<std::string, std::string>> shared;
    for (const char* path : {"/proc", "/dev", "/tmp", "/var/tmp", "/etc/passwd", "/etc/group"})
        shared.emplace_back(path, root.string() + path);
    return shared;
}

}  // namespace

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
