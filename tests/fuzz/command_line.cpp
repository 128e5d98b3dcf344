// SPDX-License-Identifier: BSL-1.0
// A command line is understood, or refused without showing a password. Input: the arguments, a line each.
#include "fuzz.hpp"
#include "targets.hpp"

#include <command_line.hpp>
#include <commands.hpp>
#include <exit_code.hpp>
#include <failure.hpp>

#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/driver/secrets.hpp>
#include <leasehold/shard_options.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;
using arguments = std::vector<std::string>;

constexpr std::string_view password = "Hunter2*Secret";
constexpr lh::duration longest = 87600h;
constexpr int performed = 1000;  // no exit status

// The command that run and elect were asked for; fuzz::command_line compares it.
arguments started;

void is_right(const tool::command_options& options)
{
    started = options.command;
    fuzz::require(!options.command.empty(), "there is a command");
    fuzz::require(options.terms.ttl >= 0ns && options.terms.ttl <= longest && options.terms.min_hold >= 0ns &&
                      options.terms.min_hold <= longest,
                  "durations are from nothing to ten years");
}

// Sends what the command prints nowhere, for as long as it exists.
class without_output {
public:
    without_output() : out_{std::cout.rdbuf(nullptr)}, err_{std::cerr.rdbuf(nullptr)} {}
    without_output(const without_output&) = delete;
    without_output& operator=(const without_output&) = delete;
    ~without_output()
    {
        std::cout.rdbuf(out_);
        std::cerr.rdbuf(err_);
    }

private:
    std::streambuf* out_;
    std::streambuf* err_;
};

// Whether it stands where anybody would know it for a password.
bool is_marked(const std::string& argument)
{
    for (std::size_t at = argument.find(password); at != std::string::npos; at = argument.find(password, at + 1))
        if (!argument.substr(0, at).ends_with(";PWD=")) return false;
    return true;
}

void process_list_is_clean(arguments given)
{
    std::vector<char*> argv{nullptr};
    for (std::string& each : given) argv.push_back(each.data());
    tool::hide_passwords(static_cast<int>(argv.size()), argv.data());
    for (const std::string& each : given) {
        if (each == "--") return;
        fuzz::require(leasehold::odbc::detail::passwords_in(each).empty(), "the list of processes shows no password", each);
    }
}

}  // namespace

namespace tool {

// In place of the subcommands.
int run(const run_options& options, const asked_store&)
{
    is_right(options);
    fuzz::require((options.of == right::permit) == (options.permits != 0) && options.permits <= lh::max_permits,
                  "permits are 1 to 1024");
    fuzz::require((options.of == right::all_leases) == !options.names.empty(), "--all has names, and nothing else has");
    std::string list;
    for (const std::string& each : options.names) {
        fuzz::require(!each.empty() && !fuzz::contains(each, ","), "a name of --all is one name", each);
        list += (list.empty() ? "" : ",") + each;
    }
    fuzz::require(options.names.empty() || list == options.name, "no name is lost", list, options.name);
    fuzz::require(!options.name.empty(), "there is a name");
    fuzz::require(options.busy_status >= 0 && options.busy_status <= 255, "a status is a byte");
    fuzz::require(!options.wait || (*options.wait >= 0ns && *options.wait <= longest),
                  "a wait is from nothing to ten years");
    return performed;
}
int elect(const elect_options& options, const asked_store&)
{
    is_right(options);
    fuzz::require(!options.name.empty(), "there is a name");
    fuzz::require(options.pause >= 0ns && options.pause <= longest, "a pause is from nothing to ten years");
    return performed;
}
int show(const std::string&, bool, const asked_store&) { return performed; }
int list(const list_options&, const asked_store&) { return performed; }
int release(const std::string&, bool, const asked_store&) { return performed; }
int ask(const std::string&, const std::string&, const asked_store&) { return performed; }
int ps(const ps_options&, const asked_store&) { return performed; }
int shard(const shard_command_options& options, const asked_store&)
{
    is_right(options);
    fuzz::require(options.of >= 1 && options.of <= lh::max_shards, "shards are 1 to 4096");
    return performed;
}
int hold(const hold_request&, const asked_store&) { return performed; }
int unhold(const std::string&, const asked_store&) { return performed; }
int drain(const drain_options&, const asked_store&) { return performed; }
int init(bool, const asked_store&) { return performed; }
int wait(const wait_options&, const asked_store&) { return performed; }
int watch(const watch_options&, const asked_store&) { return performed; }
int purge(const purge_options&, const asked_store&) { return performed; }
int resize(const resize_options&, const asked_store&) { return performed; }
int doctor(bool, const asked_store&) { return performed; }
int run_once_per_fire(const run_options&, const asked_store&) { return performed; }
int every(const run_options&, const asked_store&) { return performed; }
int last(const std::string&, bool, const asked_store&) { return performed; }
int checkpoint(const checkpoint_options&, const asked_store&) { return performed; }

}  // namespace tool

void fuzz::command_line(std::string_view input)
{
    reader in{input};
    arguments given;
    // As the system passes them on: without a NUL.
    while (!in.empty() && given.size() < 24) {
        const std::string_view line = in.line();
        given.emplace_back(line.substr(0, line.find('\0')));
    }
    process_list_is_clean(given);
    started.clear();
    try {
        const auto asked = tool::understand(given);
        int status = 0;
        {
            const without_output quiet;
            status = asked();
        }
        require(status == performed || status == tool::exit_code::success ||
                    (status == tool::exit_code::usage && given.empty()),
                "what is understood can be done");
        const auto mark = std::find(given.begin(), given.end(), "--");
        require(started.empty() || std::equal(started.begin(), started.end(), mark + 1, given.end()),
                "the command is what follows --");
    } catch (const tool::failure& refused) {
        const std::string_view why = refused.what();
        require(refused.status() == tool::exit_code::usage && !why.empty(), "a refusal is one of usage, and says why", why);
        if (std::all_of(given.begin(), given.end(), is_marked))
            require(!contains(why, password), "a refusal shows no password", why);
    }
}
