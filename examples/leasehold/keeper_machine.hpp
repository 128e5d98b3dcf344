// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_KEEPER_MACHINE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_KEEPER_MACHINE_HPP

#include <leasehold/duration.hpp>
#include <leasehold/time_point.hpp>

#include <cstdint>

namespace tool {

enum class keeper_action : std::uint8_t {
    nothing,
    terminate,  ///< SIGTERM to the command's whole group, and SIGCONT for those that are stopped
    kill,       ///< SIGKILL to all of it
    report      ///< it is over: say so
};

/// When a command's process group is told to end, and when it is made to: a dead man's switch, without I/O.
///
/// The command may run until `deadline`, which only extend() moves. Then, or when it is told to end, or nobody is left who
/// could extend it, the group gets SIGTERM, and SIGKILL `kill_after` later: counted from the deadline if that came first, so
/// that somebody who wakes up late (a suspended host) kills at once.
class keeper_machine {
public:
    using duration = leasehold::duration;
    using time_point = leasehold::time_point;

    explicit keeper_machine(duration kill_after) noexcept : kill_after_{kill_after} {}

    void started(time_point deadline) noexcept
    {
        state_ = state::running;
        deadline_ = deadline;
        leader_gone_ = false;
    }

    /// Not to an earlier time. A command that has been told to end isn't reprieved: what is lost stays so.
    void extend(time_point deadline) noexcept
    {
        if (deadline > deadline_) deadline_ = deadline;
    }

    /// The lease is lost, or the process that renews it is gone.
    keeper_action end(time_point now) noexcept
    {
        if (state_ != state::running) return keeper_action::nothing;
        state_ = state::ending;
        kill_at_ = (now < deadline_ ? now : deadline_) + kill_after_;
        return keeper_action::terminate;
    }

    /// The process that was started has ended; others of its group may still run.
    void leader_ended() noexcept { leader_gone_ = true; }

    /// What is to be done now. `group_empty` is asked for only once the leader has ended.
    template <class GroupEmpty>
    keeper_action next(time_point now, GroupEmpty group_empty)
    {
        switch (state_) {
        case state::idle: return keeper_action::nothing;
        case state::running:
            // Of its own accord: what it has left running is no longer under the lease, and not ours to kill.
            if (leader_gone_) return over();
            return now < deadline_ ? keeper_action::nothing : end(now);
        case state::ending:
            if (leader_gone_ && group_empty()) return over();
            if (now < kill_at_) return keeper_action::nothing;
            state_ = state::killed;
            return keeper_action::kill;
        case state::killed:
            // What SIGKILL does not end at once hangs in the kernel; the leader is waited for, others for a while.
            if (leader_gone_ && (now >= kill_at_ + patience_with_killed || group_empty())) return over();
            return keeper_action::nothing;
        }
        return keeper_action::nothing;
    }

    [[nodiscard]] bool running() const noexcept { return state_ != state::idle; }
    /// Whether it did not end of its own accord.
    [[nodiscard]] bool told_to_end() const noexcept { return state_ == state::ending || state_ == state::killed; }

    /// When to look again, if nothing happens before.
    [[nodiscard]] time_point look_again(time_point now) const noexcept
    {
        if (state_ == state::idle) return time_point::max();
        const time_point next = state_ == state::running  ? deadline_
                                : state_ == state::ending ? kill_at_
                                                          : now + between_looks;
        // Sleeps stand still while the host is suspended, and nobody tells of the end of a group's last process.
        const time_point latest = now + (leader_gone_ ? between_looks : longest_sleep);
        return next < latest ? next : latest;
    }

    static constexpr duration patience_with_killed = std::chrono::seconds{1};
    static constexpr duration longest_sleep = std::chrono::milliseconds{250};
    static constexpr duration between_looks = std::chrono::milliseconds{10};

private:
    enum class state : std::uint8_t { idle, running, ending, killed };

    keeper_action over() noexcept
    {
        state_ = state::idle;
        return keeper_action::report;
    }

    duration kill_after_;
    state state_ = state::idle;
    time_point deadline_{};
    time_point kill_at_{};
    bool leader_gone_ = false;
};

}  // namespace tool

#endif
