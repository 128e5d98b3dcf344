// SPDX-License-Identifier: BSL-1.0
// Permits: on a store that takes one attempt in a call, and on one that takes many.
#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_batching_store.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <latch>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(lease_semaphore_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::fate;
using leasehold_test::operation;
using leasehold_test::scripted_batching_store;
using leasehold_test::scripted_store;

namespace {

using both_stores = std::tuple<scripted_store, scripted_batching_store>;

template <class Store>
struct scene {
    static constexpr bool in_batches = lh::batch_acquiring_store<Store>;

    template <class... Options>
    [[nodiscard]] auto semaphore(std::size_t permits, const Options&... options)
    {
        return lh::lease_semaphore{store, "licences", permits, lh::lease_terms{.ttl = 30s}, clock, options...};
    }

    // Permits that are unexpired in the store.
    [[nodiscard]] std::size_t taken() const { return store.leases.list("licences/").size(); }
    [[nodiscard]] lh::duration left_of_record() const
    {
        std::error_code ec;
        const auto record = store.leases.inspect("licences", ec);
        return record ? record->remaining : 0s;
    }

    [[nodiscard]] int attempts() const { return store.sent(operation::try_acquire) + store.sent(operation::acquire_many); }

    static constexpr operation renewals = in_batches ? operation::renew_many : operation::renew;

