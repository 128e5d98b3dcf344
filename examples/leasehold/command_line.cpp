// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include "commands.hpp"
#include "duration_text.hpp"
#include "failure.hpp"
#include "help.hpp"
#include "message.hpp"
#include "nearest.hpp"

#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/driver/secrets.hpp>
#include <leasehold/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
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
    bool shared = false;
    bool exclusive = false;
    std::optional<std::string> all;
    std::optional<std::string> permits;
    std::string name;
    std::string reason;
    std::string restart{"always"};
    command_options command;
    run_options run;
    elect_options elect;
    list_options list;
    wait_options wait;
    watch_options watch;
    purge_options purge;
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
    const auto set_signal = [&options](const std::string& text) { options.handover_signal = parse_signal(text); };
    to.add_option_function<std::string>("--handover-signal", set_signal,
                                        "The signal that the command gets when somebody asks for the lease, as in TERM; see leasehold"
                                        " ask [none]")
        ->type_name("SIGNAL");
    to.add_option_function<std::string>("--metrics-file", [&options](const std::string& file) { options.metrics_file = file; },
                                        help::metrics_file)
        ->type_name("FILE");
    to.add_option("--owner", options.owner, "The owner that others see, before a random part [the host's name]")
        ->type_name("TEXT");
}

void add_run(CLI::App& app, settings& into)
{
    CLI::App& to = add_subcommand(app, into, "run", "Run a command while holding a lease", help::run);
    add_command_options(to, into);
    const auto set_permits = [&into](const std::string& text) { into.permits = text; };
    CLI::Option* permits = to.add_option_function<std::string>("--permits", set_permits, help::permits)->type_name("N");
    CLI::Option* shared = to.add_flag("--shared", into.shared, help::shared)->excludes(permits);
    CLI::Option* exclusive = to.add_flag("--exclusive", into.exclusive, help::exclusive)->excludes(permits)->excludes(shared);
    to.add_option_function<std::string>("--all", [&into](const std::string& text) { into.all = text; }, help::all)->type_name("NAMES")->excludes(permits)->excludes(shared)->excludes(exclusive);
    CLI::Option* wait = add_duration(to, "-w,--wait", into.run.wait, "Wait this long for the lease [no limit]");
    to.add_flag("-n,--nowait", into.nowait, "Try only once")->excludes(wait);
    add_duration(to, "--min-hold", into.command.terms.min_hold,
                 "Keep the lease closed for this long after the grant, even if the command ends sooner [0]");
    to.add_option("-E,--busy-status", into.run.busy_status, "Exit status if somebody else holds the lease [75]")
        ->type_name("N")
        ->check(CLI::Range(0, 255));
}

void add_elect(CLI::App& app, settings& into)
{
    CLI::App& to =
        add_subcommand(app, into, "elect", "Run a command on exactly one host at a time, without end", help::elect);
    add_command_options(to, into);
    to.add_option("--restart", into.restart,
                  "Whether to stand for election again when the command has ended: always, on-failure or never [always]")
        ->check(CLI::IsMember({"always", "on-failure", "never"}))
        ->type_name("WHEN");
    add_duration(
        to, "--pause", into.elect.pause,
        "How long to leave the lease to others before that; doubles while the command keeps ending within a minute [1s]");
}

