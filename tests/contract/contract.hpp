// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_CONTRACT_HPP
#define LEASEHOLD_TESTS_CONTRACT_CONTRACT_HPP

// What every store must do, as tests: one suite, run by all stores of the library and by yours.
//
// On a store of your own: write a fixture (fixture.hpp says what one needs), and register the suite for it:
//
//     #define BOOST_TEST_MODULE my_store                // once per program: Boost.Test's main()
//     #include <contract/contract.hpp>
//
//     struct my_fixture {
//         my_store leases{"localhost"};
//         my_store& store() { return leases; }
//         my_store& another_store() { static my_store other{"localhost"}; return other; }
//         void let_pass(lh::duration d) { std::this_thread::sleep_for(d); }
//         lh::duration short_ttl() const { return std::chrono::milliseconds{250}; }
//     };
//
//     const lh::contract::suite<my_fixture> contract{"my_store"};
//
// With CMake: find_package(leasehold CONFIG COMPONENTS contract), and link leasehold::contract. Elsewhere, Boost.Test as a
// shared library needs BOOST_TEST_DYN_LINK defined for the whole program, or included/unit_test.hpp used instead.
//
// Part of the suite: --run_test=my_store/races; what there is: --list_content. Where a case drew random numbers, its
// failure names the seed, and LEASEHOLD_TEST_SEED=<seed> in the environment draws them again.

#include <contract/batches.hpp>
#include <contract/checkpoints.hpp>
#include <contract/faults_underneath.hpp>
#include <contract/fires.hpp>
#include <contract/grants.hpp>
#include <contract/groups.hpp>
#include <contract/handover.hpp>
#include <contract/holds.hpp>
#include <contract/leases.hpp>
#include <contract/losses.hpp>
#include <contract/names.hpp>
#include <contract/observers.hpp>
#include <contract/operators.hpp>
#include <contract/processes.hpp>
#include <contract/races.hpp>
#include <contract/several.hpp>
#include <contract/several_rights.hpp>
#include <contract/terms_and_tokens.hpp>
#include <contract/waiting.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::contract {

/// Puts the suite for `Fixture` into Boost.Test's tree under this name; to be made at namespace scope, once. With a list of
/// themes only these, for a store in one more configuration.
template <store_fixture Fixture>
class suite {
public:
    explicit suite(const char* name, std::vector<std::string_view> themes = {})
        : store_{BOOST_TEST_SUITE(name)}, themes_{std::move(themes)}
    {
        boost::unit_test::framework::master_test_suite().add(store_);
        theme("grants", &add_grants<Fixture>);
        theme("tokens", &add_tokens<Fixture>);
        theme("renewals", &add_renewals<Fixture>);
        theme("releases", &add_releases<Fixture>);
        theme("closings", &add_closings<Fixture>);
        theme("names", &add_names<Fixture>);
        if constexpr (operable_store<store_of<Fixture>>) theme("operators", &add_operators<Fixture>);
        if constexpr (batching_store<store_of<Fixture>>) theme("batches", &add_batches<Fixture>);
        theme("guards", &add_guards<Fixture>);
        theme("losses", &add_losses<Fixture>);
        theme("waiting", &add_waiting<Fixture>);
        theme("turns", &add_turns<Fixture>);
        theme("several", &add_several<Fixture>);
        theme("several_rights", &add_several_rights<Fixture>);
        if constexpr (batch_acquiring_store<store_of<Fixture>>) theme("many_attempts", &add_many_attempts<Fixture>);
        if constexpr (handover_store<store_of<Fixture>>) theme("handover", &add_handover<Fixture>);
        if constexpr (checkpointing_store<store_of<Fixture>>) theme("checkpoints", &add_checkpoints<Fixture>);
        if constexpr (holding_store<store_of<Fixture>>) theme("holds", &add_hold_terms<Fixture>);
        if constexpr (holding_store<store_of<Fixture>>) theme("waits_for_holds", &add_hold_waits<Fixture>);
        if constexpr (fire_store<store_of<Fixture>>) theme("fires", &add_fires<Fixture>);
        if constexpr (group_store<store_of<Fixture>>) theme("groups", &add_groups<Fixture>);
        theme("observers", &add_observers<Fixture>);
        if constexpr (timed_store<store_of<Fixture>>) theme("store_clock", &add_store_clock<Fixture>);
        theme("races", &add_races<Fixture>);
        theme("races_at_expiry", &add_races_at_expiry<Fixture>);
        theme("contention", &add_contention<Fixture>);
        if constexpr (fixture_that_deletes<Fixture>) theme("deletions", &add_deletions<Fixture>);
        if constexpr (fixture_with_transactions<Fixture>) theme("transactions", &add_transactions<Fixture>);
        if constexpr (fixture_with_peers<Fixture>) theme("processes", &add_processes<Fixture>);
    }

private:
    void theme(const char* name, void (*add_cases)(case_list<Fixture>))
    {
        if (!themes_.empty() && std::ranges::find(themes_, name) == themes_.end()) return;
        auto* cases = BOOST_TEST_SUITE(name);
        store_->add(cases);
        add_cases(case_list<Fixture>{*cases});
    }

    boost::unit_test::test_suite* store_;
    std::vector<std::string_view> themes_;
};

}  // namespace leasehold::contract

#endif
