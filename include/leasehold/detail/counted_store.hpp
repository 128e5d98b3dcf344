// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_COUNTED_STORE_HPP
#define LEASEHOLD_DETAIL_COUNTED_STORE_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/count_machine.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/forwarding_store.hpp>
#include <leasehold/store/store_call.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/local_queue.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
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
class counted_store : public forwarding_store<Store, counted_store<Store, Clock>> {
    using forwarding = forwarding_store<Store, counted_store>;

public:
    // `woken_together`: whose waiters the end of any permit wakes, with which all their names begin; empty: each wakes those that queue for
    // its own name.
    counted_store(Store& store, Clock clock, std::string name, std::string count, std::string woken_together = {})
        : forwarding{store}, clock_{std::move(clock)}, name_{std::move(name)}, count_{std::move(count)},
          woken_together_{std::move(woken_together)}
    {
    }
    counted_store(const counted_store&) = delete;
    counted_store& operator=(const counted_store&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    // See forwarding_store. A release wakes those that wait for any of the permits.
    template <class Make>
    auto around(const store_call& call, std::error_code& ec, Make make) -> decltype(make())
    {
        if (call.operation == store_operation::renew && !agree(call.time, ec)) return {};
        auto answer = make();
        if (call.operation == store_operation::release) waiting::released(this->underlying(), name_);
        return answer;
    }

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
        return agree(ttl, ec) ? forwarding::try_acquire(ticket, owner, ttl, ec) : acquire_result{};
    }

    void acquire_many(std::span<const term_request> requests, std::size_t most, std::span<std::optional<acquire_result>> answers,
                      std::error_code& ec)
        requires batch_acquiring_store<Store>
    {
        if (agree(longest(requests), ec))
            forwarding::acquire_many(requests, most, answers, ec);
        else if (!ec)
            std::ranges::fill(answers, acquire_result{});
    }

    void renew_many(std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within, std::error_code& ec)
        requires batching_store<Store>
    {
        const time_point begun = clock_.now();
        if (agree(longest(renewals), ec)) forwarding::renew_many(renewals, answers, within - (clock_.now() - begun), ec);
    }

    void release_many(std::span<const term_release> releases, std::span<batch_answer> answers, std::error_code& ec)
        requires batching_store<Store>
    {
        forwarding::release_many(releases, answers, ec);
        waiting::released(this->underlying(), name_);
    }

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
                this->underlying().acquire_many({&request, 1}, 1, {&said, 1}, ec);
                if (!said && !ec) ec = errc::store_failure;
                return said.value_or(acquire_result{});
            }
        }
        return this->underlying().try_acquire(request.name, request.owner, request.ttl, ec);
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

    // Sees to it that the record outlives what is granted or extended by `ttl` now. False: there is an error, or the name is held closed,
    // so that everything is busy.
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
            const std::optional<lease_record> other = this->underlying().inspect(name_, ec);
            if (ec || (other && other->is_hold())) return false;
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
