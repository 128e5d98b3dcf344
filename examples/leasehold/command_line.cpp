// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include "commands.hpp"
#include "failure.hpp"
#include "message.hpp"
#include "option_parser.hpp"
#include "settings.hpp"
#include "usage_errors.hpp"

#include <leasehold/limits.hpp>
#include <leasehold/shard_options.hpp>
#include <leasehold/odbc/detail/driver/secrets.hpp>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

namespace tool {

namespace {

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

/// A number from `least` to `most`.
std::size_t number_in(const std::string& option, const std::string& text, std::size_t least, std::size_t most)
{
    std::size_t number = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (wrong == std::errc{} && end == text.data() + text.size() && number >= least && number <= most) return number;
    throw failure{exit_code::usage, option + " must be a number from " + std::to_string(least) + " to " + std::to_string(most) + ", not '" +
                                        text + "'"};
}

void choose_shards(settings& s)
{
    if (s.of) s.shard.of = number_in("--of", *s.of, 1, leasehold::max_shards);
    if (s.capacity) s.shard.capacity = static_cast<std::uint32_t>(number_in("--capacity", *s.capacity, 1, 1000));
    if (s.max_shards) s.shard.max_shards = number_in("--max-shards", *s.max_shards, 1, leasehold::max_shards);
}

void choose_fires(settings& s)
{
    s.run.catch_up = s.catch_up == "none"  ? leasehold::catch_up::none
                     : s.catch_up == "all" ? leasehold::catch_up::all
                                           : leasehold::catch_up::last;
    if (s.retry) s.run.retry = static_cast<int>(number_in("--retry", *s.retry, 0, 1000));
}

void choose_right(settings& s)
{
    if (s.permits) {
        s.run.of = right::permit;
        s.run.permits = number_in("--permits", *s.permits, 1, leasehold::max_permits);
        if (s.take) s.run.take = number_in("--take", *s.take, 1, leasehold::max_permits);
        if (s.run.take > s.run.permits && !s.run.follow)
            throw failure{exit_code::usage, "--take must be a number from 1 to the " + *s.permits + " of --permits, not '" + *s.take + "'"};
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
    choose_fires(s);
    choose_shards(s);
    s.elect.restart = s.restart == "never"        ? restart_policy::never
                      : s.restart == "on-failure" ? restart_policy::on_failure
                                                  : restart_policy::always;
    static_cast<command_options&>(s.run) = s.command;
    static_cast<command_options&>(s.elect) = s.command;
    static_cast<command_options&>(s.shard) = s.command;
    if (subcommand == "run") return s.run.schedule.given() ? run_once_per_fire(s.run, s.store) : run(s.run, s.store);
    if (subcommand == "every") return every(s.run, s.store);
    if (subcommand == "last") return last(s.name, s.json, s.store);
    if (subcommand == "elect") return elect(s.elect, s.store);
    if (subcommand == "show") return show(s.name, s.json, s.store);
    if (subcommand == "ps") return ps(s.ps, s.store);
    if (subcommand == "shard") return shard(s.shard, s.store);
    if (subcommand == "list") return list(s.list, s.store);
    if (subcommand == "watch") return watch(s.watch, s.store);
    if (subcommand == "wait") return wait(s.wait, s.store);
    if (subcommand == "release") return release(s.name, s.force, s.store);
    if (subcommand == "ask") return ask(s.name, s.reason, s.store);
    if (subcommand == "hold") return hold(s.hold, s.store);
    if (subcommand == "unhold") return unhold(s.name, s.store);
    if (subcommand == "drain") return drain(s.drain, s.store);
    if (subcommand == "init") return init(s.print, s.store);
    if (subcommand == "checkpoint") return checkpoint(s.checkpoint, s.store);
    if (subcommand == "resize") {
        s.resize.permits = number_in("N", s.resize_to, 1, leasehold::max_permits);
        return resize(s.resize, s.store);
    }
    if (subcommand == "purge") return purge(s.purge, s.store);
    return doctor(s.json, s.store);
}

/// What comes after `--` is the command, and its arguments are never looked at.
std::vector<std::string> take_command(std::vector<std::string>& arguments)
{
    const auto mark = std::find(arguments.begin(), arguments.end(), "--");
    if (mark == arguments.end()) return {};
    std::vector<std::string> command{mark + 1, arguments.end()};
    arguments.erase(mark, arguments.end());
    return command;
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
std::function<int()> print_summary(std::string summary)
{
    return [text = std::move(summary)] {
        std::cerr << text
                  << "\nleasehold help shows an example of a cron job; leasehold help SUBCOMMAND shows all options.\n";
        return exit_code::usage;
    };
}

void check_fires(const settings& into, const std::string& subcommand)
{
    const bool given = into.run.schedule.given();
    if (subcommand == "every" && !given) refuse("every needs --once-per or --cron", subcommand);
    if (subcommand == "run" && !given && (into.retry || into.catch_up != "last" || into.run.begin_within || into.run.reschedule))
        refuse("--retry, --catch-up, --begin-within and --reschedule go with --once-per or --cron", subcommand);
    if (into.run.begin_within && into.catch_up != "none") refuse("--begin-within goes with --catch-up none", subcommand);
    if (given && (into.permits || into.shared || into.exclusive || into.all || into.command.terms.min_hold > leasehold::duration::zero()))
        refuse("--once-per and --cron can't be used with --permits, --shared, --exclusive, --all or --min-hold", subcommand);
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
    if (into.run.max_hold && *into.run.max_hold <= leasehold::duration::zero()) refuse("--max-hold must be longer than 0", subcommand);
    check_fires(into, subcommand);
    if (subcommand == "shard" && !into.of) refuse("shard needs --of N, how many shards there are", subcommand);
    if (subcommand == "wait" && into.free == into.wait.held) refuse("wait needs --free or --held", subcommand);
}

std::function<int()> understand_as_it_is(const std::vector<std::string>& given)
{
    const auto into = std::make_shared<settings>();
    option_parser parser{*into};
    if (given.empty()) return print_summary(parser.summary());

    std::vector<std::string> arguments = with_words_as_options(given);
    check_subcommand(arguments.front(), parser.subcommands());
    if (takes_command(arguments.front())) into->command.command = take_command(arguments);
    const parsed_arguments parsed = parser.parse(arguments);
    if (parsed.answer) return print(*parsed.answer);
    if (!parsed.left.empty()) check_remaining(parsed.left, parsed.subcommand, parser.options_of(parsed.subcommand), into->command);
    if (parsed.wrong) refuse(*parsed.wrong, parsed.subcommand);
    check_combination(*into, parsed.subcommand);
    set_loudness(into->quiet ? loudness::quiet : into->verbose ? loudness::verbose : loudness::normal);
    return [into, subcommand = parsed.subcommand] { return perform(subcommand, *into); };
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
