// SPDX-License-Identifier: BSL-1.0
// The records of a set of shards: a grant or renewal usually costs no statement more, and one database that is gone must not stop
// the others for a while.
#include <unit/store/guarded_shard_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(guarded_shard_records_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using namespace leasehold_test::guarded_shards;
using leasehold_test::fate;
using leasehold_test::operation;

BOOST_FIXTURE_TEST_CASE(grants_and_renewals_usually_take_no_statement_more, scene)
{
    process all = with_two();
    const std::string in_a = name_in(all, a);
    auto& shard = all.shard_of(in_a);
    lh::fencing_token token = shard.try_acquire(in_a, "owner", ttl, ec).token;
    BOOST_TEST(sent(operation::try_acquire) == 3, "one, and the record in each database");
    for (int i = 0; i < 1000; ++i) {
        BOOST_TEST_REQUIRE(shard.renew(in_a, "owner", token, ttl, ec));
        BOOST_TEST_REQUIRE(shard.release(in_a, "owner", token, {}, ec));
        token = shard.try_acquire(in_a, "owner", ttl, ec).token;
        clock.advance(50ms);
    }
    BOOST_TEST(sent(operation::try_acquire) == 1003);
    BOOST_TEST(sent(operation::renew) == 1000);
    BOOST_TEST(sent(operation::inspect) == 0);

    const int before_a = a.sent(operation::try_acquire), before_b = b.sent(operation::try_acquire);
    for (auto passed = 0s; passed < 1h; passed += 10s) {
        BOOST_TEST_REQUIRE(shard.renew(in_a, "owner", token, ttl, ec));
        clock.advance(10s);
    }
    BOOST_TEST(a.sent(operation::try_acquire) - before_a == 60, "once a minute");
    BOOST_TEST(b.sent(operation::try_acquire) - before_b <= 33, "every 110 s");
    BOOST_TEST(b.sent(operation::try_acquire) - before_b >= 32);
}

BOOST_FIXTURE_TEST_CASE(short_outage_of_one_shard_stops_no_other, scene)
{
    process all = with_two();
    const std::string in_a = name_in(all, a), in_b = name_in(all, b), another_in_a = name_in(all, a, "other-");
    auto& shard = all.shard_of(in_a);
    const lh::fencing_token token = shard.try_acquire(in_a, "owner", ttl, ec).token;
    // Whatever the record's age is when the outage begins.
    for (int begin = 0; begin < 30; ++begin) {
        BOOST_TEST_REQUIRE(grants(all, in_b));
        outage(b, fate::fails);
        for (auto passed = 0s; passed < 150s; passed += 10s) {
            clock.advance(10s);
            BOOST_TEST_REQUIRE(shard.renew(in_a, "owner", token, ttl, ec));
            BOOST_TEST_REQUIRE(grants(all, another_in_a));
            BOOST_TEST_REQUIRE(!grants(all, in_b));
            BOOST_TEST((ec == lh::errc::store_unavailable));
        }
        outage(b, fate::carried_out);
        for (int i = 0; i < 3 + begin; ++i) {
            clock.advance(7s);
            BOOST_TEST_REQUIRE(shard.renew(in_a, "owner", token, ttl, ec));
            BOOST_TEST_REQUIRE(grants(all, in_b));
        }
    }
}

BOOST_FIXTURE_TEST_CASE(long_outage_of_one_shard_is_an_outage_for_all, scene)
{
    process all = with_two();
    const std::string in_a = name_in(all, a);
    BOOST_TEST(grants(all, in_a));
    outage(b, fate::fails);
    clock.advance(210s);
    BOOST_TEST(grants(all, in_a), "the record lasts for 60 s more");
    clock.advance(1ms);
    BOOST_TEST(!grants(all, in_a));
    BOOST_TEST((ec == lh::errc::store_unavailable));
    const std::string words = words_of(all, in_a);
    BOOST_TEST(has(words, "the store can't be reached: the set of shards must be confirmed in the database of 'b'"));
    outage(b, fate::carried_out);
    BOOST_TEST(grants(all, in_a));

    outage(b, fate::loses_reply);
    process starting = with_two();
    BOOST_TEST(!grants(starting, in_a));
    BOOST_TEST((ec == lh::errc::store_timeout));
    b.always(operation::try_acquire, fate::refused);
    b.always(operation::inspect, fate::fails);
    BOOST_TEST(!grants(starting, in_a));
    BOOST_TEST((ec == lh::errc::store_unavailable));
}

// While the row is locked, a store answers busy, to the same set too.
BOOST_FIXTURE_TEST_CASE(busy_of_the_same_set_is_asked_again, scene)
{
    process all = with_two();
    a.next(operation::try_acquire, fate::refused);
    a.next(operation::try_acquire, fate::refused);
    BOOST_TEST(grants(all, "name-1"));
    clock.advance(1h);
    a.always(operation::try_acquire, fate::refused);
    BOOST_TEST(!grants(all, "name-1"));
    BOOST_TEST((ec == lh::errc::store_conflict));
}

BOOST_FIXTURE_TEST_CASE(record_that_is_too_old_when_all_have_answered_lets_nothing_pass, scene)
{
    process all = with_two();
    b.after(operation::try_acquire, [this](std::string_view) { clock.advance(250s); });
    BOOST_TEST(!grants(all, "name-1"));
    BOOST_TEST((ec == lh::errc::store_timeout));
    BOOST_TEST(has(words_of(all, "name-1"), "took longer than the record of the set lasts"));
    BOOST_TEST(!all.inspect("name-1", ec));
}

BOOST_FIXTURE_TEST_CASE(exception_while_a_record_is_written_ahead_loses_no_grant, scene)
{
    process all = with_two();
    const std::string in_a = name_in(all, a);
    BOOST_TEST(grants(all, in_a));
    clock.advance(120s);
    b.next(operation::try_acquire, fate::throws);
    const int before = b.sent(operation::try_acquire);
    BOOST_TEST(grants(all, in_a));
    BOOST_TEST(b.sent(operation::try_acquire) == before + 1);
}

BOOST_AUTO_TEST_SUITE_END()
