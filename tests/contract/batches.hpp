// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_BATCHES_HPP
#define LEASEHOLD_TESTS_CONTRACT_BATCHES_HPP

#include <contract/scene.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

// Many renewals or releases in one call (batching_store): to each what one call would do to it, and an answer of its own.
namespace leasehold::contract {

/// Terms of one case, with the names they are asked for by.
template <lease_store Store>
class many_terms {
public:
    many_terms(Store& store, std::string_view stem, std::size_t count, duration ttl = long_ttl) : store_{store}
    {
        // Names and owners as awkward as they may be: a list of them has to keep them apart.
        constexpr std::string_view awkward[] = {"",  "'",    "\"",       "\\", "{", "}",     ",",
                                                " ", "NULL", "\xC3\xBC", "%",  "?", ":name", "1 2"};
        for (std::size_t i = 0; i < count; ++i) {
            names.push_back(std::string{stem} + std::to_string(i) + std::string{awkward[i % std::size(awkward)]});
            owners.push_back("owner " + std::string{awkward[(i / 3) % std::size(awkward)]} + std::to_string(i % 5));
            tokens.push_back(grant(store, names[i], owners[i], ttl));
        }
    }

    [[nodiscard]] term_renewal renewal(std::size_t i, duration ttl) const { return {names[i], owners[i], tokens[i], ttl}; }
    [[nodiscard]] term_release release(std::size_t i, duration min_hold_left = {}) const
    {
        return {names[i], owners[i], tokens[i], min_hold_left};
    }

    [[nodiscard]] std::vector<term_renewal> renewals(duration ttl) const
    {
        std::vector<term_renewal> all;
        for (std::size_t i = 0; i < names.size(); ++i) all.push_back(renewal(i, ttl));
        return all;
    }
    [[nodiscard]] std::vector<term_release> releases() const
    {
        std::vector<term_release> all;
        for (std::size_t i = 0; i < names.size(); ++i) all.push_back(release(i));
        return all;
    }

    [[nodiscard]] duration remaining(std::size_t i) const
    {
        const auto record = inspect(store_, names[i]);
        return record && record->owner == owners[i] && record->token == tokens[i] ? record->remaining : duration::zero();
    }

