// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_HELD_LOCKS_HPP
#define LEASEHOLD_ODBC_DETAIL_HELD_LOCKS_HPP

#include <leasehold/odbc/detail/bounded_session.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// The sessions that have waited for a lock, and have it for a term. Thread-safe.
class held_locks {
public:
    struct entry {
        std::shared_ptr<bounded_session> session;
        std::uint64_t connection = 0;  // of that session; the lock is gone with it
        std::int64_t token = 0;
    };

    // What it replaces can only be the lock of a connection that is gone.
    std::optional<entry> put(std::string_view name, entry what)
    {
        const std::lock_guard lock{mutex_};
        const auto [position, is_new] = entries_.try_emplace(std::string{name}, what);
        count_ = entries_.size();
        if (is_new) return std::nullopt;
        return std::exchange(position->second, std::move(what));
    }

    // The lock of that term, to be given back by whoever takes it.
    std::optional<entry> take(std::string_view name, std::int64_t token)
    {
        if (count_ == 0) return std::nullopt;
        const std::lock_guard lock{mutex_};
        const auto found = entries_.find(name);
        if (found == entries_.end() || found->second.token != token) return std::nullopt;
        entry taken = std::move(found->second);
        entries_.erase(found);
        count_ = entries_.size();
        return taken;
    }

    // The lock of a term older than that one, which somebody else has now.
    std::optional<entry> take_older(std::string_view name, std::int64_t token)
    {
        if (count_ == 0) return std::nullopt;
        const std::lock_guard lock{mutex_};
        const auto found = entries_.find(name);
        if (found == entries_.end() || found->second.token >= token) return std::nullopt;
        entry taken = std::move(found->second);
        entries_.erase(found);
        count_ = entries_.size();
        return taken;
    }

    // All, at the end.
    std::map<std::string, entry, std::less<>> take_all()
    {
        const std::lock_guard lock{mutex_};
        count_ = 0;
        return std::exchange(entries_, {});
    }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
    mutable std::mutex mutex_;
    std::map<std::string, entry, std::less<>> entries_;
    std::atomic<std::size_t> count_{0};
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
