// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include "commands.hpp"
#include "duration_text.hpp"
#include "failure.hpp"
#include "help.hpp"
#include "message.hpp"

#include <leasehold/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

namespace tool {

namespace {

/// All that options can set; lives as long as what understand() returns.
struct settings {
    asked_store store;
    bool quiet = false;
    bool verbose = false;
    bool json = false;
    bool force = false;
    bool print = false;
    bool free = false;
    bool nowait = false;
    std::string name;
    std::string restart{"always"};
    command_options command;
    run_options run;
    elect_options elect;
    list_options list;
    wait_options wait;
    watch_options watch;
};

template <class Target>
CLI::Option* add_duration(CLI::App& to, const std::string& option, Target& target, const std::string& says)
{
    const auto set = [&target, option](const std::string& text) {
        try {
            target = parse_duration(text);
        } catch (const failure& wrong) {
            throw failure{wrong.status(), option.substr(option.find("--")) + ": " + wrong.what()};
        }
    };
    return to.add_option_function<std::string>(option, set, says)->type_name("TIME");
}

void add_store(CLI::App& to, settings& into)
{
    to.add_option("--store", into.store.store, help::store)->type_name("STRING")->group("Database");
    to.add_option("--store-file", into.store.file, help::store_file)->type_name("FILE")->group("Database");
    to.add_option("--table", into.store.table, help::table)->type_name("NAME")->group("Database");
    to.add_flag("-q,--quiet", into.quiet, "Say nothing on standard error")->group("Messages");
    to.add_flag("-v,--verbose", into.verbose, "Say more")->group("Messages");
}

CLI::App& add_subcommand(CLI::App& app, settings& into, const std::string& name, const std::string& says,
                         const char* examples)
{
    CLI::App& made = *app.add_subcommand(name, says);
    made.footer(examples);
    add_store(made, into);
    return made;
}

void add_command_options(CLI::App& to, settings& into)
{
    command_options& options = into.command;
    to.add_option("NAME", options.name, "The lease: one name is held by one host at a time")->required()->type_name("");
    add_duration(to, "--ttl", options.terms.ttl,
                 "How long the database keeps the lease for a host it no longer hears of [30s]");
    add_duration(to, "--kill-after", options.terms.kill_after,
                 "When the lease is lost: from SIGTERM to SIGKILL [5s, at most a sixth of the ttl]");
    add_duration(to, "--margin", options.terms.margin,
                 "How long before the ttl's end the lease counts as lost [1.2 times --kill-after]");
    to.add_option("--owner", options.owner, "What others see as the owner, before a random part [the host's name]")
        ->type_name("TEXT");
}

void add_run(CLI::App& app, settings& into)
{
    CLI::App& to = add_subcommand(app, into, "run", "Run a command while holding a lease", help::run);
    add_command_options(to, into);
    CLI::Option* wait = add_duration(to, "-w,--wait", into.run.wait, "Wait this long for the lease [without a limit]");
    to.add_flag("-n,--nowait", into.nowait, "Try once")->excludes(wait);
    add_duration(to, "--min-hold", into.command.terms.min_hold,
                 "Keep the lease closed for this long after it was granted, also when the command ends sooner [0]");
    to.add_option("-E,--busy-status", into.run.busy_status, "Exit status when somebody else holds it [75]")
        ->type_name("N")
        ->check(CLI::Range(0, 255));
}

void add_elect(CLI::App& app, settings& into)
{
    CLI::App& to = add_subcommand(app, into, "elect", "Run a command on exactly one host at a time, for ever", help::elect);
    add_command_options(to, into);
    to.add_option("--restart", into.restart,
                  "When the command has ended, stand for election again: always, on-failure or never [always]")
        ->check(CLI::IsMember({"always", "on-failure", "never"}))
        ->type_name("WHEN");
    add_duration(to, "--pause", into.elect.pause,
                 "Before that, leave others this much time; doubles while the command keeps ending within a minute [1s]");
}

void add_looks(CLI::App& app, settings& into)
{
    CLI::App& show = add_subcommand(app, into, "show", "Show who holds a lease", help::show);
    show.add_option("NAME", into.name, "The lease")->required()->type_name("");
    show.add_flag("--json", into.json, "As JSON");

    CLI::App& list = add_subcommand(app, into, "list", "List what is held", help::list);
    list.add_option("PREFIX", into.list.prefix, "Only names that begin so")->type_name("");
    list.add_flag("--json", into.list.json, "As JSON");

    CLI::App& watch = add_subcommand(app, into, "watch", "Watch leases change hands", help::watch);
    watch.add_option("PREFIX", into.watch.prefix, "Only names that begin so")->type_name("");
    add_duration(watch, "--interval", into.watch.interval, "How often to ask the database [500ms]");

    CLI::App& wait = add_subcommand(app, into, "wait", "Wait until a lease is free, or held", help::wait);
    wait.add_option("NAME", into.wait.name, "The lease")->required()->type_name("");
    CLI::Option* free = wait.add_flag("--free", into.free, "Until nobody holds it");
    wait.add_flag("--held", into.wait.held, "Until somebody holds it")->excludes(free);
    add_duration(wait, "--timeout", into.wait.timeout, "At most this long [without a limit]");
}

void add_repairs(CLI::App& app, settings& into)
{
    CLI::App& release = add_subcommand(app, into, "release", "End the lease of a host that is gone", help::release);
    release.add_option("NAME", into.name, "The lease")->required()->type_name("");
    release.add_flag("--force", into.force, "Yes, also if its command still runs");

    CLI::App& init = add_subcommand(app, into, "init", "Create the table, if it isn't there", help::init);
    init.add_flag("--print", into.print, "Only print the statements that would do it");

    add_subcommand(app, into, "doctor", "Check the database, and say what to improve", help::doctor);
}

int perform(const std::string& subcommand, settings& s)
{
    if (s.nowait) s.run.wait = leasehold::duration::zero();
    s.elect.restart = s.restart == "never"        ? restart_policy::never
                      : s.restart == "on-failure" ? restart_policy::on_failure
                                                  : restart_policy::always;
    static_cast<command_options&>(s.run) = s.command;
    static_cast<command_options&>(s.elect) = s.command;
    if (subcommand == "run") return run(s.run, s.store);
    if (subcommand == "elect") return elect(s.elect, s.store);
    if (subcommand == "show") return show(s.name, s.json, s.store);
    if (subcommand == "list") return list(s.list, s.store);
    if (subcommand == "watch") return watch(s.watch, s.store);
    if (subcommand == "wait") return wait(s.wait, s.store);
    if (subcommand == "release") return release(s.name, s.force, s.store);
    if (subcommand == "init") return init(s.print, s.store);
    return doctor(s.store);
}

/// As CLI11 has it, but with the command that comes last.
class with_command : public CLI::Formatter {
public:
    std::string make_usage(const CLI::App* app, std::string name) const override
    {
        std::string usage = Formatter::make_usage(app, std::move(name));
        if (app->get_name() != "run" && app->get_name() != "elect") return usage;
        return usage.insert(usage.find_last_not_of('\n') + 1, " -- COMMAND [ARGUMENT]...");
    }
};

std::string version()
{
    return "leasehold " + std::to_string(LEASEHOLD_VERSION_MAJOR) + "." + std::to_string(LEASEHOLD_VERSION_MINOR) + "." +
           std::to_string(LEASEHOLD_VERSION_PATCH);
}

/// The command's own arguments are never looked at, so `--` is where it begins.
std::vector<std::string> take_command(std::vector<std::string>& arguments)
{
    const auto mark = std::find(arguments.begin(), arguments.end(), "--");
    if (mark == arguments.end()) return {};
    std::vector<std::string> command{mark + 1, arguments.end()};
    arguments.erase(mark, arguments.end());
    return command;
}

}  // namespace

std::function<int()> understand(const std::vector<std::string>& given)
{
    const auto into = std::make_shared<settings>();
    CLI::App app{help::about, "leasehold"};
    app.footer(help::footer);
    app.formatter(std::make_shared<with_command>());
    app.set_version_flag("--version", version());
    app.require_subcommand(1);
    add_run(app, *into);
    add_elect(app, *into);
    add_looks(app, *into);
    add_repairs(app, *into);

    std::vector<std::string> arguments = given;
    into->command.command = take_command(arguments);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the end
    std::string subcommand;
    try {
        app.parse(arguments);
        subcommand = app.get_subcommands().front()->get_name();
    } catch (const CLI::ParseError& said) {
        std::ostringstream out, err;
        if (app.exit(said, out, err) == 0)
            return [text = out.str()] {
                std::cout << text;
                return exit_code::success;
            };
        const auto chosen = app.get_subcommands();
        throw failure{exit_code::usage, std::string{said.what()} + "; see leasehold " +
                                            (chosen.empty() ? "" : chosen.front()->get_name() + " ") + "--help"};
    }
    const bool runs = subcommand == "run" || subcommand == "elect";
    if (runs && into->command.command.empty())
        throw failure{exit_code::usage, "the command is missing; it comes last, after --, as in: leasehold " + subcommand +
                                            " NAME -- COMMAND ARGUMENT..."};
    if (!runs && !into->command.command.empty())
        throw failure{exit_code::usage, "leasehold " + subcommand + " runs no command"};
    if (subcommand == "wait" && into->free == into->wait.held)
        throw failure{exit_code::usage, "wait needs --free or --held; see leasehold wait --help"};
    set_loudness(into->quiet ? loudness::quiet : into->verbose ? loudness::verbose : loudness::normal);
    return [into, subcommand] { return perform(subcommand, *into); };
}

void hide_passwords(int argc, char** argv) noexcept
{
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    const auto same = [lower](char a, char b) { return lower(a) == b; };
    for (int i = 1; i < argc && std::string_view{argv[i]} != "--"; ++i) {
        char* const begin = argv[i];
        char* const end = begin + std::string_view{begin}.size();
        for (const std::string_view keyword : {"pwd", "pass"})
            if (std::find(std::search(begin, end, keyword.begin(), keyword.end(), same), end, '=') != end)
                std::fill(begin, end, '*');
    }
}

}  // namespace tool
