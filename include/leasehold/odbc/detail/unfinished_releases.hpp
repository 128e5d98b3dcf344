// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_UNFINISHED_RELEASES_HPP
#define LEASEHOLD_ODBC_DETAIL_UNFINISHED_RELEASES_HPP

#include <leasehold/duration.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace leasehold::inline v0::odbc::detail {

// Most releases remembered that failed.
inline constexpr std::size_t max_unfinished_releases = 4096;

// A release that may or may not have reached the database, and may still do so.
struct unfinished_release {
    std::int64_t token = 0;
    duration keep_closed{};
};

// The releases whose outcome isn't known. Before the same owner acquires such a name again, the release is repeated: else it
// could be granted the very term that a delayed release is about to end. Thread-safe.
class unfinished_releases {
public:
    void put(std::string_view name, std::string_view owner, unfinished_release what)
    {
        const std::lock_guard lock{mutex_};
        if (pending_.size() >= max_unfinished_releases) pending_.erase(pending_.begin());
        pending_.insert_or_assign(key(name, owner), what);
        count_ = pending_.size();
    }

    std::optional<unfinished_release> find(std::string_view name, std::string_view owner) const
    {
        if (count_ == 0) return std::nullopt;
        const std::lock_guard lock{mutex_};
        const auto found = pending_.find(key(name, owner));
        return found == pending_.end() ? std::nullopt : std::optional{found->second};
    }

    void erase(std::string_view name, std::string_view owner)
    {
        const std::lock_guard lock{mutex_};
        pending_.erase(key(name, owner));
        count_ = pending_.size();
    }

private:
    // Neither has a NUL in it.
    static std::string key(std::string_view name, std::string_view owner)
    {
        return std::string{name} + '\0' + std::string{owner};
    }

    mutable std::mutex mutex_;
    std::unordered_map<std::string, unfinished_release> pending_;
    std::atomic<std::size_t> count_{0};  // nearly always 0, so that attempts needn't lock
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
