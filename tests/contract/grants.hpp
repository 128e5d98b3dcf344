// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_GRANTS_HPP
#define LEASEHOLD_TESTS_CONTRACT_GRANTS_HPP

#include <contract/scene.hpp>

#include <string>
#include <system_error>
#include <tuple>
#include <utility>

namespace leasehold::contract {

// Who gets a lease, who is told that it is busy, and when it is free again.
template <store_fixture Fixture>
void add_grants(case_list<Fixture> cases)
{
    cases.add("first_grant_has_a_token_above_zero", [](auto& s) {
        const acquire_result first = acquire(s.store(), s.name(), "a");
        BOOST_TEST(first.granted());
        BOOST_TEST(first.token > fencing_token{0});
    });

    cases.add("grant_is_seen_through_another_store_object", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        const auto record = inspect(s.other(), s.name());
        BOOST_REQUIRE(record.has_value());
        BOOST_TEST(record->name == s.name());
        BOOST_TEST(record->owner == "a");
        BOOST_TEST(record->token == token);
        BOOST_TEST(record->remaining > 0ns);
        BOOST_TEST(record->remaining <= long_ttl + s.rounding());
    });

    cases.add("busy_tells_the_holders_token_and_remaining_time", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        const acquire_result busy = acquire(s.other(), s.name(), "b");
        BOOST_TEST(!busy.granted());
        // A store that doesn't know says 0 to either.
        BOOST_TEST((busy.token == token || busy.token == fencing_token{}));
        BOOST_TEST(busy.remaining >= 0ns);
        BOOST_TEST(busy.remaining <= long_ttl + s.rounding());
    });

    cases.add("busy_changes_nothing", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a", long_ttl);
        for (int i = 0; i < 5; ++i) BOOST_TEST(!acquire(s.other(), s.name(), "b", 10 * long_ttl).granted());
        const auto record = inspect(s.store(), s.name());
        BOOST_REQUIRE(record.has_value());
        BOOST_TEST(record->owner == "a");
        BOOST_TEST(record->token == token);
        BOOST_TEST(record->remaining <= long_ttl + s.rounding());
        BOOST_TEST(renew(s.store(), s.name(), "a", token));
        BOOST_TEST(release(s.store(), s.name(), "a", token));
        BOOST_TEST(grant(s.store(), s.name(), "c") > token);
    });

    cases.add("same_owner_again_is_granted_a_new_term_at_once", [](auto& s) {
        fencing_token last = grant(s.store(), s.name(), "a");
        for (int i = 0; i < 3; ++i) {
            const acquire_result again = acquire(i % 2 ? s.store() : s.other(), s.name(), "a");
            BOOST_TEST(again.granted());
            BOOST_TEST(again.token > last);
            last = again.token;
        }
        BOOST_TEST(!acquire(s.other(), s.name(), "b").granted());
        BOOST_TEST(inspect(s.store(), s.name())->token == last);
        BOOST_TEST(release(s.store(), s.name(), "a", last));
        BOOST_TEST(grant(s.other(), s.name(), "b") > last);
    });

    // A process that is started again under the owner of one that is still alive, or a request that was delayed.
    cases.add("term_that_its_own_owner_took_over_is_lost_and_harms_nobody", [](auto& s) {
        const fencing_token before = grant(s.store(), s.name(), "a");
        const fencing_token after = grant(s.other(), s.name(), "a");
        BOOST_TEST(!renew(s.store(), s.name(), "a", before));
        BOOST_TEST(!release(s.store(), s.name(), "a", before));
        BOOST_TEST(!release(s.store(), s.name(), "a", before, long_ttl));
        BOOST_TEST(!acquire(s.store(), s.name(), "b").granted());
        BOOST_TEST(renew(s.other(), s.name(), "a", after));
        BOOST_TEST(release(s.other(), s.name(), "a", after));
    });

    cases.add("same_owner_again_gets_a_fresh_ttl", [](auto& s) {
        const auto [first, again, name] = s.in_time(s.ttl(), [&](const std::string& n) {
            const acquire_result once = acquire(s.store(), n, "a", s.ttl());
            return std::tuple{once, acquire(s.store(), n, "a", long_ttl), n};
        });
        BOOST_TEST(first.granted());
        BOOST_TEST(again.granted());
        BOOST_TEST(again.token > first.token);
        s.let_expire(s.ttl());
        BOOST_TEST(!acquire(s.other(), name, "b").granted());
    });

    cases.add("same_owner_again_never_shortens_what_it_had", [](auto& s) {
        grant(s.store(), s.name(), "a", long_ttl);
        const fencing_token token = grant(s.store(), s.name(), "a", s.ttl());
        s.let_expire(s.ttl());
        BOOST_TEST(!acquire(s.other(), s.name(), "b").granted());
        BOOST_TEST(renew(s.store(), s.name(), "a", token));
    });

    cases.add("released_lease_is_free_at_once", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.store(), s.name(), "a", first));
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        BOOST_TEST(grant(s.other(), s.name(), "b") > first);
    });

    cases.add("expired_lease_is_free_to_others", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a", s.ttl());
        s.let_expire(s.ttl());
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        BOOST_TEST(grant(s.other(), s.name(), "b") > first);
    });

    cases.add("lease_is_busy_until_its_ttl_has_passed_and_no_longer", [](auto& s) {
        const auto clock = s.clock();
        const duration ttl = s.ttl();
        const time_point sent = clock.now();
        const fencing_token first = grant(s.store(), s.name(), "a", ttl);
        acquire_result next;
        duration waited{};
        do {
            s.let_pass(ttl / 64);
            next = acquire(s.other(), s.name(), "b");
            waited = clock.now() - sent;
        } while (!next.granted() && waited < 20 * ttl);
        BOOST_REQUIRE(next.granted());
        BOOST_TEST(next.token > first);
        BOOST_TEST(waited >= ttl - ttl / 256);  // the two clocks may not run at quite the same rate
    });

    cases.add("remaining_time_goes_down_to_nothing", [](auto& s) {
        const duration ttl = s.ttl();
        const auto [early, late] = s.in_time(ttl, [&](const std::string& n) {
            acquire(s.store(), n, "a", ttl);
            const auto before = inspect(s.store(), n);
            s.let_pass(ttl / 4);
            return std::pair{before, inspect(s.store(), n)};
        });
        BOOST_REQUIRE(early.has_value());
        BOOST_REQUIRE(late.has_value());
        BOOST_TEST(early->remaining <= ttl + s.rounding());
        BOOST_TEST(late->remaining < early->remaining);
        BOOST_TEST(late->remaining > 0ns);
    });

    cases.add("longest_ttl_can_be_granted_and_renewed", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a", max_ttl);
        BOOST_TEST(renew(s.store(), s.name(), "a", token, max_ttl));
        const auto record = inspect(s.store(), s.name());
        BOOST_REQUIRE(record.has_value());
        BOOST_TEST(record->remaining > max_ttl - 1h);
        BOOST_TEST(record->remaining <= max_ttl + 1h);
        BOOST_TEST(release(s.store(), s.name(), "a", token));
    });

    cases.add("shortest_ttl_runs_out", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a", min_ttl);
        s.let_expire(min_ttl);
        BOOST_TEST(!renew(s.store(), s.name(), "a", token));
        BOOST_TEST(grant(s.other(), s.name(), "b") > token);
    });

    cases.add("names_are_independent", [](auto& s) {
        const fencing_token one = grant(s.store(), s.name("one"), "a");
        const fencing_token two = grant(s.store(), s.name("two"), "b");
        BOOST_TEST(!acquire(s.store(), s.name("one"), "b").granted());
        BOOST_TEST(release(s.store(), s.name("one"), "a", one));
        BOOST_TEST(inspect(s.store(), s.name("two")).has_value());
        BOOST_TEST(renew(s.store(), s.name("two"), "b", two));
    });

    cases.add("inspect_is_empty_for_a_name_never_granted",
              [](auto& s) { BOOST_TEST(!inspect(s.store(), s.name()).has_value()); });

    cases.add("inspect_writes_nothing", [](auto& s) {
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        const fencing_token first = grant(s.store(), s.name(), "a", s.ttl());
        s.let_expire(s.ttl());
        for (int i = 0; i < 3; ++i) BOOST_TEST(!inspect(s.other(), s.name()).has_value());
        BOOST_TEST(!renew(s.store(), s.name(), "a", first));
    });

    cases.add("success_clears_the_error_code", [](auto& s) {
        auto& store = s.store();
        const std::string name = s.name();
        std::error_code ec = leftover();
        BOOST_TEST(!store.inspect(name, ec).has_value());
        BOOST_TEST(!ec);
        ec = leftover();
        const fencing_token token = store.try_acquire(name, "a", long_ttl, ec).token;
        BOOST_TEST(!ec);
        ec = leftover();
        BOOST_TEST(!store.try_acquire(name, "b", long_ttl, ec).granted());
        BOOST_TEST(!ec);
        ec = leftover();
        BOOST_TEST(store.inspect(name, ec).has_value());
        BOOST_TEST(!ec);
        ec = leftover();
        BOOST_TEST(store.renew(name, "a", token, long_ttl, ec));
        BOOST_TEST(!ec);
        ec = leftover();
        BOOST_TEST(!store.renew(name, "b", token, long_ttl, ec));
        BOOST_TEST(!ec);
        ec = leftover();
        BOOST_TEST(!store.release(name, "b", token, duration{}, ec));
        BOOST_TEST(!ec);
        ec = leftover();
        BOOST_TEST(store.release(name, "a", token, duration{}, ec));
        BOOST_TEST(!ec);
    });
}

}  // namespace leasehold::contract

#endif
