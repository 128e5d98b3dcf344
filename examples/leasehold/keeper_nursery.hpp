// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_KEEPER_NURSERY_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_KEEPER_NURSERY_HPP

#include "keeper.hpp"

#include <cstddef>
#include <string>

#include <sys/types.h>

namespace tool {

/// A small process beside the tool that starts keepers, for commands of which nobody knows beforehand how many there will be. They
/// inherit neither threads nor connections, because it is made before the tool has any.
class keeper_nursery {
public:
    /// `plan` is for all commands; see plan_of(). Throws std::system_error where there is no process to be had.
    explicit keeper_nursery(const command_plan& plan);
    keeper_nursery(const keeper_nursery&) = delete;
    keeper_nursery& operator=(const keeper_nursery&) = delete;
    /// The keepers must have ended.
    ~keeper_nursery();

    /// The socket of a new keeper, for the command of a shard. From any thread. Throws std::system_error.
    [[nodiscard]] int start(std::size_t shard, const std::string& owner) const;

private:
    int socket_ = -1;
    pid_t process_ = -1;
};

/// The plan for one shard: {} in the command's words is its index, and the name its lease's.
[[nodiscard]] command_plan plan_of(command_plan plan, std::size_t shard, std::string owner);

}  // namespace tool

#endif
