// SPDX-License-Identifier: BSL-1.0
// Every process must look for a name in the same shard: also of another build, another version, with the shards in another order.
#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/store/memory_store.hpp>
#include <leasehold/store/sharded_store.hpp>

#include <contract/asked_once.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <system_error>
#include <vector>

BOOST_AUTO_TEST_SUITE(sharded_store_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

static_assert(lh::lease_store<lh::sharded_store<lh::memory_store>> && lh::notifying_store<lh::sharded_store<lh::memory_store>>);

namespace {

using sharded = lh::sharded_store<lh::memory_store>;

std::string numbered(int i) { return "name-" + std::to_string(i); }

}  // namespace

BOOST_AUTO_TEST_CASE(name_has_one_shard_whatever_the_order_of_the_shards)
{
    lh::memory_store a, b, c;
    const sharded one{{{"a", a}, {"b", b}, {"c", c}}}, other{{{"c", c}, {"a", a}, {"b", b}}};
    for (int i = 0; i < 1000; ++i) BOOST_TEST(&one.shard_of(numbered(i)).underlying() == &other.shard_of(numbered(i)).underlying());
}

// Values that must never change: hosts with another version of the library would look elsewhere.
BOOST_AUTO_TEST_CASE(shard_of_a_name_is_the_same_in_every_version)
{
    lh::memory_store a, b, c;
    const sharded all{{{"a", a}, {"b", b}, {"c", c}}};
    std::string chosen;
    for (int i = 0; i < 16; ++i)
        chosen += &all.shard_of(numbered(i)).underlying() == &a ? 'a' : &all.shard_of(numbered(i)).underlying() == &b ? 'b' : 'c';
    BOOST_TEST(chosen == "ccbacbaabbccabab");
}

BOOST_AUTO_TEST_CASE(names_are_spread_evenly_and_few_move_to_a_new_shard)
{
    lh::memory_store a, b, c, d;
    const sharded three{{{"a", a}, {"b", b}, {"c", c}}}, four{{{"a", a}, {"b", b}, {"c", c}, {"d", d}}};
    std::map<const void*, int> share;
    int moved = 0;
    constexpr int names = 10'000;
    for (int i = 0; i < names; ++i) {
        const auto* const before = &three.shard_of(numbered(i)).underlying();
        const auto* const after = &four.shard_of(numbered(i)).underlying();
        ++share[before];
        if (before == after) continue;
        BOOST_TEST(after == &d);
        ++moved;
    }
    BOOST_TEST(share.size() == 3U);
    for (const auto& [shard, count] : share) {
        BOOST_TEST(count > names / 3 * 9 / 10);
        BOOST_TEST(count < names / 3 * 11 / 10);
    }
    BOOST_TEST(moved > names / 4 * 9 / 10);
    BOOST_TEST(moved < names / 4 * 11 / 10);
}

BOOST_AUTO_TEST_CASE(leases_on_the_whole_and_on_a_shard_exclude_each_other)
{
    lh::memory_store a, b;
    sharded all{{{"a", a}, {"b", b}}};
    for (int i = 0; i < 20; ++i) {
        lh::basic_lease whole{all, numbered(i)};
        lh::basic_lease part{all.shard_of(numbered(i)), numbered(i)};
        const auto guard = whole.try_acquire();
        BOOST_TEST(guard.held());
        BOOST_TEST(!is_held(part.try_acquire()));
        BOOST_TEST(part.inspect()->owner == whole.owner());
    }
}

BOOST_AUTO_TEST_CASE(list_has_the_leases_of_all_shards_by_name)
{
    lh::memory_store a, b;
    sharded all{{{"a", a}, {"b", b}}};
    std::error_code ec;
    for (int i = 0; i < 10; ++i) all.try_acquire(numbered(i), "owner", 30s, ec);
    all.try_acquire("other", "owner", 30s, ec);
    const auto records = all.list("name-", ec);
    BOOST_TEST(!ec);
    BOOST_REQUIRE(records.size() == 10U);
    for (int i = 0; i < 10; ++i) BOOST_TEST(records[static_cast<std::size_t>(i)].name == numbered(i));
}

BOOST_AUTO_TEST_CASE(list_has_each_lease_once_and_no_record_of_the_set)
{
    lh::memory_store a, b;
    sharded all{{{"w", a}, {"x", a}, {"y", b}, {"z", a}}};
    std::error_code ec;
    for (int i = 0; i < 10; ++i) all.try_acquire(numbered(i), "owner", 30s, ec);
    BOOST_TEST(all.list("", ec).size() == 10U);
    BOOST_TEST(a.list().size() + b.list().size() == 12U);
}

BOOST_AUTO_TEST_CASE(set_of_shards_that_cannot_be_is_refused)
{
    lh::memory_store a, b;
    const auto is_invalid = [](const std::system_error& e) { return e.code() == std::errc::invalid_argument; };
    BOOST_CHECK_EXCEPTION((sharded{std::vector<sharded::shard>{}}), std::system_error, is_invalid);
    BOOST_CHECK_EXCEPTION((sharded{{{"a", a}, {"", b}}}), std::system_error, is_invalid);
    BOOST_CHECK_EXCEPTION((sharded{{{"a", a}, {"a", b}}}), std::system_error, is_invalid);
    for (const lh::duration wrong : {lh::duration{0}, lh::duration{-1s}, lh::min_ttl - 1ns, lh::max_ttl + 1ns})
        BOOST_CHECK_EXCEPTION((sharded{{{"a", a}, {"b", b}}, {.set_ttl = wrong}}), std::system_error,
                              [](const std::system_error& e) { return e.code() == lh::errc::invalid_terms; });
}

BOOST_AUTO_TEST_SUITE_END()