void add_looks(CLI::App& app, settings& into)
{
    CLI::App& show = add_subcommand(app, into, "show", "Show who holds a lease", help::show);
    show.add_option("NAME", into.name, "The lease")->required()->type_name("");
    show.add_flag("--json", into.json, "As JSON");

    CLI::App& list = add_subcommand(app, into, "list", "List the leases that are held", help::list);
    list.add_option("PREFIX", into.list.prefix, "Only names that begin with this")->type_name("");
    list.add_flag("--json", into.list.json, "As JSON");

    CLI::App& watch = add_subcommand(app, into, "watch", "Watch leases change hands", help::watch);
    watch.add_option("PREFIX", into.watch.prefix, "Only names that begin with this")->type_name("");
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

    CLI::App& init = add_subcommand(app, into, "init", "Create the table if it doesn't exist", help::init);
    init.add_flag("--print", into.print, "Only print the statements that would create it");

    CLI::App& purge = add_subcommand(app, into, "purge", "Remove names that nobody uses any longer", help::purge);
    add_duration(purge, "--unused-for", into.purge.unused_for, "Names that nobody has held for this long; at least 1m")
        ->required();
    purge.add_flag("-y,--yes", into.purge.yes, "Don't ask");

    CLI::App& doctor = add_subcommand(app, into, "doctor", "Check the database, and say what to improve", help::doctor);
    doctor.add_flag("--json", into.json, "As JSON, when all checks are done");
}

/// "a,b,c" as the names in it.
std::vector<std::string> names_in(const std::string& list)
{
    std::vector<std::string> names;
    std::istringstream words{list + ","};
    for (std::string name; std::getline(words, name, ',');) {
        if (name.empty())
            throw failure{exit_code::usage, "--all needs names with one comma between them, as in --all a,b,c; one of them is empty"};
        names.push_back(std::move(name));
    }
    return names;
}

std::size_t permits_in(const std::string& text)
{
    std::size_t number = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (wrong == std::errc{} && end == text.data() + text.size() && number >= 1 && number <= leasehold::max_permits) return number;
    throw failure{exit_code::usage, "--permits must be a number from 1 to " + std::to_string(leasehold::max_permits) + ", not '" + text + "'"};
}

void choose_right(settings& s)
{
    if (s.permits) {
        s.run.of = right::permit;
        s.run.permits = permits_in(*s.permits);
    }
    if (s.shared) s.run.of = right::reader;
    if (s.exclusive) s.run.of = right::writer;
    if (!s.all) return;
    s.run.of = right::all_leases;
    s.run.names = names_in(*s.all);
    s.command.name = *s.all;
}

int perform(const std::string& subcommand, settings& s)
{
    if (s.nowait) s.run.wait = leasehold::duration::zero();
    choose_right(s);
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
    if (subcommand == "ask") return ask(s.name, s.reason, s.store);
    if (subcommand == "init") return init(s.print, s.store);
    if (subcommand == "purge") return purge(s.purge, s.store);
    return doctor(s.json, s.store);
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
        if (app->get_name() != "run" && app->get_name() != "elect") return usage;
        if (const std::size_t at = usage.find("[NAME]"); at != usage.npos) usage.replace(at, 6, "NAME");  // or --all
        return usage.insert(usage.find_last_not_of('\n') + 1, " -- COMMAND [ARGUMENT]...");
    }
};

std::string version()
{
    return "leasehold " + std::to_string(LEASEHOLD_VERSION_MAJOR) + "." + std::to_string(LEASEHOLD_VERSION_MINOR) + "." +
           std::to_string(LEASEHOLD_VERSION_PATCH);
}

bool takes_command(const std::string& subcommand) { return subcommand == "run" || subcommand == "elect"; }

/// What comes after `--` is the command, and its arguments are never looked at.
std::vector<std::string> take_command(std::vector<std::string>& arguments)
{
    const auto mark = std::find(arguments.begin(), arguments.end(), "--");
    if (mark == arguments.end()) return {};
    std::vector<std::string> command{mark + 1, arguments.end()};
    arguments.erase(mark, arguments.end());
    return command;
}

[[noreturn]] void refuse(const std::string& why, const std::string& subcommand = {})
{
    throw failure{exit_code::usage, why + (why.ends_with('?') ? " See" : "; see") + " leasehold " + subcommand +
                                        (subcommand.empty() ? "" : " ") + "--help"};
}

std::string with_suggestion(const std::string& wrong, const std::string& nearest)
{
    return nearest.empty() ? wrong : wrong + ": did you mean " + nearest + "?";
}

/// Nothing of a connection string that got into the wrong place.
std::string without_value(const std::string& word) { return word.substr(0, word.find('=')); }

