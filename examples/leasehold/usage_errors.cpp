// SPDX-License-Identifier: BSL-1.0
#include "usage_errors.hpp"

#include "failure.hpp"
#include "settings.hpp"

#include <leasehold/odbc/detail/driver/nearest.hpp>

#include <algorithm>

namespace tool {

using leasehold::odbc::detail::nearest;

namespace {

std::string with_suggestion(const std::string& wrong, const std::string& nearest)
{
    return nearest.empty() ? wrong : wrong + ": did you mean " + nearest + "?";
}

/// Nothing of a connection string that got into the wrong place.
std::string without_value(const std::string& word) { return word.substr(0, word.find('=')); }

/// For a person to copy into a shell.
std::string quoted_for_shell(const std::string& word)
{
    if (!word.empty() && word.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;#~!") == word.npos) return word;
    std::string text{"'"};
    for (const char c : word) text += c == '\'' ? "'\\''" : std::string{c};
    return text + "'";
}

[[noreturn]] void refuse_option(const std::string& option, const std::string& subcommand, const std::vector<std::string>& options,
                                const command_options& given)
{
    const std::string meant = option.starts_with("--") ? nearest(option, options) : "";
    std::string why = with_suggestion("there is no option " + option, meant);
    if (meant.empty() && !takes_command(subcommand))
        why += "; if an argument begins with -, put -- before it, after all options";
    else if (meant.empty() && given.command.empty())
        why += "; put -- before the command, as in: leasehold " + subcommand + " NAME -- COMMAND ARGUMENT...";
    refuse(why, subcommand);
}

[[noreturn]] void refuse_words(const std::vector<std::string>& words, const std::string& subcommand, const command_options& given)
{
    const std::string first = without_value(words.front());
    if (!takes_command(subcommand) || !given.command.empty()) refuse("'" + first + "' was not expected", subcommand);
    std::string right = "leasehold " + subcommand + " " + quoted_for_shell(given.name) + " --";
    for (const std::string& word : words) right += " " + quoted_for_shell(word);
    refuse("put -- before the command, as in: " + right, subcommand);
}

}  // namespace

void refuse(const std::string& why, const std::string& subcommand)
{
    throw failure{exit_code::usage, why + (why.ends_with('?') ? " See" : "; see") + " leasehold " + subcommand +
                                        (subcommand.empty() ? "" : " ") + "--help"};
}

void check_subcommand(const std::string& first, const std::vector<std::string>& subcommands)
{
    if (first.starts_with('-')) {
        if (first != "--help" && first != "-h" && first != "--version")
            refuse("'" + without_value(first) + "' is not an option here: the subcommand comes first, then its options");
        return;
    }
    if (std::find(subcommands.begin(), subcommands.end(), first) == subcommands.end())
        refuse(with_suggestion("there is no subcommand '" + without_value(first) + "'", nearest(first, subcommands)));
}

void check_remaining(std::vector<std::string> words, const std::string& subcommand, const std::vector<std::string>& options,
                     const command_options& given)
{
    if (words.empty()) return;
    const bool all_are_words = words.front() == "--";  // after which nothing is an option; CLI11 leaves it here
    if (!all_are_words && words.front().starts_with('-')) refuse_option(without_value(words.front()), subcommand, options, given);
    std::erase(words, "--");
    if (!words.empty()) refuse_words(words, subcommand, given);
}

}  // namespace tool
