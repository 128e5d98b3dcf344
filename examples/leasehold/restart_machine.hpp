// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_RESTART_MACHINE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_RESTART_MACHINE_HPP

#include <leasehold/duration.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

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
        const duration pause = next_;
        next_ = std::max(first_, std::min(next_ * 2, longest));
        return {true, pause};
    }

    step lease_lost() const noexcept { return {true, duration::zero()}; }

    static constexpr duration steady = std::chrono::minutes{1};
    static constexpr duration longest = std::chrono::minutes{1};

private:
    restart_policy policy_;
    duration first_;
    duration next_;
};

}  // namespace tool

#endif