void check_subcommand(const CLI::App& app, const std::string& first)
{
    if (first.starts_with('-')) {
        if (first != "--help" && first != "-h" && first != "--version")
            refuse("'" + without_value(first) + "' is not an option here: the subcommand comes first, then its options");
        return;
    }
    std::vector<std::string> names;
    for (const CLI::App* each : app.get_subcommands({})) names.push_back(each->get_name());
    if (std::find(names.begin(), names.end(), first) == names.end())
        refuse(with_suggestion("there is no subcommand '" + without_value(first) + "'", nearest(first, names)));
}

/// For a person to copy into a shell.
std::string quoted_for_shell(const std::string& word)
{
    if (!word.empty() && word.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;#~!") == word.npos) return word;
    std::string text{"'"};
    for (const char c : word) text += c == '\'' ? "'\\''" : std::string{c};
    return text + "'";
}

[[noreturn]] void refuse_option(const CLI::App& subcommand, const settings& into, const std::string& option)
{
    std::vector<std::string> options;
    for (const CLI::Option* each : subcommand.get_options())
        for (const std::string& name : each->get_lnames()) options.push_back("--" + name);
    const std::string meant = option.starts_with("--") ? nearest(option, options) : "";
    std::string why = with_suggestion("there is no option " + option, meant);
    const std::string& name = subcommand.get_name();
    if (meant.empty() && !takes_command(name))
        why += "; if an argument begins with -, put -- before it, after all options";
    else if (meant.empty() && into.command.command.empty())
        why += "; put -- before the command, as in: leasehold " + name + " NAME -- COMMAND ARGUMENT...";
    refuse(why, name);
}

/// Says what is wrong with what a subcommand did not understand; `words`: from there on.
[[noreturn]] void refuse_unexpected(const CLI::App& subcommand, const settings& into, const std::vector<std::string>& words)
{
    const std::string& name = subcommand.get_name();
    const std::string first = without_value(words.front());
    if (!takes_command(name) || !into.command.command.empty()) refuse("'" + first + "' was not expected", name);
    std::string right = "leasehold " + name + " " + quoted_for_shell(into.command.name) + " --";
    for (const std::string& word : words) right += " " + quoted_for_shell(word);
    refuse("put -- before the command, as in: " + right, name);
}

void check_remaining(const CLI::App& subcommand, const settings& into)
{
    std::vector<std::string> words = subcommand.remaining();
    if (words.empty()) return;
    const bool all_are_words = words.front() == "--";  // after which nothing is an option; CLI11 leaves it here
    if (!all_are_words && words.front().starts_with('-')) refuse_option(subcommand, into, without_value(words.front()));
    std::erase(words, "--");
    if (!words.empty()) refuse_unexpected(subcommand, into, words);
}

/// The subcommand that was chosen; nothing: what there is to do is done, which is to print `text`.
const CLI::App* parse(CLI::App& app, const settings& into, std::vector<std::string> arguments, std::string& text)
{
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the end
    std::optional<std::string> wrong;
    try {
        app.parse(arguments);
    } catch (const CLI::ParseError& said) {
        std::ostringstream out, err;
        if (app.exit(said, out, err) == 0) {
            text = out.str();
            return nullptr;
        }
        wrong = said.what();
    }
    const auto chosen = app.get_subcommands();
    const CLI::App* subcommand = chosen.empty() ? nullptr : chosen.front();
    if (subcommand) check_remaining(*subcommand, into);
    if (wrong) refuse(*wrong, subcommand ? subcommand->get_name() : "");
    return subcommand;
}

/// `leasehold help run` is `leasehold run --help`, and so on.
std::vector<std::string> with_words_as_options(std::vector<std::string> arguments)
{
    if (arguments.front() == "version" && arguments.size() == 1) return {"--version"};
    if (arguments.front() != "help" || arguments.size() > 2) return arguments;
    if (arguments.size() == 1 || arguments.back() == "help" || arguments.back().starts_with('-')) return {"--help"};
    return {arguments.back(), "--help"};
}

std::function<int()> print(std::string text)
{
    return [text = std::move(text)] {
        std::cout << text;
        return exit_code::success;
    };
}

// As long as there is nothing to do but to say what could be done.
std::function<int()> print_summary(const CLI::App& app)
{
    return [text = app.help()] {
        std::cerr << text
                  << "\nleasehold help shows an example of a cron job; leasehold help SUBCOMMAND shows all options.\n";
        return exit_code::usage;
    };
}

void check_combination(const settings& into, const std::string& subcommand)
{
    if (takes_command(subcommand) && into.command.name.empty() == !into.all)
        refuse(!into.all ? "NAME is required" : "--all has the names of the leases, so there is no NAME beside it", subcommand);
    if (takes_command(subcommand) && into.command.command.empty())
        throw failure{exit_code::usage, "the command is missing; put it last, after --, as in: leasehold " + subcommand +
                                            " NAME -- COMMAND ARGUMENT..."};
    if ((into.shared || into.exclusive) && into.command.terms.min_hold > leasehold::duration::zero())
        refuse("--min-hold can't be used with --shared or --exclusive", subcommand);
    if (into.command.handover_signal != 0 && (into.permits || into.shared || into.exclusive || into.all))
        refuse("--handover-signal is for one lease: it can't be used with --permits, --shared, --exclusive or --all", subcommand);
    if (subcommand == "wait" && into.free == into.wait.held) refuse("wait needs --free or --held", subcommand);
}

std::function<int()> understand_as_it_is(const std::vector<std::string>& given)
{
    const auto into = std::make_shared<settings>();
    CLI::App app{help::about, "leasehold"};
    app.formatter(std::make_shared<with_command>());
    app.set_version_flag("--version", version());
    app.require_subcommand(1);
    add_run(app, *into);
    add_elect(app, *into);
    add_looks(app, *into);
    add_repairs(app, *into);
    app.add_subcommand("help", "Show this, or the options and examples of a subcommand")->prefix_command();
    app.add_subcommand("version", "Show the version");
    if (given.empty()) return print_summary(app);
    app.footer(help::footer);

    std::vector<std::string> arguments = with_words_as_options(given);
    check_subcommand(app, arguments.front());
    if (takes_command(arguments.front())) into->command.command = take_command(arguments);
    std::string text;
    const CLI::App* chosen = parse(app, *into, arguments, text);
    if (!chosen) return print(std::move(text));
    const std::string subcommand = chosen->get_name();
    check_combination(*into, subcommand);
    set_loudness(into->quiet ? loudness::quiet : into->verbose ? loudness::verbose : loudness::normal);
    return [into, subcommand] { return perform(subcommand, *into); };
}

}  // namespace

std::function<int()> understand(const std::vector<std::string>& given)
{
    try {
        return understand_as_it_is(given);
    } catch (const failure&) {
        // A message repeats arguments, and a connection string can be any of them. So the message is about what may be shown.
        namespace od = leasehold::odbc::detail;
        std::vector<std::string> without_passwords;
        for (const std::string& each : given) without_passwords.push_back(od::redacted(each, od::passwords_in(each)));
        if (without_passwords == given) throw;
        static_cast<void>(understand_as_it_is(without_passwords));
        throw failure{exit_code::usage, "one of the arguments is a connection string in the wrong place; see leasehold --help"};
    }
}

void hide_passwords(int argc, char** argv) noexcept
{
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    const auto same = [lower](char a, char b) { return lower(a) == b; };
    for (int i = 1; i < argc && std::string_view{argv[i]} != "--"; ++i) {
        char* const begin = argv[i];
        char* const end = begin + std::string_view{begin}.size();
        for (const std::string_view keyword : {"pwd", "pass", "secret"})
            if (std::find(std::search(begin, end, keyword.begin(), keyword.end(), same), end, '=') != end)
                std::fill(begin, end, '*');
    }
}

}  // namespace tool
