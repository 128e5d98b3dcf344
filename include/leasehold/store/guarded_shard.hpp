// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_GUARDED_SHARD_HPP
#define LEASEHOLD_STORE_GUARDED_SHARD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/shard_set.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/renewal/engine_registry.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>
#include <leasehold/waiting/local_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

/// One shard of a sharded_store, as sharded_store::shard_of() returns it: a store that grants and extends only while no process
/// with another set of shards can.
///
/// It does what the shard's own store does. In addition, an operation that grants or extends fails with errc::invalid_terms while
/// another set of shards is in use, and with the error of a shard's store if the set can't be confirmed there; diagnostics() says
/// which. The name "leasehold/shards" is errc::invalid_name, since it is the record of the set.
/// Thread safety: like the shard's own store. Lifetime: see sharded_store::shard_of().
template <lease_store Store, lease_clock Clock>
class guarded_shard {
public:
    /// For sharded_store: what all its shards share.
    using set_type = detail::shard_set<Store, Clock>;

    /// For sharded_store: `store` must be in the set.
    guarded_shard(std::shared_ptr<set_type> set, Store& store) noexcept
        : set_{std::move(set)}, store_{store}, number_{set_->number_of(store)}
    {
    }
    guarded_shard(const guarded_shard&) = delete;
    guarded_shard& operator=(const guarded_shard&) = delete;

    /// The shard's own store, which does not look at the set: don't make leases on it.
    [[nodiscard]] Store& underlying() const noexcept { return store_; }

    /// See lease_store.
    acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec)
    {
        return if_admitted(ttl, ec, {&name, 1}, [&] { return store_.try_acquire(name, owner, ttl, ec); });
    }

    /// See notifying_store.
    acquire_result try_acquire(queue_ticket auto& ticket, std::string_view owner, duration ttl, std::error_code& ec)
        requires notifying_store<Store>
    {
        const std::string_view name = ticket.name();
        return if_admitted(ttl, ec, {&name, 1}, [&] { return store_.try_acquire(ticket, owner, ttl, ec); });
    }

    /// See batch_acquiring_store.
    void acquire_many(std::span<const term_request> requests, std::size_t most, std::span<std::optional<acquire_result>> answers,
                      std::error_code& ec)
        requires batch_acquiring_store<Store>
    {
        if_admitted(longest(requests), ec, requests, [&] { store_.acquire_many(requests, most, answers, ec); });
    }

    /// See lease_store.
    bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, std::error_code& ec)
    {
        return if_admitted(ttl, ec, {&name, 1}, [&] { return store_.renew(name, owner, token, ttl, ec); });
    }

    /// See batching_store.
    void renew_many(std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within, std::error_code& ec)
        requires batching_store<Store>
    {
        const time_point begun = set_->clock().now();
        if_admitted(longest(renewals), ec, renewals,
                    [&] { store_.renew_many(renewals, answers, within - (set_->clock().now() - begun), ec); });
    }

    /// See lease_store.
    bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, std::error_code& ec)
    {
        return kept(ec, store_.release(name, owner, token, min_hold_left, ec));
    }

    /// See batching_store.
    void release_many(std::span<const term_release> releases, std::span<batch_answer> answers, std::error_code& ec)
        requires batching_store<Store>
    {
        store_.release_many(releases, answers, ec);
        keep_failure(ec);
    }

    /// See lease_store.
    std::optional<lease_record> inspect(std::string_view name, std::error_code& ec) { return kept(ec, store_.inspect(name, ec)); }

    /// See handover_store.
    bool publish(std::string_view name, std::string_view owner, fencing_token token, std::string_view data, std::error_code& ec)
        requires handover_store<Store>
    {
        return kept(ec, store_.publish(name, owner, token, data, ec));
    }

    /// See handover_store.
    bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec)
        requires handover_store<Store>
    {
        return kept(ec, store_.request_handover(name, reason, ec));
    }

    /// See handover_store.
    std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, fencing_token token, std::error_code& ec)
        requires handover_store<Store>
    {
        return kept(ec, store_.handover_requested(name, owner, token, ec));
    }

    /// See batching_store.
    [[nodiscard]] std::size_t batch_size() const noexcept
        requires batching_store<Store>
    {
        return store_.batch_size();
    }

    /// See notifying_store.
    [[nodiscard]] auto enqueue(std::string_view name, waker& to_wake)
        requires notifying_store<Store>
    {
        return store_.enqueue(name, to_wake);
    }

    /// See polled_store.
    [[nodiscard]] poll_pauses pauses() const noexcept
        requires polled_store<Store>
    {
        return store_.pauses();
    }

    /// See waiting::queueing_store.
    [[nodiscard]] waiting::local_queue& local_waiters() noexcept
        requires waiting::queueing_store<Store>
    {
        return store_.local_waiters();
    }

    /// See waiting::key_of().
    [[nodiscard]] waiting::queue_key queue_key_of(std::string_view name) const noexcept { return waiting::key_of(store_, name); }

    /// See renewal::shares_engine.
    [[nodiscard]] const void* engine_key() const noexcept { return renewal::engine_key(store_); }

    /// See observed_store.
    void observe(const lease_event& event) noexcept
        requires observed_store<Store>
    {
        store_.observe(event);
    }

    /// Details of the calling thread's last failed call on this shard.
    [[nodiscard]] store_diagnostics diagnostics() const { return last_failure::of(this); }

    /// Whether the calling thread's last failed call on a shard was on this one.
    [[nodiscard]] bool failed_last() const noexcept { return last_failure::is_of(this); }

