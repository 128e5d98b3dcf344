// SPDX-License-Identifier: BSL-1.0
// What is done about commands: the parts of it that decide.
#include <job_control.hpp>
#include <restart_machine.hpp>
#include <supervise.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>

using namespace tool;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(tool_supervision)

BOOST_AUTO_TEST_CASE(a_command_s_end_becomes_a_shell_s_status)
{
    BOOST_TEST(command_end{.status = 7 << 8}.shell_status() == 7);
    BOOST_TEST(command_end{.status = SIGTERM}.shell_status() == 143);
    BOOST_TEST(command_end{.status = SIGKILL}.signal() == SIGKILL);
    BOOST_TEST(command_end{.status = 7 << 8}.signal() == 0);
    using kind = command_end::kind;
    BOOST_TEST((command_end{.how = kind::not_started, .error = ENOENT}.shell_status() == 127));
    BOOST_TEST((command_end{.how = kind::not_started, .error = EACCES}.shell_status() == 126));
    BOOST_TEST((command_end{.how = kind::not_started, .error = ENOEXEC}.shell_status() == 126));
    for (const int no_more : {EAGAIN, ENOMEM, EMFILE, ENFILE})
        BOOST_TEST((command_end{.how = kind::not_started, .error = no_more}.shell_status() == 70), no_more);
    BOOST_TEST((command_end{.how = kind::keeper_gone}.shell_status() == 70));
    BOOST_TEST((command_end{.notes = made_to_end | had_to_be_killed}.lost()));
    BOOST_TEST((!command_end{.notes = leaves_others}.lost()));
}

BOOST_AUTO_TEST_CASE(the_deadline_is_told_more_often_where_it_is_near)
{
    BOOST_TEST(tell_again_after(1h) == 500ms);
    BOOST_TEST(tell_again_after(400ms) == 100ms);
    BOOST_TEST(tell_again_after(0s) == 5ms);
}

BOOST_AUTO_TEST_CASE(a_command_that_stops_gets_the_terminal_or_company_or_nothing)
{
    BOOST_TEST((decide_on_stop(SIGTSTP, true) == on_stop::stop_too));
    BOOST_TEST((decide_on_stop(SIGTSTP, false) == on_stop::stop_too));
    BOOST_TEST((decide_on_stop(SIGTTIN, true) == on_stop::give_terminal));
    BOOST_TEST((decide_on_stop(SIGTTOU, true) == on_stop::give_terminal));
    BOOST_TEST((decide_on_stop(SIGTTIN, false) == on_stop::stop_too));
    BOOST_TEST((decide_on_stop(SIGSTOP, true) == on_stop::nothing));
}

BOOST_AUTO_TEST_CASE(restart_policies_say_when_it_is_over)
{
    using step = restart_machine::step;
    restart_machine always{restart_policy::always, 1s}, on_failure{restart_policy::on_failure, 1s},
        never{restart_policy::never, 1s};
    BOOST_TEST((always.command_ended(0, 2min) == step{true, 1s}));
    BOOST_TEST((on_failure.command_ended(0, 2min) == step{}));
    BOOST_TEST((on_failure.command_ended(1, 2min) == step{true, 1s}));
    BOOST_TEST((never.command_ended(1, 2min) == step{}));
    BOOST_TEST((never.lease_lost() == step{true, 0s}));  // not the command's doing
    BOOST_TEST((never.not_started() == step{true, 1s}));
}

BOOST_AUTO_TEST_CASE(a_command_that_keeps_ending_soon_is_paused_for_longer_each_time_up_to_a_minute)
{
    restart_machine restarts{restart_policy::always, 10s};
    for (const auto pause : {10s, 20s, 40s, 60s, 60s})
        BOOST_TEST(restarts.command_ended(1, 1s).pause == leasehold::duration{pause});
    BOOST_TEST(restarts.command_ended(1, 2min).pause == 10s);
    for (const auto pause : {20s, 40s, 60s, 60s}) BOOST_TEST(restarts.not_started().pause == leasehold::duration{pause});
    restart_machine patient{restart_policy::always, 5min};
    for (int i = 0; i < 3; ++i) BOOST_TEST(patient.command_ended(1, 1s).pause == 5min);
}

BOOST_AUTO_TEST_SUITE_END()
