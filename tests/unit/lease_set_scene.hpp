// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_LEASE_SET_SCENE_HPP
#define LEASEHOLD_TESTS_UNIT_LEASE_SET_SCENE_HPP

#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/says.hpp>
#include <support/scripted_batching_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <initializer_list>
#include <string>
#include <vector>

namespace leasehold_test {

/// Three leases on a scripted store, and a clock that stands still.
template <class Store>
struct lease_set_scene {
    using lease_type = leasehold::basic_lease<Store, leasehold::manual_clock>;
    static constexpr bool in_batches = leasehold::batch_acquiring_store<Store>;
    static constexpr operation attempts = in_batches ? operation::acquire_many : operation::try_acquire;
    static constexpr operation releases = in_batches ? operation::release_many : operation::release;
    static constexpr operation renewals = in_batches ? operation::renew_many : operation::renew;

    [[nodiscard]] lease_type lease(const std::string& name, leasehold::lease_terms terms = {.ttl = std::chrono::seconds{30}})
    {
        return {store, name, terms, clock};
    }

    /// Names that are held in the store, in their order.
    [[nodiscard]] std::vector<std::string> held() const
    {
        std::vector<std::string> names;
        for (const auto& record : store.leases.list()) names.push_back(record.name);
        return names;
    }

    [[nodiscard]] int calls() const
    {
        int sum = 0;
        for (const operation each : {operation::try_acquire, operation::renew, operation::release, operation::inspect,
                                     operation::renew_many, operation::release_many, operation::acquire_many})
            sum += store.sent(each);
        return sum;
    }

    leasehold::manual_clock clock;
    Store store{clock};
    lease_type a = lease("a"), b = lease("b"), c = lease("c");
};

inline std::vector<std::string> names(std::initializer_list<const char*> of) { return {of.begin(), of.end()}; }

}  // namespace leasehold_test

/// The heads of the tests of sets.
namespace leasehold_test::lease_sets {

namespace lh = leasehold;
using namespace std::chrono_literals;

template <class Store>
using scene = lease_set_scene<Store>;

}  // namespace leasehold_test::lease_sets

#define BOOST_TEST_NAMES(is, ...) \
    BOOST_TEST((is) == leasehold_test::names({__VA_ARGS__}), boost::test_tools::per_element())

#endif
