// SPDX-License-Identifier: BSL-1.0

// The keeper's side: one thread, no database, nothing that can wait but for what it is there for.
#include "keeper.hpp"
#include "keeper_machine.hpp"
#include "message.hpp"

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/fire_record.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace tool {

namespace {

using leasehold::duration;
using leasehold::time_point;

time_point now() noexcept { return leasehold::steady_clock{}.now(); }

void wake_up(int) {}

// Reads of the terminal are for the process group that has it; see job_control.hpp.
void take_terminal_for_own_group()
{
    const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal < 0) return;
    ::tcsetpgrp(terminal, ::getpgrp());  // SIGTTOU is blocked still
    ::close(terminal);
}

class command_keeper {
public:
    command_keeper(int socket, const command_plan& plan) : socket_{socket}, plan_{plan}, machine_{plan.kill_after}
    {
        for (const std::string& each : plan.command) arguments_.push_back(const_cast<char*>(each.c_str()));
        arguments_.push_back(nullptr);
        ::pthread_sigmask(SIG_BLOCK, nullptr, &while_waiting_);
        ::sigdelset(&while_waiting_, SIGCHLD);
    }

    void run()
    {
        for (;;) {
            reap();
            const keeper_action due = machine_.next(now(), [this] { return group_is_empty(); });
            if (due == keeper_action::terminate) note_ |= made_to_end;
            act(due);
            if (tool_gone_ && !machine_.running()) return tell_why();
            if (wait_for_message()) hear(receive(socket_));
        }
    }

private:
    [[nodiscard]] bool group_is_empty() const noexcept { return ::kill(-group_, 0) != 0 && errno == ESRCH; }

    // Those that got the same signal may take a moment longer than the leader.
    [[nodiscard]] bool others_stay()
    {
        const time_point until = signalled_ ? now() + keeper_machine::patience_with_killed : now();
        for (;;) {
            reap();
            if (group_is_empty() && !has_children_) return false;
            if (now() >= until) return true;
            const std::timespec moment{0, std::chrono::nanoseconds{keeper_machine::between_looks}.count()};
            ::nanosleep(&moment, nullptr);
        }
    }

    void signal_group(int number) const noexcept
    {
        if (machine_.running()) ::kill(-group_, number);
    }

    void act(keeper_action action)
    {
        switch (action) {
        case keeper_action::nothing: return;
        case keeper_action::terminate:
            signal_group(SIGTERM);
            signal_group(SIGCONT);
            return;
        case keeper_action::kill:
            signal_group(SIGKILL);
            note_ |= had_to_be_killed;
            return;
        case keeper_action::report:
            if (others_stay()) note_ |= leaves_others;
            send(socket_, {word::ended, status_, note_});
            return;
        }
    }

    // SIGCHLD comes in only while waiting, so that no end of a child is missed.
    bool wait_for_message()
    {
        const time_point at = now();
        const duration rest = std::max(std::min(machine_.look_again(at) - at, longest_wait), duration::zero());
        const auto whole = std::chrono::duration_cast<std::chrono::seconds>(rest);
        const std::timespec time{static_cast<std::time_t>(whole.count()), static_cast<long>((rest - whole).count())};
        pollfd watched{tool_gone_ ? -1 : socket_, POLLIN, 0};
        return ::ppoll(&watched, 1, &time, &while_waiting_) > 0;
    }

    void hear(const std::optional<wire_message>& message)
    {
        if (!message) {
            tool_gone_ = true;
            deserted_ = machine_.running() && !machine_.told_to_end();
            act(machine_.end(std::min(now(), counted_from_)));
            return;
        }
        switch (message->what) {
        case word::until:
            deadline_ = time_point{duration{message->value}};
            machine_.extend(deadline_);
            return;
        case word::token:
            tokens_ += (tokens_.empty() ? "" : ",") + std::to_string(message->value);
            return;
        case word::number: numbers_.push_back(message->number); return;
        case word::fire: fire_ = leasehold::fire_time{duration{message->value}}; return;
        case word::checkpoint: return add_to_checkpoint(*message);
        case word::start: return start(message->value, message->number != 0);
        case word::signal:
            signalled_ = true;
            if (message->number == SIGTERM) asked_to_end(message->value != 0);
            return signal_group(message->number);
        case word::end:
            note_ |= made_to_end;
            return act(machine_.end(now()));
        case word::overdue: return act(machine_.end(now()));
        default: return;
        }
    }

    // A process that sends SIGTERM to leasehold and kills it later has waited for the command: for example a leasehold around it, whose
    // margin is for one --kill-after. So there is no second one. Nobody outside knows of a request for the lease.
    void asked_to_end(bool by_request)
    {
        counted_from_ = std::min(counted_from_, by_request ? now() : now() - plan_.kill_after);
    }

    void add_to_checkpoint(const wire_message& message)
    {
        std::array<char, sizeof message.value> bytes{};
        std::memcpy(bytes.data(), &message.value, bytes.size());
        if (!checkpoint_) checkpoint_.emplace();
        checkpoint_->append(bytes.data(), std::min(bytes.size(), static_cast<std::size_t>(message.number)));
    }

    // Last of all, and only if it need not wait: the reader of standard error may have stopped reading.
    void tell_why() const
    {
        pollfd errors{STDERR_FILENO, POLLOUT, 0};
        if (deserted_ && ::poll(&errors, 1, 0) > 0 && (errors.revents & POLLOUT) != 0)
            complain("'" + printable(plan_.name) + "': the process that renews the lease is gone, so the command was ended");
    }

    void start(std::int64_t token, bool with_terminal)
    {
        // The supervisor may have been held up since it decided: another host may have the lease by now.
        if (now() >= deadline_) return end_unstarted();
        std::array<int, 2> report{};
        if (::pipe(report.data()) != 0) return refuse(errno);
        for (const int end : report) ::fcntl(end, F_SETFD, FD_CLOEXEC);
        const pid_t parent = ::getpid();
        const pid_t child = ::fork();
        if (child == 0) become_command(parent, token, with_terminal, report[1]);
        int error = child < 0 ? errno : 0;
        ::close(report[1]);
        forget_what_was_told();
        if (child > 0) {
            ::setpgid(child, child);  // both do it, so that it is done, no matter which comes first
            if (begins(child, report[0]))
                while (::read(report[0], &error, sizeof error) < 0 && errno == EINTR) {}
        }
        ::close(report[0]);
        if (error != 0) {
            if (child > 0) ::waitpid(child, nullptr, 0);
            return refuse(error);
        }
        group_ = child;
        note_ = of_its_own;
        signalled_ = false;
        counted_from_ = time_point::max();
        machine_.started(deadline_);
    }

    // Waits until it has begun, or could not. One that is stopped before that, as by Ctrl-Z, may never: its deadline comes all the same.
    [[nodiscard]] bool begins(pid_t child, int report) const
    {
        pollfd told{report, POLLIN, 0};
        while (::ppoll(&told, 1, nullptr, &while_waiting_) < 0) {
            siginfo_t stopped{};
            ::waitid(P_PID, static_cast<id_t>(child), &stopped, WSTOPPED | WNOHANG | WNOWAIT);
            if (stopped.si_pid == child) return false;
        }
        return true;
    }

    void end_unstarted()
    {
        forget_what_was_told();
        send(socket_, {word::ended, 0, made_to_end});
    }

    // The next command is told again.
    void forget_what_was_told()
    {
        checkpoint_.reset();
        numbers_.clear();
    }

    void refuse(int error)
    {
        forget_what_was_told();
        send(socket_, {word::not_started, error});
    }

    [[noreturn]] void become_command(pid_t parent, std::int64_t token, bool with_terminal, int report) const
    {
        ::setpgid(0, 0);
        if (with_terminal) take_terminal_for_own_group();
#if defined(__linux__)
        // Should the keeper itself be killed. The tool then ends the rest of the group.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        if (::getppid() != parent) ::_exit(127);
        // Sent from here: a keeper that is killed before it sends this would leave a group that nobody knows.
        send(socket_, {word::started, static_cast<std::int32_t>(::getpid())});
        std::string names = numbers_.empty() ? plan_.name : "", numbers;
        for (const std::int32_t each : numbers_) {
            const std::string comma = names.empty() ? "" : ",", number = std::to_string(each);
            names += comma + plan_.name + number;
            numbers += comma + number;
        }
        ::setenv("LEASEHOLD_NAME", names.c_str(), 1);
        // What is not said of this command may be said of one around it.
        const auto set_or_unset = [](const char* name, const std::optional<std::string>& value) {
            if (value)
                ::setenv(name, value->c_str(), 1);
            else
                ::unsetenv(name);
        };
        set_or_unset("LEASEHOLD_PERMIT", numbers_.empty() ? std::nullopt : std::optional{numbers});
        set_or_unset("LEASEHOLD_SHARD", plan_.shard ? std::optional{std::to_string(*plan_.shard)} : std::nullopt);
        set_or_unset("LEASEHOLD_FIRE", fire_ ? std::optional{leasehold::detail::written_time(*fire_)} : std::nullopt);
        set_or_unset("LEASEHOLD_CHECKPOINT", checkpoint_);
        if (plan_.shard) {
            const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
            if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
        }
        ::setenv("LEASEHOLD_OWNER", plan_.owner.c_str(), 1);
        ::setenv("LEASEHOLD_TOKEN", tokens_.empty() ? std::to_string(token).c_str() : tokens_.c_str(), 1);
        ::signal(SIGCHLD, SIG_DFL);
        ::pthread_sigmask(SIG_SETMASK, &plan_.signals_before, nullptr);
        ::execvp(arguments_.front(), arguments_.data());
        const int error = errno;
        [[maybe_unused]] const auto written = ::write(report, &error, sizeof error);
        ::_exit(127);
    }

    // Others than the leader are the command's orphans, which come to us where the system has subreapers.
    void reap()
    {
        int status = 0;
        pid_t child = 0;
        while ((child = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
            if (child != group_ || !machine_.running()) continue;
            if (WIFSTOPPED(status)) {
                // A tool that is itself stopped reads nothing, and the deadline waits for nobody.
                send_if_there_is_room(socket_, {word::stopped, WSTOPSIG(status)});
                continue;
            }
            status_ = status;
            machine_.leader_ended();
        }
        has_children_ = child == 0;
    }

    static constexpr duration longest_wait = std::chrono::minutes{1};

    int socket_;
    const command_plan& plan_;
    keeper_machine machine_;
    std::string tokens_{};                // of several leases
    std::vector<std::int32_t> numbers_{};
    std::optional<leasehold::fire_time> fire_{};
    std::optional<std::string> checkpoint_{};
    std::vector<char*> arguments_;
    sigset_t while_waiting_{};
    time_point deadline_{};
    pid_t group_ = 0;
    int status_ = 0;
    std::int64_t note_ = of_its_own;
    bool signalled_ = false;     // the command was sent a signal that is not about the lease
    time_point counted_from_ = time_point::max();  // --kill-after, if leasehold is killed
    bool has_children_ = false;  // also such as have left the command's group
    bool tool_gone_ = false;
    bool deserted_ = false;  // it was gone while the command ran
};

}  // namespace

void keep(int socket, const command_plan& plan)
{
    ::setpgid(0, 0);  // out of reach of what is sent to the tool's group
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    struct sigaction noticed {};
    noticed.sa_handler = wake_up;
    ::sigaction(SIGCHLD, &noticed, nullptr);
#if defined(__linux__)
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::prctl(PR_SET_NAME, "leasehold-keep");
#endif
    command_keeper{socket, plan}.run();
}

}  // namespace tool
