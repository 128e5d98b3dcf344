// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_SEVERAL_RIGHTS_HPP
#define LEASEHOLD_TESTS_CONTRACT_SEVERAL_RIGHTS_HPP

#include <contract/asked_once.hpp>
#include <contract/leases.hpp>
#include <contract/scene.hpp>
#include <contract/several.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

// Sets of leases, permits and shared leases, and attempts at many names in one call (batch_acquiring_store).
namespace leasehold::contract {

template <store_fixture Fixture>
auto semaphore_on(scene<Fixture>& s, store_of<Fixture>& store, std::size_t permits, lease_terms terms = long_terms)
{
    return lease_semaphore{store, s.name(), permits, terms, s.clock()};
}

template <store_fixture Fixture>
auto shared_lease_on(scene<Fixture>& s, store_of<Fixture>& store, std::size_t readers, lease_terms terms = long_terms)
{
    return shared_lease{store, s.name(), terms, s.clock(), reader_limit{readers}};
}

template <store_fixture Fixture>
void add_several_rights(case_list<Fixture> cases)
{
    cases.add("sets_are_held_whole_or_not_at_all", [](auto& s) {
        const auto lease = [&s](auto& store, const char* label) { return basic_lease{store, s.name(label), long_terms, s.clock()}; };
        auto a = lease(s.store(), "a"), b = lease(s.store(), "b"), c = lease(s.store(), "c"), their_b = lease(s.other(), "b");
        {
            auto all = try_acquire_all(c, a, b);
            BOOST_TEST_REQUIRE(all.held());
            BOOST_TEST(all.guards()[1].token() == inspect(s.other(), s.name("a"))->token);
            BOOST_TEST(is_empty(their_b.try_acquire()));
            BOOST_TEST(all.renew());
            BOOST_TEST(all.release() == release_outcome::released);
        }
        const auto theirs = their_b.try_acquire();
        BOOST_TEST(is_empty(try_acquire_all(a, b, c)));
        for (const char* label : {"a", "c"}) BOOST_TEST(!inspect(s.other(), s.name(label)).has_value(), label);
        BOOST_TEST(theirs.held());
    });

    cases.add("loss_of_one_of_a_set_is_the_loss_of_the_set", [](auto& s) {
        basic_lease a{s.store(), s.name("a"), long_terms, s.clock()}, b{s.store(), s.name("b"), long_terms, s.clock()};
        auto both = try_acquire_all(a, b);
        const std::stop_token told = both.stop_token();
        end_underneath(s.other(), both.guards()[1]);
        BOOST_TEST(!both.renew());
        BOOST_TEST(!both.held());
        BOOST_TEST(eventually([&] { return told.stop_requested(); }));
        BOOST_TEST(both.release() == release_outcome::lost);
        BOOST_TEST(!inspect(s.other(), s.name("a")).has_value());
    });

    cases.add("many_leases_of_which_some_are_free", [](auto& s) {
        std::vector<basic_lease<store_of<Fixture>, decltype(s.clock())>> leases;
        for (int i = 0; i < 20; ++i) leases.emplace_back(s.store(), s.name(std::to_string(i)), long_terms, s.clock());
        grant(s.other(), s.name("3"), "another");
        grant(s.other(), s.name("17"), "another");
        auto some = try_acquire_each(leases);
        BOOST_TEST(some.size() == 18U);
        for (const auto& guard : some) BOOST_TEST(inspect(s.other(), guard.name())->token == guard.token());
        BOOST_TEST(release_all(some) == 18U);
    });

    cases.add("so_many_permits_and_no_more", [](auto& s) {
        auto ours = semaphore_on(s, s.store(), 4), theirs = semaphore_on(s, s.other(), 4);
        const std::array permits{ours.try_acquire(), theirs.try_acquire(), ours.try_acquire(), theirs.try_acquire()};
        std::set<std::size_t> indexes;
        for (const auto& permit : permits) {
            BOOST_TEST_REQUIRE(permit.held());
            indexes.insert(permit.index());
            const auto record = inspect(s.other(), permit.name());
            BOOST_TEST_REQUIRE(record.has_value());
            BOOST_TEST(record->token == permit.token());
            BOOST_TEST(record->owner == permit.owner());
        }
        BOOST_TEST(indexes == (std::set<std::size_t>{0, 1, 2, 3}), boost::test_tools::per_element());
        BOOST_TEST(is_empty(ours.try_acquire()));
        BOOST_TEST(is_empty(theirs.try_acquire()));
        // The record of the count lasts longer than any permit.
        BOOST_TEST((inspect(s.store(), s.name())->remaining > long_ttl));
    });

    cases.add("permits_of_a_dead_holder_come_back", [](auto& s) {
        lease_semaphore dead{s.store(), s.name(), 2, lease_terms{.ttl = s.ttl()}, s.clock(), no_renewal{}};
        auto alive = semaphore_on(s, s.other(), 2);
        const auto one = dead.try_acquire(), two = dead.try_acquire();
        s.let_expire(s.ttl());
        BOOST_TEST(!one.held());
        BOOST_TEST(is_held(alive.try_acquire()));
        BOOST_TEST(is_held(alive.try_acquire()));
    });

    cases.add("all_agree_on_the_count", [](auto& s) {
        auto three = semaphore_on(s, s.store(), 3), four = semaphore_on(s, s.other(), 4);
        const auto permit = three.try_acquire();
        std::error_code ec;
        BOOST_TEST(is_empty(four.try_acquire(ec)));
        BOOST_TEST(ec == errc::invalid_terms);
        auto readers = shared_lease_on(s, s.other(), 3);
        BOOST_TEST(is_empty(readers.try_acquire_shared(ec)));
        BOOST_TEST(ec == errc::invalid_terms);
        BOOST_TEST(is_empty(readers.try_acquire(ec)));
        BOOST_TEST(ec == errc::invalid_terms);
    });

    cases.add("several_permits_or_none", [](auto& s) {
        auto ours = semaphore_on(s, s.store(), 4), theirs = semaphore_on(s, s.other(), 4);
        auto three = ours.try_acquire(3);
        BOOST_TEST_REQUIRE(three.held());
        BOOST_TEST(three.size() == 3U);
        for (const auto& each : three.guards()) BOOST_TEST(inspect(s.other(), each.name())->token == each.token());
        BOOST_TEST(is_empty(theirs.try_acquire(2)));
        const auto fourth = theirs.try_acquire();
        BOOST_TEST(fourth.held());
        BOOST_TEST(three.renew());
        BOOST_TEST(three.release() == release_outcome::released);
        BOOST_TEST(is_empty(theirs.try_acquire(4)));
        BOOST_TEST(is_held(theirs.try_acquire_for(20s, 3)));
        std::error_code ec;
        BOOST_TEST(is_empty(theirs.try_acquire(5, ec)));
        BOOST_TEST(ec == errc::invalid_terms);
    });

    cases.add("contenders_for_several_permits_never_hold_too_many", [](auto& s) {
        std::atomic<int> inside = 0, crowded = 0, grants = 0;
        all_end(s, 3, [&](std::size_t i) {
            auto semaphore = semaphore_on(s, i % 2 == 0 ? s.store() : s.other(), 4, terms_of_several);
            for (int round = 0; round < 6; ++round) {
                const int wanted = i == 0 ? 1 : 3;
                const auto permits = semaphore.acquire(wanted);
                if (inside.fetch_add(wanted) + wanted > 4) ++crowded;
                if (permits) ++grants;
                inside -= wanted;
            }
        });
        BOOST_TEST(crowded == 0);
        BOOST_TEST(grants == 18);
    });

    cases.add("count_of_permits_grows_while_they_are_held", [](auto& s) {
        auto ours = semaphore_on(s, s.store(), 2), theirs = semaphore_on(s, s.other(), 2);
        const std::array two{ours.try_acquire(), theirs.try_acquire()};
        BOOST_TEST(is_empty(ours.try_acquire()));
        ours.resize(4);
        const auto third = ours.try_acquire();
        auto fourth = theirs.try_acquire();
        all_end(s, 1, [&](std::size_t) {
            if (fourth.empty()) fourth = theirs.try_acquire_for(20s);  // which looks now and then
        });
        BOOST_TEST(third.held());
        BOOST_TEST(fourth.held());
        BOOST_TEST(theirs.count() == 4U);
        BOOST_TEST(is_empty(theirs.try_acquire()));
        for (const auto& each : two) BOOST_TEST(each.held());
        auto fresh = semaphore_on(s, s.store(), 4), refused = semaphore_on(s, s.store(), 2);
        lease_semaphore follows{s.other(), s.name(), 2, long_terms, s.clock(),
                                semaphore_options{.on_other_count = on_other_count::follow}};
        std::error_code ec;
        BOOST_TEST(is_empty(fresh.try_acquire(ec)));
        BOOST_TEST(!ec);
        BOOST_TEST(is_empty(follows.try_acquire(ec)));
        BOOST_TEST(!ec);
        BOOST_TEST(follows.count() == 4U);
        BOOST_TEST(is_empty(refused.try_acquire(ec)));
        BOOST_TEST(ec == errc::invalid_terms);
    });

    cases.add("permits_above_a_smaller_count_wait_to_be_given_back", [](auto& s) {
        auto ours = semaphore_on(s, s.store(), 4), theirs = semaphore_on(s, s.other(), 4);
        std::array four{ours.try_acquire(), ours.try_acquire(), theirs.try_acquire(), theirs.try_acquire()};
        theirs.resize(2);
        BOOST_TEST((inspect(s.store(), s.name())->is_count()));
        for (auto& each : four) BOOST_TEST(each.renew());
        for (std::size_t i = 0; i < 2; ++i) {
            BOOST_TEST(is_empty(theirs.try_acquire()));
            BOOST_TEST(four[i].release() == release_outcome::released);
        }
        BOOST_TEST(is_empty(theirs.try_acquire()));
        four[2].release();
        const auto next = theirs.try_acquire();
        BOOST_TEST(next.held());
        BOOST_TEST(is_empty(theirs.try_acquire()));
        BOOST_TEST(four[3].held());
        four[3].release();
        const auto last = theirs.try_acquire();
        BOOST_TEST(last.held());
        BOOST_TEST(is_empty(theirs.try_acquire()));
        BOOST_TEST(inspect(s.store(), s.name())->owner == "2 permits, change 2");
        BOOST_TEST(is_empty(ours.try_acquire()), "which may not know of it, and finds the others closed");
        std::error_code ec;
        theirs.resize(0, ec);
        BOOST_TEST(ec == errc::invalid_terms);
        grant(s.store(), s.name("lease"), "somebody");
        lease_semaphore of_a_lease{s.store(), s.name("lease"), 2, long_terms, s.clock()};
        of_a_lease.resize(3, ec);
        BOOST_TEST(ec == errc::invalid_terms);
        BOOST_TEST(inspect(s.store(), s.name("lease"))->owner == "somebody");
    });

    cases.add("permit_that_is_released_goes_to_a_waiter", [](auto& s) {
        auto ours = semaphore_on(s, s.store(), 2), theirs = semaphore_on(s, s.other(), 2);
        const auto kept = theirs.try_acquire();
        auto freed = theirs.try_acquire();
        std::atomic<bool> got = false;
        all_end(s, 2, [&](std::size_t i) {
            if (i == 0)
                got = is_held(ours.try_acquire_for(20s));
            else
                freed.release();
        });
        BOOST_TEST(got.load());
        BOOST_TEST(kept.held());
    });

    cases.add("contenders_for_permits_never_hold_too_many", [](auto& s) {
        std::atomic<int> inside = 0, crowded = 0, grants = 0;
        all_end(s, 4, [&](std::size_t i) {
            auto semaphore = semaphore_on(s, i % 2 == 0 ? s.store() : s.other(), 2, terms_of_several);
            for (int round = 0; round < 10; ++round) {
                const auto permit = semaphore.acquire();
                if (inside.fetch_add(1) >= 2) ++crowded;
                if (permit) ++grants;
                --inside;
            }
        });
        BOOST_TEST(crowded == 0);
        BOOST_TEST(grants == 40);
    });

    cases.add("many_read_or_one_writes", [](auto& s) {
        auto ours = shared_lease_on(s, s.store(), 5), theirs = shared_lease_on(s, s.other(), 5);
        {
            const auto reader = ours.try_acquire_shared(), another = theirs.try_acquire_shared();
            BOOST_TEST(reader.held());
            BOOST_TEST(another.held());
            BOOST_TEST(is_empty(theirs.try_acquire()));
            BOOST_TEST(!inspect(s.store(), s.name() + "/writer").has_value(), "given back");
        }
        auto writer = ours.try_acquire();
        BOOST_TEST_REQUIRE(writer.held());
        BOOST_TEST(writer.token() == inspect(s.other(), writer.name())->token);
        BOOST_TEST(is_empty(theirs.try_acquire_shared()));
        BOOST_TEST(is_empty(theirs.try_acquire()));
        BOOST_TEST(writer.renew());
        BOOST_TEST(writer.release() == release_outcome::released);
        BOOST_TEST(is_held(theirs.try_acquire_shared()));
    });

    cases.add("dead_writer_does_not_keep_readers_out_for_ever", [](auto& s) {
        shared_lease dead{s.store(), s.name(), lease_terms{.ttl = s.ttl()}, s.clock(), no_renewal{}, reader_limit{3}};
        auto alive = shared_lease_on(s, s.other(), 3);
        const auto writer = dead.try_acquire();
        s.let_expire(s.ttl());
        BOOST_TEST(!writer.held());
        BOOST_TEST(is_held(alive.try_acquire_shared()));
    });

    cases.add("readers_and_writers_never_meet", [](auto& s) {
        std::atomic<int> reading = 0, writing = 0, meetings = 0;
        all_end(s, 4, [&](std::size_t i) {
            auto lease = shared_lease_on(s, i % 2 == 0 ? s.store() : s.other(), 3, terms_of_several);
            for (int round = 0; round < 6; ++round) {
                if (i == 0) {
                    const std::unique_lock mine{lease};
                    if (++writing != 1 || reading != 0) ++meetings;
                    --writing;
                }
                else {
                    const std::shared_lock mine{lease};
                    ++reading;
                    if (writing != 0) ++meetings;
                    --reading;
                }
            }
        });
        BOOST_TEST(meetings == 0);
    });
}

template <batch_acquiring_store Store>
std::vector<acquire_result> acquire_many(Store& store, const std::vector<term_request>& what, std::size_t most)
{
    std::vector<std::optional<acquire_result>> answers(what.size());
    std::error_code ec = leftover();
    store.acquire_many(what, most, answers, ec);
    expect_success(store, ec, "acquire_many");
    std::vector<acquire_result> all;
    for (const auto& each : answers) all.push_back(each.value());
    return all;
}

// Names of which some differ in case alone or are the beginning of others, and owners of different lengths; in no order.
struct many_names {
    many_names(const std::string& stem, std::size_t count)
    {
        constexpr std::string_view ends[] = {"", "a", "A", "\xC3\xBC", "~", "'", "a ", "\\"};
        for (std::size_t i = 0; i < count; ++i)
            names.push_back(stem + std::to_string(i * 7 % count / std::size(ends)) + std::string{ends[i * 7 % count % std::size(ends)]});
        for (std::size_t i = 0; i < 2 * count; ++i) owners.push_back("owner " + std::string(i % 9, 'o') + std::to_string(i));
    }

