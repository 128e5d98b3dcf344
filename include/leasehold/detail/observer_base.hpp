// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_OBSERVER_BASE_HPP
#define LEASEHOLD_DETAIL_OBSERVER_BASE_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/change_feed.hpp>
#include <leasehold/detail/lease_changes.hpp>
#include <leasehold/detail/thread_without_signals.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/observer_options.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/deadline.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold::inline v0::detail {

// What every observer is: a thread that looks again and again, and tells what is new. `Seen` is what a look finds: of one name a record,
// of many all of them.
//
// The thread runs before a derived class is built, and after it is destroyed. So a derived class has no data and no virtual functions, and
// neither `look` nor `compare` refers to it.
template <class Seen, class Change, lease_clock Clock>
class observer_base {
public:
    using clock_type = Clock;               ///< measures its pauses and age()
    using feed_type = change_feed<Change>;  ///< for the library

    observer_base(const observer_base&) = delete;
    observer_base& operator=(const observer_base&) = delete;

    /// How old current() is: the time since the last look that succeeded was sent. duration::max() before the first.
    [[nodiscard]] duration age() const noexcept
    {
        const std::lock_guard lock{mutex_};
        return latest_.sent ? clock_.now() - *latest_.sent : duration::max();
    }

    /// The oldest change that was not taken by this function or another one for the next change; empty if there is none. An observer keeps
    /// the newest 256. May throw std::bad_alloc.
    [[nodiscard]] std::optional<Change> try_next_change() { return feed_->take(); }

    /// The same, but waits for it. Empty: the wait was cancelled. May throw std::bad_alloc.
    [[nodiscard]] std::optional<Change> next_change(const std::stop_token& stop = {}) { return feed_->wait(stop); }

    /// For the library: what try_next_change() takes from. It may outlive the observer.
    [[nodiscard]] const std::shared_ptr<feed_type>& feed() const noexcept { return feed_; }

protected:
    // May throw std::system_error if there is no thread, with errc::invalid_terms if it would look too often.
    observer_base(std::function<Seen(std::error_code&)> look, std::vector<Change> (*compare)(const Seen&, const Seen&, const look_times&),
                  std::function<void(const Change&)> on_change, observer_options options, Clock clock)
        : look_{std::move(look)}, compare_{compare}, on_change_{std::move(on_change)}, options_{std::move(options)},
          clock_{std::move(clock)}
    {
        static_assert(waitable_clock<Clock>, "an observer needs a clock with wait_until (waitable_clock)");
        if (options_.every < std::chrono::milliseconds{1})
            raise_invalid(errc::invalid_terms, "observer_options: every must be at least 1 ms");
        thread_ = thread_without_signals([this] { observe(); });
    }
    ~observer_base()
    {
        stopping_.store(true, std::memory_order_relaxed);
        waker_.wake();
        thread_.join();
        feed_->end();
    }

    // What the last look found that succeeded. May throw what copying throws.
    [[nodiscard]] Seen seen() const
    {
        const std::lock_guard lock{mutex_};
        return latest_.found;
    }

private:
    void observe() noexcept
    {
        while (!stopping()) {
            const time_point next = waiting::deadline_after(clock_, options_.every);
            std::error_code ec;
            catch_into(ec, [&] { look(ec); });
            if (ec && options_.on_error) thrown_by([&] { options_.on_error(ec); });
            while (!stopping() && clock_.now() < next) clock_.wait_until(waker_, next);
        }
    }

    void look(std::error_code& ec)
    {
        const time_point sent = clock_.now();
        Seen found = look_(ec);
        if (ec) return;
        latest_.leave_out_older(found, sent);
        const std::vector<Change> changes = latest_.changes_to(found, sent, clock_.now(), compare_);
        std::list<Change> to_feed{changes.begin(), changes.end()};  // before the look counts: without memory, the next one tells of them
        {
            const std::lock_guard lock{mutex_};
            latest_.replace_by(std::move(found), sent);
        }
        feed_->push(std::move(to_feed));
        for (const Change& change : changes) tell(change);
    }

    void tell(const Change& change) noexcept
    {
        if (const std::exception_ptr thrown = thrown_by([&] { on_change_ ? on_change_(change) : void(); }))
            if (options_.on_exception) thrown_by([&] { options_.on_exception(thrown); });
    }

    [[nodiscard]] bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

    const std::function<Seen(std::error_code&)> look_;
    std::vector<Change> (*const compare_)(const Seen&, const Seen&, const look_times&);
    const std::function<void(const Change&)> on_change_;
    const observer_options options_;
    const Clock clock_;
    const std::shared_ptr<feed_type> feed_ = std::make_shared<feed_type>();
    waker waker_;
    std::atomic<bool> stopping_{false};  // relaxed: the waker's mutex orders it
    mutable std::mutex mutex_;           // guards what follows; its own thread, which alone writes, reads without
    latest_look<Seen> latest_;
    std::thread thread_;
};

}  // namespace leasehold::inline v0::detail

#endif
