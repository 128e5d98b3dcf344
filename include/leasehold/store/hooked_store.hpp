// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_HOOKED_STORE_HPP
#define LEASEHOLD_STORE_HOOKED_STORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/store_call.hpp>
#include <leasehold/waiting/local_queue.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

/// A finished call: how it went and how long it took, on std::chrono::steady_clock.
struct store_call_report {
    std::error_code error;  ///< the error, if it failed
    bool succeeded = false;  ///< granted, renewed, released, held (inspect), published, asked (both operations about a hand-over), saved,
                             ///< there (checkpoint), or told (now); meaningless if error is set
    duration elapsed{};        ///< from call to return
    std::size_t batch_size = 1;  ///< how many operations shared one call; `elapsed` is the time of all of them
};

/// A store that reports every call to a hook, for logs and metrics.
///
///     lh::hooked_store logged{store, [](const lh::store_call& call, const lh::store_call_report& report) { ... }};
///
/// The hook is called after each operation, on the same thread. That can be one of the library's own threads, so several
/// threads may call the hook at once. It must not throw. A hook that also takes a const lease_event& is told when terms begin
/// and end, losses included: see observed_store. Thread safety: like the store's, if the hook can be called from
/// several threads. Lifetime: the store must outlive it.
template <lease_store Store, std::invocable<const store_call&, const store_call_report&> Hook>
class hooked_store {
public:
    /// Reports each call of `store` to `hook`.
    hooked_store(Store& store, Hook hook) : store_{store}, hook_{std::move(hook)} {}