    [[nodiscard]] std::vector<term_request> requests(std::size_t round) const
    {
        std::vector<term_request> all;
        for (std::size_t i = 0; i < names.size(); ++i) all.push_back({names[i], owners[round * names.size() + i], long_ttl});
        return all;
    }

    std::vector<std::string> names, owners;
};

inline constexpr std::array<std::string_view, 4> racers{"owner 0", "owner 1", "owner 2", "owner 3"};

// How many the store takes in one call; 1: it takes one after the other.
template <class Store>
std::size_t taken_together([[maybe_unused]] const Store& store)
{
    if constexpr (batching_store<Store>)
        return store.batch_size();
    else
        return 1;
}

// "y" for granted, "n" for busy.
inline std::string letters(const std::vector<acquire_result>& answers)
{
    std::string text;
    for (const acquire_result& each : answers) text += each.granted() ? 'y' : 'n';
    return text;
}

template <store_fixture Fixture>
void add_many_attempts(case_list<Fixture> cases)
{
    cases.add("many_attempts_grant_what_is_free", [](auto& s) {
        for (const std::size_t count : {1U, 2U, 17U, 40U}) {
            std::vector<std::string> names;
            for (std::size_t i = 0; i < count; ++i) names.push_back(s.name(std::to_string(count) + "/" + std::to_string(i) + "'\"\\"));
            std::vector<term_request> wanted;
            for (const std::string& name : names) wanted.push_back({name, "me", long_ttl});
            const bool busy = count > 2;
            const fencing_token theirs = busy ? grant(s.other(), names[2], "another") : fencing_token{};
            const auto said = acquire_many(s.store(), wanted, count);
            for (std::size_t i = 0; i < count; ++i) {
                const auto record = inspect(s.other(), names[i]);
                BOOST_TEST_REQUIRE(record.has_value());
                BOOST_TEST(said[i].granted() == (record->owner == "me"));
                if (said[i].granted()) BOOST_TEST(said[i].token == record->token);
                BOOST_TEST(said[i].granted() == !(busy && i == 2));
            }
            if (busy) BOOST_TEST(inspect(s.other(), names[2])->token == theirs);
        }
    });

    cases.add("many_attempts_give_each_name_to_its_own_owner", [](auto& s) {
        grant(s.store(), s.name("the first"), "me");  // a store may not know before how many it takes
        const std::size_t together = taken_together(s.store());
        for (const std::size_t count : {20U, 150U}) {
            const many_names named{s.name(std::to_string(count)), count};
            for (const std::size_t round : {0U, 1U}) {  // names without a row, then names with one
                const auto wanted = named.requests(round);
                const auto said = acquire_many(s.store(), wanted, count);
                for (std::size_t i = 0; i < count; ++i) {
                    const auto record = inspect(s.other(), wanted[i].name);
                    BOOST_TEST_REQUIRE((said[i].granted() && record.has_value()), wanted[i].name);
                    BOOST_TEST_REQUIRE(record->owner == wanted[i].owner, wanted[i].name);
                    BOOST_TEST_REQUIRE(record->token == said[i].token, wanted[i].name);
                    release(s.store(), wanted[i].name, wanted[i].owner, said[i].token);
                }
            }
        }
        BOOST_TEST(taken_together(s.store()) == together, "the store has given up taking many at once");
    });

    cases.add("many_attempts_grant_at_most_so_many_in_their_order", [](auto& s) {
        std::vector<std::string> names;
        for (int i = 0; i < 8; ++i) names.push_back(s.name(std::to_string(i)));
        std::vector<term_request> wanted;
        for (const int i : {5, 3, 7, 1, 0, 2}) wanted.push_back({names[static_cast<std::size_t>(i)], "me", long_ttl});
        grant(s.other(), names[3], "another");
        BOOST_TEST(letters(acquire_many(s.store(), wanted, 2)) == "ynynnn");
        BOOST_TEST(!inspect(s.store(), names[1]).has_value());
        BOOST_TEST(letters(acquire_many(s.store(), wanted, 0)) == "nnnnnn");
        BOOST_TEST(acquire_many(s.store(), {}, 3).empty());
    });

    cases.add("many_attempts_by_the_same_owner_are_new_terms", [](auto& s) {
        const std::string a = s.name("a"), b = s.name("b");
        const auto first = grant(s.store(), a, "me");
        const auto said = acquire_many(s.store(), {{a, "me", 1min}, {b, "me", 1min}}, 2);
        BOOST_TEST(letters(said) == "yy");
        BOOST_TEST(said[0].token > first);
        BOOST_TEST((inspect(s.store(), a)->remaining > long_ttl - 1min), "not shortened");
    });

    cases.add("racing_many_attempts_never_grant_a_name_twice", [](auto& s) {
        std::vector<std::string> names;
        for (int i = 0; i < 12; ++i) names.push_back(s.name(std::to_string(i)));
        for (int round = 0; round < 10; ++round) {  // names without a row, then names with one
            std::array<std::vector<acquire_result>, 4> said;
            const auto wanted_by = [&](std::size_t i) {
                std::vector<term_request> wanted;
                for (std::size_t k = 0; k < names.size(); ++k)
                    wanted.push_back({names[(k * (i % 2 == 0 ? 1 : 11)) % 12], racers[i], long_ttl});
                return wanted;
            };
            at_once(4, [&](std::size_t i) {
                const auto wanted = wanted_by(i);
                said[i] = acquire_many(i % 2 == 0 ? s.store() : s.other(), wanted, wanted.size());
            });
            int grants = 0;
            for (std::size_t i = 0; i < said.size(); ++i) {
                const auto wanted = wanted_by(i);
                for (std::size_t k = 0; k < wanted.size(); ++k) {
                    if (!said[i][k].granted()) continue;
                    ++grants;
                    release(s.store(), wanted[k].name, wanted[k].owner, said[i][k].token);
                }
            }
            BOOST_TEST_REQUIRE(grants == 12, "round " << round);
        }
    });
}

}  // namespace leasehold::contract

#endif
