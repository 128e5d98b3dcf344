// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_DRIVER_THREAD_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_DRIVER_THREAD_HPP

#include <leasehold/detail/host.hpp>
#include <leasehold/detail/thread_without_signals.hpp>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace leasehold::inline v0::odbc::detail {

// All threads of the process that call drivers.
//
// The exit of the process waits, within limits, for those that are in a driver. A driver's libraries clean up at the exit (OpenSSL
// frees its tables), and a thread that is in one of them then crashes the process. Thread-safe.
class driver_threads {
public:
    struct entry {
        std::thread thread;
        std::atomic<bool> busy = true;  // it may be in a driver
        bool left = false;  // only the exit of the process waits for it
        std::atomic<bool> ended = false;
    };
    using position = std::list<entry>::iterator;

    // How long the exit waits at most. A call that takes longer waits for its server, and not in the libraries' own code.
    static constexpr std::chrono::milliseconds exit_wait_max{500};

    // Never destroyed: static objects may still call drivers while the process ends. A child of fork() has none of its parent's threads,
    // and gets a list of its own.
    static driver_threads& of_process()
    {
        static std::atomic<driver_threads*> latest{new driver_threads};
        driver_threads* here = latest;
        if (here->is_of_this_process()) return *here;
        auto made = std::unique_ptr<driver_threads>{new driver_threads};
        return latest.compare_exchange_strong(here, made.get()) ? *made.release() : *here;
    }

    // Throws std::system_error if there is no thread to be had.
    position start(std::function<void(entry& own)> function)
    {
        std::list<entry> made(1);
        made.front().thread = leasehold::detail::thread_without_signals([own = &made.front(), f = std::move(function)]() mutable {
            std::exchange(f, nullptr)(*own);
            own->ended = true;
        });
        const std::lock_guard lock{mutex_};
        join_ended();
        threads_.splice(threads_.begin(), made);
        return threads_.begin();
    }

    void join(position thread)
    {
        std::unique_lock lock{mutex_};
        std::thread ending = std::move(thread->thread);  // take_back() looks at each in the list
        lock.unlock();
        ending.join();
        lock.lock();
        threads_.erase(thread);
    }

    // It may be connecting for the first time, and then nothing else has been registered.
    void leave(position thread) noexcept
    {
        const std::lock_guard lock{mutex_};
        if (!has_left_) wait_at_exit();
        has_left_ = true;
        thread->left = true;
        if (is_of_this_process()) join_ended();
    }

    // Undoes leave(), on that thread.
    position take_back() noexcept
    {
        const std::lock_guard lock{mutex_};
        const auto is_this = [](const entry& listed) { return listed.thread.get_id() == std::this_thread::get_id(); };
        const position own = std::ranges::find_if(threads_, is_this);
        own->left = false;
        return own;
    }

    // All waits together take at most exit_wait_max.
    void wait() noexcept
    {
        const auto begun = std::chrono::steady_clock::now();
        while (any_busy() && std::chrono::steady_clock::now() - begun < may_wait_)
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        may_wait_ -= std::min(may_wait_, std::chrono::steady_clock::now() - begun);
    }

    // To be called once a driver has connected.
    void wait_at_exit_after(std::string_view driver)
    {
        const std::lock_guard lock{mutex_};
        if (std::ranges::find(drivers_, driver) != drivers_.end()) return;
        drivers_.emplace_back(driver);
        wait_at_exit();
    }

private:
    driver_threads() = default;

    // atexit calls the last registered function first, and by now the driver's libraries have registered theirs. Fails only without memory;
    // then the exit does not wait.
    static void wait_at_exit() noexcept { (void)std::atexit([] { of_process().wait(); }); }

    [[nodiscard]] bool is_of_this_process() const noexcept { return leasehold::detail::process_id() == process_; }

    bool any_busy() noexcept
    {
        const std::lock_guard lock{mutex_};
        join_ended();
        return std::ranges::any_of(threads_, [](const entry& listed) { return listed.left || (listed.busy && !listed.ended); });
    }

    void join_ended() noexcept
    {
        std::erase_if(threads_, [](entry& listed) {
            if (!listed.left || !listed.ended) return false;
            listed.thread.join();
            return true;
        });
    }

    const long process_ = leasehold::detail::process_id();
    std::mutex mutex_;
    std::list<entry> threads_;
    std::vector<std::string> drivers_;
    bool has_left_ = false;  // a thread
    std::chrono::steady_clock::duration may_wait_ = exit_wait_max;  // used by the thread that ends the process
};

// The thread that ends the process destroys its thread_local objects before atexit's functions run. So this waits before those libraries
// clean up that an abandoned thread was the first to use, such as OpenSSL: they registered last. If the main thread has called no store,
// or another thread calls exit(), only wait_at_exit() waits.
struct waits_at_the_end {
    waits_at_the_end() noexcept = default;
    waits_at_the_end(const waits_at_the_end&) = delete;
    waits_at_the_end& operator=(const waits_at_the_end&) = delete;
    ~waits_at_the_end() { driver_threads::of_process().wait(); }

    static bool is_main_thread() noexcept
    {
#if defined(__linux__)
        return ::syscall(SYS_gettid) == leasehold::detail::process_id();
#else
        return false;
#endif
    }

    static void on_main_thread() noexcept
    {
        if (!is_main_thread()) return;
        thread_local const waits_at_the_end of_this_thread;
        static_cast<void>(of_this_thread);
    }
};

// A thread that calls a driver, which may not return. Not thread-safe.
class driver_thread {
public:
    driver_thread() = default;
    driver_thread(const driver_thread&) = delete;
    driver_thread& operator=(const driver_thread&) = delete;
    ~driver_thread() { assert(!thread_); }

    // The function clears own.busy before it sleeps. Throws std::system_error if there is no thread to be had.
    void start(std::function<void(driver_threads::entry& own)> function)
    {
        waits_at_the_end::on_main_thread();
        all_ = &driver_threads::of_process();
        thread_ = all_->start(std::move(function));
    }

    // Before the thread is woken.
    void set_busy() noexcept { (*thread_)->busy = true; }

    [[nodiscard]] bool joinable() const noexcept { return thread_.has_value(); }
    void join() { all_->join(*std::exchange(thread_, std::nullopt)); }
    // Only the exit of the process still waits for it. The thread itself may call it.
    void leave() noexcept { all_->leave(*std::exchange(thread_, std::nullopt)); }
    // Undoes leave(). The thread itself calls it.
    void take_back() noexcept { thread_ = all_->take_back(); }

private:
    driver_threads* all_ = nullptr;
    std::optional<driver_threads::position> thread_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
