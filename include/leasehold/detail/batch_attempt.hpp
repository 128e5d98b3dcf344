// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_BATCH_ATTEMPT_HPP
#define LEASEHOLD_DETAIL_BATCH_ATTEMPT_HPP

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/error.hpp>
#include <leasehold/renewal/batch.hpp>
#include <leasehold/renewal/batch_tier.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0::detail {

// Returns how many attempts to send to the store in one call; 1: one by one.
template <lease_store Store>
std::size_t attempts_together([[maybe_unused]] const Store& store) noexcept
{
    if constexpr (!batch_acquiring_store<Store>)
        return 1;
    else if constexpr (batching_store<Store>)
        return renewal::batch_size_of(store);
    else
        return renewal::max_batch;
}

// Attempts at leases of one store in one call. No lease stays begun when it is destroyed.
template <class Lease>
class batch_attempt {
    using store_type = typename Lease::store_type;

public:
    // Makes room for this many leases, so that nothing throws later. May throw std::bad_alloc.
    explicit batch_attempt(std::size_t leases)
    {
        begun_.reserve(leases);
        requests_.reserve(leases);
        answers_.reserve(leases);
    }
    batch_attempt(const batch_attempt&) = delete;
    batch_attempt& operator=(const batch_attempt&) = delete;
    ~batch_attempt() { cancel(); }

    // `wakes`: see term_request. False: a guard of the lease holds, another attempt is under way, or there is an error. All leases have
    // the same store.
    bool add(Lease& lease, std::optional<std::string_view> wakes, std::error_code& ec) noexcept
    {
        auto& attempts = lease_access::attempts(lease);
        if (!attempts.prepare(ec) || !attempts.begin_attempt(ec)) return false;
        begun_.push_back({&lease, {}});
        requests_.push_back({lease.name(), lease.owner(), lease.terms().ttl, wakes});
        return true;
    }

    [[nodiscard]] std::size_t size() const noexcept { return begun_.size(); }

    // Grants at most `most`. `waiting_since`: since when the caller has waited, if it has. Calls on_answer(i, attempt_result) for each
    // lease that the store has answered, in the order in which they were added.
    template <class OnAnswer>
    void send(std::size_t most, std::optional<time_point> waiting_since, std::error_code& ec, OnAnswer on_answer) noexcept
    {
        if (begun_.empty()) return;
        answers_.assign(begun_.size(), std::nullopt);  // within its capacity
        for (begun& one : begun_) one.sent = lease_access::attempts(*one.lease).clock().now();
        catch_into(ec, [&] { begun_.front().lease->store().acquire_many(requests_, most, answers_, ec); });
        std::error_code not_released;  // then the store is not called for each of the others that came too late
        for (std::size_t i = 0; i < begun_.size(); ++i) {
            Lease& lease = *begun_[i].lease;
            if (answers_[i]) {
                std::error_code too_late;
                on_answer(i, lease_access::attempts(lease).answered(*answers_[i], begun_[i].sent, too_late, not_released, waiting_since));
                if (!ec) ec = too_late;
            } else {
                lease_access::keeper(lease).attempt_failed();
                if (!ec) ec = errc::store_failure;
            }
        }
        begun_.clear();
        requests_.clear();
    }

    // The leases that were added are not asked for.
    void cancel() noexcept
    {
        for (const begun& one : begun_) lease_access::keeper(*one.lease).attempt_failed();
        begun_.clear();
        requests_.clear();
    }

private:
    struct begun {
        Lease* lease;
        time_point sent;
    };

    std::vector<begun> begun_;
    std::vector<term_request> requests_;
    std::vector<std::optional<acquire_result>> answers_;
};

}  // namespace leasehold::inline v0::detail

#endif
