// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_TOKEN_HINTS_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_TOKEN_HINTS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// Most names that a store has hints for.
inline constexpr std::size_t max_token_hints = 4096;

// Hints for the next attempt at a name. They may be wrong: the row decides. A hint is the token of the term that this store released
// last, so that a grant can try its UPDATE without reading first; or busy_last_time. Not thread-safe: the pool's mutex guards it.
class token_hints {
public:
    // If there are too many, all others go, and without memory this one does: without a hint an attempt needs one statement more.
    void put(std::string_view name, std::int64_t hint) noexcept
    {
        if (const auto found = hints_.find(name); found != hints_.end()) {
            found->second = hint;
            return;
        }
        if (hints_.size() >= max_token_hints) hints_.clear();
        try {
            hints_.emplace(name, hint);
        } catch (const std::bad_alloc&) {
        }
    }

    // 0 if there is none; it is used up. The node stays, so that the next put() allocates nothing.
    std::int64_t take(std::string_view name) noexcept
    {
        const auto found = hints_.find(name);
        return found == hints_.end() ? 0 : std::exchange(found->second, 0);
    }

private:
    struct hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    std::unordered_map<std::string, std::int64_t, hash, std::equal_to<>> hints_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
