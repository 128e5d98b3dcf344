// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_COUNTED_STORE_HPP
#define LEASEHOLD_DETAIL_COUNTED_STORE_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/count_machine.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/renewal/engine_registry.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/local_queue.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// The store of permits: keeps a record of their count in the store for as long as there are permits.
//
// The record is a lease of the name that all permits begin with. Its owner is the count, in words. A process with the same count
// is granted that lease too, at once, because the owner is the same; another count is another owner, and busy. So all processes
// agree, and no permit outlives the record of the count that it was granted under.
// Thread safety: like the store's.
template <lease_store Store, lease_clock Clock>
class counted_store {
public:
    // `woken_together`: whose waiters the end of any permit wakes, with which all their names begin; empty: each wakes those that queue for
    // its own name.
    counted_store(Store& store, Clock clock, std::string name, std::string count, std::string woken_together = {})
        : store_{store}, clock_{std::move(clock)}, name_{std::move(name)}, count_{std::move(count)},
          woken_together_{std::move(woken_together)}
    {
    }
    counted_store(const counted_store&) = delete;
    counted_store& operator=(const counted_store&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] Store& underlying() const noexcept { return store_; }

    // See term_request.
    [[nodiscard]] std::optional<std::string_view> wakes(std::string_view name) const noexcept
    {
        return wakes_together() && name.starts_with(woken_together_) ? std::optional<std::string_view>{woken_together_} : std::nullopt;
    }
    [[nodiscard]] bool wakes_together() const noexcept { return !woken_together_.empty(); }
    [[nodiscard]] std::string_view woken_together() const noexcept { return woken_together_; }

    acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec)
    {
        return agree(ttl, ec) ? try_one({name, owner, ttl, wakes(name)}, ec) : acquire_result{};
    }

    acquire_result try_acquire(queue_ticket auto& ticket, std::string_view owner, duration ttl, std::error_code& ec)
        requires notifying_store<Store>
    {
        return agree(ttl, ec) ? store_.try_acquire(ticket, owner, ttl, ec) : acquire_result{};
    }

    turn_answer turn(queue_ticket auto& ticket, std::error_code& ec)
        requires ordered_store<Store>
    {
        return store_.turn(ticket, ec);
    }

    void acquire_many(std::span<const term_request> requests, std::size_t most, std::span<std::optional<acquire_result>> answers,
                      std::error_code& ec)
        requires batch_acquiring_store<Store>
    {
        if (agree(longest(requests), ec)) store_.acquire_many(requests, most, answers, ec);
    }

    bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, std::error_code& ec)
    {
        return agree(ttl, ec) && store_.renew(name, owner, token, ttl, ec);
    }

    void renew_many(std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within, std::error_code& ec)
        requires batching_store<Store>
    {
        const time_point begun = clock_.now();
        if (agree(longest(renewals), ec)) store_.renew_many(renewals, answers, within - (clock_.now() - begun), ec);
    }

    // Wakes those that wait for any of the permits.
    bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, std::error_code& ec)
    {
        const bool ended = store_.release(name, owner, token, min_hold_left, ec);
        waiting::released(store_, name_);
        return ended;
    }

    void release_many(std::span<const term_release> releases, std::span<batch_answer> answers, std::error_code& ec)
        requires batching_store<Store>
    {
        store_.release_many(releases, answers, ec);
        waiting::released(store_, name_);
    }

    std::optional<lease_record> inspect(std::string_view name, std::error_code& ec) { return store_.inspect(name, ec); }

    [[nodiscard]] std::size_t batch_size() const noexcept
        requires batching_store<Store>
    {
        return store_.batch_size();
    }

    [[nodiscard]] poll_pauses pauses() const noexcept
        requires polled_store<Store>
    {
        return store_.pauses();
    }

    [[nodiscard]] auto enqueue(std::string_view name, waker& to_wake)
        requires notifying_store<Store>
    {
        return store_.enqueue(name, to_wake);
    }

    [[nodiscard]] waiting::local_queue& local_waiters() noexcept
        requires waiting::queueing_store<Store>
    {
        return store_.local_waiters();
    }

    void observe(const lease_event& event) noexcept
        requires observed_store<Store>
    {
        store_.observe(event);
    }

    [[nodiscard]] store_diagnostics diagnostics() const
        requires diagnosing_store<Store>
    {
        return store_.diagnostics();
    }

    // See renewal::shares_engine.
    [[nodiscard]] const void* engine_key() const noexcept { return renewal::engine_key(store_); }

    // See waiting::key_of().
    [[nodiscard]] waiting::queue_key queue_key_of(std::string_view name) const noexcept { return waiting::key_of(store_, name); }

    // What the last look at the record found instead of this count, and what to do. Empty: then an errc::invalid_terms is the store's own.
    [[nodiscard]] std::string disagreement() const
    {
        const std::lock_guard lock{mutex_};
        return disagreement_;
    }

