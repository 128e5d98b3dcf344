// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_RACES_HPP
#define LEASEHOLD_TESTS_CONTRACT_RACES_HPP

#include <contract/scene.hpp>
#include <contract/tenure.hpp>

#include <history/checker.hpp>
#include <history/recording_store.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace leasehold::contract {

inline constexpr std::size_t contenders = 8;

// Contenders use the two store objects by turns.
template <store_fixture Fixture>
auto& store_of_contender(scene<Fixture>& s, std::size_t i)
{
    return i % 2 ? s.other() : s.store();
}

inline std::string contender(std::size_t i) { return "contender " + std::to_string(i); }

// What is tried once by many at the same instant.
template <store_fixture Fixture>
void add_races(case_list<Fixture> cases)
{
    cases.add("first_grant_to_many_at_once_has_one_winner", [](auto& s) {
        for (int round = 0; round < 16; ++round) {
            const std::string name = s.name(std::to_string(round));
            std::vector<acquire_result> results(contenders);
            at_once(contenders, [&](std::size_t i) { results[i] = acquire(store_of_contender(s, i), name, contender(i)); });
            BOOST_TEST(std::ranges::count(results, true, &acquire_result::granted) == 1);
            const auto winner =
                static_cast<std::size_t>(std::ranges::find(results, true, &acquire_result::granted) - results.begin());
            const auto record = inspect(s.store(), name);
            BOOST_REQUIRE(record.has_value());
            BOOST_REQUIRE(winner < contenders);
            BOOST_TEST(record->owner == contender(winner));
            BOOST_TEST(record->token == results[winner].token);
        }
    });

    cases.add("take_over_by_many_at_once_has_one_winner_and_a_growing_token", [](auto& s) {
        const std::size_t names = 8;
        std::vector<fencing_token> last(names);
        for (std::size_t n = 0; n < names; ++n) last[n] = grant(s.store(), s.name(std::to_string(n)), "first", min_ttl);
        for (int round = 0; round < 3; ++round) {
            s.let_expire(min_ttl);
            for (std::size_t n = 0; n < names; ++n) {
                const std::string name = s.name(std::to_string(n));
                std::vector<acquire_result> results(contenders);
                at_once(contenders,
                        [&](std::size_t i) { results[i] = acquire(store_of_contender(s, i), name, contender(i)); });
                BOOST_TEST(std::ranges::count(results, true, &acquire_result::granted) == 1);
                const auto won = std::ranges::find(results, true, &acquire_result::granted);
                BOOST_REQUIRE((won != results.end()));
                BOOST_TEST(won->token > last[n]);
                last[n] = won->token;
                BOOST_TEST(release(s.store(), name, contender(static_cast<std::size_t>(won - results.begin())), won->token));
                last[n] = grant(s.store(), name, "between", min_ttl);
                BOOST_TEST(last[n] > won->token);
            }
        }
    });

    cases.add("different_names_at_once_are_all_granted", [](auto& s) {
        std::vector<std::vector<acquire_result>> results(contenders, std::vector<acquire_result>(8));
        at_once(contenders, [&](std::size_t i) {
            for (std::size_t n = 0; n < results[i].size(); ++n)
                results[i][n] =
                    acquire(store_of_contender(s, i), s.name(std::to_string(i) + '-' + std::to_string(n)), contender(i));
        });
        for (const auto& of_one : results)
            for (const acquire_result& result : of_one) BOOST_TEST(result.granted());
    });

    cases.add("one_owner_many_times_at_once_gets_as_many_tokens", [](auto& s) {
        for (int round = 0; round < 8; ++round) {
            const std::string name = s.name(std::to_string(round));
            std::vector<acquire_result> results(contenders);
            at_once(contenders, [&](std::size_t i) { results[i] = acquire(store_of_contender(s, i), name, "a"); });
            std::vector<fencing_token> tokens;
            for (const acquire_result& result : results) {
                BOOST_TEST(result.granted());
                tokens.push_back(result.token);
            }
            std::ranges::sort(tokens);
            BOOST_TEST((std::ranges::adjacent_find(tokens) == tokens.end()));
            BOOST_TEST(inspect(s.store(), name)->token == tokens.back());
        }
    });

    cases.add("one_term_released_by_many_at_once_is_released_once", [](auto& s) {
        for (int round = 0; round < 8; ++round) {
            const std::string name = s.name(std::to_string(round));
            const fencing_token token = grant(s.store(), name, "a");
            std::atomic<int> released = 0;
            at_once(contenders, [&](std::size_t i) { released += release(store_of_contender(s, i), name, "a", token); });
            BOOST_TEST(released == 1);
        }
    });

    cases.add("renewal_during_a_release_revives_nothing", [](auto& s) {
        for (int round = 0; round < 16; ++round) {
            const std::string name = s.name(std::to_string(round));
            const fencing_token token = grant(s.store(), name, "a");
            bool released = false;
            at_once(4, [&](std::size_t i) {
                if (i == 0)
                    released = release(s.store(), name, "a", token);
                else
                    renew(store_of_contender(s, i), name, "a", token);
            });
            BOOST_TEST(released);
            BOOST_TEST(!inspect(s.store(), name).has_value());
            BOOST_TEST(acquire(s.other(), name, "b").granted());
        }
    });

    cases.add("attempt_during_a_release_by_the_same_owner_is_a_new_term_that_stays", [](auto& s) {
        for (int round = 0; round < 16; ++round) {
            const std::string name = s.name(std::to_string(round));
            const fencing_token first = grant(s.store(), name, "a");
            acquire_result again;
            at_once(2, [&](std::size_t i) {
                if (i == 0)
                    release(s.store(), name, "a", first);
                else
                    again = acquire(s.other(), name, "a");
            });
            BOOST_TEST(again.granted());
            BOOST_TEST(again.token > first);
            const auto record = inspect(s.store(), name);
            BOOST_REQUIRE(record.has_value());
            BOOST_TEST(record->token == again.token);
        }
    });
}

