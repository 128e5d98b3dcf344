// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_UNKNOWN_RELEASES_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_UNKNOWN_RELEASES_HPP

#include <leasehold/duration.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redis_leases {

namespace lh = leasehold;

/// Releases of which nobody knows whether Redis has carried them out, or still will. Thread-safe.
///
/// The same owner's next attempt at that name takes its release along: else it could be granted the very term that the
/// release, coming late, is about to end.
class unknown_releases {
public:
    struct release {
        std::string token;
        std::string keep_closed;  // milliseconds
    };

    // More than these are forgotten: the store was away for a long time, and their terms are over.
    static constexpr std::size_t most = 4096;

    void put(std::string_view name, std::string_view owner, release what)
    {
        const std::lock_guard lock{mutex_};
        if (releases_.size() >= most) releases_.erase(releases_.begin());
        releases_.insert_or_assign(key{name, owner}, std::move(what));
    }

    [[nodiscard]] std::optional<release> find(std::string_view name, std::string_view owner) const
    {
        const std::lock_guard lock{mutex_};
        if (releases_.empty()) return std::nullopt;
        const auto found = releases_.find(key{name, owner});
        return found == releases_.end() ? std::nullopt : std::optional{found->second};
    }

    /// `token`: not that of a later term.
    void erase(std::string_view name, std::string_view owner, std::string_view token)
    {
        const std::lock_guard lock{mutex_};
        const auto found = releases_.find(key{name, owner});
        if (found != releases_.end() && found->second.token == token) releases_.erase(found);
    }

private:
    using key = std::pair<std::string, std::string>;

    mutable std::mutex mutex_;
    std::map<key, release> releases_;
};

}  // namespace redis_leases

#endif
