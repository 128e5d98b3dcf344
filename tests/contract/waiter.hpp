// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_WAITER_HPP
#define LEASEHOLD_TESTS_CONTRACT_WAITER_HPP

#include <contract/scene.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace leasehold::contract {

/// A store that can do what another one can, and counts what a waiter makes of it.
template <lease_store Store>
class observed_store {
public:
    explicit observed_store(Store& store, std::function<void()> after_an_attempt = {})
        : store_{store}, after_an_attempt_{std::move(after_an_attempt)}
    {
    }

    [[nodiscard]] int calls() const { return calls_; }
    [[nodiscard]] int attempts() const { return attempts_; }  ///< those that have been answered
    [[nodiscard]] int most_attempts_at_once() const { return most_asking_; }
    /// Whether a release would wake, as the store said when it was last asked.
    [[nodiscard]] bool wakes() const { return wakes_; }
    /// A waiter has been told busy, and has nothing to do but to sleep.
    [[nodiscard]] bool has_waiter() const { return attempts_ > 0; }

    acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec)
    {
        return observed([&] { return store_.try_acquire(name, owner, ttl, ec); });
    }

    acquire_result try_acquire(queue_ticket auto& ticket, std::string_view owner, duration ttl, std::error_code& ec)
        requires notifying_store<Store>
    {
        return observed([&] { return store_.try_acquire(ticket, owner, ttl, ec); });
    }

    bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, std::error_code& ec)
    {
        ++calls_;
        return store_.renew(name, owner, token, ttl, ec);
    }

    bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left,
                 std::error_code& ec)
    {
        ++calls_;
        return store_.release(name, owner, token, min_hold_left, ec);
    }

    std::optional<lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        ++calls_;
        return store_.inspect(name, ec);
    }

    [[nodiscard]] poll_pauses pauses() const noexcept
        requires polled_store<Store>
    {
        return store_.pauses();
    }

    [[nodiscard]] auto enqueue(std::string_view name, waker& to_wake)
        requires notifying_store<Store>
    {
        ++calls_;
        return store_.enqueue(name, to_wake);
    }

    [[nodiscard]] store_diagnostics diagnostics() const
        requires diagnosing_store<Store>
    {
        return store_.diagnostics();
    }

private:
    template <class Attempt>
    acquire_result observed(Attempt attempt)
    {
        ++calls_;
        const int asking = ++asking_;
        for (int most = most_asking_; most < asking && !most_asking_.compare_exchange_weak(most, asking);) {
        }
        const acquire_result result = attempt();
        wakes_ = result.retry_after > duration::zero();
        ++attempts_;
        if (after_an_attempt_) after_an_attempt_();
        --asking_;
        return result;
    }

    Store& store_;
    std::function<void()> after_an_attempt_;
    std::atomic<int> calls_ = 0;
    std::atomic<int> attempts_ = 0;
    std::atomic<int> asking_ = 0;
    std::atomic<int> most_asking_ = 0;
    std::atomic<bool> wakes_ = false;
};

/// Somebody who waits for a lease on a thread of its own, until it is cancelled or destroyed. Holds what it got.
template <class Lease>
class waiter {
public:
    waiter(Lease& lease, typename Lease::clock_type clock, duration at_most = duration::max())
        : thread_{[this, &lease, clock, at_most](std::stop_token stop) {
              guard_ = lease.try_acquire_for(at_most, std::move(stop), error_);
              ended_at_ = clock.now();
              ended_ = true;
          }}
    {
    }

    void cancel() { thread_.request_stop(); }
    [[nodiscard]] bool ended() const { return ended_; }

    // Once it has ended:
    auto& guard() { return guard_; }
    [[nodiscard]] std::error_code error() const { return error_; }
    [[nodiscard]] time_point ended_at() const { return ended_at_; }

private:
    typename Lease::guard_type guard_;
    std::error_code error_ = leftover();
    time_point ended_at_{};
    std::atomic<bool> ended_ = false;
    std::jthread thread_;
};

/// Whether `done` comes true in 10 s while the clock goes on, by no more than `at_most` where it is turned by hand.
template <store_fixture Fixture, class Predicate>
bool comes_true(scene<Fixture>& s, Predicate done, duration at_most = 10s)
{
    const auto clock = s.clock();
    const time_point until = clock.now() + at_most;
    return eventually([&] {
        if (done()) return true;
        if (clock.now() < until) s.let_pass(5ms);
        return done();
    });
}

/// What the store says of these names: a waiter changes nothing of it.
template <store_fixture Fixture>
auto shown(scene<Fixture>& s, std::vector<std::string_view> labels = {"name"})
{
    std::vector<std::tuple<std::string, std::string, std::int64_t>> found;
    const auto add = [&found](const lease_record& record) {
        found.emplace_back(record.name, record.owner, record.token.value());
    };
    for (const std::string_view label : labels)
        if (const auto record = inspect(s.store(), s.name(label))) add(*record);
    if constexpr (operable_store<store_of<Fixture>>)
        for (const lease_record& record : s.store().list(s.name(""))) add(record);
    return found;
}

}  // namespace leasehold::contract

#endif
