// SPDX-License-Identifier: BSL-1.0
#include "option_parser.hpp"

#include "duration_text.hpp"
#include "failure.hpp"
#include "help.hpp"

#include <leasehold/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <sstream>
#include <string_view>
#include <utility>

namespace tool {

namespace {

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
    // As a function: an option of std::optional<std::string> takes an empty text for none.
    const auto add = [&to](const std::string& option, std::optional<std::string>& target, const char* says,
                           const char* type) {
        return to
            .add_option_function<std::string>(
                option, [&target](const std::string& text) { target = text; }, says)
            ->type_name(type)
            ->group("Database");
    };
    CLI::Option* store = add("--store", into.store.store, help::store, "STRING");
    CLI::Option* file = add("--store-file", into.store.file, help::store_file, "FILE")->excludes(store);
    to.add_flag("--local", into.store.local, help::local)->group("Database")->excludes(store)->excludes(file);
    add("--table", into.store.table, help::table, "NAME");
    to.add_flag("!--no-session-locks", into.store.session_locks, help::no_session_locks)->group("Database");
    to.add_flag("-q,--quiet", into.quiet, "Print nothing on standard error")->group("Messages");
    to.add_flag("-v,--verbose", into.verbose, "Print more, for example where the leases are")->group("Messages");
}

CLI::App& add_subcommand(CLI::App& app, settings& into, const std::string& name, const std::string& says,
                         const char* examples)
{
    CLI::App& made = *app.add_subcommand(name, says);
    made.footer(examples);
    made.prefix_command();  // what is left over is explained by check_remaining()
    add_store(made, into);
    return made;
}

// By name, with or without SIG: their numbers differ between systems.
int parse_signal(const std::string& text)
{
    constexpr std::array<std::pair<std::string_view, int>, 7> signals{{{"TERM", SIGTERM},
                                                                        {"INT", SIGINT},
                                                                        {"HUP", SIGHUP},
                                                                        {"QUIT", SIGQUIT},
                                                                        {"USR1", SIGUSR1},
                                                                        {"USR2", SIGUSR2},
                                                                        {"WINCH", SIGWINCH}}};
    const std::string_view name = std::string_view{text}.substr(text.starts_with("SIG") ? 3 : 0);
    const auto found = std::ranges::find(signals, name, &std::pair<std::string_view, int>::first);
    if (found == signals.end())
        throw failure{exit_code::usage, "--handover-signal: '" + text + "' is none of TERM, INT, HUP, QUIT, USR1, USR2 and WINCH"};
    return found->second;
}

void add_command_options(CLI::App& to, settings& into)
{
    command_options& options = into.command;
    to.add_option("NAME", options.name, "The lease. Only one host holds it at a time")->type_name("");
    add_duration(to, "--ttl", options.terms.ttl,
                 "How long the database keeps the lease for a host from which it no longer hears [30s]");
    add_duration(to, "--kill-after", options.terms.kill_after,
                 "When the lease is lost, the time from SIGTERM to SIGKILL [5s, at most a sixth of the ttl]");
    add_duration(to, "--margin", options.terms.margin,
                 "How long before the end of the ttl the lease counts as lost [1.2 times --kill-after]");
    to.add_option_function<std::string>("--metrics-file", [&options](const std::string& file) { options.metrics_file = file; },
                                        help::metrics_file)
        ->type_name("FILE");
    to.add_option("--owner", options.owner, "The owner that others see, before a random part [the host's name]")
        ->type_name("TEXT");
}

void add_handover_signal(CLI::App& to, settings& into)
{
    const auto set_signal = [&into](const std::string& text) { into.command.handover_signal = parse_signal(text); };
    to.add_option_function<std::string>("--handover-signal", set_signal,
                                        "The signal that the command gets when somebody asks for the lease, as in TERM; see leasehold"
                                        " ask [none]")
        ->type_name("SIGNAL");
}

void add_max_hold(CLI::App& to, settings& into)
{
    add_duration(to, "--max-hold", into.run.max_hold,
                 "End the command when it has run for this long: SIGTERM, and SIGKILL after --kill-after [no limit]");
}

void add_schedule_options(CLI::App& to, settings& into)
{
    CLI::Option* once_per = add_duration(to, "--once-per", into.run.schedule.once_per, help::once_per);
    const auto set_at = [&into](const std::string& text) { into.run.schedule.at = text; };
    CLI::Option* at = to.add_option_function<std::string>("--at", set_at, help::at)->type_name("TIME");
    const auto set_cron = [&into](const std::string& text) { into.run.schedule.cron = text; };
    to.add_option_function<std::string>("--cron", set_cron, help::cron)->type_name("LINE")->excludes(once_per)->excludes(at);
    const auto set_retry = [&into](const std::string& text) { into.retry = text; };
    to.add_option_function<std::string>("--retry", set_retry, help::retry)->type_name("N");
    to.add_option("--catch-up", into.catch_up, help::catch_up)->check(CLI::IsMember({"none", "last", "all"}))->type_name("WHICH");
    add_duration(to, "--begin-within", into.run.begin_within, help::begin_within);
    to.add_flag("--reschedule", into.run.reschedule, help::reschedule);
}

void add_run(CLI::App& app, settings& into)
{
    CLI::App& to = add_subcommand(app, into, "run", "Run a command while holding a lease", help::run);
    add_command_options(to, into);
    add_handover_signal(to, into);
    const auto set_permits = [&into](const std::string& text) { into.permits = text; };
    CLI::Option* permits = to.add_option_function<std::string>("--permits", set_permits, help::permits)->type_name("N");
    const auto set_take = [&into](const std::string& text) { into.take = text; };
    to.add_option_function<std::string>("--take", set_take, help::take)->type_name("N")->needs(permits);
    to.add_flag("--follow", into.run.follow, help::follow)->needs(permits);
    CLI::Option* shared = to.add_flag("--shared", into.shared, help::shared)->excludes(permits);
    CLI::Option* exclusive = to.add_flag("--exclusive", into.exclusive, help::exclusive)->excludes(permits)->excludes(shared);
    to.add_option_function<std::string>(
          "--all", [&into](const std::string& text) { into.all = text; }, help::all)
        ->type_name("NAMES")
        ->excludes(permits)
        ->excludes(shared)
        ->excludes(exclusive);
    CLI::Option* wait = add_duration(to, "-w,--wait", into.run.wait, "Wait this long for the lease [no limit]");
    to.add_flag("-n,--nowait", into.nowait, "Try only once")->excludes(wait);
    add_duration(to, "--min-hold", into.command.terms.min_hold,
                 "Keep the lease closed for this long after the grant, even if the command ends sooner [0]");
    add_max_hold(to, into);
    to.add_option("-E,--busy-status", into.run.busy_status, "Exit status if somebody else holds the lease [75]")
        ->type_name("N")
        ->check(CLI::Range(0, 255));
    add_schedule_options(to, into);
}

void add_every(CLI::App& app, settings& into)
{
    CLI::App& to =
        add_subcommand(app, into, "every", "Run a command once per time of a schedule, on one of the hosts, without end", help::every);
    add_command_options(to, into);
    add_handover_signal(to, into);
    add_max_hold(to, into);
    add_schedule_options(to, into);
}

void add_elect(CLI::App& app, settings& into)
{
    CLI::App& to =
        add_subcommand(app, into, "elect", "Run a command on exactly one host at a time, without end", help::elect);
    add_command_options(to, into);
    add_handover_signal(to, into);
    to.add_option("--restart", into.restart,
                  "Whether to stand for election again when the command has ended: always, on-failure or never [always]")
        ->check(CLI::IsMember({"always", "on-failure", "never"}))
        ->type_name("WHEN");
    add_duration(
        to, "--pause", into.elect.pause,
        "How long to leave the lease to others before that; doubles while the command keeps ending within a minute [1s]");
}

void add_shard(CLI::App& app, settings& into)
{
    CLI::App& to = add_subcommand(app, into, "shard", "Run a command for each of a number of shards, divided among the hosts", help::shard);
    add_command_options(to, into);
    const auto add = [&to](const std::string& option, std::optional<std::string>& target, const char* says) {
        to.add_option_function<std::string>(option, [&target](const std::string& text) { target = text; }, says)->type_name("N");
    };
    to.get_option("NAME")->description("The group: all hosts that divide these shards give the same name");
    add("--of", into.of, help::of);
    add("--capacity", into.capacity, help::capacity);
    add("--max-shards", into.max_shards, help::max_shards);
    to.add_option("--data", into.shard.data, help::data)->type_name("TEXT");
    add_duration(to, "--drain-timeout", into.shard.drain_timeout, help::drain_timeout);
    add_duration(to, "--pause", into.shard.pause,
                 "Before a command that has ended is run again; doubles while it fails, up to a minute [1s]");
}

void add_looks(CLI::App& app, settings& into)
{
    CLI::App& show = add_subcommand(app, into, "show", "Show who holds a lease", help::show);
    show.add_option("NAME", into.name, "The lease")->required()->type_name("");
    show.add_flag("--json", into.json, "As JSON");

    CLI::App& list = add_subcommand(app, into, "list", "List the leases that are held", help::list);
    list.add_option("PREFIX", into.list.prefix, "Only names that begin with this")->type_name("");
    CLI::Option* fires = list.add_flag("--fires", into.list.fires, "The schedules, and their last runs, in place of the leases");
    list.add_flag("--checkpoints", into.list.checkpoints, "What was saved for each name, in place of the leases")->excludes(fires);
    list.add_flag("--json", into.list.json, "As JSON");

    CLI::App& last = add_subcommand(app, into, "last", "Show the last completed run of a schedule", help::last);
    last.add_option("NAME", into.name, "The name of the job")->required()->type_name("");
    last.add_flag("--json", into.json, "As JSON");

    CLI::App& ps = add_subcommand(app, into, "ps", "Show the members of a group, and whose its shards are", help::ps);
    ps.add_option("GROUP", into.ps.group, "The group")->required()->type_name("");
    ps.add_flag("--json", into.ps.json, "As JSON; with --watch one line each time");
    CLI::Option* keep_on =
        ps.add_flag("--watch", into.ps.watch, "Show it until q, Ctrl-C or a signal; in a pipe, each time that something moves");
    add_duration(ps, "--interval", into.ps.interval, "How often to ask the database [1s]")->needs(keep_on);

    CLI::App& watch = add_subcommand(app, into, "watch", "Watch leases change hands", help::watch);
    watch.add_option("PREFIX", into.watch.prefix, "Only names that begin with this")->type_name("");
    watch.add_flag("--fires", into.watch.fires, "Also which runs of schedules are completed, and which are not");
    watch.add_flag("--checkpoints", into.watch.checkpoints, "Also what is saved for each name");
    watch.add_flag("--json", into.watch.json, "One line of JSON each time");
    add_duration(watch, "--interval", into.watch.interval, "How often to ask the database [500ms]");

    CLI::App& wait = add_subcommand(app, into, "wait", "Wait until a lease is free, or held", help::wait);
    wait.add_option("NAME", into.wait.name, "The lease")->required()->type_name("");
    CLI::Option* free = wait.add_flag("--free", into.free, "Until nobody holds it");
    wait.add_flag("--held", into.wait.held, "Until somebody holds it")->excludes(free);
    add_duration(wait, "--timeout", into.wait.timeout, "At most this long [no limit]");
}

void add_repairs(CLI::App& app, settings& into)
{
    CLI::App& release = add_subcommand(app, into, "release", "End the lease of a host that is gone", help::release);
    release.add_option("NAME", into.name, "The lease")->required()->type_name("");
    release.add_flag("--force", into.force, "Do it, even if the command of that host still runs");

    CLI::App& ask = add_subcommand(app, into, "ask", "Ask the holder of a lease to hand it over", help::ask);
    ask.add_option("NAME", into.name, "The lease")->required()->type_name("");
    ask.add_option("--reason", into.reason, "What the holder is told, and show and list show")->type_name("TEXT");

    CLI::App& checkpoint =
        add_subcommand(app, into, "checkpoint", "Show or save what the next holder of a lease must know", help::checkpoint);
    checkpoint.add_option("NAME", into.checkpoint.name, "The lease")->required()->type_name("");
    checkpoint
        .add_option_function<std::string>(
            "--save", [&into](const std::string& text) { into.checkpoint.save = text; }, help::save_checkpoint)
        ->type_name("TEXT");
    checkpoint.add_flag("--json", into.checkpoint.json, "As JSON");

    CLI::App& resize = add_subcommand(app, into, "resize", "Change how many permits there are, while they are held", help::resize);
    resize.add_option("NAME", into.resize.name, "What is given to run --permits")->required()->type_name("");
    resize.add_option("N", into.resize_to, "How many there are to be, 1 to 1024")->required()->type_name("");
    add_duration(resize, "--ttl", into.resize.ttl, "The ttl of the permits [30s]");

    CLI::App& init = add_subcommand(app, into, "init", "Create the table if it doesn't exist", help::init);
    init.add_flag("--print", into.print, "Only print the statements that would create it");

    CLI::App& purge = add_subcommand(app, into, "purge", "Remove names that nobody uses any longer", help::purge);
    add_duration(purge, "--unused-for", into.purge.unused_for, "Names that nobody has held for this long; at least 1m")
        ->required();
    purge.add_flag("--with-checkpoints", into.purge.with_checkpoints, "Also names that have a checkpoint");
    purge.add_flag("-y,--yes", into.purge.yes, "Don't ask");

    CLI::App& doctor = add_subcommand(app, into, "doctor", "Check the database, and say what to improve", help::doctor);
    doctor.add_flag("--json", into.json, "As JSON, when all checks are done");
}

void add_closings(CLI::App& app, settings& into)
{
    CLI::App& hold = add_subcommand(app, into, "hold", "Close a name for a while, so that nobody gets the lease", help::hold);
    hold.add_option("NAME", into.hold.name, "The lease")->required()->type_name("");
    add_duration(hold, "--for", into.hold.period, "For how long")->required();
    hold.add_option("--reason", into.hold.reason, "What the holder is told, and show and list show")->type_name("TEXT");
    add_duration(hold, "-w,--wait", into.hold.wait, "Wait this long for the holder to hand it over [1m]");

    CLI::App& unhold = add_subcommand(app, into, "unhold", "Open a name that is held closed", help::unhold);
    unhold.add_option("NAME", into.name, "The lease")->required()->type_name("");

    CLI::App& drain = add_subcommand(app, into, "drain", "Ask a host to hand over all that it holds", help::drain);
    drain.add_option("HOST", into.drain.host, "The host: what its owners begin with")->required()->type_name("");
    drain.add_option("--reason", into.drain.reason, "What the holders are told [drain]")->type_name("TEXT");
    add_duration(drain, "--timeout", into.drain.timeout, "Wait this long until nothing is left [1m]");
    drain.add_flag("--json", into.drain.json, "What is left, as JSON");
}

// CLI11 2.5 and later fill paragraphs, and so would lose the lines of the examples.
template <class Formatter>
void keep_lines(Formatter& of)
{
    if constexpr (requires { of.enable_footer_formatting(false); }) of.enable_footer_formatting(false);
}

/// As CLI11 has it, but with the command that comes last.
class with_command : public CLI::Formatter {
public:
    with_command() { keep_lines<CLI::Formatter>(*this); }

