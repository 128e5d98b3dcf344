// SPDX-License-Identifier: BSL-1.0
// When the records of a set of shards are written, and the text that stands for a set.
#include <leasehold/detail/shard_set_machine.hpp>
#include <leasehold/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(shard_set_machine_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

using machine = lh::detail::shard_set_machine;
using ids = std::vector<std::string>;

constexpr lh::time_point start{1h};

}  // namespace

BOOST_AUTO_TEST_CASE(record_covers_what_ends_within_half_of_its_time)
{
    machine m{2, 300s};
    BOOST_TEST(!m.covers(0, start, 30s));
    m.written(0, start, 30s);
    BOOST_TEST(m.covers(0, start, 30s));
    BOOST_TEST(m.covers(0, start + 210s, 30s));
    BOOST_TEST(!m.covers(0, start + 210s + 1ns, 30s));
    BOOST_TEST(!m.all_cover(start, 30s), "the other database has no record");
    m.written(1, start + 10s, 30s);
    BOOST_TEST(m.all_cover(start + 210s, 30s));
    BOOST_TEST(!m.all_cover(start + 211s, 30s));
    m.written(0, start - 100s, 30s);
    BOOST_TEST(m.all_cover(start + 210s, 30s), "an answer that comes late does not shorten anything");
}

BOOST_AUTO_TEST_CASE(record_lasts_longer_if_leases_do)
{
    machine m{1, 300s};
    BOOST_TEST((m.record_ttl(30s) == 300s));
    BOOST_TEST((m.record_ttl(1h) == 4h));
    m.written(0, start, 1h);
    BOOST_TEST(m.covers(0, start + 1h, 1h));
}

BOOST_AUTO_TEST_CASE(record_is_written_ahead_early_by_calls_to_its_database_and_later_by_others)
{
    const auto first_time = [](std::size_t called) {
        machine m{2, 300s};
        m.written(0, start, 30s);
        lh::duration after{};
        while (!m.begin_ahead(0, called, start + after, 30s)) after += 500ms;
        return after;
    };
    BOOST_TEST((first_time(0) == 53s), "a quarter of the 210 s is over");
    BOOST_TEST((first_time(1) == 105s + 500ms), "half of them");
}

BOOST_AUTO_TEST_CASE(record_is_written_ahead_by_one_caller_at_a_time)
{
    machine m{1, 300s};
    m.written(0, start, 30s);
    BOOST_TEST(m.begin_ahead(0, 0, start + 60s, 30s));
    BOOST_TEST(!m.begin_ahead(0, 0, start + 60s, 30s));
    BOOST_TEST(!m.begin_ahead(0, 0, start + 74s, 30s));
    BOOST_TEST(m.begin_ahead(0, 0, start + 75s, 30s), "it failed, so somebody tries again");
    m.written(0, start + 75s, 30s);
    BOOST_TEST(!m.begin_ahead(0, 0, start + 100s, 30s));
}

// Values that must never change: processes with another version of the library would have another set.
BOOST_AUTO_TEST_CASE(text_of_a_set_is_the_same_in_every_version)
{
    BOOST_TEST(lh::detail::shard_set_text(ids{"eu-1"}, ids{"eu-1", "eu-2"}) == "eu-1 of eu-1, eu-2 (2 shards, 018ce4ac6556e586)");
    BOOST_TEST(lh::detail::shard_set_text(ids{"a"}, ids{"a"}) == "a of a (1 shard, 24f5211efbb39c0a)");
}

BOOST_AUTO_TEST_CASE(different_sets_have_different_texts)
{
    const auto text = [](const ids& here, const ids& all) { return lh::detail::shard_set_text(here, all); };
    BOOST_TEST(text(ids{"a"}, ids{"a", "b"}) != text(ids{"b"}, ids{"a", "b"}));
    BOOST_TEST(text(ids{"a, b"}, ids{"a, b"}) != text(ids{"a", "b"}, ids{"a", "b"}));
    BOOST_TEST(text(ids{"\x01"}, ids{"\x01"}) != text(ids{"\x02"}, ids{"\x02"}));
    ids many;
    for (int i = 0; i < 100; ++i) many.push_back("shard-" + std::to_string(1000 + i));
    ids others = many;
    others.back() = "shard-2000";
    const std::string one = text(ids{many.front()}, many), other = text(ids{others.front()}, others);
    BOOST_TEST(one != other);
    BOOST_TEST(one.size() == lh::max_owner_bytes);
    BOOST_TEST(one.starts_with("shard-1000 of shard-1000, shard-1001, "));
    BOOST_TEST(one.find("... (100 shards, ") != one.npos);
}

BOOST_AUTO_TEST_CASE(text_of_any_set_can_be_an_owner)
{
    for (const std::string& piece : {std::string{"x"}, std::string{"\xC3\xA9"}, std::string{"\xED\x95\x9C"},
                                     std::string{"\xF0\x9F\x90\x98"}, std::string{"\xFF"}, std::string{'\0'}, std::string{"\n"}})
        for (std::size_t length = 1; length < 220; ++length) {
            std::string id;
            for (std::size_t i = 0; i < length; ++i) id += piece;
            const std::string owner = lh::detail::shard_set_text(ids{id}, ids{id, "y"});
            if (const char* rule = lh::detail::broken_text_rule(owner, lh::max_owner_bytes)) BOOST_ERROR(rule << ": " << owner);
        }
}

BOOST_AUTO_TEST_SUITE_END()
