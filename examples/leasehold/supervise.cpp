// SPDX-License-Identifier: BSL-1.0
#include "supervise.hpp"

#include "exit_code.hpp"
#include "job_control.hpp"
#include "keeper_machine.hpp"

#include <leasehold/clock/steady_clock.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/wait.h>

namespace tool {

namespace {

using leasehold::duration;
using namespace std::chrono_literals;

class supervisor {
public:
    supervisor(const keeper& by, signal_inbox& signals, const running_term& term)
        : keeper_{by}, signals_{signals}, inbox_{&signals}, term_{term}
    {
        terminal_.emplace();
    }
    supervisor(const keeper& by, signal_queue& signals, const running_term& term) : keeper_{by}, signals_{signals}, term_{term} {}

    command_end run()
    {
        while (signals_.take()) {}  // of a time when there was no command
        if (inbox_) inbox_->passing_on(true);
        const std::stop_callback wake_when_lost{term_.lost, [this]() noexcept { signals_.wake(); }};
        const std::stop_callback wake_when_asked{term_.asked, [this]() noexcept { signals_.wake(); }};
        tell_deadline();
        if (lost_)
            end_ = command_end{.notes = made_to_end};
        else
            start();
        while (!end_) {
            wait();
            tell_deadline();
            take_signals();
            pass_request_on();
            end_overdue();
        }
        end_->overdue = overdue_;
        if (terminal_) terminal_->take_back(group_);
        if (inbox_) inbox_->passing_on(false);
        return *end_;
    }

private:
    void start()
    {
        for (const leasehold::fencing_token each : term_.tokens) keeper_.tell({word::token, 0, each.value()});
        if (term_.number) keeper_.tell({word::number, static_cast<std::int32_t>(*term_.number)});
        for (const std::size_t each : term_.numbers) keeper_.tell({word::number, static_cast<std::int32_t>(each)});
        if (term_.fire) keeper_.tell({word::fire, 0, term_.fire->time_since_epoch().count()});
        if (term_.checkpoint) tell_checkpoint(*term_.checkpoint);
        keeper_.tell({word::start, terminal_ && terminal_->give_at_start(), term_.token.value()});
        if (inbox_ && inbox_->ended_by() != 0) keeper_.tell({word::signal, inbox_->ended_by()});
        if (term_.max_hold) ends_at_ = later(*term_.max_hold);
    }

    // Also of an empty one.
    void tell_checkpoint(std::string_view text)
    {
        do {
            wire_message part{word::checkpoint};
            const std::string_view bytes = text.substr(0, sizeof part.value);
            std::memcpy(&part.value, bytes.data(), bytes.size());
            part.number = static_cast<std::int32_t>(bytes.size());
            keeper_.tell(part);
            text.remove_prefix(bytes.size());
        } while (!text.empty());
    }

    void tell_deadline()
    {
        // Before the rest is asked for: a host that is suspended in between must not tell a later deadline than the lease has.
        const leasehold::time_point now = leasehold::steady_clock{}.now();
        const duration remaining = term_.remaining();
        again_after_ = tell_again_after(remaining);
        if (term_.lost.stop_requested() || remaining <= duration::zero()) {
            keeper_.tell({word::end});
            lost();
            again_after_ = longest_sleep;
            return;
        }
        // A clock that is read twice is not a renewal.
        const leasehold::time_point deadline = now + remaining;
        if (deadline < told_ + 1ms) return;
        told_ = deadline;
        keeper_.tell({word::until, 0, deadline.time_since_epoch().count()});
    }

    void lost()
    {
        if (!std::exchange(lost_, true)) term_.on_lost();
    }

    void wait()
    {
        std::array<pollfd, 2> watched{{{keeper_.descriptor(), POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}}};
        const duration at_most = std::clamp<duration>(ends_at_ - leasehold::steady_clock{}.now(), duration::zero(), again_after_);
        const auto time = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
        if (::poll(watched.data(), watched.size(), static_cast<int>(time)) > 0 && watched[0].revents != 0)
            hear(keeper_.receive());
    }

    void take_signals()
    {
        while (const auto signal = signals_.take())
            if (*signal != 0) keeper_.tell({word::signal, *signal});
    }

    void pass_request_on()
    {
        if (group_ > 0 && !lost_ && term_.asked.stop_requested() && !std::exchange(asked_, true))
            keeper_.tell({word::signal, term_.signal_if_asked, 1});
    }

    // The keeper ends its whole group, as at a loss.
    void end_overdue()
    {
        if (group_ <= 0 || leasehold::steady_clock{}.now() < ends_at_) return;
        ends_at_ = leasehold::time_point::max();
        overdue_ = true;
        keeper_.tell({word::overdue});
    }