// Around the instant at which terms end: a bundle of names each, so that some are caught on either side of it.
template <store_fixture Fixture>
void add_races_at_expiry(case_list<Fixture> cases)
{
    static constexpr std::size_t bundle = 32;
    static constexpr duration ttl = 100ms;
    static constexpr int rounds = 3;

    cases.add("renewal_and_take_over_never_both_succeed", [](auto& s) {
        const std::uint64_t seed = random_seed();
        BOOST_TEST_INFO_SCOPE("replay with LEASEHOLD_TEST_SEED=" << seed);
        std::mt19937_64 random{seed};
        for (int round = 0; round < rounds; ++round) {
            const auto name = [&](std::size_t n) { return s.name(std::to_string(round) + '-' + std::to_string(n)); };
            std::vector<fencing_token> first(bundle);
            for (std::size_t n = 0; n < bundle; ++n) first[n] = grant(s.store(), name(n), "a", ttl);
            const duration wait = std::uniform_int_distribution{1, 100}(random) * (ttl / 100);
            s.let_pass(wait);
            std::vector<char> renewed(bundle);
            std::vector<acquire_result> taken(bundle);
            at_once(3, [&](std::size_t i) {
                if (i == 0)
                    s.let_pass(ttl - wait);
                else
                    for (std::size_t n = 0; n < bundle; ++n) {
                        if (i == 1)
                            renewed[n] = renew(s.store(), name(n), "a", first[n]);
                        else
                            taken[n] = acquire(s.other(), name(n), "b");
                    }
            });
            for (std::size_t n = 0; n < bundle; ++n) {
                BOOST_TEST(!(renewed[n] && taken[n].granted()));
                const auto record = inspect(s.store(), name(n));
                if (renewed[n]) {
                    BOOST_REQUIRE(record.has_value());
                    BOOST_TEST(record->owner == "a");
                    BOOST_TEST(record->token == first[n]);
                }
                if (taken[n].granted()) {
                    BOOST_REQUIRE(record.has_value());
                    BOOST_TEST(record->owner == "b");
                    BOOST_TEST(record->token == taken[n].token);
                    BOOST_TEST(taken[n].token > first[n]);
                }
            }
        }
    });

    cases.add("late_release_never_ends_the_term_of_the_next_holder", [](auto& s) {
        const std::uint64_t seed = random_seed();
        BOOST_TEST_INFO_SCOPE("replay with LEASEHOLD_TEST_SEED=" << seed);
        std::mt19937_64 random{seed};
        for (int round = 0; round < rounds; ++round) {
            const auto name = [&](std::size_t n) { return s.name(std::to_string(round) + '-' + std::to_string(n)); };
            std::vector<fencing_token> first(bundle);
            for (std::size_t n = 0; n < bundle; ++n) first[n] = grant(s.store(), name(n), "a", ttl);
            const duration wait = std::uniform_int_distribution{1, 100}(random) * (ttl / 100);
            s.let_pass(wait);
            std::vector<acquire_result> by_b(bundle);
            std::vector<acquire_result> by_c(bundle);
            at_once(4, [&](std::size_t i) {
                if (i == 0) {
                    s.let_pass(ttl - wait);
                    return;
                }
                for (std::size_t n = 0; n < bundle; ++n) {
                    if (i == 1)
                        release(s.store(), name(n), "a", first[n]);
                    else if (i == 2)
                        by_b[n] = acquire(s.other(), name(n), "b");
                    else
                        by_c[n] = acquire(s.store(), name(n), "c");
                }
            });
            for (std::size_t n = 0; n < bundle; ++n) {
                BOOST_TEST(!(by_b[n].granted() && by_c[n].granted()));
                const auto record = inspect(s.store(), name(n));
                const bool anybody = by_b[n].granted() || by_c[n].granted();
                BOOST_REQUIRE(record.has_value() == anybody);
                if (!anybody) continue;
                BOOST_TEST(record->owner == (by_b[n].granted() ? "b" : "c"));
                BOOST_TEST(record->token == (by_b[n].granted() ? by_b[n].token : by_c[n].token));
                BOOST_TEST(record->token > first[n]);
            }
        }
    });
}

