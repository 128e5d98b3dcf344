// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_WIRE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_WIRE_HPP

#include <cstdint>
#include <optional>

namespace tool {

/// What the tool and its keeper tell each other, over a socket between two processes of one program.
enum class word : std::int32_t {
    // to the keeper
    until,   ///< `value`: the deadline, in nanoseconds of leasehold::steady_clock
    token,   ///< `value`: before `start`, one of several
    number,  ///< `number`: before `start`, which of several rights it is
    fire,    ///< `value`: before `start`, the fire of a schedule, in nanoseconds since 1970
    checkpoint,  ///< before `start`, the next bytes of the last checkpoint: in `value`, and `number` says how many, 0 to 8
    start,   ///< `value`: the token; `number`: whether the command gets the terminal at once
    signal,  ///< `number` to the command's group; `value`: 1 if the lease is asked for, 0 if somebody has sent it to leasehold
    end,     ///< the lease is lost
    overdue,  ///< it has run for too long: as `end`, but the lease is held
    // from the keeper
    started,      ///< `number`: the process, and its group
    not_started,  ///< `number`: errno
    stopped,      ///< `number`: the signal that stopped it
    ended         ///< `number`: as waitpid() gives it; `value`: an end_note. Also of a command that was not started after the deadline
};

/// About a command that has ended; a set of bits.
enum end_note : std::int64_t { of_its_own = 0, made_to_end = 1, leaves_others = 2, had_to_be_killed = 4 };

struct wire_message {
    word what;
    std::int32_t number = 0;
    std::int64_t value = 0;
};

/// False where the other side is gone.
bool send(int socket, const wire_message& message) noexcept;
/// Never waits: drops the message if there is no room for it.
void send_if_there_is_room(int socket, const wire_message& message) noexcept;
/// Waits for one; nothing where the other side is gone.
[[nodiscard]] std::optional<wire_message> receive(int socket) noexcept;

}  // namespace tool

#endif