private:
    static constexpr std::string_view wakes_nobody{};  // nobody waits for the record

    // What says whom the term wakes is a call for many.
    acquire_result try_one(const term_request& request, std::error_code& ec)
    {
        if constexpr (batch_acquiring_store<Store>) {
            if (request.wakes) {
                std::optional<acquire_result> said;
                store_.acquire_many({&request, 1}, 1, {&said, 1}, ec);
                if (!said && !ec) ec = errc::store_failure;
                return said.value_or(acquire_result{});
            }
        }
        return store_.try_acquire(request.name, request.owner, request.ttl, ec);
    }

    template <class Items>
    static duration longest(const Items& items) noexcept
    {
        duration most{};
        for (const auto& each : items) most = std::max(most, each.ttl);
        return most;
    }

    // What to say of that record.
    [[nodiscard]] std::string disagreement_with(const lease_record& other) const
    {
        const std::string here = "'" + printable(name_) + "' has " + count_ + " here, but ";
        if (!other.is_count())
            return here + "a lease of that name is " +
                   (other.owner.empty() ? "kept closed by its min_hold" : "held by '" + printable(other.owner) + "'") +
                   ": the name keeps the record of the count. Give one of the two another name";
        return here + "the store's record of that name says '" + printable(other.owner) +
               "': all processes must agree on the count. Give the same count, or end all processes that have the other one, and wait " +
               std::to_string(std::chrono::ceil<std::chrono::seconds>(other.remaining).count()) + " s until their record has run out";
    }

    // Sees to it that the record outlives what is granted or extended by `ttl` now. False: there is an error.
    bool agree(duration ttl, std::error_code& ec)
    {
        ec.clear();
        {
            const std::lock_guard lock{mutex_};
            if (!machine_.due(clock_.now(), ttl)) return true;
        }
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            const time_point sent = clock_.now();
            const acquire_result said = try_one({name_, count_, count_machine::record_ttl(ttl), wakes_nobody}, ec);
            if (ec) {
                const std::lock_guard lock{mutex_};
                if (ec == errc::invalid_terms) disagreement_.clear();
                return false;
            }
            if (said.granted()) {
                const std::lock_guard lock{mutex_};
                machine_.written(sent, ttl);
                return true;
            }
            const std::optional<lease_record> other = store_.inspect(name_, ec);
            if (ec) return false;
            if (other && other->owner != count_) {
                std::string found = disagreement_with(*other);
                const std::lock_guard lock{mutex_};
                disagreement_ = std::move(found);
                ec = errc::invalid_terms;
                return false;
            }
            // Somebody with the same count has locked or written the record just now, or that of another count has just run out.
        }
        ec = errc::store_conflict;
        return false;
    }

    static constexpr int most_attempts = 3;

    Store& store_;
    const Clock clock_;
    const std::string name_;
    const std::string count_;
    const std::string woken_together_;
    mutable std::mutex mutex_;  // guards what follows; never held across I/O
    count_machine machine_;
    std::string disagreement_;
};

}  // namespace leasehold::inline v0::detail

#endif