    /// See lease_store.
    acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec)
    {
        return reported({store_operation::try_acquire, name, owner, {}, ttl}, ec, [&] { return store_.try_acquire(name, owner, ttl, ec); },
                        &acquire_result::granted);
    }

    /// See notifying_store.
    acquire_result try_acquire(queue_ticket auto& ticket, std::string_view owner, duration ttl, std::error_code& ec)
        requires notifying_store<Store>
    {
        return reported(
            {store_operation::try_acquire, ticket.name(), owner, {}, ttl}, ec, [&] { return store_.try_acquire(ticket, owner, ttl, ec); },
            &acquire_result::granted);
    }

    /// See lease_store.
    bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, std::error_code& ec)
    {
        return reported({store_operation::renew, name, owner, token, ttl}, ec, [&] { return store_.renew(name, owner, token, ttl, ec); },
                        std::identity{});
    }

    /// See lease_store.
    bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, std::error_code& ec)
    {
        return reported({store_operation::release, name, owner, token, min_hold_left}, ec,
                        [&] { return store_.release(name, owner, token, min_hold_left, ec); }, std::identity{});
    }

    /// See handover_store.
    bool publish(std::string_view name, std::string_view owner, fencing_token token, std::string_view data, std::error_code& ec)
        requires handover_store<Store>
    {
        return reported(
            {store_operation::publish, name, owner, token}, ec, [&] { return store_.publish(name, owner, token, data, ec); },
            std::identity{});
    }

    /// See handover_store.
    bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec)
        requires handover_store<Store>
    {
        return reported(
            {store_operation::request_handover, name}, ec, [&] { return store_.request_handover(name, reason, ec); }, std::identity{});
    }

    /// See handover_store.
    std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, fencing_token token, std::error_code& ec)
        requires handover_store<Store>
    {
        return reported({store_operation::handover_requested, name, owner, token}, ec,
                        [&] { return store_.handover_requested(name, owner, token, ec); }, &std::optional<std::string>::has_value);
    }

    /// See checkpointing_store.
    bool save_checkpoint(std::string_view name, std::string_view owner, fencing_token token, std::string_view text, std::error_code& ec)
        requires checkpointing_store<Store>
    {
        return reported({store_operation::save_checkpoint, name, owner, token}, ec,
                        [&] { return store_.save_checkpoint(name, owner, token, text, ec); }, std::identity{});
    }

    /// See checkpointing_store.
    std::optional<checkpoint_record> checkpoint(std::string_view name, std::error_code& ec)
        requires checkpointing_store<Store>
    {
        return reported({store_operation::checkpoint, name}, ec, [&] { return store_.checkpoint(name, ec); },
                        &std::optional<checkpoint_record>::has_value);
    }

    /// See timed_store.
    store_time now(std::error_code& ec)
        requires timed_store<Store>
    {
        return reported({store_operation::now, {}}, ec, [&] { return store_.now(ec); }, [](store_time) { return true; });
    }

    /// See lease_store.
    std::optional<lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        return reported({store_operation::inspect, name}, ec, [&] { return store_.inspect(name, ec); },
                        &std::optional<lease_record>::has_value);
    }

    /// See batch_acquiring_store; the hook gets each attempt, also those that were not made because enough were granted.
    void acquire_many(std::span<const term_request> requests, std::size_t most, std::span<std::optional<acquire_result>> answers,
                      std::error_code& ec)
        requires batch_acquiring_store<Store>
    {
        const auto begun = std::chrono::steady_clock::now();
        store_.acquire_many(requests, most, answers, ec);
        const auto elapsed = since(begun);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const term_request& each = requests[i];
            hook_(store_call{store_operation::try_acquire, each.name, each.owner, {}, each.ttl},
                  store_call_report{.error = answers[i] ? std::error_code{} : ec, .succeeded = answers[i] && answers[i]->granted(),
                                    .elapsed = elapsed, .batch_size = requests.size()});
        }
    }

    /// See batching_store.
    [[nodiscard]] std::size_t batch_size() const noexcept
        requires batching_store<Store>
    {
        return store_.batch_size();
    }

    /// See batching_store; the hook gets each renewal.
    void renew_many(std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within, std::error_code& ec)
        requires batching_store<Store>
    {
        const auto begun = std::chrono::steady_clock::now();
        store_.renew_many(renewals, answers, within, ec);
        report_each(store_operation::renew, renewals, &term_renewal::ttl, answers, ec, begun);
    }

    /// See batching_store; the hook gets each release.
    void release_many(std::span<const term_release> releases, std::span<batch_answer> answers, std::error_code& ec)
        requires batching_store<Store>
    {
        const auto begun = std::chrono::steady_clock::now();
        store_.release_many(releases, answers, ec);
        report_each(store_operation::release, releases, &term_release::min_hold_left, answers, ec, begun);
    }

    /// See observed_store.
    void observe(const lease_event& event) noexcept
        requires std::invocable<Hook&, const lease_event&> || observed_store<Store>
    {
        if constexpr (std::invocable<Hook&, const lease_event&>) hook_(event);
        if constexpr (observed_store<Store>) store_.observe(event);
    }

    /// The store that it decorates.
    [[nodiscard]] Store& underlying() const noexcept { return store_; }

    /// See polled_store.
    [[nodiscard]] poll_pauses pauses() const noexcept
        requires polled_store<Store>
    {
        return store_.pauses();
    }

    /// See notifying_store.
    [[nodiscard]] auto enqueue(std::string_view name, waker& to_wake)
        requires notifying_store<Store>
    {
        return store_.enqueue(name, to_wake);
    }

    /// See waiting::queueing_store.
    [[nodiscard]] waiting::local_queue& local_waiters() noexcept
        requires waiting::queueing_store<Store>
    {
        return store_.local_waiters();
    }

    /// See diagnosing_store.
    [[nodiscard]] store_diagnostics diagnostics() const
        requires diagnosing_store<Store>
    {
        return store_.diagnostics();
    }

private:
    using moment = std::chrono::steady_clock::time_point;

    static duration since(moment begun)
    {
        return std::chrono::duration_cast<duration>(std::chrono::steady_clock::now() - begun);
    }

    template <class Call, class Succeeded>
    auto reported(const store_call& call, std::error_code& ec, Call&& make, Succeeded succeeded)
    {
        const auto begun = std::chrono::steady_clock::now();
        auto result = make();
        const auto elapsed = since(begun);
        hook_(call, store_call_report{.error = ec, .succeeded = !ec && std::invoke(succeeded, result), .elapsed = elapsed});
        return result;
    }

    // An item without an answer failed with the error of the call.
    template <class Item>
    void report_each(store_operation what, std::span<const Item> items, duration Item::*time, std::span<const batch_answer> answers,
                     std::error_code ec, moment begun)
    {
        const auto elapsed = since(begun);
        for (std::size_t i = 0; i < items.size(); ++i) {
            const Item& item = items[i];
            const bool answered = answers[i] != batch_answer::unknown;
            hook_(store_call{what, item.name, item.owner, item.token, item.*time},
                  store_call_report{.error = answered ? std::error_code{} : ec,
                                    .succeeded = answers[i] == batch_answer::yes,
                                    .elapsed = elapsed,
                                    .batch_size = items.size()});
        }
    }

    Store& store_;
    Hook hook_;
};

}  // namespace leasehold::inline v0

#endif
