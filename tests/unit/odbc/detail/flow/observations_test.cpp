// SPDX-License-Identifier: BSL-1.0
#include <support/printing.hpp>

#include <leasehold/odbc/detail/flow/observations.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

BOOST_AUTO_TEST_SUITE(observations_test)

namespace lh = leasehold;
using lh::odbc::detail::max_passed_over;
using lh::odbc::detail::observations;
using lh::odbc::detail::observed_row;
using namespace std::chrono_literals;

namespace {

const lh::time_point start{1h};

}  // namespace

BOOST_AUTO_TEST_CASE(row_is_over_when_it_has_been_the_same_for_its_whole_ttl)
{
    observations seen;
    const observed_row row{.token = 1, .version = 5, .ttl = 10s};
    BOOST_TEST(seen.left_of("n", row, start) == 10s);
    BOOST_TEST(seen.left_of("n", row, start + 4s) == 6s);
    BOOST_TEST(seen.left_of("n", row, start + 10s - 1ns) == 1ns);
    BOOST_TEST(seen.left_of("n", row, start + 10s) == 0s);
    BOOST_TEST(seen.left_of("n", row, start + 1h) == 0s);
}

BOOST_AUTO_TEST_CASE(any_change_restarts_the_observation)
{
    observations seen;
    observed_row row{.token = 1, .version = 5, .ttl = 10s};
    const auto check_restarted = [&](lh::time_point at) {
        BOOST_TEST(seen.left_of("n", row, at) == row.ttl);
        BOOST_TEST(seen.left_of("n", row, at + 9s) == row.ttl - 9s);
    };
    check_restarted(start);
    row.version = 6;
    check_restarted(start + 9s);
    row.token = 2;
    check_restarted(start + 18s);
    row.ttl = 20s;
    check_restarted(start + 27s);
    row.version = 5;  // also one that was seen before
    check_restarted(start + 36s);
}

BOOST_AUTO_TEST_CASE(long_pause_between_two_looks_counts)
{
    observations seen;
    const observed_row row{.token = 1, .version = 5, .ttl = 10s};
    BOOST_TEST(seen.left_of("n", row, start) == 10s);
    BOOST_TEST(seen.left_of("n", row, start + 24h) == 0s);
}

BOOST_AUTO_TEST_CASE(released_row_need_not_be_seen_twice)
{
    observations seen;
    BOOST_TEST(seen.left_of("n", {.token = 1, .version = 5, .ttl = 0s}, start) == 0s);
    BOOST_TEST(seen.size() == 0u);
}

BOOST_AUTO_TEST_CASE(names_are_apart)
{
    observations seen;
    const observed_row row{.token = 1, .version = 5, .ttl = 10s};
    BOOST_TEST(seen.left_of("a", row, start) == 10s);
    BOOST_TEST(seen.left_of("b", row, start + 5s) == 10s);
    BOOST_TEST(seen.left_of("a", row, start + 5s) == 5s);
    BOOST_TEST(seen.size() == 2u);
}

BOOST_AUTO_TEST_CASE(is_bounded_and_those_noted_come_to_their_end)
{
    observations seen{3};
    const observed_row row{.token = 1, .version = 5, .ttl = 10s};
    for (int second = 0; second < 10; ++second)
        for (int name = 0; name < 6; ++name) {
            const lh::duration left = seen.left_of(std::to_string(name), row, start + std::chrono::seconds{second});
            BOOST_TEST(left == (name < 3 ? 10s - std::chrono::seconds{second} : 10s));
        }
    BOOST_TEST(seen.size() == 3u);
    for (int name = 0; name < 3; ++name) BOOST_TEST(seen.left_of(std::to_string(name), row, start + 10s) == 0s);
}

BOOST_AUTO_TEST_CASE(name_that_nobody_asks_about_any_longer_makes_room)
{
    observations seen{2};
    const observed_row row{.token = 1, .version = 5, .ttl = 10s};
    BOOST_TEST(seen.left_of("old", row, start) == 10s);
    BOOST_TEST(seen.left_of("kept", row, start + 1s) == 10s);
    BOOST_TEST(seen.left_of("kept", row, start + 8s) == 3s);
    BOOST_TEST(seen.left_of("new", row, start + 10s) == 10s);  // not noted yet
    BOOST_TEST(seen.left_of("new", row, start + 11s) == 10s);
    BOOST_TEST(seen.left_of("new", row, start + 12s) == 9s);
    BOOST_TEST(seen.left_of("kept", row, start + 12s) == 0s);
    BOOST_TEST(seen.left_of("old", row, start + 12s) == 10s);
    BOOST_TEST(seen.size() == 2u);
}