// Many on one name for a while, watched by a detector that knows nothing of stores.
template <store_fixture Fixture>
void add_contention(case_list<Fixture> cases)
{
    cases.add("eight_threads_on_one_name_never_hold_it_at_once", [](auto& s) {
        const std::string name = s.name();
        const auto until = std::chrono::steady_clock::now() + 1s;
        const leasehold::steady_clock clock;
        std::atomic<int> inside = 0;
        std::atomic<int> seen_inside = 0;
        std::atomic<int> lost = 0;
        std::vector<std::vector<tenure>> tenures(contenders);
        at_once(contenders, [&](std::size_t i) {
            auto& store = store_of_contender(s, i);
            while (std::chrono::steady_clock::now() < until) {
                const acquire_result result = acquire(store, name, contender(i));
                if (!result.granted()) {
                    std::this_thread::yield();
                    continue;
                }
                const time_point begin = clock.now();
                if (inside.fetch_add(1) != 0) ++seen_inside;
                std::this_thread::yield();  // an invitation to the others
                inside.fetch_sub(1);
                tenures[i].push_back({begin, clock.now(), result.token, contender(i)});
                if (!release(store, name, contender(i), result.token)) ++lost;
            }
        });
        std::vector<tenure> all;
        for (const auto& some : tenures) all.insert(all.end(), some.begin(), some.end());
        BOOST_TEST_MESSAGE("    " << all.size() << " terms");
        BOOST_TEST(!all.empty());
        BOOST_TEST(seen_inside == 0);
        BOOST_TEST(lost == 0);
        BOOST_TEST(overlaps_in(all) == "");
    });

    // Unlike the detectors, this looks at every answer: also at busy, at refusals and at what inspect() shows.
    cases.add("all_answers_to_contenders_have_an_order_that_explains_them", [](auto& s) {
        constexpr int calls_of_each = 150;
        const std::uint64_t seed = random_seed();
        BOOST_TEST_INFO_SCOPE("replay with LEASEHOLD_TEST_SEED=" << seed);
        std::vector<std::vector<history::call>> calls(contenders);
        at_once(contenders, [&](std::size_t i) {
            history::recording_store store{store_of_contender(s, i), contender(i)};
            std::mt19937_64 random{seed + i};
            std::array<fencing_token, 3> held{};
            for (int n = 0; n < calls_of_each; ++n) {
                const std::size_t which = random() % held.size();
                const std::string name = s.name(std::to_string(which));
                const auto kind = random() % 8;
                if (kind == 0) {
                    inspect(store, name);
                } else if (held[which] == fencing_token{} || kind == 1) {
                    const acquire_result result = acquire(store, name, contender(i));
                    if (result.granted()) held[which] = result.token;
                } else if (kind < 4) {
                    renew(store, name, contender(i), held[which]);
                } else {
                    release(store, name, contender(i), held[which]);
                    // Sometimes it is asked about again, though it is over.
                    if (kind != 4) held[which] = {};
                }
            }
            calls[i] = store.calls();
        });
        std::vector<history::call> all;
        for (const auto& some : calls) all.insert(all.end(), some.begin(), some.end());
        // No term expires here by any clock.
        const history::verdict found = history::check(all, duration{long_ttl}.count() / 2);
        BOOST_TEST_MESSAGE("    " << found.calls << " calls");
        BOOST_TEST(found.calls == contenders * calls_of_each);
        BOOST_TEST(found.explanation == "");
    });

    cases.add("holders_that_let_their_terms_run_out_never_believe_at_once", [](auto& s) {
        const duration ttl = s.ttl() / 4;
        const auto clock = s.clock();
        const time_point until = clock.now() + 12 * ttl;
        std::vector<std::vector<tenure>> tenures(contenders);
        std::atomic<std::uint64_t> looks = 0;
        std::atomic<std::size_t> left = 0;
        at_once(contenders + 1, [&](std::size_t i) {
            if (i == contenders) {
                // Time goes on when the others have had a look at it: on a manual clock all would be over at once. It goes on until
                // all have left, for the last term may begin late.
                while (left < contenders) {
                    const std::uint64_t before = looks;
                    while (looks < before + contenders && left < contenders && clock.now() < until) std::this_thread::yield();
                    s.let_pass(ttl / 50);
                }
                return;
            }
            struct leaving {
                std::atomic<std::size_t>& of;
                ~leaving() { ++of; }
            };
            const leaving when_done{left};
            basic_lease lease{store_of_contender(s, i),     s.name(),    lease_terms{.ttl = ttl}, clock,
                              fixed_owner_id{contender(i)}, no_renewal{}};
            for (; clock.now() < until; ++looks) {
                std::error_code ec;
                auto guard = lease.try_acquire(ec);
                if (ec && ec != errc::store_timeout) throw std::system_error{ec};  // an answer after the term's end is none
                // What is noted is an instant before the one at which the guard was asked.
                tenure seen{clock.now(), clock.now(), guard.token(), contender(i)};
                if (!guard.held()) {
                    std::this_thread::yield();
                    continue;
                }
                for (time_point now = clock.now(); guard.held(); now = clock.now(), ++looks) {
                    seen.end = now;
                    std::this_thread::yield();
                }
                tenures[i].push_back(seen);
            }
        });
        std::vector<tenure> all;
        for (const auto& some : tenures) all.insert(all.end(), some.begin(), some.end());
        BOOST_TEST_MESSAGE("    " << all.size() << " terms");
        BOOST_TEST(!all.empty());
        BOOST_TEST(overlaps_in(all) == "");
    });
}

}  // namespace leasehold::contract

#endif
