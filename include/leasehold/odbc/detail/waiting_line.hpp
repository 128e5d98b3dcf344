// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_WAITING_LINE_HPP
#define LEASEHOLD_ODBC_DETAIL_WAITING_LINE_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/odbc/detail/configuration.hpp>
#include <leasehold/odbc/detail/place_in_line.hpp>
#include <leasehold/odbc/detail/pool.hpp>
#include <leasehold/odbc/detail/turn_patience.hpp>
#include <leasehold/odbc/detail/waiting_sessions.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// How long the end of a wait may take that has to be ended on the server.
inline constexpr std::chrono::milliseconds end_wait_at_most{30};
// It is not to meet a later wait of the same session.
inline constexpr std::chrono::milliseconds end_wait_stale_after{250};
// The wait may have been about to begin.
inline constexpr std::chrono::milliseconds end_wait_again_after{8};

// The waiters of one store, by name. Thread-safe.
class waiting_line {
public:
    using place_pointer = std::shared_ptr<place_in_line>;

    waiting_line(std::shared_ptr<const configuration> config, std::shared_ptr<pool> calls)
        : config_{std::move(config)}, calls_{std::move(calls)}, sessions_{std::make_shared<waiting_sessions>(config_, calls_)}
    {
    }

    [[nodiscard]] waiting_sessions& sessions() const noexcept { return *sessions_; }
    [[nodiscard]] turn_patience& patience() noexcept { return patience_; }

    // Null where the database can't wake, or where the store has a waiter for this name already.
    place_pointer enter(std::string_view name, waker& to_wake)
    {
        if (config_->known_without_session_locks()) return nullptr;
        auto place = std::make_shared<place_in_line>(sessions_, session_lock_key{config_->options().table, name}, to_wake);
        const std::lock_guard lock{mutex_};
        const auto [position, entered] = places_.try_emplace(std::string{name}, place);
        count_ = places_.size();
        return entered ? place : nullptr;
    }

    [[nodiscard]] place_pointer find(std::string_view name) const
    {
        if (count_ == 0) return nullptr;
        const std::lock_guard lock{mutex_};
        const auto found = places_.find(name);
        return found == places_.end() ? nullptr : found->second;
    }

    // A waiter that still hasn't got the lock queues for it.
    void ask(place_in_line& place, std::string_view name, std::int64_t token) const
    {
        if (config_->session_locks()) place.ask(name, token);
    }

    // Of those who were in line when a waiter of this store came: how many had their turn before it, the last time. Where the
    // same contenders come again and again it is always so many.
    [[nodiscard]] std::int64_t turns_before() const noexcept { return turns_before_; }
    void set_turns_before(std::int64_t turns) noexcept { turns_before_ = turns; }

    // Whether the last waiter of this store had to wait.
    [[nodiscard]] bool had_to_wait() const noexcept { return had_to_wait_; }
    void set_had_to_wait(bool it_had) noexcept { had_to_wait_ = it_had; }

    void leave(std::string_view name, place_in_line& place) noexcept
    {
        {
            const std::lock_guard lock{mutex_};
            places_.erase(places_.find(name));
            count_ = places_.size();
        }
        try {
            if (place.end()) end_wait(place);
        } catch (...) {
            // Then the session goes when its wait ends by itself.
        }
    }

private:
    // From another session, since nothing makes the driver return. Again and again within the bound: the wait may have been
    // about to begin. Best effort; a session that stays is one in line for which nobody asks, and passes the lock on.
    void end_wait(place_in_line& place)
    {
        const auto until = std::chrono::steady_clock::now() + end_wait_at_most;
        while (std::chrono::steady_clock::now() < until) {
            const std::int64_t backend = place.waits_as();
            if (backend == 0) return;
            fault why = fault::none;
            const auto session = calls_->take({operation::end_wait, {}, {}, backend, {}}, until, why);
            if (!session) return;
            session->inner().prepare({operation::end_wait, {}, {}, backend, {}}, std::chrono::steady_clock::now() + end_wait_stale_after);
            try {
                calls_->run_unattended(session);
            } catch (...) {
                calls_->drop(session);
                throw;
            }
            if (place.has_ended(std::min(until, std::chrono::steady_clock::now() + end_wait_again_after))) return;
        }
    }

    const std::shared_ptr<const configuration> config_;
    const std::shared_ptr<pool> calls_;
    const std::shared_ptr<waiting_sessions> sessions_;
    turn_patience patience_;
    std::atomic<std::int64_t> turns_before_{0};
    std::atomic<bool> had_to_wait_{false};
    mutable std::mutex mutex_;
    std::map<std::string, place_pointer, std::less<>> places_;
    std::atomic<std::size_t> count_{0};  // nearly always 0, so that attempts needn't lock
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
