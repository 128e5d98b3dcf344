// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_WAITING_HPP
#define LEASEHOLD_TESTS_CONTRACT_WAITING_HPP

#include <contract/asked_once.hpp>
#include <contract/leases.hpp>
#include <contract/races.hpp>
#include <contract/scene.hpp>
#include <contract/tenure.hpp>
#include <contract/waiter.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace leasehold::contract {

/// Far more than a wait takes to end on a busy machine, far less than the terms that it must not take.
inline constexpr duration soon = 5s;

// A waiter's place in a queue that is for no lease.
template <ordered_store Store>
struct place_in_queue {
    place_in_queue(Store& of, std::string_view name) : store{of}, ticket{of.enqueue(name, to_wake)} {}

    turn_answer turn()
    {
        std::error_code ec = leftover();
        const turn_answer said = store.turn(ticket, ec);
        expect_success(store, ec, "turn");
        return said;
    }
    [[nodiscard]] bool comes_first()
    {
        return eventually([this] { return turn().status == turn_status::first; });
    }

    Store& store;
    waker to_wake;
    leasehold::detail::queue_ticket_of<Store> ticket;
};

// Waiting for a lease that is busy: what the store is asked, and what a wait leaves behind.
template <store_fixture Fixture>
void add_waiting(case_list<Fixture> cases)
{
    cases.add("wait_of_no_time_is_exactly_one_attempt", [](auto& s) {
        observed_store store{s.other()};
        basic_lease lease{store, s.name(), long_terms, s.clock()};
        std::error_code ec = leftover();
        BOOST_TEST(is_held(lease.try_acquire_for(0s, ec)));
        BOOST_TEST(!ec);
        BOOST_TEST(store.attempts() == 1);
        grant(s.store(), s.name(), "somebody else");
        ec = leftover();
        BOOST_TEST(!is_held(lease.try_acquire_for(0s, ec)));
        BOOST_TEST(!ec);
        BOOST_TEST(!is_held(lease.try_acquire_for(-1s)));
        BOOST_TEST(!is_held(lease.try_acquire_until(s.clock().now())));
        BOOST_TEST(!is_held(lease.try_acquire_until(s.clock().now() - 1s)));
        BOOST_TEST(store.attempts() == 5);
    });

    // A program that subtracts too much, or has read a zero as a date: on any clock, it must not hang.
    cases.add("wait_until_an_instant_long_past_is_exactly_one_attempt", [](auto& s) {
        grant(s.store(), s.name(), "somebody else");
        observed_store store{s.other()};
        basic_lease lease{store, s.name(), long_terms, s.clock()};
        BOOST_TEST(!is_held(lease.try_acquire_until(time_point::min())));
        BOOST_TEST(!is_held(lease.try_acquire_until(std::chrono::steady_clock::time_point::min())));
        BOOST_TEST(!is_held(lease.try_acquire_until(std::chrono::system_clock::time_point::min())));
        BOOST_TEST(!is_held(lease.try_acquire_until(std::chrono::sys_days{std::chrono::year{1600} / 1 / 1})));
        BOOST_TEST(!lease.try_lock_until(std::chrono::system_clock::time_point{}));
        BOOST_TEST(store.attempts() == 5);
    });

    cases.add("wait_that_was_cancelled_before_does_not_call_the_store", [](auto& s) {
        observed_store store{s.store()};
        basic_lease lease{store, s.name(), long_terms, s.clock()};
        std::stop_source stop;
        stop.request_stop();
        std::error_code ec = leftover();
        BOOST_TEST(!is_held(lease.acquire(stop.get_token(), ec)));
        BOOST_TEST(ec == std::errc::operation_canceled);
        ec = leftover();
        BOOST_TEST(!is_held(lease.try_acquire_until(s.clock().now() + 1s, stop.get_token(), ec)));
        BOOST_TEST(ec == std::errc::operation_canceled);
        BOOST_TEST(!is_held(lease.try_acquire_for(0s, stop.get_token())));
        BOOST_TEST(!is_held(lease.try_acquire_for(1s, stop.get_token())));
        BOOST_TEST(!is_held(lease.try_acquire_until(s.clock().now() + 1s, stop.get_token())));
        BOOST_TEST(store.calls() == 0);
        BOOST_TEST(!inspect(s.other(), s.name()).has_value());
    });

    cases.add("wait_that_ran_out_of_time_leaves_nothing_behind", [](auto& s) {
        auto holder = lease_on(s, s.store());
        auto guard = holder.try_acquire();
        const auto before = shown(s);
        observed_store store{s.other()};
        basic_lease lease{store, s.name(), long_terms, s.clock()};
        const time_point begun = s.clock().now();
        waiter waits{lease, s.clock(), s.ttl()};
        BOOST_REQUIRE(eventually([&] { return store.has_waiter(); }));
        s.let_pass(s.ttl() * 7 / 8);
        BOOST_TEST(comes_true(s, [&] { return waits.ended(); }, s.ttl() + soon));
        BOOST_REQUIRE(waits.ended());
        BOOST_TEST(!waits.guard());
        BOOST_TEST(!waits.error());
        BOOST_TEST(waits.ended_at() - begun >= s.ttl());
        BOOST_TEST(waits.ended_at() - begun < s.ttl() + soon);
        BOOST_TEST(waiting::own_queue::threads_waiting() == 0U);
        BOOST_TEST(shown(s) == before);
        BOOST_TEST(guard.release() == release_outcome::released);
        BOOST_TEST(shown(s).empty());
        BOOST_TEST(acquire(s.store(), s.name(), "the next").granted());
    });

    cases.add("wait_that_was_cancelled_ends_soon_and_leaves_nothing_behind", [](auto& s) {
        auto holder = lease_on(s, s.store());
        auto guard = holder.try_acquire();
        const auto before = shown(s);
        observed_store store{s.other()};
        basic_lease lease{store, s.name(), long_terms, s.clock()};
        waiter waits{lease, s.clock()};
        BOOST_REQUIRE(eventually([&] { return store.has_waiter(); }));
        BOOST_TEST(shown(s) == before);
        const auto cancelled = std::chrono::steady_clock::now();
        waits.cancel();
        BOOST_REQUIRE(eventually([&] { return waits.ended(); }));  // also on a clock that stands still
        BOOST_TEST(std::chrono::steady_clock::now() - cancelled < soon);
        BOOST_TEST(!waits.guard());
        BOOST_TEST(waits.error() == std::errc::operation_canceled);
        BOOST_TEST(waiting::own_queue::threads_waiting() == 0U);
        BOOST_TEST(shown(s) == before);
        BOOST_TEST(guard.release() == release_outcome::released);
        BOOST_TEST(shown(s).empty());
        BOOST_TEST(acquire(s.store(), s.name(), "the next").granted());
    });

    cases.add("lease_can_be_waited_for_again", [](auto& s) {
        auto holder = lease_on(s, s.store());
        auto guard = holder.try_acquire();
        observed_store store{s.other()};
        basic_lease lease{store, s.name(), long_terms, s.clock()};
        for (int i = 0; i < 2; ++i) {
            waiter in_vain{lease, s.clock(), 30ms};
            BOOST_REQUIRE(comes_true(s, [&] { return in_vain.ended(); }));
            BOOST_TEST(!in_vain.guard());
        }
        const int before = store.attempts();
        waiter waits{lease, s.clock()};
        BOOST_REQUIRE(comes_true(s, [&] { return store.attempts() > before; }));
        guard.release();
        BOOST_REQUIRE(comes_true(s, [&] { return waits.ended(); }));
        BOOST_TEST(waits.guard().held());
    });

    cases.add("waiter_asks_the_store_rarely", [](auto& s) {
        grant(s.store(), s.name(), "somebody else");
        observed_store store{s.other()};
        basic_lease lease{store, s.name(), long_terms, s.clock()};
        waiter waits{lease, s.clock()};
        BOOST_REQUIRE(eventually([&] { return store.has_waiter(); }));
        const auto begun = s.clock().now();
        for (int i = 0; i < 50; ++i) {
            s.let_pass(5ms);
            std::this_thread::sleep_for(1ms);  // for a waiter that asks too often to show it
            if (waits.ended()) break;
        }
        // A waiter that can be woken has little reason to ask: to queue, to know when the term ends, and to leave the head of the queue
        // to a holder that came without waiting.
        const duration shortest = waiting::pauses_of(store).shortest;
        const auto allowed = store.wakes() ? 8 : 3 + (s.clock().now() - begun) / (shortest / 2);
        BOOST_TEST(store.attempts() <= allowed);
        BOOST_TEST(!waits.ended());
    });

    cases.add("renewals_by_the_holder_wake_nobody", [](auto& s) {
        auto holder = lease_on(s, s.store());
        auto guard = holder.try_acquire();
        observed_store store{s.other()};
        basic_lease lease{store, s.name(), long_terms, s.clock()};
        waiter waits{lease, s.clock()};
        BOOST_REQUIRE(eventually([&] { return store.has_waiter(); }));
        for (int i = 0; i < 20; ++i) {
            BOOST_TEST(guard.renew());
            std::this_thread::sleep_for(1ms);  // for a waiter that was woken to show it
        }
        BOOST_TEST(!waits.ended());
        if (store.wakes()) BOOST_TEST(store.attempts() <= 8);
        guard.release();
        BOOST_TEST(comes_true(s, [&] { return waits.ended(); }));
    });
}

