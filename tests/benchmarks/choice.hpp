// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_CHOICE_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_CHOICE_HPP

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold_test {

/// What `[--results FILE] [ONE OF SOME WORDS]` asks for.
struct choice {
    std::string results;  ///< empty: no file
    std::string only;     ///< empty: all

    [[nodiscard]] bool wants(std::string_view what) const { return only.empty() || only == what; }
};

/// Nothing where the words say something else.
inline std::optional<choice> read_choice(std::vector<std::string> words, std::initializer_list<std::string_view> choices)
{
    choice read;
    if (words.size() >= 2 && words[0] == "--results") {
        read.results = words[1];
        words.erase(words.begin(), words.begin() + 2);
    }
    if (words.empty()) return read;
    read.only = words[0];
    const bool known = std::ranges::find(choices, read.only) != choices.end();
    return known && words.size() == 1 ? std::optional{read} : std::nullopt;
}

}  // namespace leasehold_test

#endif
