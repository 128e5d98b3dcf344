// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_COMMANDS_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_COMMANDS_HPP

#include "exit_code.hpp"
#include "restart_machine.hpp"
#include "schedule_choice.hpp"
#include "store_choice.hpp"
#include "terms_choice.hpp"

#include <leasehold/duration.hpp>
#include <leasehold/recurring_options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tool {

/// What is the same for a command that is run once and one that is run for ever.
struct command_options {
    std::string name;
    std::string owner;  ///< to be seen by people; see owner_text()
    asked_terms terms;
    int handover_signal = 0;  ///< passes a request to hand over on to the command; 0: it is not passed on
    std::optional<std::string> metrics_file;
    std::vector<std::string> command;
};

/// What a command is run under.
enum class right : std::uint8_t {
    lease,
    permit,     ///< one of --permits
    reader,     ///< --shared
    writer,     ///< --exclusive
    all_leases  ///< --all
};

struct run_options : command_options {
    right of = right::lease;
    std::size_t permits = 0;         ///< permit: how many there are
    std::size_t take = 0;            ///< permit: so many at once; 0: one
    bool follow = false;             ///< permit: as many as are agreed on already
    std::vector<std::string> names;  ///< all_leases: instead of the name
    std::optional<leasehold::duration> wait;  ///< nothing: for ever; 0: one attempt
    int busy_status = exit_code::busy;
    std::optional<leasehold::duration> max_hold;  ///< after this time the command is ended
    asked_schedule schedule;     ///< given: once per fire of it
    std::optional<int> retry;    ///< how often a fire whose command failed is tried again, by all hosts together; else once by each host
    leasehold::catch_up catch_up = leasehold::catch_up::last;
    std::optional<leasehold::duration> begin_within;  ///< catch_up::none: how late a fire may begin; nothing: the library's default
    bool reschedule = false;     ///< the schedule takes the place of another one
};

struct elect_options : command_options {
    restart_policy restart = restart_policy::always;
    leasehold::duration pause = std::chrono::seconds{1};  ///< after the command's end; longer each time that it ends soon
};

struct shard_command_options : command_options {
    std::size_t of = 0;  ///< how many shards there are
    leasehold::duration drain_timeout = std::chrono::seconds{30};
    leasehold::duration pause = std::chrono::seconds{1};  ///< after a command has ended by itself; longer each time that it fails
    std::uint32_t capacity = 1;
    std::size_t max_shards = 0;
    std::string data;
};

struct ps_options {
    std::string group;
    leasehold::duration interval = std::chrono::seconds{1};
    bool json = false;
    bool watch = false;
};

struct list_options {
    std::string prefix;
    bool json = false;
    bool fires = false;        ///< the schedules, in place of the leases
    bool checkpoints = false;  ///< what was saved, in place of the leases
};

struct wait_options {
    std::string name;
    bool held = false;  ///< until it is held; else until it is free
    std::optional<leasehold::duration> timeout;
};

struct watch_options {
    std::string prefix;
    leasehold::duration interval = std::chrono::milliseconds{500};
    bool json = false;         ///< lines of JSON instead of a table
    bool fires = false;        ///< the runs of schedules too
    bool checkpoints = false;  ///< what is saved too
};

struct purge_options {
    leasehold::duration unused_for{};
    bool yes = false;  ///< without a question
    bool with_checkpoints = false;
};

struct hold_request {
    std::string name;
    leasehold::duration period{};
    std::string reason;
    leasehold::duration wait = std::chrono::minutes{1};  ///< for who has the name
};

struct drain_options {
    std::string host;
    std::string reason{"drain"};
    leasehold::duration timeout = std::chrono::minutes{1};
    bool json = false;
};

struct resize_options {
    std::string name;
    std::size_t permits = 0;
    leasehold::duration ttl = std::chrono::seconds{30};  ///< of the permits
};

struct checkpoint_options {
    std::string name;
    std::optional<std::string> save;  ///< nothing: show what was saved last
    bool json = false;
};

// Each is one subcommand and returns the tool's exit status. All throw failure, leasehold::store_error and std::system_error.
int run(const run_options& options, const asked_store& store);
int run_once_per_fire(const run_options& options, const asked_store& store);
int every(const run_options& options, const asked_store& store);
int last(const std::string& name, bool json, const asked_store& store);
int elect(const elect_options& options, const asked_store& store);
int show(const std::string& name, bool json, const asked_store& store);
int list(const list_options& options, const asked_store& store);
int release(const std::string& name, bool force, const asked_store& store);
int ask(const std::string& name, const std::string& reason, const asked_store& store);
int hold(const hold_request& options, const asked_store& store);
int unhold(const std::string& name, const asked_store& store);
int drain(const drain_options& options, const asked_store& store);
int init(bool print, const asked_store& store);
int wait(const wait_options& options, const asked_store& store);
int watch(const watch_options& options, const asked_store& store);
int purge(const purge_options& options, const asked_store& store);
int ps(const ps_options& options, const asked_store& store);
int shard(const shard_command_options& options, const asked_store& store);
int checkpoint(const checkpoint_options& options, const asked_store& store);
int resize(const resize_options& options, const asked_store& store);
int doctor(bool json, const asked_store& store);

/// The owner: unique to this process whatever `label` is, so that two with one label exclude each other. In front of a random
/// part the label, or the host's name. Throws failure (exit_code::usage) for a label that is too long.
[[nodiscard]] std::string owner_text(const std::string& label);

}  // namespace tool

#endif
