// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_TOKEN_HINTS_HPP
#define LEASEHOLD_ODBC_DETAIL_TOKEN_HINTS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace leasehold::inline v0::odbc::detail {

// Most names whose last token a store remembers.
inline constexpr std::size_t max_token_hints = 4096;

// The tokens of the terms this store released last: the next grant of such a name can try its UPDATE without reading first.
// Only a hint; the row decides. Thread-safe.
class token_hints {
public:
    void put(std::string_view name, std::int64_t token)
    {
        const std::lock_guard lock{mutex_};
        if (const auto found = tokens_.find(name); found != tokens_.end()) {
            found->second = token;
            return;
        }
        if (tokens_.size() >= max_token_hints) tokens_.clear();
        tokens_.emplace(name, token);
    }

    // 0 if there is none; it is used up. The node stays, so that the next put() allocates nothing.
    std::int64_t take(std::string_view name) noexcept
    {
        const std::lock_guard lock{mutex_};
        const auto found = tokens_.find(name);
        if (found == tokens_.end()) return 0;
        const std::int64_t token = found->second;
        found->second = 0;
        return token;
    }

private:
    struct hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    std::mutex mutex_;
    std::unordered_map<std::string, std::int64_t, hash, std::equal_to<>> tokens_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