    static leasehold::time_point later(duration by)
    {
        const leasehold::time_point now = leasehold::steady_clock{}.now();
        return by < leasehold::time_point::max() - now ? now + by : leasehold::time_point::max();
    }

    void hear(const std::optional<wire_message>& message)
    {
        if (!message) {
            // Nobody is left to be the command's parent. It dies with the keeper where the system offers that; the rest of
            // its group doesn't.
            if (group_ > 0) kill_group();
            end_ = command_end{.how = command_end::kind::keeper_gone};
            return;
        }
        switch (message->what) {
        case word::started: group_ = message->number; return;
        case word::not_started: end_ = command_end{.how = command_end::kind::not_started, .error = message->number}; return;
        case word::stopped: return command_stopped(message->number);
        case word::ended: return ended(*message);
        default: return;
        }
    }

    // What SIGKILL does not end at once hangs in the kernel: it may write still, and the next holder must not have begun.
    void kill_group() const
    {
        const auto now = [] { return leasehold::steady_clock{}.now(); };
        const leasehold::time_point until = now() + keeper_machine::patience_with_killed;
        ::kill(-group_, SIGKILL);
        while (!group_is_empty() && now() < until) std::this_thread::sleep_for(keeper_machine::between_looks);
    }

    [[nodiscard]] bool group_is_empty() const noexcept { return ::kill(-group_, 0) != 0 && errno == ESRCH; }

    void ended(const wire_message& message)
    {
        end_ = command_end{.status = message.number, .notes = message.value};
        if (end_->lost()) lost();
        // Ctrl-C is sent to those who have the terminal; it is meant for both.
        const int signal = end_->signal();
        if ((signal == SIGINT || signal == SIGQUIT) && terminal_ && terminal_->given_to(group_)) inbox_->end(signal);
    }

    void command_stopped(int signal)
    {
        if (!terminal_) return;
        switch (decide_on_stop(signal, terminal_->terminal_is_ours())) {
        case on_stop::nothing: return;
        case on_stop::give_terminal:
            terminal_->give(group_);
            keeper_.tell({word::signal, SIGCONT});
            return;
        case on_stop::stop_too: {
            const bool had_terminal = terminal_->given_to(group_);
            terminal_->take_back(group_);
            // The lease isn't renewed meanwhile: if that takes too long, the keeper ends the command.
            ::raise(SIGSTOP);
            if (terminal_->terminal_is_ours() && (had_terminal || signal != SIGTSTP)) terminal_->give(group_);
            keeper_.tell({word::signal, SIGCONT});
            return;
        }
        }
    }

    static constexpr duration longest_sleep = 500ms;

    const keeper& keeper_;
    signal_queue& signals_;
    signal_inbox* const inbox_ = nullptr;  // null: like the terminal, others' affair
    const running_term& term_;
    std::optional<job_control> terminal_;
    pid_t group_ = 0;
    leasehold::time_point told_{};
    duration again_after_{};
    bool lost_ = false;
    bool asked_ = false;
    leasehold::time_point ends_at_ = leasehold::time_point::max();
    bool overdue_ = false;
    std::optional<command_end> end_;
};

// It need not be the command's fault that it could not be started.
int status_of_refusal(int error) noexcept
{
    switch (error) {
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE: return exit_code::internal;
    case ENOENT:
    case ENOTDIR: return exit_code::not_found;
    default: return exit_code::not_executable;
    }
}

}  // namespace

int command_end::signal() const noexcept { return how == kind::ended && WIFSIGNALED(status) ? WTERMSIG(status) : 0; }

int command_end::shell_status() const noexcept
{
    if (overdue && how == kind::ended) return exit_code::overdue;
    switch (how) {
    case kind::ended: return WIFSIGNALED(status) ? exit_code::signalled + WTERMSIG(status) : WEXITSTATUS(status);
    case kind::not_started: return status_of_refusal(error);
    case kind::keeper_gone: return exit_code::internal;
    }
    return exit_code::internal;
}

bool command_end::can_never_run() const noexcept { return how == kind::not_started && status_of_refusal(error) != exit_code::internal; }

duration tell_again_after(duration remaining) noexcept { return std::clamp<duration>(remaining / 4, 5ms, 500ms); }

command_end supervise(const keeper& by, signal_inbox& signals, const running_term& term)
{
    return supervisor{by, signals, term}.run();
}

command_end supervise(const keeper& by, signal_queue& signals, const running_term& term)
{
    return supervisor{by, signals, term}.run();
}

}  // namespace tool
