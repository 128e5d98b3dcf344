// SPDX-License-Identifier: BSL-1.0
#include <keeper_machine.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <ostream>

using namespace tool;
using namespace std::chrono_literals;

namespace tool {

std::ostream& operator<<(std::ostream& out, keeper_action action)
{
    constexpr const char* words[]{"nothing", "terminate", "kill", "report"};
    return out << words[static_cast<int>(action)];
}

}  // namespace tool

namespace {

using time_point = leasehold::time_point;

constexpr auto when(leasehold::duration time) { return time_point{time}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_keeper)

struct running_command : keeper_machine {
    running_command() : keeper_machine{2s} { started(when(10s)); }

    keeper_action with_others(time_point now)
    {
        return next(now, [] { return false; });
    }
    keeper_action alone(time_point now)
    {
        return next(now, [] { return true; });
    }
};

BOOST_FIXTURE_TEST_CASE(a_command_runs_up_to_the_deadline_then_is_told_to_end_then_made_to, running_command)
{
    BOOST_TEST(alone(when(10s) - 1ns) == keeper_action::nothing);
    BOOST_TEST(alone(when(10s)) == keeper_action::terminate);
    BOOST_TEST(alone(when(12s) - 1ns) == keeper_action::nothing);
    BOOST_TEST(alone(when(12s)) == keeper_action::kill);
    BOOST_TEST(alone(when(99s)) == keeper_action::nothing);  // the leader is waited for
    leader_ended();
    BOOST_TEST(alone(when(99s)) == keeper_action::report);
    BOOST_TEST(!running());
}

BOOST_FIXTURE_TEST_CASE(a_renewal_moves_the_deadline_but_never_back, running_command)
{
    extend(when(20s));
    extend(when(15s));
    BOOST_TEST(alone(when(20s) - 1ns) == keeper_action::nothing);
    BOOST_TEST(alone(when(20s)) == keeper_action::terminate);
}

BOOST_FIXTURE_TEST_CASE(command_that_was_told_to_end_is_not_reprieved, running_command)
{
    BOOST_TEST(end(when(5s)) == keeper_action::terminate);
    extend(when(99s));
    BOOST_TEST(alone(when(7s)) == keeper_action::kill);
}

BOOST_FIXTURE_TEST_CASE(told_to_end_early_it_has_its_time_from_then_and_is_told_once, running_command)
{
    BOOST_TEST(end(when(5s)) == keeper_action::terminate);
    BOOST_TEST(end(when(6s)) == keeper_action::nothing);
    BOOST_TEST(alone(when(7s) - 1ns) == keeper_action::nothing);
    BOOST_TEST(alone(when(7s)) == keeper_action::kill);
}

// A host that was suspended: by now the store may have let somebody else in.
BOOST_FIXTURE_TEST_CASE(keeper_that_wakes_up_late_kills_at_once, running_command)
{
    BOOST_TEST(alone(when(1000s)) == keeper_action::terminate);
    BOOST_TEST(alone(when(1000s)) == keeper_action::kill);
}

BOOST_FIXTURE_TEST_CASE(a_late_word_of_the_loss_gives_no_more_time_than_the_deadline_did, running_command)
{
    BOOST_TEST(end(when(11s)) == keeper_action::terminate);
    BOOST_TEST(alone(when(12s)) == keeper_action::kill);
}

BOOST_FIXTURE_TEST_CASE(an_end_of_its_own_accord_is_reported_though_others_stay, running_command)
{
    leader_ended();
    BOOST_TEST(with_others(when(1s)) == keeper_action::report);
    BOOST_TEST(!told_to_end());
    BOOST_TEST(with_others(when(99s)) == keeper_action::nothing);
}

BOOST_FIXTURE_TEST_CASE(after_the_loss_the_rest_of_the_group_is_waited_for_and_killed_too, running_command)
{
    BOOST_TEST(with_others(when(10s)) == keeper_action::terminate);
    leader_ended();
    BOOST_TEST(with_others(when(11s)) == keeper_action::nothing);
    BOOST_TEST(with_others(when(12s)) == keeper_action::kill);
    BOOST_TEST(with_others(when(12s)) == keeper_action::nothing);
    BOOST_TEST(alone(when(12s)) == keeper_action::report);
}

BOOST_FIXTURE_TEST_CASE(a_group_that_ends_in_time_is_not_killed, running_command)
{
    BOOST_TEST(with_others(when(10s)) == keeper_action::terminate);
    leader_ended();
    BOOST_TEST(alone(when(11s)) == keeper_action::report);
}

BOOST_FIXTURE_TEST_CASE(process_that_hangs_in_the_kernel_is_not_waited_for_for_ever, running_command)
{
    end(when(5s));
    BOOST_TEST(with_others(when(7s)) == keeper_action::kill);
    leader_ended();
    BOOST_TEST(with_others(when(8s) - 1ns) == keeper_action::nothing);
    BOOST_TEST(with_others(when(8s)) == keeper_action::report);
}

BOOST_FIXTURE_TEST_CASE(the_next_command_has_a_deadline_of_its_own, running_command)
{
    end(when(5s));
    leader_ended();
    BOOST_TEST(alone(when(6s)) == keeper_action::report);
    started(when(30s));
    BOOST_TEST(alone(when(29s)) == keeper_action::nothing);
    BOOST_TEST(!told_to_end());
    BOOST_TEST(alone(when(30s)) == keeper_action::terminate);
}

BOOST_FIXTURE_TEST_CASE(nothing_is_slept_through, running_command)
{
    BOOST_TEST((look_again(when(9900ms)) == when(10s)));
    BOOST_TEST((look_again(when(1s)) <= when(1s) + 250ms));  // a suspended host's sleeps stand still
    static_cast<void>(alone(when(10s)));
    BOOST_TEST((look_again(when(11900ms)) == when(12s)));
    BOOST_TEST((keeper_machine{1s}.look_again(when(0s)) == time_point::max()));
}

BOOST_AUTO_TEST_SUITE_END()