BOOST_AUTO_TEST_CASE(room_is_made_by_the_name_whose_last_look_is_the_oldest_and_longer_ago_than_its_ttl)
{
    observations seen{2};
    const observed_row row{.token = 1, .version = 5, .ttl = 10s};
    BOOST_TEST(seen.left_of("kept", row, start) == 10s);
    BOOST_TEST(seen.left_of("old", row, start + 1s) == 10s);
    BOOST_TEST(seen.left_of("kept", row, start + 8s) == 2s);
    BOOST_TEST(seen.left_of("new", row, start + 12s) == 10s);
    BOOST_TEST(seen.left_of("new", row, start + 13s) == 9s);
    BOOST_TEST(seen.left_of("old", row, start + 13s) == 10s);  // not noted: the others were asked about since
    BOOST_TEST(seen.left_of("old", row, start + 14s) == 10s);
    BOOST_TEST(seen.size() == 2u);
}

BOOST_AUTO_TEST_CASE(terms_that_are_only_renewed_keep_no_room_from_the_others)
{
    observations seen{max_passed_over + 1};
    const observed_row row{.token = 1, .version = 5, .ttl = 10s};
    for (std::size_t i = 0; i < max_passed_over; ++i) BOOST_TEST(seen.left_of("held " + std::to_string(i), row, start) == 10s);
    BOOST_TEST(seen.left_of("old", row, start + 1s) == 10s);
    for (lh::time_point at = start + 5s; at <= start + 60s; at += 5s)
        for (std::size_t i = 0; i < max_passed_over; ++i) seen.renewed("held " + std::to_string(i), 1, 5, 10s, at);
    BOOST_TEST(seen.left_of("new", row, start + 60s) == 10s);
    BOOST_TEST(seen.left_of("new", row, start + 61s) == 9s);
}

BOOST_AUTO_TEST_CASE(names_with_a_long_ttl_keep_no_room_from_the_others)
{
    observations seen{max_passed_over + 1};
    for (std::size_t i = 0; i < max_passed_over; ++i) {
        const observed_row held_closed{.token = 1, .version = 5, .ttl = 1000h};
        BOOST_TEST(seen.left_of(std::to_string(i), held_closed, start) == 1000h);
    }
    const observed_row row{.token = 1, .version = 5, .ttl = 10s};
    BOOST_TEST(seen.left_of("old", row, start + 1s) == 10s);
    BOOST_TEST(seen.left_of("new", row, start + 60s) == 10s);  // not noted yet: the search has passed over the others
    BOOST_TEST(seen.left_of("new", row, start + 61s) == 10s);
    BOOST_TEST(seen.left_of("new", row, start + 62s) == 9s);
    BOOST_TEST(seen.size() == max_passed_over + 1);
}

BOOST_AUTO_TEST_CASE(each_name_makes_room_once)
{
    observations seen{1};
    const observed_row row{.token = 1, .version = 5, .ttl = 10s};
    for (int i = 0; i < 5; ++i) {
        const lh::time_point at = start + i * 12s;
        const std::string name(static_cast<std::size_t>(i) + 1, 'n');
        BOOST_TEST(seen.left_of(name, row, at) == 10s);
        BOOST_TEST(seen.left_of(name, row, at + 1s) == 9s);
        BOOST_TEST(seen.size() == 1u);
    }
}

BOOST_AUTO_TEST_CASE(versions_do_not_come_twice)
{
    std::set<std::int64_t> drawn;
    for (int i = 0; i < 1000; ++i) drawn.insert(observations::new_version());
    BOOST_TEST(drawn.size() == 1000u);
    BOOST_TEST(*drawn.begin() > 0);
}

BOOST_AUTO_TEST_CASE(renewal_for_longer_is_for_longer)
{
    observations seen;
    BOOST_TEST(seen.left_of("n", {.token = 1, .version = 5, .ttl = 10s}, start) == 10s);
    seen.renewed("n", 1, 99, 20s, start + 5s);
    BOOST_TEST(!seen.has_run_out("n", 1, start + 25s - 1ns));
    BOOST_TEST(seen.has_run_out("n", 1, start + 25s));
    BOOST_TEST(seen.left_of("n", {.token = 1, .version = 99, .ttl = 20s}, start + 6s) == 19s);
}

BOOST_AUTO_TEST_CASE(own_renewals_are_what_the_next_look_shows)
{
    observations seen;
    observed_row row{.token = 1, .version = 5, .ttl = 10s};
    BOOST_TEST(!seen.has_run_out("n", 1, start));
    BOOST_TEST(seen.left_of("n", row, start) == 10s);
    seen.renewed("n", 1, 99, 5s, start + 9s);
    row.version = 99;
    BOOST_TEST(seen.left_of("n", row, start + 10s) == 9s);
    BOOST_TEST(!seen.has_run_out("n", 1, start + 19s - 1ns));
    BOOST_TEST(seen.has_run_out("n", 1, start + 19s));
    BOOST_TEST(!seen.has_run_out("n", 2, start + 19s));
    seen.renewed("n", 2, 100, 5s, start + 19s);
    seen.renewed("never seen", 1, 100, 5s, start + 19s);
    BOOST_TEST(seen.has_run_out("n", 1, start + 19s));
    BOOST_TEST(seen.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
