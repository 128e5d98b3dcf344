// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_TERMS_AND_TOKENS_HPP
#define LEASEHOLD_TESTS_CONTRACT_TERMS_AND_TOKENS_HPP

#include <contract/scene.hpp>

#include <cstdint>
#include <utility>

namespace leasehold::contract {

// Tokens: which terms have which, and that none comes twice.
template <store_fixture Fixture>
void add_tokens(case_list<Fixture> cases)
{
    cases.add("token_grows_after_each_release", [](auto& s) {
        fencing_token last;
        for (int i = 0; i < 10; ++i) {
            const fencing_token token = grant(i % 2 ? s.store() : s.other(), s.name(), i % 3 ? "a" : "b");
            BOOST_TEST(token > last);
            last = token;
            BOOST_TEST(release(s.store(), s.name(), i % 3 ? "a" : "b", token));
        }
    });

    cases.add("token_grows_after_expiry_for_another_owner", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a", s.ttl());
        s.let_expire(s.ttl());
        BOOST_TEST(grant(s.other(), s.name(), "b") > first);
    });

    cases.add("token_grows_after_expiry_for_the_same_owner", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a", s.ttl());
        s.let_expire(s.ttl());
        BOOST_TEST(grant(s.store(), s.name(), "a") > first);
    });

    cases.add("token_grows_after_a_release_that_kept_the_name_closed", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.store(), s.name(), "a", first, s.ttl()));
        s.let_expire(s.ttl());
        BOOST_TEST(grant(s.store(), s.name(), "a") > first);
    });

    cases.add("token_stays_the_same_across_renewals", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        for (int i = 0; i < 5; ++i) BOOST_TEST(renew(s.store(), s.name(), "a", token));
        BOOST_TEST(inspect(s.store(), s.name())->token == token);
    });
}

// Renewals: they extend the very term they name and bring none to life.
template <store_fixture Fixture>
void add_renewals(case_list<Fixture> cases)
{
    cases.add("renewal_extends_the_term", [](auto& s) {
        const auto [extended, name] = s.in_time(s.ttl(), [&](const std::string& n) {
            return std::pair{renew(s.store(), n, "a", acquire(s.store(), n, "a", s.ttl()).token, long_ttl), n};
        });
        BOOST_TEST(extended);
        s.let_expire(s.ttl());
        BOOST_TEST(!acquire(s.other(), name, "b").granted());
    });

    cases.add("renewal_never_shortens_the_term", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a", long_ttl);
        BOOST_TEST(renew(s.store(), s.name(), "a", token, s.ttl()));
        s.let_expire(s.ttl());
        BOOST_TEST(!acquire(s.other(), s.name(), "b").granted());
        BOOST_TEST(renew(s.store(), s.name(), "a", token));
    });

    cases.add("renewal_of_a_name_never_granted_is_false_and_creates_nothing", [](auto& s) {
        for (const std::int64_t token : {0, 1, 2}) BOOST_TEST(!renew(s.store(), s.name(), "a", fencing_token{token}));
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        BOOST_TEST(acquire(s.other(), s.name(), "b").granted());
    });

    cases.add("renewal_of_an_expired_term_is_false_and_revives_nothing", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a", s.ttl());
        s.let_expire(s.ttl());
        BOOST_TEST(!renew(s.store(), s.name(), "a", token));
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        BOOST_TEST(grant(s.other(), s.name(), "b") > token);
    });

    cases.add("renewal_of_a_released_term_is_false_and_revives_nothing", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.store(), s.name(), "a", token));
        BOOST_TEST(!renew(s.store(), s.name(), "a", token));
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        BOOST_TEST(acquire(s.other(), s.name(), "b").granted());
    });

    cases.add("renewal_of_a_term_that_was_taken_over_is_false_and_harmless", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a", s.ttl());
        s.let_expire(s.ttl());
        const fencing_token second = grant(s.other(), s.name(), "b");
        BOOST_TEST(!renew(s.store(), s.name(), "a", first));
        BOOST_TEST(!renew(s.store(), s.name(), "a", second));
        BOOST_TEST(!renew(s.store(), s.name(), "b", first));
        const auto record = inspect(s.store(), s.name());
        BOOST_REQUIRE(record.has_value());
        BOOST_TEST(record->owner == "b");
        BOOST_TEST(record->token == second);
    });

    cases.add("renewal_with_the_same_owners_earlier_token_is_false", [](auto& s) {
        const auto [extended, name] = s.in_time(s.ttl(), [&](const std::string& n) {
            const fencing_token first = grant(s.store(), n, "a");
            release(s.store(), n, "a", first);
            acquire(s.store(), n, "a", s.ttl());
            return std::pair{renew(s.store(), n, "a", first, long_ttl), n};
        });
        BOOST_TEST(!extended);
        s.let_expire(s.ttl());
        BOOST_TEST(acquire(s.other(), name, "b").granted());  // so the renewal has not extended the later term
    });

    cases.add("renewal_with_a_token_from_the_future_is_false", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(!renew(s.store(), s.name(), "a", fencing_token{token.value() + 1}));
        BOOST_TEST(inspect(s.store(), s.name())->token == token);
        BOOST_TEST(renew(s.store(), s.name(), "a", token));
    });
}

