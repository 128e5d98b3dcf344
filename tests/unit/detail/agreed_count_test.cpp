// SPDX-License-Identifier: BSL-1.0
// The count of permits as a record, and what a process does that finds another one.
#include <leasehold/detail/agreed_count.hpp>

#include <leasehold/lease_record.hpp>

#include <boost/test/unit_test.hpp>

#include <string_view>

BOOST_AUTO_TEST_SUITE(agreed_count_test)

namespace lh = leasehold;
using lh::detail::agreed_count;
using lh::detail::count_stance;
using lh::detail::count_verdict;

namespace {

constexpr std::string_view unit = "permits";

void is_read_back(const agreed_count& count, std::string_view text)
{
    BOOST_TEST(count.text(unit) == text);
    const auto read = agreed_count::of(text, unit);
    BOOST_TEST_REQUIRE(read.has_value(), text);
    BOOST_TEST((*read == count), text);
    BOOST_TEST(lh::detail::is_count(text), text);
}

}  // namespace

BOOST_AUTO_TEST_CASE(record_is_text_and_back)
{
    is_read_back({5, 0, 0}, "5 permits");
    is_read_back({4, 8, 1}, "4 permits, was 8, change 1");
    is_read_back({4, 0, 12}, "4 permits, change 12");
    is_read_back({1024, 0, 0}, "1024 permits");
}

BOOST_AUTO_TEST_CASE(owner_of_another_form_is_no_record)
{
    for (const std::string_view text :
         {"", "permits", " permits", "0 permits", "5", "5 permit", "5 permits ", "05 permits", "-5 permits", "+5 permits", "5 readers",
          "5 permits, was", "5 permits, was 4", "5 permits, was 5, change 1", "4 permits, was 08, change 1", "4 permits, change 0",
          "4 permits, change", "4 permits, change 1, was 8", "4 permits, was 8, change 1 ", "1025 permits",
          "4 permits, was 1025, change 1", "99999999999999999999999 permits", "node-1"})
        BOOST_TEST(!agreed_count::of(text, unit).has_value(), text);
    BOOST_TEST((agreed_count::of("64 readers", "readers") == agreed_count{64, 0, 0}));
    for (const std::string_view text : {"permits", "4 permits, was", "4 permits, was 8 ", "4 readers, change 1", "4 permits, change "})
        BOOST_TEST(!lh::detail::is_count(text), text);
    BOOST_TEST(lh::detail::is_count("0 permits"), "what keeps a permit closed is no holder");
}

BOOST_AUTO_TEST_CASE(fewer_permits_are_a_change_that_takes_time_and_more_are_not)
{
    const agreed_count eight{8, 0, 0};
    BOOST_TEST((eight.resized(4, 1) == agreed_count{4, 8, 1}));
    BOOST_TEST(eight.resized(4, 1).changing());
    BOOST_TEST(eight.resized(4, 1).limit() == 8U);
    BOOST_TEST((eight.resized(4, 1).settled() == agreed_count{4, 0, 2}));
    BOOST_TEST((eight.resized(16, 3) == agreed_count{16, 0, 3}));
    BOOST_TEST(!eight.resized(16, 3).changing());
    const agreed_count half_way{4, 8, 1};
    BOOST_TEST((half_way.resized(6, 2) == agreed_count{6, 8, 2}), "some of the eight may be held still");
    BOOST_TEST((half_way.resized(2, 2) == agreed_count{2, 8, 2}));
    BOOST_TEST((half_way.resized(8, 2) == agreed_count{8, 0, 2}));
}

BOOST_AUTO_TEST_CASE(process_that_has_agreed_follows_a_later_change_and_nothing_else)
{
    const count_stance agreed{.own = {4, 0, 1}, .agreed = true, .lasts = true};
    BOOST_TEST((judge(agreed, {8, 0, 2}) == count_verdict::follow));
    BOOST_TEST((judge(agreed, {2, 4, 2}) == count_verdict::follow));
    BOOST_TEST((judge(agreed, {4, 8, 1}) == count_verdict::follow), "the same change at another stage");
    BOOST_TEST((judge(agreed, {2, 0, 1}) == count_verdict::restore), "two changes of one number");
    BOOST_TEST((lh::detail::judge({.own = {4, 0, 1}, .agreed = true}, {2, 0, 1}) == count_verdict::follow));
    const count_stance first{.own = {5, 0, 0}, .agreed = true, .lasts = true};
    BOOST_TEST((judge(first, {6, 0, 0}) == count_verdict::refuse), "somebody has removed the record");
    BOOST_TEST((judge(first, {6, 0, 1}) == count_verdict::follow));
}

BOOST_AUTO_TEST_CASE(process_made_with_another_count_is_refused_or_follows)
{
    const count_stance made{.own = {4, 0, 0}};
    BOOST_TEST((judge(made, {8, 0, 0}) == count_verdict::refuse));
    BOOST_TEST((judge(made, {8, 0, 3}) == count_verdict::refuse));
    BOOST_TEST((judge(made, {2, 4, 1}) == count_verdict::refuse));
    BOOST_TEST((judge(made, {4, 0, 3}) == count_verdict::follow));
    BOOST_TEST((judge(made, {4, 8, 3}) == count_verdict::follow));
    count_stance follower = made;
    follower.follows = true;
    BOOST_TEST((judge(follower, {8, 0, 3}) == count_verdict::follow));
    BOOST_TEST((judge(follower, {2, 4, 1}) == count_verdict::follow));
}

BOOST_AUTO_TEST_CASE(record_that_fell_back_behind_a_change_is_written_again)
{
    for (const bool follows : {false, true}) {
        const count_stance agreed{.own = {4, 0, 1}, .agreed = true, .lasts = true, .follows = follows};
        BOOST_TEST((judge(agreed, {8, 0, 0}) == count_verdict::restore));
    }
    BOOST_TEST((lh::detail::restored({4, 0, 1}, {8, 0, 0}) == agreed_count{4, 8, 2}));
    BOOST_TEST((lh::detail::restored({8, 0, 1}, {4, 0, 0}) == agreed_count{8, 0, 2}));
    BOOST_TEST((lh::detail::restored({4, 6, 3}, {5, 0, 0}) == agreed_count{4, 6, 4}));
    const count_stance third{.own = {4, 0, 3}, .agreed = true, .lasts = true};
    BOOST_TEST((judge(third, {4, 8, 2}) == count_verdict::restore), "it is of an earlier change");
    BOOST_TEST((lh::detail::judge({.own = {4, 0, 3}, .agreed = true}, {8, 0, 2}) == count_verdict::refuse));
    const count_stance long_ago{.own = {4, 0, 1}, .agreed = true};
    BOOST_TEST((judge(long_ago, {8, 0, 0}) == count_verdict::refuse), "all have ended meanwhile, and begun with another count");
    BOOST_TEST((judge(long_ago, {4, 0, 0}) == count_verdict::follow));
}

BOOST_AUTO_TEST_CASE(process_that_followed_a_change_long_ago_takes_the_count_that_it_was_made_with)
{
    count_stance followed{.own = {8, 0, 1}, .agreed = true, .made = 5};
    BOOST_TEST((judge(followed, {5, 0, 0}) == count_verdict::follow));
    BOOST_TEST((judge(followed, {6, 0, 0}) == count_verdict::refuse));
    followed.lasts = true;
    BOOST_TEST((judge(followed, {5, 0, 0}) == count_verdict::restore), "it may hold a permit above five");
}

BOOST_AUTO_TEST_SUITE_END()
