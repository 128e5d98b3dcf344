// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_DRIVER_THREAD_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_DRIVER_THREAD_HPP

#include <leasehold/detail/host.hpp>
#include <leasehold/detail/thread_without_signals.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

struct started_thread {
    std::thread thread;
    std::atomic<bool> ended = false;
};

// The threads of the process that nobody waits for: each is in a call that hangs, or disconnects.
//
// The exit of the process waits for them, within limits. A driver's libraries clean up at the exit (OpenSSL frees its tables), and a
// thread that is in one of them then crashes the process.
class left_threads {
public:
    // How long the exit waits at most. A call that takes longer waits for its server, and not in the libraries' own code.
    static constexpr std::chrono::milliseconds exit_wait_max{500};

    // Never destroyed: the process may still leave threads while it destroys its static objects.
    static left_threads& of_process()
    {
        static auto* const one = new left_threads;
        return *one;
    }

    // Takes over the only element. Joins those that have ended.
    void add(std::list<started_thread>&& left) noexcept
    {
        const std::lock_guard lock{mutex_};
        join_ended();
        left_.splice(left_.end(), left);
    }

    // To be called once a driver has connected: what is registered for the exit last is called first, and by now the driver's
    // libraries have registered theirs.
    void wait_at_exit_after(std::string_view driver)
    {
        const std::lock_guard lock{mutex_};
        if (std::ranges::find(drivers_, driver) != drivers_.end()) return;
        drivers_.emplace_back(driver);
        // Fails without memory only; then the exit does not wait.
        (void)std::atexit([] { of_process().wait(); });
    }

private:
    left_threads() = default;

    void wait() noexcept
    {
        if (leasehold::detail::process_id() != process_) return;  // a child of fork() has none of these threads
        const auto until = std::chrono::steady_clock::now() + exit_wait_max;
        while (!all_ended() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }

    bool all_ended() noexcept
    {
        const std::lock_guard lock{mutex_};
        join_ended();
        return left_.empty();
    }

    void join_ended() noexcept
    {
        std::erase_if(left_, [](started_thread& each) {
            if (!each.ended) return false;
            each.thread.join();
            return true;
        });
    }

    const long process_ = leasehold::detail::process_id();
    std::mutex mutex_;
    std::list<started_thread> left_;
    std::vector<std::string> drivers_;
};

// A thread that calls a driver, which may not return. Not thread-safe.
class driver_thread {
public:
    driver_thread() = default;

    // Throws std::system_error if there is no thread to be had.
    explicit driver_thread(std::function<void()> function)
    {
        started_thread& own = own_.emplace_back();
        own.thread = leasehold::detail::thread_without_signals([&own, f = std::move(function)]() mutable {
            std::exchange(f, nullptr)();
            own.ended = true;
        });
    }

    [[nodiscard]] bool joinable() const noexcept { return !own_.empty(); }
    void join()
    {
        own_.front().thread.join();
        own_.clear();
    }
    // Nobody waits for it any longer, but for the exit of the process. Any thread may call it, also this one.
    void leave() noexcept { left_threads::of_process().add(std::move(own_)); }

private:
    std::list<started_thread> own_;  // at most one, at an address of its own
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
