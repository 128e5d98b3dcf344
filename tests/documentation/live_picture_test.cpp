// SPDX-License-Identifier: BSL-1.0
// What the live picture of the web site shows, compiled natively: docs/site/live.
#include "../../docs/site/live/scene_text.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <string>

namespace {

using namespace live;

struct three_replicas {
    three_replicas()
    {
        for (std::size_t i = 0; i < replica_count; ++i) shown.start(i);
        shown.advance(10s);
        BOOST_REQUIRE(shown.holder() != no_replica);
    }

    [[nodiscard]] std::array<std::size_t, replica_count> shards() const
    {
        std::array<std::size_t, replica_count> owned{};
        for (std::size_t i = 0; i < shard_count; ++i)
            if (shown.owner_of(i) != no_replica) ++owned[shown.owner_of(i)];
        return owned;
    }
    [[nodiscard]] lh::duration until_another_holds(std::size_t than)
    {
        const lh::time_point begun = shown.now();
        while (shown.holder() == no_replica || shown.holder() == than) {
            shown.advance(scene::tick);
            BOOST_REQUIRE(shown.now() - begun < 20s);
        }
        return shown.now() - begun;
    }
    [[nodiscard]] bool told(const std::string& part) const
    {
        return std::ranges::any_of(shown.events(), [&](const event& each) { return sentence(each).find(part) != std::string::npos; });
    }

    scene shown;
};

BOOST_AUTO_TEST_SUITE(live_picture)

BOOST_FIXTURE_TEST_CASE(one_holds_and_the_shards_are_divided_evenly, three_replicas)
{
    BOOST_TEST((shards() == std::array<std::size_t, replica_count>{2, 2, 2}));
    BOOST_TEST(shown.file().written() >= 8);
    BOOST_TEST(shown.violations() == 0);
}

BOOST_FIXTURE_TEST_CASE(a_stop_frees_the_lease_at_once, three_replicas)
{
    const std::size_t first = shown.holder();
    shown.stop(first);
    BOOST_TEST((until_another_holds(first) <= poll_pause + scene::tick));
    BOOST_TEST(shown.violations() == 0);
}

BOOST_FIXTURE_TEST_CASE(after_a_kill_the_term_runs_out_first, three_replicas)
{
    const std::size_t first = shown.holder();
    const lh::duration left = shown.record()->remaining;
    shown.kill(first);
    const lh::duration taken = until_another_holds(first);
    BOOST_TEST((taken >= left));
    BOOST_TEST((taken <= live::terms.ttl + poll_pause + scene::tick));
    shown.advance(10s);
    BOOST_TEST(shards()[first] == 0U);
    const auto owned = shards();
    BOOST_TEST(*std::ranges::max_element(owned) == 3U);
    shown.start(first);
    shown.advance(10s);
    BOOST_TEST((shards() == std::array<std::size_t, replica_count>{2, 2, 2}));
    BOOST_TEST(shown.violations() == 0);
}

BOOST_FIXTURE_TEST_CASE(the_file_refuses_the_late_write_of_one_that_was_frozen, three_replicas)
{
    const std::size_t first = shown.holder();
    shown.freeze(first, true);
    static_cast<void>(until_another_holds(first));
    BOOST_TEST(shown.file().refused() == 0);
    const lh::fencing_token newest = shown.file().newest();
    shown.freeze(first, false);
    BOOST_TEST(shown.file().refused() == 1);
    BOOST_TEST((shown.file().newest() == newest));
    shown.advance(scene::tick);
    BOOST_TEST(told("refuses " + std::string{scene::letter(first)} + "'s late write"));
    BOOST_TEST(told("has lost the term"));
    BOOST_TEST(shown.violations() == 0);
}

BOOST_FIXTURE_TEST_CASE(one_that_is_frozen_shortly_keeps_its_term_and_its_write_is_taken, three_replicas)
{
    const std::size_t first = shown.holder();
    shown.freeze(first, true);
    shown.advance(1s);
    shown.freeze(first, false);
    BOOST_TEST(shown.file().refused() == 0);
    BOOST_TEST(shown.holder() == first);
}

BOOST_FIXTURE_TEST_CASE(one_that_is_cut_off_stops_before_another_begins, three_replicas)
{
    const std::size_t first = shown.holder();
    shown.cut(first, true);
    lh::duration held{};
    const lh::time_point begun = shown.now();
    while (shown.holder() == first) {
        shown.advance(scene::tick);
        held = shown.now() - begun;
    }
    BOOST_TEST(shown.holder() == no_replica);
    BOOST_TEST((until_another_holds(first) >= 400ms));  // the safety margin, less a tick on either side
    BOOST_TEST((held <= live::terms.ttl - live::terms.margin()));
    shown.advance(3s);
    BOOST_TEST(shards()[first] == 0U);
    shown.cut(first, false);
    shown.advance(10s);
    BOOST_TEST((shards() == std::array<std::size_t, replica_count>{2, 2, 2}));
    BOOST_TEST(shown.file().refused() == 0);
    BOOST_TEST(shown.violations() == 0);
}

BOOST_AUTO_TEST_CASE(whatever_a_visitor_does_two_never_hold_one_name)
{
    std::mt19937 random{20260101};
    int late = 0;
    for (int visitor = 0; visitor < 20; ++visitor) {
        scene shown;
        for (int action = 0; action < 200; ++action) {
            const std::size_t i = random() % replica_count;
            const bool now = random() % 2 == 0;
            switch (random() % 6) {
            case 0: shown.stop(i); break;
            case 1: shown.kill(i); break;
            case 2: shown.freeze(i, now); break;
            case 3: shown.cut(i, now); break;
            default: shown.start(i);
            }
            shown.advance(std::chrono::milliseconds{random() % 3000});
        }
        BOOST_TEST_REQUIRE(shown.violations() == 0);
        late += shown.file().refused();
    }
    BOOST_TEST(late > 0);
}

BOOST_FIXTURE_TEST_CASE(terms_on_the_time_line_do_not_overlap, three_replicas)
{
    for (int i = 0; i < 4; ++i) {
        const std::size_t first = shown.holder();
        i % 2 == 0 ? shown.cut(first, true) : shown.freeze(first, true);
        static_cast<void>(until_another_holds(first));
        shown.cut(first, false);
        shown.freeze(first, false);
    }
    BOOST_TEST(shown.terms().size() >= 5U);
    for (std::size_t i = 1; i < shown.terms().size(); ++i) {
        const term_span& earlier = shown.terms()[i - 1];
        const term_span& later = shown.terms()[i];
        BOOST_TEST(earlier.token < later.token);
        BOOST_REQUIRE(earlier.to);
        BOOST_TEST((*earlier.to <= earlier.store_end));
        BOOST_TEST((earlier.store_end <= later.from));
    }
}

BOOST_FIXTURE_TEST_CASE(its_text_is_what_the_page_reads, three_replicas)
{
    const std::string text = scene_text{shown}.take();
    BOOST_TEST(text.starts_with(R"({"now":10000,"replicas":[{"name":"A","is":"running","cut":0,)"));
    BOOST_TEST(text.find(R"("violations":0,"terms":[{"replica":)") != std::string::npos);
    BOOST_TEST(text.ends_with("}]}"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
