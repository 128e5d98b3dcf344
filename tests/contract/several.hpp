// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_SEVERAL_HPP
#define LEASEHOLD_TESTS_CONTRACT_SEVERAL_HPP

#include <contract/leases.hpp>
#include <contract/races.hpp>
#include <contract/scene.hpp>
#include <contract/waiter.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold::contract {

/// Longer than the cases below take, so that a term which nobody releases shows.
inline constexpr lease_terms terms_of_several{.ttl = 30s};

/// Runs work(i) of several processes on threads, as at_once() does, while the clock goes on.
template <store_fixture Fixture, class Work>
void all_end(scene<Fixture>& s, std::size_t processes, Work work)
{
    std::atomic<std::size_t> ended = 0;
    at_once(processes + 1, [&](std::size_t i) {
        if (i < processes) {
            struct counting {
                std::atomic<std::size_t>& of;
                ~counting() { ++of; }
            } const at_the_end{ended};
            work(i);
            return;
        }
        const auto until = std::chrono::steady_clock::now() + 60s;
        while (ended < processes && std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(1ms);
            s.let_pass(5ms);
        }
        // What std::lock() waits for can't be cancelled; on a clock turned by hand it runs out.
        if (ended < processes) s.let_pass(2 * long_ttl);
    });
}

/// How often somebody held the leases alone, and how often not.
struct together {
    std::atomic<int> inside = 0;
    std::atomic<int> alone = 0;
    std::atomic<int> crowded = 0;

    void visit()
    {
        ++(inside.fetch_add(1) == 0 ? alone : crowded);
        std::this_thread::yield();
        --inside;
    }
};

// Several leases at a time, as std::lock() takes them: nobody has to mind the order.
template <store_fixture Fixture>
void add_several(case_list<Fixture> cases)
{
    cases.add("lease_is_a_timed_lockable", [](auto& s) {
        basic_lease mine{s.store(), s.name(), long_terms, s.clock()};
        basic_lease theirs{s.other(), s.name(), long_terms, s.clock()};
        {
            const std::unique_lock lock{mine};
            BOOST_TEST(mine.guard().held());
            BOOST_TEST(!theirs.try_lock());
            BOOST_TEST(!theirs.try_lock_for(0s));
            BOOST_TEST(!theirs.try_lock_until(s.clock().now()));
        }
        BOOST_TEST(!mine.guard());
        BOOST_TEST(!inspect(s.other(), s.name()).has_value());
        BOOST_TEST(theirs.try_lock());
        theirs.unlock();
    });

    cases.add("several_leases_are_taken_all_or_none", [](auto& s) {
        basic_lease a{s.store(), s.name("a"), long_terms, s.clock()};
        basic_lease b{s.store(), s.name("b"), long_terms, s.clock()};
        basic_lease c{s.store(), s.name("c"), long_terms, s.clock()};
        const fencing_token taken = grant(s.other(), s.name("c"), "somebody else");
        const auto before = shown(s, {"a", "b", "c"});
        BOOST_TEST(std::try_lock(a, b, c) == 2);
        BOOST_TEST(shown(s, {"a", "b", "c"}) == before);
        BOOST_TEST(std::try_lock(c, a, b) == 0);
        BOOST_TEST(shown(s, {"a", "b", "c"}) == before);
        release(s.other(), s.name("c"), "somebody else", taken);
        BOOST_REQUIRE(std::try_lock(a, b, c) == -1);
        for (const char* label : {"a", "b", "c"}) BOOST_TEST(!acquire(s.other(), s.name(label), "somebody else").granted());
        a.unlock();
        b.unlock();
        c.unlock();
        for (const char* label : {"a", "b", "c"}) BOOST_TEST(acquire(s.other(), s.name(label), "somebody else").granted());
    });

    cases.add("two_leases_locked_in_opposite_orders_by_two_processes_end", [](auto& s) {
        constexpr int times = 50;
        together both;
        const time_point begun = s.clock().now();
        all_end(s, 2, [&](std::size_t i) {
            auto& store = store_of_contender(s, i);
            basic_lease a{store, s.name("a"), terms_of_several, s.clock()};
            basic_lease b{store, s.name("b"), terms_of_several, s.clock()};
            for (int time = 0; time < times; ++time) {
                const std::scoped_lock lock{i == 0 ? a : b, i == 0 ? b : a};
                both.visit();
            }
        });
        const std::chrono::duration<double, std::milli> took = s.clock().now() - begun;
        BOOST_TEST_MESSAGE("    " << took.count() / times / 2 << " ms each");
        BOOST_TEST(both.alone == 2 * times);
        BOOST_TEST(both.crowded == 0);
        BOOST_TEST((took < terms_of_several.ttl));  // nobody had to wait for a term to run out
        BOOST_TEST(shown(s, {"a", "b"}).empty());
    });

    cases.add("five_leases_locked_in_any_order_by_four_contenders_end", [](auto& s) {
        constexpr int times = 10;
        const std::uint64_t seed = random_seed();
        BOOST_TEST_INFO_SCOPE("replay with LEASEHOLD_TEST_SEED=" << seed);
        together all;
        const time_point begun = s.clock().now();
        all_end(s, 4, [&](std::size_t i) {
            auto& store = store_of_contender(s, i);
            const auto lease = [&](const char* label) {
                return basic_lease{store, s.name(label), terms_of_several, s.clock()};
            };
            std::array leases{lease("a"), lease("b"), lease("c"), lease("d"), lease("e")};
            std::mt19937_64 random{seed + i};
            std::array<std::size_t, 5> at{0, 1, 2, 3, 4};
            for (int time = 0; time < times; ++time) {
                std::shuffle(at.begin(), at.end(), random);
                const std::scoped_lock lock{leases[at[0]], leases[at[1]], leases[at[2]], leases[at[3]],
                                            leases[at[4]]};
                all.visit();
            }
        });
        const std::chrono::duration<double, std::milli> took = s.clock().now() - begun;
        BOOST_TEST_MESSAGE("    " << took.count() / times / 4 << " ms each");
        BOOST_TEST(all.alone == 4 * times);
        BOOST_TEST(all.crowded == 0);
        BOOST_TEST(shown(s, {"a", "b", "c", "d", "e"}).empty());
    });
}

}  // namespace leasehold::contract

#endif