    std::deque<std::string> names, owners;
    std::vector<fencing_token> tokens;

private:
    Store& store_;
};

template <batching_store Store>
std::vector<batch_answer> renew_many(Store& store, const std::vector<term_renewal>& what)
{
    std::vector<batch_answer> answers(what.size(), batch_answer::unknown);
    std::error_code ec = leftover();
    store.renew_many(what, answers, 10min, ec);
    expect_success(store, ec, "renew_many");
    return answers;
}

template <batching_store Store>
std::vector<batch_answer> release_many(Store& store, const std::vector<term_release>& what)
{
    std::vector<batch_answer> answers(what.size(), batch_answer::unknown);
    std::error_code ec = leftover();
    store.release_many(what, answers, ec);
    expect_success(store, ec, "release_many");
    return answers;
}

/// "y" for yes, "n" for no, "?" for unknown, in their order.
inline std::string letters(const std::vector<batch_answer>& answers)
{
    std::string text;
    for (const batch_answer each : answers) text += each == batch_answer::yes ? 'y' : each == batch_answer::no ? 'n' : '?';
    return text;
}

template <store_fixture Fixture>
void add_batches(case_list<Fixture> cases)
{
    cases.add("many_renewals_extend_each_term", [](auto& s) {
        for (const std::size_t count : {1U, 2U, 16U, 17U, 40U}) {
            many_terms terms{s.store(), s.name(std::to_string(count)), count};
            BOOST_TEST(letters(renew_many(s.store(), terms.renewals(2 * long_ttl))) == std::string(count, 'y'));
            for (std::size_t i = 0; i < count; ++i) BOOST_TEST((terms.remaining(i) > long_ttl), terms.names[i]);
        }
    });

    cases.add("many_renewals_keep_their_own_ttls", [](auto& s) {
        many_terms terms{s.store(), s.name("n"), 6};
        std::vector<term_renewal> renewals;
        for (std::size_t i = 0; i < 6; ++i) renewals.push_back(terms.renewal(i, long_ttl * static_cast<int>(2 + i % 3)));
        BOOST_TEST(letters(renew_many(s.store(), renewals)) == "yyyyyy");
        for (std::size_t i = 0; i < 6; ++i) {
            BOOST_TEST((terms.remaining(i) > renewals[i].ttl - 1min), i);
            BOOST_TEST((terms.remaining(i) <= renewals[i].ttl + s.rounding()), i);
        }
    });

    cases.add("many_renewals_never_shorten_a_term", [](auto& s) {
        many_terms terms{s.store(), s.name("n"), 20};
        BOOST_TEST(letters(renew_many(s.store(), terms.renewals(1min))) == std::string(20, 'y'));
        for (std::size_t i = 0; i < 20; ++i) BOOST_TEST((terms.remaining(i) > long_ttl - 1min), i);
        BOOST_TEST(letters(renew_many(s.store(), terms.renewals(1min))) == std::string(20, 'y'), "and again, changing nothing");
    });

    cases.add("each_of_many_renewals_is_answered_by_itself", [](auto& s) {
        many_terms terms{s.store(), s.name("n"), 20};
        std::vector<term_renewal> renewals = terms.renewals(2 * long_ttl);
        release(s.store(), terms.names[2], terms.owners[2], terms.tokens[2]);
        release(s.store(), terms.names[3], terms.owners[3], terms.tokens[3]);
        grant(s.other(), terms.names[3], "another");
        renewals[5].owner = "nobody";
        renewals[7].token = fencing_token{terms.tokens[7].value() + 1};
        renewals[11].name = terms.names[12];  // whose owner or token is another
        renewals[11].owner = "nobody";
        const std::string never = s.name("never granted");
        renewals[13].name = never;
        release(s.store(), terms.names[17], terms.owners[17], terms.tokens[17]);
        grant(s.store(), terms.names[17], terms.owners[17]);  // the same owner's later term
        BOOST_TEST(letters(renew_many(s.store(), renewals)) == "yynnynynyyynynyyynyy");
        BOOST_TEST(!inspect(s.store(), terms.names[2]).has_value(), "revived");
        BOOST_TEST(!inspect(s.store(), never).has_value(), "created");
        BOOST_TEST((inspect(s.store(), terms.names[3])->remaining <= long_ttl + s.rounding()), "another's term was extended");
        BOOST_TEST((inspect(s.store(), terms.names[17])->remaining <= long_ttl + s.rounding()), "the later term was extended");
        for (const std::size_t i : {5U, 7U, 11U, 13U}) BOOST_TEST((terms.remaining(i) <= long_ttl + s.rounding()), i);
        for (const std::size_t i : {0U, 1U, 4U, 19U}) BOOST_TEST((terms.remaining(i) > long_ttl), i);
    });

    cases.add("terms_and_owners_of_a_batch_are_not_mixed_up", [](auto& s) {
        // The same owner, and tokens that fit the other's name.
        const std::string a = s.name("a"), b = s.name("b");
        const auto first_a = grant(s.store(), a, "o");
        release(s.store(), a, "o", first_a);
        const auto second_a = grant(s.store(), a, "o");
        const auto first_b = grant(s.store(), b, "o");
        BOOST_TEST(letters(renew_many(s.store(), {{a, "o", first_a, 2 * long_ttl}, {b, "o", second_a, 2 * long_ttl}})) == "nn");
        BOOST_TEST((inspect(s.store(), a)->remaining <= long_ttl + s.rounding()));
        BOOST_TEST((inspect(s.store(), b)->remaining <= long_ttl + s.rounding()));
        BOOST_TEST(letters(release_many(s.store(), {{a, "o", first_a, {}}, {b, "o", second_a, {}}})) == "nn");
        BOOST_TEST(letters(release_many(s.store(), {{a, "o", second_a, {}}, {b, "o", first_b, {}}})) == "yy");
    });

    cases.add("renewals_of_expired_terms_are_false_and_revive_nothing", [](auto& s) {
        many_terms lasting{s.store(), s.name("lasting"), 10};
        many_terms expired{s.store(), s.name("expired"), 10, s.ttl()};
        s.let_expire(s.ttl());
        std::vector<term_renewal> renewals = lasting.renewals(2 * long_ttl);
        for (const term_renewal& each : expired.renewals(2 * long_ttl)) renewals.push_back(each);
        BOOST_TEST(letters(renew_many(s.store(), renewals)) == std::string(10, 'y') + std::string(10, 'n'));
        for (const std::string& name : expired.names) BOOST_TEST(!inspect(s.store(), name).has_value(), name);
    });

    cases.add("the_same_renewal_twice_is_true_twice", [](auto& s) {
        many_terms terms{s.store(), s.name("n"), 5};
        std::vector<term_renewal> renewals = terms.renewals(2 * long_ttl);
        renewals.push_back(terms.renewal(1, 3 * long_ttl));
        renewals.push_back(terms.renewal(3, 2 * long_ttl));
        BOOST_TEST(letters(renew_many(s.store(), renewals)) == "yyyyyyy");
        BOOST_TEST((terms.remaining(1) > 2 * long_ttl));
    });

    cases.add("many_releases_free_each_name", [](auto& s) {
        for (const std::size_t count : {1U, 2U, 17U, 40U}) {
            many_terms terms{s.store(), s.name(std::to_string(count)), count};
            BOOST_TEST(letters(release_many(s.store(), terms.releases())) == std::string(count, 'y'));
            for (std::size_t i = 0; i < count; ++i) {
                BOOST_TEST(!inspect(s.store(), terms.names[i]).has_value(), terms.names[i]);
                BOOST_TEST(acquire(s.other(), terms.names[i], "next").token.value() == terms.tokens[i].value() + 1);
            }
        }
    });

    cases.add("each_of_many_releases_is_answered_by_itself", [](auto& s) {
        many_terms terms{s.store(), s.name("n"), 20};
        std::vector<term_release> releases = terms.releases();
        release(s.store(), terms.names[2], terms.owners[2], terms.tokens[2]);
        release(s.store(), terms.names[3], terms.owners[3], terms.tokens[3]);
        grant(s.other(), terms.names[3], "another");
        releases[5].owner = "nobody";
        releases[7].token = fencing_token{terms.tokens[7].value() + 1};
        const std::string never = s.name("never granted");
        releases[13].name = never;
        BOOST_TEST(letters(release_many(s.store(), releases)) == "yynnynynyyyyynyyyyyy");
        BOOST_TEST(inspect(s.store(), terms.names[3])->owner == "another");
        for (const std::size_t i : {5U, 7U, 13U}) BOOST_TEST((terms.remaining(i) > duration::zero()), i);
        BOOST_TEST(!inspect(s.store(), never).has_value());
    });

    cases.add("the_same_release_twice_is_true_once", [](auto& s) {
        many_terms terms{s.store(), s.name("n"), 20};
        std::vector<term_release> releases = terms.releases();
        releases.push_back(terms.release(4));
        releases.push_back(terms.release(4));
        const std::string said = letters(release_many(s.store(), releases));
        BOOST_TEST(std::ranges::count(said, 'y') == 20);
        BOOST_TEST(std::ranges::count(said, 'n') == 2);
    });

    cases.add("many_releases_can_keep_names_closed", [](auto& s) {
        many_terms terms{s.store(), s.name("n"), 5};
        std::vector<term_release> releases = terms.releases();
        releases[1].min_hold_left = 1min;
        releases[3].min_hold_left = 2min;
        BOOST_TEST(letters(release_many(s.store(), releases)) == "yyyyy");
        for (const std::size_t i : {0U, 2U, 4U}) BOOST_TEST(!inspect(s.store(), terms.names[i]).has_value());
        BOOST_TEST(!acquire(s.other(), terms.names[1], "next").granted());
        BOOST_TEST(!acquire(s.store(), terms.names[3], terms.owners[3]).granted(), "not to its owner either");
        BOOST_TEST((inspect(s.store(), terms.names[3])->remaining > 1min));
    });

    cases.add("released_terms_are_renewed_no_more", [](auto& s) {
        many_terms terms{s.store(), s.name("n"), 20};
        std::vector<term_release> first_ten = terms.releases();
        first_ten.resize(10);
        BOOST_TEST(letters(release_many(s.store(), first_ten)) == std::string(10, 'y'));
        BOOST_TEST(letters(renew_many(s.store(), terms.renewals(long_ttl))) == std::string(10, 'n') + std::string(10, 'y'));
    });

    cases.add("nothing_to_do_is_done", [](auto& s) {
        BOOST_TEST(renew_many(s.store(), {}).empty());
        BOOST_TEST(release_many(s.store(), {}).empty());
    });

    cases.add("random_batches_do_what_single_calls_would", [](auto& s) {
        const std::uint64_t seed = random_seed();
        BOOST_TEST_CONTEXT("LEASEHOLD_TEST_SEED=" << seed)
        {
            std::mt19937_64 random{seed};
            many_terms terms{s.store(), s.name("n"), 30};
            std::vector<bool> live(30, true);
            for (int round = 0; round < 8; ++round) {
                std::vector<std::size_t> which;
                for (std::size_t i = 0; i < 30; ++i)
                    if (random() % 3 != 0) which.push_back(i);
                std::ranges::shuffle(which, random);
                const bool releases = random() % 3 == 0;
                std::vector<term_renewal> to_renew;
                std::vector<term_release> to_release;
                std::string expected;
                for (const std::size_t i : which) {
                    const bool wrong = random() % 10 == 0;
                    expected += live[i] && !wrong ? 'y' : 'n';
                    to_renew.push_back(terms.renewal(i, long_ttl + 1min * static_cast<int>(random() % 2)));
                    to_release.push_back(terms.release(i));
                    if (wrong) to_renew.back().owner = to_release.back().owner = "nobody";
                    if (releases && !wrong) live[i] = false;
                }
                const auto answers = releases ? release_many(s.store(), to_release) : renew_many(s.store(), to_renew);
                BOOST_TEST_REQUIRE(letters(answers) == expected, "round " << round);
                for (std::size_t i = 0; i < 30; ++i)
                    BOOST_TEST_REQUIRE((terms.remaining(i) > duration::zero()) == live[i]);
            }
        }
    });
}

}  // namespace leasehold::contract

#endif
