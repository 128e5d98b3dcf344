// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_OPTION_PARSER_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_OPTION_PARSER_HPP

#include "settings.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tool {

/// What arguments come to; the values of options are in the settings.
struct parsed_arguments {
    std::string subcommand;             ///< empty: none was chosen
    std::vector<std::string> left;      ///< what the subcommand did not understand, and what follows that
    std::optional<std::string> wrong;   ///< what CLI11 says is wrong
    std::optional<std::string> answer;  ///< the help or the version that was asked for; there is nothing else to do
};

/// The subcommands with their options, and how they are read: all that is about CLI11.
class option_parser {
public:
    /// Options are written to `into`, which must outlive it.
    explicit option_parser(settings& into);
    option_parser(const option_parser&) = delete;
    option_parser& operator=(const option_parser&) = delete;
    ~option_parser();

    /// The subcommands in a few lines.
    [[nodiscard]] std::string summary() const;

    [[nodiscard]] std::vector<std::string> subcommands() const;
    /// The long options of a subcommand, with their hyphens.
    [[nodiscard]] std::vector<std::string> options_of(const std::string& subcommand) const;

    /// Throws failure (exit_code::usage) for a value that is not allowed.
    [[nodiscard]] parsed_arguments parse(std::vector<std::string> arguments);

private:
    std::unique_ptr<CLI::App> app_;
};

}  // namespace tool

#endif
