// SPDX-License-Identifier: BSL-1.0
// Permits: on a store that takes one attempt in a call, and on one that takes many.
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <unit/counted_rights_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(lease_semaphore_test)

using namespace leasehold_test;
using namespace leasehold_test::counted_rights;

namespace {

template <class Guards>
std::set<std::size_t> indexes(const Guards& guards)
{
    std::set<std::size_t> all;
    for (const auto& guard : guards) all.insert(guard.index());
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(so_many_hold_at_once_and_no_more, Store, both_stores)
{
    for (const std::size_t count : {1U, 2U, 5U, 64U}) {
        scene<Store> s;
        auto one = s.semaphore(count), other = s.semaphore(count);
        BOOST_TEST(one.count() == count);
        auto ours = take(one, count / 2), theirs = take(other, count - count / 2);
        BOOST_TEST(s.held() == count);
        BOOST_TEST(is_empty(one.try_acquire()));
        std::error_code ec;
        BOOST_TEST(is_empty(other.try_acquire(ec)));
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
    BOOST_TEST(is_empty(semaphore.try_acquire()));
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
    BOOST_TEST(s.held() == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(permit_of_a_dead_holder_comes_back_at_the_end_of_its_ttl, Store, both_stores)
{
    scene<Store> s;
    auto dead = s.semaphore(2, lh::no_renewal{});
    auto alive = s.semaphore(2);
    const auto theirs = take(dead, 2);
    s.clock.advance(30s - 1ms);
    BOOST_TEST(is_empty(alive.try_acquire()));
    BOOST_TEST(!theirs[0].held());
    s.clock.advance(1ms);
    BOOST_TEST(is_held(alive.try_acquire()));
    BOOST_TEST(is_held(dead.try_acquire()), "the lost ones are in nobody's way");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(another_count_is_an_error_that_says_both, Store, both_stores)
{
    scene<Store> s;
    auto five = s.semaphore(5), six = s.semaphore(6);
    std::optional permit{five.try_acquire()};
    BOOST_CHECK_EXCEPTION(static_cast<void>(six.try_acquire()), std::system_error,
                          says(lh::errc::invalid_terms, {"'licences' has 6 permits here", "'5 permits'", "wait 90 s"}));
    std::error_code ec;
    BOOST_TEST(is_empty(six.try_acquire_for(1h, ec)));
    BOOST_TEST(ec == lh::errc::invalid_terms);
    BOOST_TEST(s.held() == 1U);
    permit.reset();
    s.clock.advance(30s);
    BOOST_TEST(is_empty(six.try_acquire(ec)), "not before the record has run out");
    BOOST_TEST(ec == lh::errc::invalid_terms);
    s.clock.advance(60s);
    BOOST_TEST(is_held(six.try_acquire()));
    BOOST_TEST(is_empty(five.try_acquire(ec)));
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
                              says(lh::errc::invalid_terms, {"'licences' has 5 permits", "held by 'somebody'", "another name"}));
    }
    const auto permit = semaphore.try_acquire();
    BOOST_TEST(is_empty(lease.try_acquire()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(name_that_a_lease_keeps_closed_is_no_semaphores, Store, both_stores)
{
    scene<Store> s;
    lh::basic_lease lease{s.store, "licences", lh::lease_terms{.ttl = 30s, .min_hold = 20s}, s.clock};
    auto semaphore = s.semaphore(5);
    static_cast<void>(lease.try_acquire());
    BOOST_CHECK_EXCEPTION(static_cast<void>(semaphore.try_acquire()), std::system_error,
                          says(lh::errc::invalid_terms, {"kept closed by its min_hold", "another name"}));
    s.clock.advance(20s);
    BOOST_TEST(is_held(semaphore.try_acquire()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(record_of_the_count_lasts_as_long_as_any_permit, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(5);
    auto permits = take(semaphore, 3);
    std::atomic<int> writes = 0;  // by several workers
    s.store.before(operation::renew, [&](std::string_view name) { writes += name == "licences" ? 1 : 0; });
    for (int i = 0; i < 60; ++i) {
        s.clock.advance(5s);
        BOOST_TEST_REQUIRE(std::ranges::all_of(permits, [](const auto& each) { return each.held(); }));
        for (const auto& record : s.store.leases.list("licences/"))
            BOOST_TEST_REQUIRE(s.left_of_record() >= record.remaining);
    }
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
    s.store.next(s.writes_record, fate::fails);
    BOOST_TEST(is_empty(semaphore.try_acquire(ec)), "of the record");
    BOOST_TEST(ec == lh::errc::store_unavailable);
    BOOST_TEST(is_held(semaphore.try_acquire(ec)));
    BOOST_TEST(!ec);
    s.store.always(operation::try_acquire, fate::fails);
    s.store.always(operation::acquire_many, fate::fails);
    BOOST_CHECK_EXCEPTION(static_cast<void>(semaphore.try_acquire()), lh::store_error,
                          says(lh::errc::store_unavailable, {"try_acquire 'licences"}));
    BOOST_CHECK_THROW(static_cast<void>(semaphore.try_acquire_for(1s)), lh::store_error);
    BOOST_CHECK_THROW(static_cast<void>(semaphore.acquire()), lh::store_error);
    BOOST_TEST(is_empty(semaphore.acquire(ec)));
    BOOST_TEST(s.held() == 0U);
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
    BOOST_TEST(is_empty(semaphore.try_acquire()));
    s.clock.advance(10s);
    for (const auto& each : permits) BOOST_TEST(each.held());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(early_release_keeps_a_permit_closed_for_min_hold, Store, both_stores)
{
    scene<Store> s;
    lh::lease_semaphore semaphore{s.store, "licences", 1, lh::lease_terms{.ttl = 30s, .min_hold = 1min}, s.clock};
    semaphore.try_acquire().release();
    BOOST_TEST(is_empty(semaphore.try_acquire()));
    s.clock.advance(1min);
    BOOST_TEST(is_held(semaphore.try_acquire()));
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
    BOOST_TEST(is_empty(ours.try_acquire()));
    BOOST_TEST(s.attempts() - before <= 3, "busy");
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

BOOST_AUTO_TEST_SUITE_END()
