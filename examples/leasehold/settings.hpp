// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_SETTINGS_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_SETTINGS_HPP

#include "commands.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tool {

/// All that options can set.
struct settings {
    asked_store store;
    bool quiet = false;
    bool verbose = false;
    bool json = false;
    bool force = false;
    bool print = false;
    bool free = false;
    bool nowait = false;
    bool shared = false;
    bool exclusive = false;
    std::optional<std::string> all;
    std::optional<std::string> permits;
    std::optional<std::string> take;
    std::string resize_to;
    std::string name;
    std::string reason;
    std::string restart{"always"};
    std::string catch_up{"last"};
    std::optional<std::string> retry;
    command_options command;
    run_options run;
    elect_options elect;
    std::optional<std::string> of;
    std::optional<std::string> capacity;
    std::optional<std::string> max_shards;
    shard_command_options shard;
    ps_options ps;
    list_options list;
    wait_options wait;
    watch_options watch;
    purge_options purge;
    checkpoint_options checkpoint;
    hold_request hold;
    drain_options drain;
    resize_options resize;
};

/// Whether this subcommand runs a command, which follows `--`.
[[nodiscard]] inline bool takes_command(std::string_view subcommand) 
{
    return subcommand == "run" || subcommand == "every" || subcommand == "elect" || subcommand == "shard";
}

}  // namespace tool

#endif