// What ends a wait with the lease, or with an error.
template <store_fixture Fixture>
void add_turns(case_list<Fixture> cases)
{
    cases.add("waiter_gets_the_lease_after_a_release", [](auto& s) {
        auto holder = lease_on(s, s.store());
        auto guard = holder.try_acquire();
        const fencing_token first = guard.token();
        observed_store store{s.other()};
        basic_lease lease{store, s.name(), long_terms, s.clock()};
        waiter waits{lease, s.clock()};
        BOOST_REQUIRE(eventually([&] { return store.has_waiter(); }));
        BOOST_TEST(!waits.ended());
        guard.release();
        BOOST_REQUIRE(comes_true(s, [&] { return waits.ended(); }));
        BOOST_TEST(!waits.error());
        BOOST_TEST(waits.guard().held());
        BOOST_TEST(waits.guard().token() > first);
        BOOST_TEST(inspect(s.store(), s.name())->owner == lease.owner());
    });

    cases.add("release_right_after_the_busy_answer_is_not_missed", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a");
        std::atomic<bool> released = false;
        observed_store store{s.other(), [&] {
                                 if (!released.exchange(true)) release(s.store(), s.name(), "a", first);
                             }};
        basic_lease lease{store, s.name(), long_terms, s.clock()};
        waiter waits{lease, s.clock()};
        BOOST_REQUIRE(comes_true(s, [&] { return waits.ended(); }));
        BOOST_TEST(waits.guard().token() > first);
    });

    cases.add("waits_for_different_names_do_not_disturb_each_other", [](auto& s) {
        const fencing_token of_one = grant(s.store(), s.name("one"), "a");
        const fencing_token of_two = grant(s.store(), s.name("two"), "a");
        observed_store first{s.other()};
        observed_store second{s.other()};
        basic_lease one{first, s.name("one"), long_terms, s.clock()};
        basic_lease two{second, s.name("two"), long_terms, s.clock()};
        waiter waits_for_one{one, s.clock()};
        BOOST_REQUIRE(eventually([&] { return first.has_waiter(); }));
        waiter waits_for_two{two, s.clock()};
        BOOST_REQUIRE(eventually([&] { return second.has_waiter(); }));
        release(s.store(), s.name("one"), "a", of_one);
        BOOST_REQUIRE(comes_true(s, [&] { return waits_for_one.ended(); }));
        BOOST_TEST(waits_for_one.guard().held());
        BOOST_TEST(!waits_for_two.ended());
        release(s.store(), s.name("two"), "a", of_two);
        BOOST_REQUIRE(comes_true(s, [&] { return waits_for_two.ended(); }));
        BOOST_TEST(waits_for_two.guard().held());
    });

    cases.add("waiter_gets_the_lease_of_a_holder_that_never_releases_when_it_runs_out_and_not_before", [](auto& s) {
        const time_point begun = s.clock().now();
        const fencing_token first = grant(s.store(), s.name(), "crashed", s.ttl());
        basic_lease lease{s.other(), s.name(), long_terms, s.clock()};
        waiter waits{lease, s.clock()};
        BOOST_REQUIRE(eventually([&] { return waits.ended() || waiting::own_queue::threads_waiting() == 1; }));
        s.let_pass(s.ttl() * 7 / 8);
        BOOST_REQUIRE(comes_true(s, [&] { return waits.ended(); }, s.ttl() + soon));
        BOOST_TEST(waits.guard().token() > first);
        // Rates of clocks differ by less than this in so short a time.
        BOOST_TEST(waits.ended_at() - begun >= s.ttl() - 1ms);
        BOOST_TEST(waits.ended_at() - begun < s.ttl() + s.rounding() + soon);
    });

    cases.add("min_hold_is_waited_for", [](auto& s) {
        const lease_terms once{.ttl = long_ttl, .min_hold = s.ttl()};
        auto job = lease_on(s, s.store(), once);
        const time_point begun = s.clock().now();
        auto done = job.try_acquire();
        const fencing_token first = done.token();
        done.release();
        basic_lease lease{s.other(), s.name(), long_terms, s.clock()};
        waiter waits{lease, s.clock()};
        s.let_pass(s.ttl() * 7 / 8);
        BOOST_REQUIRE(comes_true(s, [&] { return waits.ended(); }, s.ttl() + soon));
        BOOST_TEST(waits.guard().token() > first);
        BOOST_TEST(waits.ended_at() - begun >= s.ttl() - 1ms);
    });

    cases.add("threads_that_wait_for_a_name_take_turns_and_ask_one_at_a_time", [](auto& s) {
        constexpr std::size_t threads = 12;
        const fencing_token first = grant(s.store(), s.name(), "holder");
        observed_store store{s.other(), [] { std::this_thread::sleep_for(1ms); }};  // or two at once would hardly be seen
        const leasehold::steady_clock real;
        std::atomic<std::size_t> ended = 0;
        std::vector<tenure> turns(threads);
        std::vector<std::error_code> errors(threads);
        std::stop_source stop;
        std::vector<std::jthread> waiting;
        for (std::size_t i = 0; i < threads; ++i)
            waiting.emplace_back([&, i] {
                basic_lease lease{store, s.name(), long_terms, s.clock()};
                {
                    const auto guard = lease.acquire(stop.get_token(), errors[i]);
                    turns[i] = {real.now(), {}, guard.token(), contender(i)};
                    std::this_thread::yield();
                    turns[i].end = real.now();
                }
                ++ended;
            });
        BOOST_TEST(eventually([] { return waiting::own_queue::threads_waiting() == threads; }));
        BOOST_TEST(eventually([&] { return store.attempts() > 0; }));
        const auto still = inspect(s.store(), s.name());
        BOOST_TEST((still && still->owner == "holder"));
        BOOST_TEST(ended == 0U);
        release(s.store(), s.name(), "holder", first);
        BOOST_TEST(comes_true(s, [&] { return ended == threads; }));
        stop.request_stop();
        waiting.clear();
        for (const std::error_code& error : errors) BOOST_TEST(!error);
        BOOST_TEST(std::ranges::count(turns, fencing_token{}, &tenure::token) == 0);
        BOOST_TEST(overlaps_in(turns) == "");
        BOOST_TEST(store.most_attempts_at_once() == 1);
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
    });

    // One that waits in each of two processes, again and again: a wake that goes to the wrong one would stop both.
    cases.add("waiters_of_two_processes_hand_the_lease_to_each_other", [](auto& s) {
        constexpr int turns_each = 25;
        observed_store one{s.store()};
        observed_store two{s.other()};
        const bool apart = &s.store() != &s.other();
        const leasehold::steady_clock real;
        std::vector<std::vector<tenure>> turns(2);
        std::vector<std::error_code> errors(2);
        std::atomic<int> ended = 0;
        std::stop_source stop;
        std::vector<std::jthread> processes;
        for (std::size_t i = 0; i < 2; ++i)
            processes.emplace_back([&, i] {
                basic_lease lease{i == 1 && apart ? two : one, s.name(), long_terms, s.clock()};
                for (int turn = 0; turn < turns_each && !errors[i]; ++turn)
                    if (const auto guard = lease.acquire(stop.get_token(), errors[i])) {
                        turns[i].push_back({real.now(), {}, guard.token(), contender(i)});
                        std::this_thread::yield();
                        turns[i].back().end = real.now();
                    }
                ++ended;
            });
        BOOST_TEST(comes_true(s, [&] { return ended == 2; }, long_ttl / 2));
        stop.request_stop();
        processes.clear();
        std::vector<tenure> all = turns[0];
        all.insert(all.end(), turns[1].begin(), turns[1].end());
        for (const std::error_code& error : errors) BOOST_TEST(!error);
        BOOST_TEST(all.size() == 2U * turns_each);
        BOOST_TEST(overlaps_in(all) == "");
    });

    if constexpr (ordered_store<store_of<Fixture>>) {
        // A store that can't order its waiters says first to each, and that nobody will wake it.
        cases.add("turns_come_in_order_across_processes_and_each_wakes_the_next", [](auto& s) {
            using place = place_in_queue<store_of<Fixture>>;
            auto first = std::make_unique<place>(s.store(), s.name());
            BOOST_REQUIRE(first->comes_first());
            auto second = std::make_unique<place>(s.other(), s.name());
            if (const turn_answer said = second->turn(); said.status == turn_status::first) {
                BOOST_TEST((said.retry_after == duration::zero()));
                return;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{300});  // it may have to connect before it stands in the line
            auto third = std::make_unique<place>(s.store(), s.name());
            static_cast<void>(third->turn());
            BOOST_TEST((first->turn().status == turn_status::first), "once the first, it stays so");
            BOOST_TEST((second->turn().status == turn_status::behind));
            BOOST_TEST((second->turn().retry_after > duration::zero()));
            static_cast<void>(second->to_wake.take());
            first.reset();
            BOOST_TEST(second->to_wake.wait_for(soon), "its turn has come");
            BOOST_TEST(second->comes_first());
            BOOST_TEST((third->turn().status == turn_status::behind));
            second.reset();
            BOOST_TEST(third->comes_first());
        });

        cases.add("turn_at_a_name_has_nothing_to_do_with_its_lease", [](auto& s) {
            place_in_queue waits{s.store(), s.name()};
            BOOST_REQUIRE(waits.comes_first());
            BOOST_TEST(!inspect(s.other(), s.name()).has_value());
            BOOST_TEST(acquire(s.other(), s.name(), "a single attempt").granted());
            BOOST_TEST((waits.turn().status == turn_status::first));
            place_in_queue elsewhere{s.other(), s.name("another")};
            BOOST_TEST(elsewhere.comes_first());
        });
    }

    if constexpr (fixture_that_deletes<Fixture>)
        cases.add("waiter_for_a_name_that_is_deleted_gets_it_when_the_term_would_have_run_out_at_the_latest", [](auto& s) {
            grant(s.store(), s.name(), "crashed", s.ttl());
            basic_lease lease{s.other(), s.name(), long_terms, s.clock()};
            waiter waits{lease, s.clock()};
            BOOST_REQUIRE(eventually([&] { return waits.ended() || waiting::own_queue::threads_waiting() == 1; }));
            s.fixture.delete_row(s.name());
            BOOST_REQUIRE(comes_true(s, [&] { return waits.ended(); }, s.ttl() + soon));
            BOOST_TEST(waits.guard().held());
        });

    if constexpr (fixture_with_outages<Fixture>)
        cases.add("outage_of_the_store_ends_a_wait_with_its_error", [](auto& s) {
            // A slow machine may not be down before the term runs out: then once more, with a longer one.
            for (duration ttl = s.ttl(); ttl < 1h; ttl *= 4) {
                const std::string name = s.name(std::to_string(ttl.count()));
                const time_point granted = s.clock().now();
                grant(s.store(), name, "crashed", ttl);
                basic_lease lease{s.other(), name, long_terms, s.clock()};
                waiter waits{lease, s.clock()};
                BOOST_REQUIRE(eventually([&] { return waits.ended() || waiting::own_queue::threads_waiting() == 1; }));
                {
                    const auto outage = s.fixture.begin_outage();
                    if (s.clock().now() >= granted + ttl) continue;
                    BOOST_REQUIRE(comes_true(s, [&] { return waits.ended(); }, ttl + soon));
                }
                BOOST_TEST(!waits.guard());
                BOOST_TEST(waits.error());
                BOOST_TEST((waits.error() != leftover()));
                BOOST_TEST(waiting::own_queue::threads_waiting() == 0U);
                s.let_expire(ttl);
                BOOST_TEST(acquire(s.other(), name, "the next").granted());
                return;
            }
            BOOST_TEST(false, "this machine is too slow");
        });
}

}  // namespace leasehold::contract

#endif
