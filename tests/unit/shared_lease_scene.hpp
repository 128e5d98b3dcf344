// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_SHARED_LEASE_SCENE_HPP
#define LEASEHOLD_TESTS_UNIT_SHARED_LEASE_SCENE_HPP

#include <leasehold/leasehold.hpp>

#include <support/scripted_batching_store.hpp>

#include <chrono>
#include <cstddef>

namespace leasehold_test {

/// Readers and writers on a scripted store, and a clock that stands still.
template <class Store>
struct shared_lease_scene {
    static constexpr bool in_batches = leasehold::batch_acquiring_store<Store>;

    template <class... Options>
    [[nodiscard]] auto lease(const Options&... options)
    {
        const leasehold::lease_terms terms{.ttl = std::chrono::seconds{30}};
        return leasehold::shared_lease{store, "catalog", terms, clock, options...};
    }

    /// What is held, except the record of the count.
    [[nodiscard]] std::size_t held() const { return store.leases.list("catalog/").size(); }

    [[nodiscard]] int statements() const
    {
        int sum = 0;
        for (const operation each : {operation::try_acquire, operation::inspect, operation::acquire_many, operation::release,
                                     operation::release_many})
            sum += store.sent(each);
        return sum;
    }

    leasehold::manual_clock clock;
    Store store{clock};
};

}  // namespace leasehold_test

#endif
