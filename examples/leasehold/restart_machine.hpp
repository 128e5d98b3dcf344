// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_RESTART_MACHINE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_RESTART_MACHINE_HPP

#include <leasehold/duration.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace tool {

enum class restart_policy : std::uint8_t { always, on_failure, never };

/// Whether a host whose command has ended stands for election again, and after which pause.
///
/// The pause is for the next host to have its turn, and for a command that ends as soon as it starts: it doubles each time
/// that the command ends within `steady`, up to `longest`. A lost lease is not the command's doing: no pause, no end.
class restart_machine {
public:
    using duration = leasehold::duration;

    struct step {
        bool again = false;
        duration pause{};
        friend bool operator==(const step&, const step&) = default;
    };

    restart_machine(restart_policy policy, duration pause) noexcept : policy_{policy}, first_{pause}, next_{pause} {}

    step command_ended(int status, duration ran_for) noexcept
    {
        if (policy_ == restart_policy::never || (policy_ == restart_policy::on_failure && status == 0)) return {};
        if (ran_for >= steady) next_ = first_;
        return {true, next_pause()};
    }

    /// The lease was granted, and the store failed before the command could start, or the system had nothing left to start it.
    step not_started() noexcept { return {true, std::min(next_pause(), longest)}; }

    step lease_lost() const noexcept { return {true, duration::zero()}; }

    static constexpr duration steady = std::chrono::minutes{1};
    static constexpr duration longest = std::chrono::minutes{1};

private:
    duration next_pause() noexcept { return std::exchange(next_, std::max(first_, std::min(next_ * 2, longest))); }

    restart_policy policy_;
    duration first_;
    duration next_;
};

}  // namespace tool

#endif