    lh::manual_clock clock;
    Store store{clock};
};

template <class Semaphore>
auto take(Semaphore& from, std::size_t count)
{
    std::vector<typename Semaphore::guard_type> permits;
    for (std::size_t i = 0; i < count; ++i) {
        permits.push_back(from.try_acquire());
        BOOST_TEST_REQUIRE(permits.back().held());
    }
    return permits;
}

template <class Guards>
std::set<std::size_t> indexes(const Guards& guards)
{
    std::set<std::size_t> all;
    for (const auto& guard : guards) all.insert(guard.index());
    return all;
}

auto says(lh::errc code, std::vector<std::string> words)
{
    return [=](const std::system_error& e) {
        BOOST_TEST_MESSAGE(e.what());
        return e.code() == code && std::ranges::all_of(words, [&](const auto& word) {
                   return std::string{e.what()}.find(word) != std::string::npos;
               });
    };
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(so_many_hold_at_once_and_no_more, Store, both_stores)
{
    for (const std::size_t count : {1U, 2U, 5U, 64U}) {
        scene<Store> s;
        auto one = s.semaphore(count), other = s.semaphore(count);
        BOOST_TEST(one.count() == count);
        auto ours = take(one, count / 2), theirs = take(other, count - count / 2);
        BOOST_TEST(s.taken() == count);
        BOOST_TEST(one.try_acquire().empty());
        std::error_code ec;
        BOOST_TEST(other.try_acquire(ec).empty());
        BOOST_TEST(!ec);
        const auto their_indexes = indexes(theirs);
        BOOST_TEST(their_indexes.size() == theirs.size());
        BOOST_TEST(*their_indexes.rbegin() < count);
        for (const auto& permit : ours) BOOST_TEST(!their_indexes.contains(permit.index()));
        const std::size_t freed = theirs.back().index();
        BOOST_TEST(theirs.back().release() == lh::release_outcome::released);
        const auto next = one.try_acquire();
        BOOST_TEST(next.held());
        BOOST_TEST(next.index() == freed);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(largest_semaphore_has_no_more_permits_either, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(lh::max_permits);
    std::error_code ec;
    for (std::size_t i = 2; i < lh::max_permits; ++i)
        s.store.leases.try_acquire("licences/" + std::to_string(i), "another", 30s, ec);
    const auto permits = take(semaphore, 2);
    BOOST_TEST(permits[0].index() + permits[1].index() == 1U);
    BOOST_TEST(semaphore.try_acquire().empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(permit_is_a_lease_of_a_name_of_its_own, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(3);
    auto permit = semaphore.try_acquire();
    BOOST_TEST(permit.name() == "licences/" + std::to_string(permit.index()));
    BOOST_TEST(permit.owner() == semaphore.owner());
    BOOST_TEST(permit.store() == &s.store);
    BOOST_TEST(permit.remaining() == 27s);
    std::error_code ec;
    const auto record = s.store.leases.inspect(permit.name(), ec);
    BOOST_TEST_REQUIRE(record.has_value());
    BOOST_TEST(record->owner == semaphore.owner());
    BOOST_TEST(record->token == permit.token());
    BOOST_CHECK_NO_THROW(permit.ensure_held());
    s.clock.advance(5s);
    BOOST_TEST(permit.renew());
    BOOST_TEST(permit.remaining() == 27s);
    BOOST_TEST(permit.renew(60s));
    BOOST_TEST(permit.remaining() == 57s);
    BOOST_TEST(s.left_of_record() >= 57s);
    BOOST_CHECK_THROW(permit.renew(1s), std::system_error);
    auto moved = std::move(permit);
    BOOST_TEST(permit.empty());
    BOOST_TEST(moved.held());
    BOOST_CHECK_THROW(permit.release(), std::system_error);
    BOOST_CHECK_THROW(permit.renew(), std::system_error);
    BOOST_CHECK_THROW(permit.ensure_held(), std::system_error);
    permit = std::move(moved);
    BOOST_TEST(permit.release() == lh::release_outcome::released);
    BOOST_TEST(s.taken() == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(permit_of_a_dead_holder_comes_back_at_the_end_of_its_ttl, Store, both_stores)
{
    scene<Store> s;
    auto dead = s.semaphore(2, lh::no_renewal{});
    auto alive = s.semaphore(2);
    const auto theirs = take(dead, 2);
    s.clock.advance(30s - 1ms);
    BOOST_TEST(alive.try_acquire().empty());
    BOOST_TEST(!theirs[0].held());
    s.clock.advance(1ms);
    BOOST_TEST(alive.try_acquire().held());
    BOOST_TEST(dead.try_acquire().held(), "the lost ones are in nobody's way");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(another_count_is_an_error_that_says_both, Store, both_stores)
{
    scene<Store> s;
    auto five = s.semaphore(5), six = s.semaphore(6);
    std::optional permit{five.try_acquire()};
    BOOST_CHECK_EXCEPTION(static_cast<void>(six.try_acquire()), std::system_error,
                          says(lh::errc::invalid_terms, {"'licences' has 6 permits here", "'5 permits'", "wait 90 s"}));
    std::error_code ec;
    BOOST_TEST(six.try_acquire_for(1h, ec).empty());
    BOOST_TEST(ec == lh::errc::invalid_terms);
    BOOST_TEST(s.taken() == 1U);
    permit.reset();
    s.clock.advance(30s);
    BOOST_TEST(six.try_acquire(ec).empty(), "not before the record has run out");
    BOOST_TEST(ec == lh::errc::invalid_terms);
    s.clock.advance(60s);
    BOOST_TEST(six.try_acquire().held());
    BOOST_TEST(five.try_acquire(ec).empty());
    BOOST_TEST(ec == lh::errc::invalid_terms);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(name_of_a_lease_is_not_also_a_semaphores, Store, both_stores)
{
    scene<Store> s;
    lh::basic_lease lease{s.store, "licences", 30s, s.clock, lh::fixed_owner_id{"somebody"}};
    auto semaphore = s.semaphore(5);
    {
        const auto guard = lease.try_acquire();
        BOOST_CHECK_EXCEPTION(static_cast<void>(semaphore.try_acquire()), std::system_error,
                              says(lh::errc::invalid_terms, {"'somebody'"}));
    }
    const auto permit = semaphore.try_acquire();
    BOOST_TEST(lease.try_acquire().empty());
}

BOOST_AUTO_TEST_CASE(one_count_wins_the_race_of_the_first_ones)
{
    for (int round = 0; round < 50; ++round) {
        lh::memory_store store;
        std::latch together{4};
        std::atomic<int> granted_to_odd = 0, granted_to_even = 0, refused = 0;
        const auto process = [&](int permits) {
            lh::lease_semaphore semaphore{store, "licences", permits};
            together.arrive_and_wait();
            std::error_code ec;
            const auto permit = semaphore.try_acquire(ec);
            if (permit) ++(permits == 5 ? granted_to_odd : granted_to_even);
            if (ec == lh::errc::invalid_terms) ++refused;
        };
        {
            const std::jthread a{process, 5}, b{process, 6}, c{process, 5}, d{process, 6};
        }
        BOOST_TEST_REQUIRE(refused == 2);
        BOOST_TEST_REQUIRE(granted_to_odd + granted_to_even == 2);
        BOOST_TEST_REQUIRE((granted_to_odd == 0 || granted_to_even == 0));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(record_of_the_count_lasts_as_long_as_any_permit, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(5);
    auto permits = take(semaphore, 3);
    const int before = s.store.sent(operation::try_acquire);
    std::error_code ec;
    for (int i = 0; i < 60; ++i) {
        s.clock.advance(5s);
        BOOST_TEST_REQUIRE(std::ranges::all_of(permits, [](const auto& each) { return each.held(); }));
        for (const auto& record : s.store.leases.list("licences/"))
            BOOST_TEST_REQUIRE(s.left_of_record() >= record.remaining);
    }
    const int writes = s.store.sent(operation::try_acquire) - before;
    BOOST_TEST(writes >= 7);
    // About once in a ttl; where renewals don't go together, by each worker that finds it due at that moment.
    BOOST_TEST(writes <= (scene<Store>::in_batches ? 11 : 3 * 11));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(permit_ends_if_its_record_was_removed_and_another_written, Store, both_stores)
{
    scene<Store> s;
    auto five = s.semaphore(5), six = s.semaphore(6);
    auto permit = five.try_acquire();
    s.store.leases.force_release("licences");
    const auto other = six.try_acquire();
    BOOST_TEST(other.held());
    const std::stop_token told = permit.stop_token();
    for (int i = 0; i < 16; ++i) s.clock.advance(4s);
    BOOST_TEST(eventually([&] { return told.stop_requested(); }));
    BOOST_TEST(!permit.held());
    BOOST_TEST(permit.renewal_error() == lh::errc::invalid_terms);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(outage_is_an_error_and_nothing_is_held, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(5);
    std::error_code ec;
    s.store.next(operation::try_acquire, fate::fails);
    BOOST_TEST(semaphore.try_acquire(ec).empty(), "of the record");
    BOOST_TEST(ec == lh::errc::store_unavailable);
    BOOST_TEST(semaphore.try_acquire(ec).held());
    BOOST_TEST(!ec);
    s.store.always(operation::try_acquire, fate::fails);
    s.store.always(operation::acquire_many, fate::fails);
    BOOST_CHECK_EXCEPTION(static_cast<void>(semaphore.try_acquire()), lh::store_error,
                          says(lh::errc::store_unavailable, {"try_acquire 'licences"}));
    BOOST_CHECK_THROW(static_cast<void>(semaphore.try_acquire_for(1s)), lh::store_error);
    BOOST_CHECK_THROW(static_cast<void>(semaphore.acquire()), lh::store_error);
    BOOST_TEST(semaphore.acquire(ec).empty());
    BOOST_TEST(s.taken() == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(permit_survives_an_outage_shorter_than_its_time, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(5);
    auto permit = semaphore.try_acquire();
    for (const operation each : {operation::renew, operation::renew_many, operation::try_acquire})
        s.store.always(each, fate::fails);
    for (int i = 0; i < 10; ++i) s.clock.advance(2s);
    BOOST_TEST(permit.held());
    BOOST_TEST(permit.renewal_error() == lh::errc::store_unavailable);
    for (const operation each : {operation::renew, operation::renew_many, operation::try_acquire})
        s.store.always(each, fate::carried_out);
    for (int i = 0; i < 20; ++i) s.clock.advance(2s);
    BOOST_TEST(permit.held());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(loss_of_a_permit_is_told, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(2);
    auto permit = semaphore.try_acquire(), other = semaphore.try_acquire();
    const std::stop_token told = permit.stop_token();
    s.store.leases.force_release(permit.name());
    s.clock.advance(10s);
    BOOST_TEST(eventually([&] { return told.stop_requested(); }));
    BOOST_TEST(!permit.held());
    BOOST_TEST(other.held());
    BOOST_CHECK_THROW(permit.ensure_held(), lh::lease_lost);
    BOOST_TEST(permit.release() == lh::release_outcome::lost);
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_refused_before_any_call)
{
    scene<scripted_store> s;
    const auto refused = [&](lh::errc code, std::vector<std::string> words, auto make) {
        BOOST_CHECK_EXCEPTION(make(), std::system_error, says(code, words));
    };
    refused(lh::errc::invalid_terms, {"permits", "1 to 1024", "not 0"}, [&] { lh::lease_semaphore{s.store, "n", 0}; });
    refused(lh::errc::invalid_terms, {"1 to 1024", "not 1025"}, [&] { lh::lease_semaphore{s.store, "n", 1025}; });
    refused(lh::errc::invalid_terms, {"not -1"}, [&] { lh::lease_semaphore{s.store, "n", -1}; });
    refused(lh::errc::invalid_name, {"empty"}, [&] { lh::lease_semaphore{s.store, "", 5}; });
    refused(lh::errc::invalid_name, {"188 bytes", "'/9'"}, [&] { lh::lease_semaphore{s.store, std::string(189, 'n'), 10}; });
    refused(lh::errc::invalid_name, {"187 bytes", "'/10'"}, [&] {
        lh::lease_semaphore{s.store, std::string(188, 'n'), 11};
    });
    refused(lh::errc::invalid_terms, {"ttl"}, [&] { lh::lease_semaphore{s.store, "n", 5, 0s}; });
    refused(lh::errc::invalid_owner, {"empty"}, [&] { lh::lease_semaphore{s.store, "n", 5, lh::fixed_owner_id{""}}; });
    lh::lease_semaphore longest{s.store, std::string(188, 'n'), 10, s.clock};
    BOOST_TEST(s.attempts() == 0);
    BOOST_TEST(take(longest, 10).size() == 10U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(permits_of_one_object_with_a_fixed_owner_are_different_ones, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(3, lh::fixed_owner_id{"node-1"});
    auto permits = take(semaphore, 3);
    BOOST_TEST(indexes(permits).size() == 3U);
    BOOST_TEST(semaphore.try_acquire().empty());
    s.clock.advance(10s);
    for (const auto& each : permits) BOOST_TEST(each.held());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(early_release_keeps_a_permit_closed_for_min_hold, Store, both_stores)
{
    scene<Store> s;
    lh::lease_semaphore semaphore{s.store, "licences", 1, lh::lease_terms{.ttl = 30s, .min_hold = 1min}, s.clock};
    semaphore.try_acquire().release();
    BOOST_TEST(semaphore.try_acquire().empty());
    s.clock.advance(1min);
    BOOST_TEST(semaphore.try_acquire().held());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(guard_may_outlive_its_semaphore, Store, both_stores)
{
    scene<Store> s;
    std::optional semaphore{s.semaphore(2)};
    auto permit = semaphore->try_acquire();
    semaphore.reset();
    s.clock.advance(10s);
    s.clock.advance(10s);
    s.clock.advance(10s);
    BOOST_TEST(permit.held(), "and is renewed");
    BOOST_TEST(permit.release() == lh::release_outcome::released);
}

BOOST_AUTO_TEST_CASE(permit_costs_few_statements)
{
    scene<scripted_batching_store> s;
    auto theirs = s.semaphore(16), ours = s.semaphore(16);
    const auto eight = take(theirs, 8);
    int before = s.attempts();
    auto permit = ours.try_acquire();
    BOOST_TEST(s.attempts() - before <= 3);
    BOOST_TEST(s.store.sent(operation::release) == 0, "and no more were taken than needed");
    permit.release();
    before = s.attempts();
    permit = ours.try_acquire();
    BOOST_TEST(s.attempts() - before == 1, "uncontended: the one that was released last");
    const auto rest = take(ours, 7);
    before = s.attempts();
    BOOST_TEST(ours.try_acquire().empty());
    BOOST_TEST(s.attempts() - before <= 3, "busy");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(wait_ends_with_a_release_an_end_a_time_out_or_a_cancellation, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(2);
    auto other = s.semaphore(2);
    auto dead = s.semaphore(2, lh::no_renewal{});
    const auto waits_for = [&](auto& waiter, auto event) {
        std::atomic<bool> done = false;
        bool got = false;
        std::stop_source stop;
        std::jthread waiting{[&] {
            got = waiter.acquire(stop.get_token()).held();
            done = true;
        }};
        BOOST_TEST(!eventually([&] { return done.load(); }, 20ms));
        event(stop);
        BOOST_TEST(eventually([&] {
            if (!done) s.clock.advance(100ms);
            return done.load();
        }));
        waiting.join();
        return got;
    };
    auto first = semaphore.try_acquire(), second = other.try_acquire();
    BOOST_TEST(waits_for(semaphore, [&](auto&) { first.release(); }), "through the same object");
    first = semaphore.try_acquire();
    BOOST_TEST(waits_for(semaphore, [&](auto&) { second.release(); }), "through another object");
    second = other.try_acquire();
    BOOST_TEST(!waits_for(semaphore, [&](std::stop_source& stop) { stop.request_stop(); }));
    BOOST_TEST(semaphore.try_acquire_for(0s).empty());
    second.release();
    const auto abandoned = dead.try_acquire();
    BOOST_TEST(waits_for(semaphore, [](auto&) {}), "the end of a dead holder's permit");
    std::stop_source stopped;
    stopped.request_stop();
    const int before = s.attempts();
    BOOST_TEST(semaphore.acquire(stopped.get_token()).empty());
    BOOST_TEST(s.attempts() == before);
}

BOOST_AUTO_TEST_CASE(wait_that_runs_out_of_time_is_busy)
{
    lh::memory_store store;
    lh::lease_semaphore semaphore{store, "licences", 1};
    auto permit = semaphore.acquire();
    std::error_code ec;
    BOOST_TEST(semaphore.try_acquire_for(30ms).empty());
    BOOST_TEST(semaphore.try_acquire_for(30ms, ec).empty());
    BOOST_TEST(!ec);
    BOOST_TEST(semaphore.try_acquire_until(std::chrono::system_clock::now() + 30ms).empty());
    BOOST_TEST(semaphore.try_acquire_until(std::chrono::system_clock::now() + 30ms, ec).empty());
    permit.release();
    BOOST_TEST(semaphore.try_acquire_for(30ms).held());
    BOOST_TEST(semaphore.try_acquire_until(std::chrono::system_clock::now() + 30ms).held());
}

BOOST_AUTO_TEST_CASE(waiters_of_one_object_are_woken_one_after_another_without_polling)
{
    lh::manual_clock clock;  // stands still, so that nobody polls
    scripted_store store{clock};
    lh::lease_semaphore semaphore{store, "licences", 2, 30s, clock};
    auto first = semaphore.try_acquire(), second = semaphore.try_acquire();
    std::atomic<int> through = 0;
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 4; ++i)
        waiters.emplace_back([&] {
            if (semaphore.acquire()) ++through;
        });
    const int before = store.sent(operation::try_acquire);
    BOOST_TEST(eventually([&] { return store.sent(operation::try_acquire) >= before; }));
    BOOST_TEST(through == 0);
    first.release();
    BOOST_TEST(eventually([&] { return through == 4; }));
}

BOOST_AUTO_TEST_CASE(release_of_another_process_wakes_the_waiter_if_the_store_can_do_that)
{
    lh::manual_clock clock;  // stands still, so that nobody polls
    lh::basic_memory_store store{clock};
    lh::lease_semaphore semaphore{store, "licences", 2, 30s, clock};
    const auto mine = semaphore.try_acquire();
    const std::string theirs = "licences/" + std::to_string(1 - mine.index());
    std::error_code ec;
    const auto granted = store.try_acquire(theirs, "another process", 20s, ec);
    std::atomic<bool> got = false;
    const std::jthread waiting{[&] { got = semaphore.acquire().held(); }};
    BOOST_TEST(!eventually([&] { return got.load(); }, 50ms));
    BOOST_TEST(store.release(theirs, "another process", granted.token, 0s, ec));
    BOOST_TEST(eventually([&] { return got.load(); }));
}

BOOST_AUTO_TEST_CASE(release_through_another_object_of_the_process_wakes_the_waiter)
{
    scene<scripted_store> s;  // whose clock stands still, and which wakes nobody
    auto semaphore = s.semaphore(1), other = s.semaphore(1);
    auto theirs = other.try_acquire();
    std::atomic<bool> got = false;
    std::stop_source stop;
    const std::jthread waiting{[&] { got = semaphore.acquire(stop.get_token()).held(); }};
    BOOST_TEST(!eventually([&] { return got.load(); }, 50ms));
    theirs.release();
    BOOST_TEST(eventually([&] { return got.load(); }));
    stop.request_stop();
}

BOOST_AUTO_TEST_CASE(no_wake_up_is_lost_between_threads_of_one_object)
{
    scene<scripted_store> s;  // whose clock stands still, so that nobody polls
    auto semaphore = s.semaphore(1);
    std::atomic<int> grants = 0;
    std::stop_source stop;
    const auto work = [&] {
        for (int i = 0; i < 1000; ++i)
            if (semaphore.acquire(stop.get_token())) ++grants;
    };
    {
        const std::jthread a{work}, b{work}, c{work};
        BOOST_TEST(eventually([&] { return grants == 3000; }, 2min));
        stop.request_stop();
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(permit_that_was_released_last_is_asked_for_first, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(16);
    auto permit = semaphore.try_acquire();
    const std::size_t index = permit.index();
    for (int i = 0; i < 3; ++i) {
        permit.release();
        const int before = s.attempts();
        permit = semaphore.try_acquire();
        BOOST_TEST(permit.index() == index);
        BOOST_TEST(s.attempts() - before == 1);
    }
}

BOOST_AUTO_TEST_CASE(threads_that_share_an_object_never_find_it_busy_while_there_are_permits)
{
    lh::memory_store store;
    lh::lease_semaphore semaphore{store, "licences", 5};
    std::atomic<int> busy = 0;
    const auto work = [&] {
        for (int i = 0; i < 500; ++i)
            if (!semaphore.try_acquire()) ++busy;
    };
    {
        const std::jthread a{work}, b{work}, c{work};
    }
    BOOST_TEST(busy == 0);
}

BOOST_AUTO_TEST_CASE(attempt_beside_another_threads_attempt_at_all_permits_is_not_busy)
{
    scene<scripted_batching_store> s;
    auto semaphore = s.semaphore(5);
    leasehold_test::gate hold;
    std::atomic<bool> first = true;
    s.store.before(operation::acquire_many, [&](std::string_view) {
        if (first.exchange(false)) hold.pass();
    });
    std::atomic<int> ended = 0, granted = 0;
    const auto attempt = [&] {
        const auto permit = semaphore.try_acquire();
        if (permit) ++granted;
        ++ended;
        static_cast<void>(eventually([&] { return ended == 2; }));
    };
    {
        const std::jthread one{attempt};
        BOOST_TEST(hold.reached_by());
        const std::jthread other{attempt};
        BOOST_TEST(!eventually([&] { return ended > 0; }, 50ms));
        hold.open();
    }
    BOOST_TEST(granted == 2);
}

BOOST_AUTO_TEST_CASE(contenders_never_hold_more_permits_than_there_are)
{
    lh::memory_store store;
    std::atomic<int> inside = 0, most = 0, grants = 0;
    const auto process = [&] {
        lh::lease_semaphore semaphore{store, "licences", 3};
        for (int i = 0; i < 100; ++i) {
            const auto permit = semaphore.acquire();
            const int now = ++inside;
            for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
            ++grants;
            std::this_thread::yield();
            --inside;
        }
    };
    {
        std::vector<std::jthread> processes;
        for (int i = 0; i < 6; ++i) processes.emplace_back(process);
    }
    BOOST_TEST(grants == 600);
    BOOST_TEST(most <= 3);
    BOOST_TEST(store.list("licences/").empty());
}

BOOST_AUTO_TEST_SUITE_END()
