// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_NEAREST_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_NEAREST_HPP

#include <leasehold/odbc/detail/driver/secrets.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// Letters that are wrong, missing or too many, or neighbours that changed places. Capitals are as good as small letters.
inline std::size_t mistakes(std::string_view a, std::string_view b)
{
    const auto same = [&](std::size_t i, std::size_t j) { return lower(a[i - 1]) == lower(b[j - 1]); };
    std::vector<std::size_t> before_last, last(b.size() + 1), row;
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row.assign(b.size() + 1, i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(i, j) ? 0U : 1U)});
            if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
        before_last = std::exchange(last, row);
    }
    return last.back();
}

// As in "ls" for "list".
constexpr bool abbreviates(std::string_view shorter, std::string_view word) noexcept
{
    if (shorter.size() < 2 || word.empty() || lower(shorter.front()) != lower(word.front())) return false;
    for (const char c : word)
        if (!shorter.empty() && lower(shorter.front()) == lower(c)) shorter.remove_prefix(1);
    return shorter.empty();
}

// The word that `typed` was probably meant to be; empty if none is near.
inline std::string nearest(std::string_view typed, const std::vector<std::string>& words)
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

}  // namespace leasehold::inline v0::odbc::detail

#endif
