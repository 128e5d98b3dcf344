// SPDX-License-Identifier: BSL-1.0
// The checker of the campaign where shards are divided: records of one flaw each.
#include "check.hpp"
#include "parts.hpp"
#include "turns.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace campaign;

namespace {

constexpr instant ms = millisecond;
constexpr std::int64_t count = 3;

// A good campaign of ten seconds in which three shards change owners each second; the tokens of all are the same.
std::vector<record> good_shards()
{
    std::vector<record> records;
    for (const record& r : good()) {
        const bool of_a_shard = r.what < event::rules;
        for (std::int64_t shard = 0; shard < (of_a_shard ? count : 1); ++shard) {
            records.push_back(r);
            if (of_a_shard) records.back().lease = part_with_first_shard - shard;
        }
    }
    records.push_back({event::circumstance, "*", count, 20 * s, 0, shards_detail});
    return records;
}

figures without(std::int64_t shard, instant from, instant until)
{
    std::vector<record> records = good_shards();
    std::erase_if(records, [&](const record& r) {
        return r.what < event::rules && r.lease == part_with_first_shard - shard && r.at >= from && r.at < until;
    });
    return judged(std::move(records));
}

figures with(std::vector<record> more)
{
    std::vector<record> records = good_shards();
    records.insert(records.end(), more.begin(), more.end());
    return judged(std::move(records));
}

bool objects(const figures& found, const std::string& begin)
{
    return std::ranges::any_of(found.objections, [&](const std::string& each) { return each.starts_with(begin); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_checker_of_shards)

BOOST_AUTO_TEST_CASE(agrees_to_shards_that_change_owners)
{
    const figures found = judged(good_shards());
    BOOST_TEST(found.objections.empty());
    BOOST_TEST(found.terms == 10 * count);
    BOOST_TEST(found.calls.at("acquire").count == 10 * count);
    BOOST_TEST(found.leases == 0);
}

BOOST_AUTO_TEST_CASE(objects_to_two_owners_of_a_shard)
{
    const record also{event::won, "c2.1", 100, 15 * s + 500 * ms, 16 * s, "-", part_with_first_shard - 2};
    BOOST_TEST(objects(with({also}), "shard 2: two hold at once"));
    BOOST_TEST(with({also}).overlaps == 1);
}

BOOST_AUTO_TEST_CASE(objects_to_an_owner_with_an_older_token)
{
    const record late{event::won, "c3.1", 2, 19 * s + 920 * ms, 21 * s, "-", part_with_first_shard - 1};
    BOOST_TEST(objects(with({late}), "shard 1: c3.1 holds with token 2, which"));
    BOOST_TEST(with({late}).tokens_out_of_order == 1);
}

BOOST_AUTO_TEST_CASE(objects_to_one_token_of_a_shard_for_two)
{
    BOOST_TEST(objects(with({{event::call, "c3.1", 10, 19 * s, 19 * s + 5, "acquire:granted", part_with_first_shard}}),
                       "not linearizable"));
}

BOOST_AUTO_TEST_CASE(objects_to_a_shard_that_nobody_owns_while_others_have_owners)
{
    // 1.5 s for what the dead one has left, 1 s for a call, 0.7 s for a pause, and 2 s for the machine.
    BOOST_TEST(!objects(without(2, 13 * s, 18 * s), "shard 2: nobody held"));
    BOOST_TEST(objects(without(2, 13 * s, 19 * s), "shard 2: nobody held"));
    BOOST_TEST(objects(without(2, 14 * s, 21 * s), "shard 2: nobody held"), "nor after the last fault");
    BOOST_TEST(!objects(without(2, 13 * s, 19 * s), "shard 1: "));
}

BOOST_AUTO_TEST_CASE(objects_to_a_shard_that_nobody_owns_after_the_last_fault)
{
    const auto after_faults = [](instant taken) {
        std::vector<record> records = good_shards();
        std::erase_if(records, [&](const record& r) { return r.lease == part_with_first_shard - 2 && r.at >= 12 * s && r.at < taken; });
        for (instant at = 11 * s; at < 14 * s; at += s) records.push_back({event::fault, "c2.1", 0, at, at + s / 2, "holder_killed"});
        return judged(std::move(records));
    };
    BOOST_TEST(!objects(after_faults(18 * s), "shard 2: nobody held"));
    BOOST_TEST(objects(after_faults(19 * s), "shard 2: nobody held after the last fault, from 3.500000 s"));
}

BOOST_AUTO_TEST_CASE(objects_to_a_shard_that_nobody_ever_owned)
{
    BOOST_TEST(objects(without(1, 0, 30 * s), "shard 1: nobody ever held"));
}

BOOST_AUTO_TEST_CASE(tells_of_a_crash_once)
{
    const auto crashed = [](const std::string& each) { return each.find("ended as it should not") != std::string::npos; };
    BOOST_TEST(std::ranges::count_if(with({{event::crashed, "c2.1", 0, 15 * s, 0, "signal:11"}}).objections, crashed) == 1);
}

BOOST_AUTO_TEST_CASE(judges_what_is_of_no_shard_too)
{
    const std::vector<record> late{{event::call, "c2.1", 7, 12 * s, 16 * s, "list:seen", part_with_the_count},
                                   {event::call, "c2.1", 1, 12 * s, 16 * s, "renew:yes", part_with_first_member - 2001}};
    BOOST_TEST(std::ranges::count_if(with(late).objections, [](const std::string& each) {
        return each.find("a call took too long") != std::string::npos;
    }) == 2);
}

BOOST_AUTO_TEST_CASE(names_of_a_group_have_numbers_of_their_own)
{
    const part_names parts{"campaign", "shards"};
    BOOST_TEST(parts.number_of("campaign") == part_with_the_count);
    BOOST_TEST(parts.number_of("campaign/") == part_with_the_count);
    BOOST_TEST(parts.number_of("campaign/0") == part_with_first_shard);
    BOOST_TEST(parts.number_of("campaign/11") == part_with_first_shard - 11);
    BOOST_TEST(parts.number_of("campaign/members/c2.17") == part_with_first_member - 2017);
}

BOOST_AUTO_TEST_SUITE_END()