// Releases: they end the very term they name, once.
template <store_fixture Fixture>
void add_releases(case_list<Fixture> cases)
{
    cases.add("release_through_another_store_object_works", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.other(), s.name(), "a", token));
        BOOST_TEST(acquire(s.store(), s.name(), "b").granted());
    });

    cases.add("second_release_is_false", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.store(), s.name(), "a", token));
        BOOST_TEST(!release(s.store(), s.name(), "a", token));
        const fencing_token next = grant(s.other(), s.name(), "b");
        BOOST_TEST(!release(s.store(), s.name(), "a", token));
        BOOST_TEST(inspect(s.store(), s.name())->token == next);
    });

    cases.add("release_of_a_name_never_granted_is_false", [](auto& s) {
        BOOST_TEST(!release(s.store(), s.name(), "a", fencing_token{1}));
        BOOST_TEST(!release(s.store(), s.name(), "a", fencing_token{1}, long_ttl));
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        BOOST_TEST(acquire(s.store(), s.name(), "b").granted());
    });

    cases.add("release_of_an_expired_term_is_false_and_closes_nothing", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a", s.ttl());
        s.let_expire(s.ttl());
        BOOST_TEST(!release(s.store(), s.name(), "a", token, long_ttl));
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        BOOST_TEST(grant(s.other(), s.name(), "b") > token);
    });

    cases.add("release_by_another_owner_is_false", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(!release(s.other(), s.name(), "b", token));
        BOOST_TEST(renew(s.store(), s.name(), "a", token));
    });

    cases.add("release_of_a_term_that_was_taken_over_is_false_and_harmless", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a", s.ttl());
        s.let_expire(s.ttl());
        const fencing_token second = grant(s.other(), s.name(), "b");
        BOOST_TEST(!release(s.store(), s.name(), "a", first));
        BOOST_TEST(!release(s.store(), s.name(), "a", first, long_ttl));
        BOOST_TEST(!release(s.store(), s.name(), "a", second));
        BOOST_TEST(!release(s.store(), s.name(), "b", first));
        BOOST_TEST(renew(s.store(), s.name(), "b", second));
    });

    cases.add("release_with_the_same_owners_earlier_token_is_false", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.store(), s.name(), "a", first));
        const fencing_token second = grant(s.store(), s.name(), "a");
        BOOST_TEST(!release(s.store(), s.name(), "a", first));
        BOOST_TEST(renew(s.store(), s.name(), "a", second));
    });
}

// Releases that keep a name closed for a while.
template <store_fixture Fixture>
void add_closings(case_list<Fixture> cases)
{
    cases.add("closed_name_is_busy_to_everybody", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.store(), s.name(), "a", token, long_ttl));
        BOOST_TEST(!acquire(s.other(), s.name(), "b").granted());
        const acquire_result same_owner = acquire(s.store(), s.name(), "a");
        BOOST_TEST(!same_owner.granted());
        BOOST_TEST(same_owner.remaining >= 0ns);
        BOOST_TEST(same_owner.remaining <= long_ttl + s.rounding());
    });

    cases.add("closed_name_is_shown_with_an_empty_owner", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.store(), s.name(), "a", token, long_ttl));
        const auto record = inspect(s.other(), s.name());
        BOOST_REQUIRE(record.has_value());
        BOOST_TEST(record->name == s.name());
        BOOST_TEST(record->owner == "");
        BOOST_TEST(record->token == token);
        BOOST_TEST(record->remaining > long_ttl / 2);
        BOOST_TEST(record->remaining <= long_ttl + s.rounding());
    });

    cases.add("closed_name_opens_when_its_time_is_over", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.store(), s.name(), "a", token, s.ttl()));
        s.let_expire(s.ttl());
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        BOOST_TEST(grant(s.other(), s.name(), "b") > token);
    });

    cases.add("closing_can_outlast_the_ttl_of_the_term", [](auto& s) {
        const auto [released, name] = s.in_time(s.ttl(), [&](const std::string& n) {
            return std::pair{release(s.store(), n, "a", acquire(s.store(), n, "a", s.ttl()).token, long_ttl), n};
        });
        BOOST_TEST(released);
        s.let_expire(s.ttl());
        BOOST_TEST(!acquire(s.other(), name, "b").granted());
    });

    cases.add("closing_can_be_shorter_than_what_the_term_had_left", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a", long_ttl);
        BOOST_TEST(release(s.store(), s.name(), "a", token, s.ttl()));
        s.let_expire(s.ttl());
        BOOST_TEST(acquire(s.other(), s.name(), "b").granted());
    });

    cases.add("closed_term_is_over_for_its_holder", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.store(), s.name(), "a", token, s.ttl()));
        BOOST_TEST(!renew(s.store(), s.name(), "a", token));
        BOOST_TEST(!release(s.store(), s.name(), "a", token));
        BOOST_TEST(!release(s.store(), s.name(), "a", token, long_ttl));
        s.let_expire(s.ttl());
        BOOST_TEST(acquire(s.other(), s.name(), "b").granted());
    });
}

}  // namespace leasehold::contract

#endif
