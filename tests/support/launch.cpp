// SPDX-License-Identifier: BSL-1.0
#include <support/launch.hpp>

#include <cerrno>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

extern char** environ;

namespace leasehold_test {

namespace {

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

}  // namespace

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
    if (child < 0) throw std::system_error{error, std::generic_category(), "fork"};
    return child;
}

}  // namespace leasehold_test
