// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_COUNTED_RIGHTS_SCENE_HPP
#define LEASEHOLD_TESTS_UNIT_COUNTED_RIGHTS_SCENE_HPP

#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/says.hpp>
#include <support/scripted_batching_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <system_error>
#include <vector>

namespace leasehold_test {

/// Permits, or readers and writers, on a scripted store, and a clock that stands still.
template <class Store>
struct counted_rights_scene {
    static constexpr bool in_batches = leasehold::batch_acquiring_store<Store>;
    // The record of the count wakes nobody, which only a call for many can say.
    static constexpr operation writes_record = in_batches ? operation::acquire_many : operation::try_acquire;
    static constexpr leasehold::lease_terms terms{.ttl = std::chrono::seconds{30}};

    template <class... Options>
    [[nodiscard]] auto semaphore(std::size_t permits, const Options&... options)
    {
        return leasehold::lease_semaphore{store, "licences", permits, terms, clock, options...};
    }

    template <class... Options>
    [[nodiscard]] auto lease(const Options&... options)
    {
        return leasehold::shared_lease{store, "catalog", terms, clock, options...};
    }

    /// What is unexpired in the store, except the record of the count.
    [[nodiscard]] std::size_t held() const { return store.leases.list("licences/").size() + store.leases.list("catalog/").size(); }

    [[nodiscard]] leasehold::duration left_of_record() const
    {
        std::error_code ec;
        const auto record = store.leases.inspect("licences", ec);
        return record ? record->remaining : leasehold::duration::zero();
    }

    [[nodiscard]] int attempts() const { return store.sent(operation::try_acquire) + store.sent(operation::acquire_many); }
    [[nodiscard]] int statements() const
    {
        return attempts() + store.sent(operation::inspect) + store.sent(operation::release) + store.sent(operation::release_many);
    }

    leasehold::manual_clock clock;
    Store store{clock};
};

/// So many permits, all of them held.
template <class Semaphore>
auto take(Semaphore& from, std::size_t count)
{
    std::vector<typename Semaphore::guard_type> permits;
    for (std::size_t i = 0; i < count; ++i) {
        permits.push_back(from.try_acquire());
        BOOST_TEST_REQUIRE(permits.back().held());
    }
    return permits;
}

}  // namespace leasehold_test

/// The heads of the tests of permits, readers and writers.
namespace leasehold_test::counted_rights {

namespace lh = leasehold;
using namespace std::chrono_literals;

template <class Store>
using scene = counted_rights_scene<Store>;

}  // namespace leasehold_test::counted_rights

#endif
