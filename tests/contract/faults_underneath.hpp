// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_FAULTS_UNDERNEATH_HPP
#define LEASEHOLD_TESTS_CONTRACT_FAULTS_UNDERNEATH_HPP

#include <contract/asked_once.hpp>
#include <contract/leases.hpp>
#include <contract/scene.hpp>

#include <stop_token>

namespace leasehold::contract {

// What somebody else does to the data: a row that is gone.
template <fixture_that_deletes Fixture>
void add_deletions(case_list<Fixture> cases)
{
    cases.add("renewal_of_a_deleted_term_is_false_and_creates_nothing", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        s.fixture.delete_row(s.name());
        BOOST_TEST(!renew(s.store(), s.name(), "a", token));
        BOOST_TEST(!release(s.store(), s.name(), "a", token));
        BOOST_TEST(!release(s.store(), s.name(), "a", token, long_ttl));
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
    });

    cases.add("deleted_name_can_be_granted_again", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.store(), s.name(), "a", first));
        const fencing_token second = grant(s.store(), s.name(), "a");
        s.fixture.delete_row(s.name());
        // The token's memory is gone with the row, so nothing is asked of it but that it is one.
        const fencing_token third = grant(s.other(), s.name(), "b");
        BOOST_TEST(third > fencing_token{});
        BOOST_TEST(!renew(s.store(), s.name(), "a", second));
        BOOST_TEST(renew(s.store(), s.name(), "b", third));
    });

    cases.add("loss_of_a_deleted_term_is_signalled", [](auto& s) {
        const duration ttl = s.ttl() * 4;
        auto lease = lease_on(s, s.store(), lease_terms{.ttl = ttl});
        auto guard = guard_of(lease);
        const std::stop_token lost = guard.stop_token();
        s.fixture.delete_row(s.name());
        s.let_pass(ttl / 2);
        BOOST_TEST(eventually([&] { return lost.stop_requested(); }));
        BOOST_TEST(!guard.held());
        BOOST_TEST(guard.release() == release_outcome::lost);
    });
}

// What the application does in the same database: its own connection and its own transaction.
template <fixture_with_transactions Fixture>
void add_transactions(case_list<Fixture> cases)
{
    cases.add("applications_open_transaction_is_left_alone", [](auto& s) {
        auto transaction = s.fixture.open_transaction();
        const fencing_token first = grant(s.store(), s.name(), "a");
        BOOST_TEST(renew(s.store(), s.name(), "a", first));
        BOOST_TEST(!acquire(s.other(), s.name(), "b").granted());
        BOOST_TEST(inspect(s.other(), s.name()).has_value());
        BOOST_TEST(release(s.store(), s.name(), "a", first));
        {
            auto lease = lease_on(s, s.store());
            BOOST_TEST(token_of(lease.try_acquire()) > first);
        }
        BOOST_TEST(transaction.still_open());
    });
}

}  // namespace leasehold::contract

#endif