    std::string make_usage(const CLI::App* app, std::string name) const override
    {
        std::string usage = Formatter::make_usage(app, std::move(name));
        if (!takes_command(app->get_name())) return usage;
        if (const std::size_t at = usage.find("[NAME]"); at != usage.npos) usage.replace(at, 6, "NAME");  // or --all
        return usage.insert(usage.find_last_not_of('\n') + 1, " -- COMMAND [ARGUMENT]...");
    }
};

std::string version()
{
    return "leasehold " + std::to_string(LEASEHOLD_VERSION_MAJOR) + "." + std::to_string(LEASEHOLD_VERSION_MINOR) + "." +
           std::to_string(LEASEHOLD_VERSION_PATCH);
}

}  // namespace

option_parser::option_parser(settings& into) : app_{std::make_unique<CLI::App>(help::about, "leasehold")}
{
    app_->formatter(std::make_shared<with_command>());
    app_->set_version_flag("--version", version());
    app_->require_subcommand(1);
    add_run(*app_, into);
    add_every(*app_, into);
    add_elect(*app_, into);
    add_shard(*app_, into);
    add_looks(*app_, into);
    add_repairs(*app_, into);
    add_closings(*app_, into);
    app_->add_subcommand("help", "Show this, or the options and examples of a subcommand")->prefix_command();
    app_->add_subcommand("version", "Show the version");
}

option_parser::~option_parser() = default;

std::string option_parser::summary() const { return app_->help(); }

std::vector<std::string> option_parser::subcommands() const
{
    std::vector<std::string> names;
    for (const CLI::App* each : app_->get_subcommands({})) names.push_back(each->get_name());
    return names;
}

std::vector<std::string> option_parser::options_of(const std::string& subcommand) const
{
    std::vector<std::string> options;
    for (const CLI::Option* each : app_->get_subcommand(subcommand)->get_options())
        for (const std::string& name : each->get_lnames()) options.push_back("--" + name);
    return options;
}

parsed_arguments option_parser::parse(std::vector<std::string> arguments)
{
    app_->footer(help::footer);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the end
    parsed_arguments found;
    try {
        app_->parse(arguments);
    } catch (const CLI::ParseError& said) {
        std::ostringstream out, err;
        if (app_->exit(said, out, err) == 0) {
            found.answer = out.str();
            return found;
        }
        found.wrong = said.what();
    }
    const auto chosen = app_->get_subcommands();
    if (chosen.empty()) return found;
    found.subcommand = chosen.front()->get_name();
    found.left = chosen.front()->remaining();
    return found;
}

}  // namespace tool
