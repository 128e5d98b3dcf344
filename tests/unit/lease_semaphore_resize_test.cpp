// SPDX-License-Identifier: BSL-1.0
// A count of permits that changes while they are held.
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <unit/counted_rights_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(lease_semaphore_resize_test)

using namespace leasehold_test;
using namespace leasehold_test::counted_rights;

namespace {

constexpr lh::semaphore_options follows{.on_other_count = lh::on_other_count::follow};

template <class Scene>
std::string record_of(Scene& s)
{
    std::error_code ec;
    const auto record = s.store.leases.inspect("licences", ec);
    return record ? record->owner : std::string{};
}

// How many are held, by anybody.
template <class Scene>
std::size_t held_in(Scene& s)
{
    const auto all = s.store.leases.list("licences/");
    return static_cast<std::size_t>(std::ranges::count_if(all, [](const auto& each) { return !each.is_count(); }));
}

// As many as there are.
template <class Semaphore>
auto take_all(Semaphore& from)
{
    std::vector<typename Semaphore::guard_type> permits;
    for (auto next = from.try_acquire(); next; next = from.try_acquire()) permits.push_back(std::move(next));
    return permits;
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(more_permits_are_there_at_once, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4);
    auto four = take(semaphore, 4);
    BOOST_TEST(is_empty(semaphore.try_acquire()));
    semaphore.resize(8);
    BOOST_TEST(semaphore.count() == 8U);
    const auto rest = take(semaphore, 4);
    BOOST_TEST(is_empty(semaphore.try_acquire()));
    BOOST_TEST(held_in(s) == 8U);
    for (const auto& each : four) BOOST_TEST(each.held());
    for (auto& each : four) BOOST_TEST(each.renew());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(process_that_runs_follows, Store, both_stores)
{
    scene<Store> s;
    auto one = s.semaphore(2), other = s.semaphore(2);
    auto first = one.try_acquire(), second = other.try_acquire();
    one.resize(3);
    s.clock.advance(300ms);
    auto third = other.try_acquire();
    BOOST_TEST(third.held(), "it looks, since nothing was free");
    BOOST_TEST(other.count() == 3U);
    one.resize(2);
    for (int i = 0; i < 10; ++i) s.clock.advance(9s);
    for (auto* each : {&first, &second, &third}) BOOST_TEST(each->held(), "none is taken away");
    BOOST_TEST(other.count() == 2U);
    BOOST_TEST(is_empty(other.try_acquire()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(permits_above_the_new_count_wait_to_be_given_back, Store, both_stores)
{
    for (const bool low_ones_first : {true, false}) {
        scene<Store> s;
        auto semaphore = s.semaphore(8), other = s.semaphore(8);
        auto eight = take(semaphore, 8);
        BOOST_TEST(is_empty(other.try_acquire()));
        std::ranges::sort(eight, {}, [](const auto& each) { return each.index(); });
        if (!low_ones_first) std::ranges::reverse(eight);
        semaphore.resize(4);
        BOOST_TEST(record_of(s) == "4 permits, was 8, change 1");
        for (auto& each : eight) BOOST_TEST(each.renew(), "held as long as its holder wants");
        for (std::size_t left = 8; left > 4; --left) {
            BOOST_TEST(is_empty(semaphore.try_acquire()));
            BOOST_TEST(eight[8 - left].release() == lh::release_outcome::released);
        }
        BOOST_TEST(is_empty(semaphore.try_acquire()), "four are held");
        eight[4].release();
        auto next = semaphore.try_acquire();
        BOOST_TEST(next.held());
        BOOST_TEST(next.index() < 4U);
        BOOST_TEST(is_empty(semaphore.try_acquire()));
        for (auto& each : eight)
            if (!each.empty()) BOOST_TEST(each.held());
        eight.clear();
        for (int i = 0; i < 4; ++i) s.clock.advance(9s);
        const auto rest = take_all(other);
        BOOST_TEST(rest.size() == 3U);
        BOOST_TEST(other.count() == 4U);
        BOOST_TEST(record_of(s) == "4 permits, change 2");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(fewer_permits_are_agreed_on_at_once_where_they_are_free, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(8), knows_nothing = s.semaphore(8);
    const auto theirs = knows_nothing.try_acquire();
    semaphore.resize(theirs.index() < 2 ? 2 : 8);
    if (theirs.index() >= 2) {
        semaphore.resize(2);
        BOOST_TEST(record_of(s) == "2 permits, was 8, change 1");
        return;
    }
    BOOST_TEST(record_of(s) == "2 permits, change 2");
    const auto second = take_all(knows_nothing);
    BOOST_TEST(second.size() == 1U, "which finds the others closed");
    BOOST_TEST(is_empty(semaphore.try_acquire()));
    for (int i = 0; i < 12; ++i) s.clock.advance(9s);
    BOOST_TEST(is_empty(knows_nothing.try_acquire()), "and then it knows");
    BOOST_TEST(knows_nothing.count() == 2U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(permit_that_was_closed_comes_back_with_the_count, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(8);
    semaphore.resize(2);
    semaphore.resize(6);
    BOOST_TEST(record_of(s) == "6 permits, change 3");
    BOOST_TEST(take_all(semaphore).size() == 6U);
}

// What a process does that was stopped after it had written a larger count: the permits are no more.
BOOST_AUTO_TEST_CASE_TEMPLATE(permits_that_a_later_change_has_closed_are_not_opened_by_an_earlier_one, Store, both_stores)
{
    // After it has written the record, and before it opens the first.
    for (const std::string_view stops_at : {"licences", "licences/4"}) {
        scene<Store> s;
        auto stopped = s.semaphore(8), other = s.semaphore(8), taker = s.semaphore(8);
        for (auto* each : {&stopped, &other, &taker}) BOOST_TEST(is_held(each->try_acquire()));
        other.resize(4);
        for (int i = 0; i < 4; ++i) s.clock.advance(9s);
        const auto four = take_all(taker);
        BOOST_TEST(four.size() == 4U);
        bool was_stopped = false;
        const auto stop = [&](std::string_view name) {
            if (name != stops_at || record_of(s) != "8 permits, change 3" || std::exchange(was_stopped, true)) return;
            s.clock.advance(300ms);
            BOOST_TEST(is_empty(taker.try_acquire()));
            BOOST_TEST(taker.count() == 8U);
            other.resize(4);
            BOOST_TEST(record_of(s) == "4 permits, change 5");
        };
        s.store.after(s.writes_record, stop);
        s.store.before(operation::release, stop);
        stopped.resize(8);
        BOOST_TEST(was_stopped);
        BOOST_TEST(take_all(taker).size() == 0U);
        BOOST_TEST(take_all(stopped).size() == 0U);
        other.resize(8);
        s.clock.advance(300ms);
        BOOST_TEST(take_all(stopped).size() == 4U);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(count_changes_again_before_the_last_change_is_done, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(8);
    auto eight = take(semaphore, 8);
    semaphore.resize(2);
    semaphore.resize(4);
    BOOST_TEST(record_of(s) == "4 permits, was 8, change 2");
    semaphore.resize(4);
    BOOST_TEST(record_of(s) == "4 permits, was 8, change 2", "that is so already");
    BOOST_TEST(is_empty(semaphore.try_acquire()));
    semaphore.resize(9);
    BOOST_TEST(record_of(s) == "9 permits, change 3");
    const auto ninth = semaphore.try_acquire();
    BOOST_TEST(ninth.held());
    BOOST_TEST(is_empty(semaphore.try_acquire()));
    for (const auto& each : eight) BOOST_TEST(each.held());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(who_is_made_with_another_count_is_refused_or_follows, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4);
    const auto permit = semaphore.try_acquire();
    semaphore.resize(8);
    auto old = s.semaphore(4), fresh = s.semaphore(8), follower = s.semaphore(4, follows), other_follower = s.semaphore(20, follows);
    BOOST_CHECK_EXCEPTION(static_cast<void>(old.try_acquire()), std::system_error,
                          says(lh::errc::invalid_terms, {"'licences' has 4 permits here", "'8 permits'", "resize()", "wait 90 s"}));
    const auto one = fresh.try_acquire(), two = follower.try_acquire(), three = other_follower.try_acquire();
    BOOST_TEST(one.held());
    BOOST_TEST(two.held());
    BOOST_TEST(three.held());
    BOOST_TEST(follower.count() == 8U);
    BOOST_TEST(other_follower.count() == 8U);
    BOOST_TEST(take_all(follower).size() == 4U);
    std::error_code ec;
    BOOST_TEST(is_empty(old.try_acquire(ec)));
    BOOST_TEST(ec == lh::errc::invalid_terms);
    old.resize(5);
    BOOST_TEST(record_of(s).starts_with("5 permits, "), "what it was made with does not count any more");
    BOOST_TEST(old.count() == 5U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(follower_without_a_record_counts_as_it_was_made, Store, both_stores)
{
    scene<Store> s;
    auto follower = s.semaphore(3, follows);
    BOOST_TEST(take_all(follower).size() == 3U);
    s.clock.advance(300s);
    auto six = s.semaphore(6);
    const auto permit = six.try_acquire();
    BOOST_TEST(take_all(follower).size() == 5U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(semaphore_without_a_record_is_resized_for_those_that_come, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4), idle = s.semaphore(4);
    static_cast<void>(idle.try_acquire());
    s.clock.advance(1h);
    semaphore.resize(6);
    BOOST_TEST(record_of(s) == "6 permits, change 1");
    BOOST_TEST(take_all(idle).size() == 6U, "it has agreed on the count before, so it follows");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(process_that_followed_a_change_that_is_forgotten_agrees_with_those_that_come, Store, both_stores)
{
    scene<Store> s;
    auto idle = s.semaphore(5), other = s.semaphore(5);
    BOOST_TEST(is_held(idle.try_acquire()));
    other.resize(8);
    s.clock.advance(300ms);
    BOOST_TEST(take_all(idle).size() == 8U);
    s.clock.advance(1h);
    auto fresh = s.semaphore(5);
    const auto permit = fresh.try_acquire();
    BOOST_TEST(permit.held());
    BOOST_TEST(take_all(idle).size() == 4U);
    BOOST_TEST(idle.count() == 5U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(name_of_somebody_else_is_never_taken_over, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4);
    std::error_code ec;
    for (const std::string owner : {"somebody", "64 readers", "3 shards", "0 permits", "5 permits, was 4"}) {
        const auto theirs = s.store.leases.try_acquire("licences", owner, 30s, ec);
        BOOST_TEST_REQUIRE(theirs.granted());
        BOOST_CHECK_EXCEPTION(semaphore.resize(8), std::system_error, says(lh::errc::invalid_terms, {"'licences'"}));
        semaphore.resize(8, ec);
        BOOST_TEST(ec == lh::errc::invalid_terms);
        const auto record = s.store.leases.inspect("licences", ec);
        BOOST_TEST(record->owner == owner);
        BOOST_TEST(record->token == theirs.token);
        BOOST_TEST(s.store.leases.release("licences", owner, theirs.token, 0s, ec));
    }
    const auto closed = s.store.leases.try_acquire("licences", "somebody", 30s, ec);
    BOOST_TEST(s.store.leases.release("licences", "somebody", closed.token, 20s, ec));
    BOOST_CHECK_EXCEPTION(semaphore.resize(8), std::system_error, says(lh::errc::invalid_terms, {"min_hold"}));
    BOOST_TEST(s.held() == 0U);
    BOOST_TEST(semaphore.count() == 4U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(count_of_a_name_that_is_held_closed_is_refused_with_the_reason, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4);
    s.store.leases.hold("licences", 1h, "audit");
    BOOST_CHECK_EXCEPTION(semaphore.resize(8), std::system_error, says(lh::errc::held_closed, {"audit", "unhold()"}));
    s.store.leases.unhold("licences");
    semaphore.resize(8);
    BOOST_TEST(semaphore.count() == 8U);
}

// A process that was idle while the record of its change ran out.
BOOST_AUTO_TEST_CASE_TEMPLATE(permits_of_a_name_that_is_held_closed_are_busy_where_the_count_was_becoming_smaller, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(8), other = s.semaphore(8);
    auto eight = take(other, 8);
    semaphore.resize(4);
    BOOST_TEST(record_of(s) == "4 permits, was 8, change 1");
    eight.clear();
    s.clock.advance(300s);
    s.store.leases.hold("licences", 1h, "audit");
    std::error_code ec;
    BOOST_TEST(is_empty(semaphore.try_acquire(ec)));
    BOOST_TEST(!ec);
    BOOST_TEST(is_empty(semaphore.try_acquire(2, ec)));
    BOOST_TEST(!ec);
    s.store.leases.unhold("licences");
    BOOST_TEST(take_all(semaphore).size() == 4U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(process_that_was_idle_while_others_made_the_smaller_count_final_goes_on_with_it, Store, both_stores)
{
    scene<Store> s;
    auto idle = s.semaphore(8), other = s.semaphore(8);
    auto eight = take(other, 8);
    idle.resize(4);
    eight.clear();
    for (int i = 0; i < 8; ++i) {
        s.clock.advance(9s);
        static_cast<void>(other.try_acquire());
    }
    BOOST_TEST(record_of(s) == "4 permits, change 2");
    BOOST_TEST(take_all(idle).size() == 4U);
}

BOOST_AUTO_TEST_CASE(count_that_cannot_be_is_refused_before_any_call)
{
    scene<scripted_store> s;
    auto semaphore = s.semaphore(4);
    std::error_code ec;
    BOOST_CHECK_EXCEPTION(semaphore.resize(0), std::system_error, says(lh::errc::invalid_terms, {"permits must be 1 to 1024", "not 0"}));
    BOOST_CHECK_EXCEPTION(semaphore.resize(1025), std::system_error, says(lh::errc::invalid_terms, {"1 to 1024", "not 1025"}));
    BOOST_CHECK_EXCEPTION(semaphore.resize(-1), std::system_error, says(lh::errc::invalid_terms, {"not -1"}));
    for (const int count : {0, 1025, -1}) {
        semaphore.resize(count, ec);
        BOOST_TEST(ec == lh::errc::invalid_terms);
    }
    lh::lease_semaphore longest{s.store, std::string(188, 'n'), 10, s.clock};
    BOOST_CHECK_EXCEPTION(longest.resize(11), std::system_error, says(lh::errc::invalid_name, {"187 bytes", "'/10'"}));
    longest.resize(11, ec);
    BOOST_TEST(ec == lh::errc::invalid_name);
    BOOST_TEST(s.statements() == 0);
    longest.resize(9, ec);
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(outage_of_a_resize_is_an_error_and_it_can_be_repeated, Store, both_stores)
{
    // Fails each of its statements in turn.
    for (int statement = 0; statement < 12; ++statement) {
        for (const auto how : {fate::fails, fate::loses_reply}) {
            scene<Store> s;
            auto semaphore = s.semaphore(4), other = s.semaphore(4);
            auto ours = semaphore.try_acquire(), theirs = other.try_acquire();
            int left = statement;
            const auto count_down = [&](std::string_view) {
                if (left-- != 0) return;
                for (const auto op : {operation::try_acquire, operation::acquire_many, operation::inspect, operation::release})
                    s.store.always(op, how);
            };
            for (const auto op : {operation::try_acquire, operation::acquire_many, operation::inspect, operation::release})
                s.store.before(op, count_down);
            std::error_code ec;
            semaphore.resize(2, ec);
            for (const auto op : {operation::try_acquire, operation::acquire_many, operation::inspect, operation::release}) {
                s.store.always(op, fate::carried_out);
                s.store.before(op, nullptr);
            }
            semaphore.resize(2, ec);
            BOOST_TEST(!ec);
            BOOST_TEST(semaphore.count() == 2U);
            BOOST_TEST(ours.renew());
            BOOST_TEST(theirs.renew());
            for (int i = 0; i < 10; ++i) s.clock.advance(9s);
            BOOST_TEST(ours.held());
            BOOST_TEST(theirs.held());
            BOOST_TEST(is_empty(other.try_acquire()));
            BOOST_TEST(is_empty(semaphore.try_acquire()));
            ours.release();
            theirs.release();
            const auto one = other.try_acquire(), two = semaphore.try_acquire();
            BOOST_TEST(one.held());
            BOOST_TEST(two.held());
            BOOST_TEST(is_empty(semaphore.try_acquire()));
        }
    }
}

// Nobody can count then what is held after the grant, so that it does not stand.
BOOST_AUTO_TEST_CASE_TEMPLATE(permit_that_no_memory_is_left_to_count_is_given_back, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4);
    auto permits = take(semaphore, 4);
    semaphore.resize(2);
    std::erase_if(permits, [](const auto& each) { return each.index() != 3; });
    bool granted = false, failed = false;
    for (const auto op : {operation::try_acquire, operation::acquire_many})
        s.store.after(op, [&](std::string_view) { granted = held_in(s) == 2; });
    s.store.before(operation::inspect, [&](std::string_view) {
        if (granted && !std::exchange(failed, true)) throw std::bad_alloc{};
    });
    std::error_code ec;
    BOOST_TEST(is_empty(semaphore.try_acquire(ec)));
    BOOST_TEST(failed);
    BOOST_TEST(ec == std::errc::not_enough_memory);
    BOOST_TEST(held_in(s) == 1U);
    BOOST_TEST(is_held(semaphore.try_acquire(ec)));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(outage_of_a_resize_to_more_is_an_error_and_it_can_be_repeated, Store, both_stores)
{
    for (int statement = 0; statement < 16; ++statement) {
        for (const auto how : {fate::fails, fate::loses_reply}) {
            scene<Store> s;
            auto semaphore = s.semaphore(4);
            semaphore.resize(2);
            int left = statement;
            const auto count_down = [&](std::string_view) {
                if (left-- != 0) return;
                for (const auto op : {operation::try_acquire, operation::acquire_many, operation::inspect, operation::release})
                    s.store.always(op, how);
            };
            for (const auto op : {operation::try_acquire, operation::acquire_many, operation::inspect, operation::release})
                s.store.before(op, count_down);
            std::error_code ec;
            semaphore.resize(4, ec);
            for (const auto op : {operation::try_acquire, operation::acquire_many, operation::inspect, operation::release}) {
                s.store.always(op, fate::carried_out);
                s.store.before(op, nullptr);
            }
            semaphore.resize(4, ec);
            BOOST_TEST(!ec);
            BOOST_TEST(take_all(semaphore).size() == 4U, "statement " << statement);
        }
    }
}

// Somebody looked while the count was the smaller one, closes them when it is the larger one again, and finds one that is held.
BOOST_AUTO_TEST_CASE_TEMPLATE(permits_that_are_closed_too_late_are_opened_again, Store, both_stores)
{
    scene<Store> s;
    auto late = s.semaphore(4), other = s.semaphore(4);
    BOOST_TEST(is_held(late.try_acquire()));
    auto four = take_all(other);
    other.resize(2);
    BOOST_TEST(is_empty(late.try_acquire()));
    BOOST_TEST(record_of(s) == "2 permits, was 4, change 1");
    std::erase_if(four, [](const auto& permit) { return permit.index() != 3; });
    bool grown = false;
    s.store.before(s.writes_record, [&](std::string_view name) {
        if (name != "licences/2" || std::exchange(grown, true)) return;
        other.resize(4);
    });
    s.clock.advance(300ms);
    static_cast<void>(late.try_acquire());
    BOOST_TEST(grown);
    BOOST_TEST(take_all(other).size() == 3U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(old_record_that_comes_between_two_steps_of_a_change_is_replaced, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4);
    const auto permit = semaphore.try_acquire();
    std::error_code ec;
    int times = 0;
    s.store.after(operation::release, [&](std::string_view name) {
        std::error_code ignored;
        if (name == "licences" && times++ < 2) s.store.leases.try_acquire("licences", "4 permits", 90s, ignored);
    });
    semaphore.resize(8);
    BOOST_TEST(times == 3);
    BOOST_TEST(record_of(s) == "8 permits, change 1");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(record_that_has_fallen_back_is_written_again_by_who_knows, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(8);
    auto permits = take(semaphore, 5);  // one of them is below 4
    auto permit = std::move(*std::ranges::find_if(permits, [](const auto& each) { return each.index() < 4; }));
    permits.clear();
    semaphore.resize(4);
    BOOST_TEST(record_of(s) == "4 permits, change 2");
    s.store.leases.force_release("licences");
    std::error_code ec;
    s.store.leases.try_acquire("licences", "8 permits", 90s, ec);
    for (int i = 0; i < 8; ++i) s.clock.advance(9s);
    BOOST_TEST(permit.held());
    BOOST_TEST(semaphore.count() == 4U);
    static_cast<void>(semaphore.try_acquire());
    BOOST_TEST(record_of(s) == "4 permits, change 4");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(permit_that_no_count_allows_is_lost, Store, both_stores)
{
    scene<Store> s;
    auto follower = s.semaphore(8, follows);
    auto eight = take(follower, 8);
    s.store.leases.force_release("licences");
    auto two = s.semaphore(2);
    std::error_code ec;
    static_cast<void>(two.try_acquire(ec));
    s.clock.advance(8s);
    s.clock.advance(8s);
    s.clock.advance(8s);
    s.clock.advance(8s);
    s.clock.advance(8s);
    s.clock.advance(8s);
    s.clock.advance(8s);
    BOOST_TEST(eventually([&] {
        return std::ranges::count_if(eight, [](const auto& each) { return each.held(); }) == 2;
    }));
}

// The process that began a change ends between the two statements that change the record, and somebody writes another count in between.
BOOST_AUTO_TEST_CASE_TEMPLATE(change_that_was_begun_is_carried_out_by_others, Store, both_stores)
{
    scene<Store> s;
    auto begins = s.semaphore(4), knows_nothing = s.semaphore(4);
    const auto permit = begins.try_acquire();
    const auto other = knows_nothing.try_acquire();
    s.store.after(operation::release, [&](std::string_view name) {
        if (name == "licences") s.store.always(s.writes_record, fate::fails);
    });
    std::error_code ec;
    begins.resize(8, ec);
    BOOST_TEST(ec == lh::errc::store_unavailable);
    BOOST_TEST(record_of(s).empty());
    s.store.after(operation::release, [](std::string_view) {});
    s.store.always(s.writes_record, fate::carried_out);
    auto stranger = s.semaphore(3);
    BOOST_CHECK_EXCEPTION(static_cast<void>(stranger.try_acquire()), std::system_error, says(lh::errc::invalid_terms, {"8 permits"}));
    BOOST_TEST(record_of(s).empty(), "what it has written there is gone");
    for (int i = 0; i < 4; ++i) s.clock.advance(9s);
    BOOST_TEST(take_all(knows_nothing).size() == 6U);
    BOOST_TEST(record_of(s) == "8 permits, change 1");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(stranger_does_not_keep_a_change_alive, Store, both_stores)
{
    scene<Store> s;
    {
        auto gone = s.semaphore(4);
        gone.resize(8);
    }
    auto stranger = s.semaphore(3);
    std::error_code ec;
    for (int i = 0; i < 13; ++i) {
        BOOST_TEST(is_empty(stranger.try_acquire(ec)));
        BOOST_TEST(ec == lh::errc::invalid_terms);
        s.clock.advance(9s);
    }
    s.clock.advance(4s);
    BOOST_TEST(is_held(stranger.try_acquire(ec)), "four ttls after the last of them");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(resize_names_the_lease_that_has_the_name_of_its_note, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4);
    lh::basic_lease other{s.store, "licences/+", 30s, s.clock, lh::fixed_owner_id{"somebody"}};
    const auto guard = other.try_acquire();
    BOOST_CHECK_EXCEPTION(semaphore.resize(8), std::system_error, says(lh::errc::invalid_terms, {"'licences/+'", "'somebody'"}));
    BOOST_TEST(is_held(semaphore.try_acquire()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(note_of_a_change_outlives_a_record_that_is_extended_meanwhile, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4);
    const auto permit = semaphore.try_acquire();
    bool extended = false;
    s.store.after(s.writes_record, [&](std::string_view) {
        std::error_code ignored;
        if (extended || !s.store.leases.inspect("licences/+", ignored)) return;
        extended = true;
        s.store.leases.try_acquire("licences", "4 permits", 900s, ignored);  // by a process whose permits have a longer ttl
    });
    semaphore.resize(8);
    std::error_code ec;
    BOOST_TEST(extended);
    BOOST_TEST(record_of(s) == "8 permits, change 1");
    BOOST_TEST((s.store.leases.inspect("licences/+", ec)->remaining >= 900s));
}

BOOST_AUTO_TEST_SUITE_END()