private:
    template <class Items>
    static duration longest(const Items& items) noexcept
    {
        duration most{};
        for (const auto& each : items) most = std::max(most, each.ttl);
        return most;
    }

    static std::string_view name_of(std::string_view name) noexcept { return name; }
    static std::string_view name_of(const auto& item) noexcept { return item.name; }

    // The call's result, if the set lets it be made.
    template <class Item = std::string_view, class Call>
    auto if_admitted(duration ttl, std::error_code& ec, std::span<const Item> items, Call call) -> decltype(call())
    {
        store_diagnostics why;
        if (!admits(ttl, ec, items, why)) {
            last_failure::keep(this, std::move(why));
            return decltype(call())();
        }
        if constexpr (std::is_void_v<decltype(call())>) {
            call();
            called(ttl, ec);
        } else {
            auto result = call();
            called(ttl, ec);
            return result;
        }
    }

    // Records that will soon be too old are written after the call: what hangs then delays an answer, not a statement.
    void called(duration ttl, const std::error_code& ec) const noexcept
    {
        if (ec)
            keep_failure(ec);
        else
            set_->write_ahead(number_, ttl);
    }

    template <class Item>
    bool admits(duration ttl, std::error_code& ec, std::span<const Item> items, store_diagnostics& why)
    {
        const auto is_reserved = [](const Item& each) { return name_of(each) == detail::shard_set_name; };
        if (std::ranges::any_of(items, is_reserved)) {
            ec = errc::invalid_name;
            why.advice = "the name '" + std::string{detail::shard_set_name} + "' is that of the record of the set of shards";
            return false;
        }
        return set_->admits(ttl, ec, why);
    }

    template <class Result>
    Result kept(const std::error_code& ec, Result result) const noexcept
    {
        keep_failure(ec);
        return result;
    }

    // What the shard's store says of a failure on this thread now.
    void keep_failure(const std::error_code& ec) const noexcept
    {
        if (!ec) return;
        store_diagnostics details;
        std::error_code no_memory;  // then without details
        detail::catch_into(no_memory, [&] {
            if constexpr (diagnosing_store<Store>) details = store_.diagnostics();
        });
        last_failure::keep(this, std::move(details));
    }

    const std::shared_ptr<set_type> set_;
    Store& store_;
    const std::size_t number_;
};

}  // namespace leasehold::inline v0

#endif
