// SPDX-License-Identifier: BSL-1.0
// Who gets the next change.
#include <leasehold/detail/change_feed.hpp>

#include <support/eventually.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

namespace change_feed_test {

using feed_type = leasehold::detail::change_feed<int>;
using leasehold_test::eventually;

namespace {

struct taking final : feed_type::taker {
    void taken(int change) noexcept override { got = change; }
    void ended() noexcept override { has_ended = true; }
    std::optional<int> got;
    bool has_ended = false;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(change_feed_test)

BOOST_AUTO_TEST_CASE(changes_are_kept_in_order_until_they_are_taken)
{
    feed_type feed;
    BOOST_TEST(!feed.take().has_value());
    feed.push({1});
    feed.push({2});
    BOOST_TEST(feed.take().value_or(0) == 1);
    const auto next = std::make_shared<taking>();
    feed.take_next(next);
    BOOST_TEST(next->got.value_or(0) == 2);
    BOOST_TEST(!feed.take().has_value());
}

BOOST_AUTO_TEST_CASE(the_newest_are_kept)
{
    feed_type feed;
    for (int i = 0; i <= static_cast<int>(feed_type::most_kept); ++i) feed.push({i});
    BOOST_TEST(feed.take().value_or(0) == 1);
}

BOOST_AUTO_TEST_CASE(each_change_goes_to_the_first_who_waits)
{
    feed_type feed;
    const auto first = std::make_shared<taking>(), second = std::make_shared<taking>();
    feed.take_next(first);
    feed.take_next(second);
    feed.push({1});
    BOOST_TEST((first->got == 1 && !second->got));
    feed.push({2});
    BOOST_TEST((second->got == 2));
}

BOOST_AUTO_TEST_CASE(who_has_left_in_time_gets_nothing)
{
    feed_type feed;
    const auto first = std::make_shared<taking>();
    feed.take_next(first);
    BOOST_TEST(feed.leave(*first));
    BOOST_TEST(!feed.leave(*first));
    feed.push({1});
    BOOST_TEST((!first->got && !first->has_ended));
    BOOST_TEST(feed.take().value_or(0) == 1);
}

BOOST_AUTO_TEST_CASE(the_end_is_told_to_those_who_wait_and_who_come_later)
{
    feed_type feed;
    const auto first = std::make_shared<taking>(), later = std::make_shared<taking>();
    feed.take_next(first);
    feed.end();
    feed.take_next(later);
    BOOST_TEST((first->has_ended && later->has_ended));
    BOOST_TEST(!feed.wait({}).has_value());
}

BOOST_AUTO_TEST_CASE(a_thread_waits_for_a_change_or_for_its_cancellation)
{
    BOOST_TEST_PASSPOINT();
    feed_type feed;
    std::optional<int> got;
    std::stop_source stop;
    {
        const std::jthread waiting{[&] { got = feed.wait(stop.get_token()); }};
        feed.push({1});
    }
    BOOST_TEST(got.value_or(0) == 1);
    {
        const std::jthread waiting{[&] { got = feed.wait(stop.get_token()); }};
        stop.request_stop();
    }
    BOOST_TEST(!got.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace change_feed_test
