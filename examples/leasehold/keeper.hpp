// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_KEEPER_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_KEEPER_HPP

#include "wire.hpp"

#include <leasehold/duration.hpp>

#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tool {

/// What a command is started with.
struct command_plan {
    std::vector<std::string> command;
    std::string name;  ///< of the lease; where `word::number` follows, without that
    std::string owner;
    leasehold::duration kill_after;
    sigset_t signals_before;  ///< blocked when the tool was started, and so for the command
    std::optional<std::size_t> shard{};  ///< of a group: the command is told which, and doesn't read what others of it may read
};

/// A small process beside the tool that starts commands, one after another, and ends them when their time is over.
///
/// It is the command's parent, and needs nobody for killing it: neither a tool that was killed or stopped, nor a database.
/// Made before the tool has threads or connections, of which it and the command therefore inherit nothing.
class keeper {
public:
    /// Throws std::system_error where there is no process to be had.
    explicit keeper(const command_plan& plan);
    /// One that somebody else has started, at the other end of this socket.
    explicit keeper(int socket) noexcept : socket_{socket} {}
    keeper(const keeper&) = delete;
    keeper& operator=(const keeper&) = delete;
    /// The keeper ends, after the command if that still runs, which is told to.
    ~keeper();

    /// Readable when there is something to receive().
    [[nodiscard]] int descriptor() const noexcept { return socket_; }
    void tell(const wire_message& message) const noexcept { send(socket_, message); }
    /// Nothing: the keeper is gone.
    [[nodiscard]] std::optional<wire_message> receive() const noexcept { return tool::receive(socket_); }

private:
    int socket_ = -1;
    pid_t process_ = -1;
};

/// What the keeper's process does, until the other end of the socket is closed.
void keep(int socket, const command_plan& plan);

}  // namespace tool

#endif
