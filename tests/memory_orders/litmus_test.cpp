// SPDX-License-Identifier: BSL-1.0
// The model itself: small programs of which the literature on memory orders says what may come out of them.
#include <memory_orders/exploration.hpp>
#include <memory_orders/instead_of_std.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

namespace litmus {

using orders::atomic;
using orders::explore;
using orders::fiber_execution;
using orders::plain;
using orders::weakening;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto seq_cst = std::memory_order_seq_cst;

// Whether the outcome that a program calls "seen" may come out of it.
template <class Program>
bool may_happen(Program program)
{
    const orders::exploration found = explore(program);
    if (!found.failure.empty()) BOOST_TEST(found.failure == "seen");
    BOOST_TEST((found.complete || !found.failure.empty()));
    BOOST_TEST(found.cut == 0U);
    return found.failure == "seen";
}

template <class Program>
std::string failure_of(Program program)
{
    return explore(program).failure;
}

BOOST_AUTO_TEST_SUITE(litmus_test)

auto message_passing(std::memory_order store, std::memory_order load)
{
    return [=](fiber_execution& run) {
        atomic<int> data, flag;
        int seen = 1;
        run.threads({[&] {
                         data.store(1, relaxed);
                         flag.store(1, store);
                     },
                     [&] {
                         if (flag.load(load) == 1) seen = data.load(relaxed);
                     }});
        run.require(seen == 1, "seen");
    };
}

BOOST_AUTO_TEST_CASE(message_passing_needs_a_release_and_an_acquire)
{
    BOOST_TEST(!may_happen(message_passing(release, acquire)));
    BOOST_TEST(!may_happen(message_passing(seq_cst, seq_cst)));
    BOOST_TEST(may_happen(message_passing(relaxed, acquire)));
    BOOST_TEST(may_happen(message_passing(release, relaxed)));
}

auto plain_message(std::memory_order store, std::memory_order load)
{
    return [=](fiber_execution& run) {
        plain<int> data;
        atomic<int> flag;
        run.threads({[&] {
                         data = 1;
                         flag.store(1, store);
                     },
                     [&] {
                         if (flag.load(load) == 1) run.require(data == 1, "seen");
                     }});
    };
}

BOOST_AUTO_TEST_CASE(plain_variable_is_raced_for_without_them)
{
    BOOST_TEST(failure_of(plain_message(release, acquire)).empty());
    BOOST_TEST(failure_of(plain_message(relaxed, acquire)).starts_with("data race"));
    BOOST_TEST(failure_of(plain_message(release, relaxed)).starts_with("data race"));
    const auto read_then_written = [](fiber_execution& run) {
        plain<int> data;
        run.threads({[&] { static_cast<void>(static_cast<int>(data)); }, [&] { data = 1; }});
    };
    BOOST_TEST(failure_of(read_then_written).starts_with("data race"));
}

auto store_buffering(std::memory_order store, std::memory_order load)
{
    return [=](fiber_execution& run) {
        atomic<int> x, y;
        int first = 0, second = 0;
        run.threads({[&] {
                         x.store(1, store);
                         first = y.load(load);
                     },
                     [&] {
                         y.store(1, store);
                         second = x.load(load);
                     }});
        run.require(first == 1 || second == 1, "seen");
    };
}

BOOST_AUTO_TEST_CASE(store_buffering_is_prevented_by_sequential_consistency_only)
{
    BOOST_TEST(!may_happen(store_buffering(seq_cst, seq_cst)));
    BOOST_TEST(may_happen(store_buffering(release, acquire)));
    BOOST_TEST(may_happen(store_buffering(seq_cst, acquire)));
    BOOST_TEST(may_happen(store_buffering(release, seq_cst)));
    BOOST_TEST(explore(store_buffering(seq_cst, seq_cst), weakening{.sequential = true}).failure == "seen");
}

BOOST_AUTO_TEST_CASE(one_location_is_never_read_backwards)
{
    BOOST_TEST(!may_happen([](fiber_execution& run) {
        atomic<int> x;
        run.threads({[&] { x.store(1, relaxed); }, [&] { x.store(2, relaxed); },
                     [&] {
                         const int first = x.load(relaxed);
                         const int second = x.load(relaxed);
                         run.require(first == 0 || second != 0, "seen");
                     }});
    }));
    BOOST_TEST(!may_happen([](fiber_execution& run) {  // nor do two readers disagree on the order of two stores
        atomic<int> x;
        int a = 0, b = 0, c = 0, d = 0;
        run.threads({[&] {
                         x.store(1, relaxed);
                         x.store(2, relaxed);
                     },
                     [&] {
                         a = x.load(relaxed);
                         b = x.load(relaxed);
                     },
                     [&] {
                         c = x.load(relaxed);
                         d = x.load(relaxed);
                     }});
        run.require(!(a == 2 && b == 1) && !(c == 2 && d == 1), "seen");
    }));
}

auto two_writers_two_readers(std::memory_order order)
{
    return [=](fiber_execution& run) {
        atomic<int> x, y;
        int a = 0, b = 0, c = 0, d = 0;
        run.threads({[&] { x.store(1, order == seq_cst ? seq_cst : release); },
                     [&] { y.store(1, order == seq_cst ? seq_cst : release); },
                     [&] {
                         a = x.load(order);
                         b = y.load(order);
                     },
                     [&] {
                         c = y.load(order);
                         d = x.load(order);
                     }});
        run.require(!(a == 1 && b == 0 && c == 1 && d == 0), "seen");
    };
}

BOOST_AUTO_TEST_CASE(independent_stores_have_one_order_only_if_sequentially_consistent)
{
    BOOST_TEST(!may_happen(two_writers_two_readers(seq_cst)));
    BOOST_TEST(may_happen(two_writers_two_readers(acquire)));
}

auto chain_of_two(std::memory_order store)
{
    return [=](fiber_execution& run) {
        atomic<int> data, first, second;
        int seen = 1;
        run.threads({[&] {
                         data.store(1, relaxed);
                         first.store(1, release);
                     },
                     [&] {
                         if (first.load(acquire) == 1) second.store(1, store);
                     },
                     [&] {
                         if (second.load(acquire) == 1) seen = data.load(relaxed);
                     }});
        run.require(seen == 1, "seen");
    };
}

BOOST_AUTO_TEST_CASE(happens_before_is_transitive)
{
    BOOST_TEST(!may_happen(chain_of_two(release)));
    BOOST_TEST(may_happen(chain_of_two(relaxed)));
}

auto crossing_stores(std::memory_order order)
{
    return [=](fiber_execution& run) {
        atomic<int> x, y;
        run.threads({[&] {
                         x.store(1, order);
                         y.store(2, order);
                     },
                     [&] {
                         y.store(1, order);
                         x.store(2, order);
                     }});
        run.require(!(x.load(relaxed) == 1 && y.load(relaxed) == 1), "seen");
    };
}

BOOST_AUTO_TEST_CASE(modification_order_need_not_be_the_order_of_execution)
{
    BOOST_TEST(may_happen(crossing_stores(relaxed)));
    BOOST_TEST(may_happen(crossing_stores(release)));
    BOOST_TEST(!may_happen(crossing_stores(seq_cst)));
}

template <class Middle>
std::string through_the_middle(Middle middle)
{
    return failure_of([=](fiber_execution& run) {
        plain<int> data;
        atomic<int> flag;
        run.threads({[&] {
                         data = 1;
                         flag.store(1, release);
                     },
                     [&] { middle(flag); },
                     [&] {
                         if (flag.load(acquire) == 3) run.require(data == 1, "seen");
                     }});
    });
}

BOOST_AUTO_TEST_CASE(read_modify_write_continues_a_release_and_a_store_does_not)
{
    BOOST_TEST(through_the_middle([](atomic<int>& flag) {
                   int one = 1;
                   flag.compare_exchange_strong(one, 3, relaxed);
               }).empty());
    BOOST_TEST(through_the_middle([](atomic<int>& flag) {
                   if (flag.load(relaxed) == 1) flag.store(3, relaxed);
               }).starts_with("data race"));
}

BOOST_AUTO_TEST_CASE(relaxed_additions_are_all_counted)
{
    BOOST_TEST(!may_happen([](fiber_execution& run) {
        atomic<int> count;
        const auto add = [&] { count.fetch_add(1, relaxed); };
        run.threads({add, add, add});
        run.require(count.load(relaxed) == 3, "seen");
    }));
    BOOST_TEST(may_happen([](fiber_execution& run) {
        atomic<int> count;
        const auto add = [&] { count.store(count.load(seq_cst) + 1, seq_cst); };
        run.threads({add, add});
        run.require(count.load(relaxed) == 2, "seen");
    }));
}

BOOST_AUTO_TEST_CASE(mutex_orders_what_it_guards)
{
    const auto counting = [](bool locked) {
        return [=](fiber_execution& run) {
            plain<int> count;
            orders::mutex guards;
            const auto add = [&] {
                if (locked) guards.lock();
                count = count + 1;
                if (locked) guards.unlock();
            };
            run.threads({add, add, add});
            run.require(count == 3, "seen");
        };
    };
    BOOST_TEST(explore(counting(true)).holds());
    BOOST_TEST(failure_of(counting(false)).starts_with("data race"));
}

auto handed_over(std::memory_order store, std::memory_order load)
{
    return [=](fiber_execution& run) {
        atomic<atomic<int>*> shared;
        std::unique_ptr<atomic<int>> made;
        run.threads({[&] {
                         made = std::make_unique<atomic<int>>(7);
                         shared.store(made.get(), store);
                     },
                     [&] {
                         if (atomic<int>* const its = shared.load(load)) static_cast<void>(its->load(relaxed));
                     }});
    };
}

BOOST_AUTO_TEST_CASE(beginning_and_end_of_an_atomic_are_not_atomic)
{
    BOOST_TEST(failure_of(handed_over(release, acquire)).empty());
    BOOST_TEST(failure_of(handed_over(release, relaxed)) ==
               "an atomic is used that another thread has not been seen to make");
    BOOST_TEST(failure_of(handed_over(relaxed, acquire)) ==
               "an atomic is used that another thread has not been seen to make");
    BOOST_TEST(failure_of([](fiber_execution& run) {
                   auto one = std::make_unique<atomic<int>>();
                   atomic<int>& used = *one;
                   atomic<bool> was_used;
                   run.threads({[&] {
                                    used.store(1, relaxed);
                                    was_used.store(true, relaxed);
                                },
                                [&] {
                                    if (was_used.load(relaxed)) one.reset();
                                }});
               }) == "an atomic is destroyed while it is used");
}

// What the model leaves out. If this turns red it has become stronger: then say so in docs/memory_orders.md.
BOOST_AUTO_TEST_CASE(load_buffering_is_not_explored)
{
    BOOST_TEST(!may_happen([](fiber_execution& run) {
        atomic<int> x, y;
        int first = 0, second = 0;
        run.threads({[&] {
                         first = x.load(relaxed);
                         y.store(1, relaxed);
                     },
                     [&] {
                         second = y.load(relaxed);
                         x.store(1, relaxed);
                     }});
        run.require(!(first == 1 && second == 1), "seen");
    }));
}

BOOST_AUTO_TEST_CASE(loop_without_an_end_is_cut_and_proves_nothing)
{
    const auto wait_for = [](bool set) {
        return [set](fiber_execution& run) {
            run.most_steps = 10;
            atomic<bool> flag;
            run.threads({[&] {
                             while (!flag.load(relaxed) && !run.cut) {}
                         },
                         [&] { flag.store(set, relaxed); }});
        };
    };
    const orders::exploration comes = explore(wait_for(true));
    BOOST_TEST((comes.complete && comes.cut > 0U && comes.cut < comes.runs));
    BOOST_TEST(comes.holds());
    const orders::exploration never = explore(wait_for(false));
    BOOST_TEST((never.complete && never.cut == never.runs));
    BOOST_TEST(!never.holds());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace litmus
