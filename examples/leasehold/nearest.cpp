// SPDX-License-Identifier: BSL-1.0
#include "nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace tool {

namespace {

// Letters that are wrong, missing or too many, or neighbours that changed places.
std::size_t mistakes(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> before_last, last(b.size() + 1), row;
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row.assign(b.size() + 1, i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
        before_last = std::exchange(last, row);
    }
    return last.back();
}

// As in "ls" for "list".
bool abbreviates(std::string_view shorter, std::string_view word)
{
    if (shorter.size() < 2 || word.empty() || shorter.front() != word.front()) return false;
    for (const char c : word)
        if (!shorter.empty() && shorter.front() == c) shorter.remove_prefix(1);
    return shorter.empty();
}

}  // namespace

std::string nearest(std::string_view typed, const std::vector<std::string>& words)
{
    std::string best;
    std::size_t fewest = std::max<std::size_t>(typed.size() / 3, 1) + 1;  // a mistake for each three letters
    for (const std::string& word : words) {
        const std::size_t found = abbreviates(typed, word) ? 1 : mistakes(typed, word);
        if (found >= fewest) continue;
        fewest = found;
        best = word;
    }
    return best;
}

}  // namespace tool
