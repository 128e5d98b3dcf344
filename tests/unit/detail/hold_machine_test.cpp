// SPDX-License-Identifier: BSL-1.0
// What one who wants to hold a name closed does about who has it.
#include <leasehold/detail/hold_machine.hpp>
#include <leasehold/detail/hold_text.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace hold_machine_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using lh::detail::hold_machine;
using lh::detail::hold_step;

namespace {

struct scene {
    hold_machine machine;
    lh::time_point now{1h};

    static lh::lease_record record(std::string owner, std::int64_t token)
    {
        return {.name = "n", .owner = std::move(owner), .token = lh::fencing_token{token}, .remaining = 10s};
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(hold_machine_test, scene)

BOOST_AUTO_TEST_CASE(nobody_is_looked_for_before_the_first_busy_answer)
{
    BOOST_TEST((machine.look_at() == lh::time_point::max()));
    machine.busy({}, now);
    BOOST_TEST((machine.look_at() == now));
}

BOOST_AUTO_TEST_CASE(who_stands_in_line_looks_at_once_and_then_after_a_pause)
{
    machine.in_line(now);
    BOOST_TEST((machine.look_at() == now));
    BOOST_TEST((machine.looked(std::nullopt, now) == hold_step::wait));
    machine.in_line(now + 1ms);
    BOOST_TEST((machine.look_at() == now + hold_machine::look_pause));
}

BOOST_AUTO_TEST_CASE(each_term_is_asked_once)
{
    BOOST_TEST((machine.looked(record("a", 1), now) == hold_step::ask));
    BOOST_TEST((machine.looked(record("a", 1), now) == hold_step::wait));
    BOOST_TEST((machine.looked(record("a", 2), now) == hold_step::ask));
    BOOST_TEST((machine.looked(record("b", 3), now) == hold_step::ask));
}

BOOST_AUTO_TEST_CASE(another_term_in_the_way_is_looked_at_at_once)
{
    static_cast<void>(machine.looked(record("a", 1), now));
    machine.busy(lh::fencing_token{1}, now + 1ms);
    BOOST_TEST((machine.look_at() == now + hold_machine::look_pause));
    machine.busy({}, now + 1ms);
    BOOST_TEST((machine.look_at() == now + hold_machine::look_pause));
    machine.busy(lh::fencing_token{2}, now + 1ms);
    BOOST_TEST((machine.look_at() == now + 1ms));
}

BOOST_AUTO_TEST_CASE(look_that_is_due_stays_due)
{
    machine.in_line(now);
    machine.busy(lh::fencing_token{1}, now + 1ms);
    BOOST_TEST((machine.look_at() == now));
}

BOOST_AUTO_TEST_CASE(name_that_a_min_hold_keeps_closed_has_nobody_to_ask)
{
    BOOST_TEST((machine.looked(record("", 1), now) == hold_step::wait));
}

BOOST_AUTO_TEST_CASE(hold_and_count_refuse_another_hold)
{
    BOOST_TEST((machine.looked(record(lh::detail::owner_of_hold("0123456789abcdef", "x"), 1), now) == hold_step::refuse_held));
    BOOST_TEST((machine.looked(record("5 permits", 1), now) == hold_step::refuse_count));
}

BOOST_AUTO_TEST_CASE(owner_of_a_hold_has_the_reason)
{
    const std::string owner = lh::detail::owner_of_hold("0123456789abcdef0123", "a: b");
    BOOST_TEST(owner == "held closed 0123456789abcdef: a: b");
    BOOST_TEST(lh::detail::is_hold(owner));
    BOOST_TEST(lh::detail::hold_reason(owner) == "a: b");
    BOOST_TEST(lh::detail::owner_of_hold("0123456789abcdef", "") == "held closed 0123456789abcdef");
    BOOST_TEST(lh::detail::hold_reason("held closed 0123456789abcdef") == "");
    BOOST_TEST(!lh::detail::is_hold("held closed"));
    BOOST_TEST(!lh::detail::is_hold("web-1: x"));
    BOOST_TEST(lh::detail::hold_reason("web-1: x") == "");
    BOOST_TEST(lh::detail::request_of_hold("") == "hold");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace hold_machine_test
