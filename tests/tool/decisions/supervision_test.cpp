// SPDX-License-Identifier: BSL-1.0
// What is done about commands: the parts of it that decide.
#include <job_control.hpp>
#include <keeper.hpp>
#include <restart_machine.hpp>
#include <signal_inbox.hpp>
#include <supervise.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <leasehold/clock/steady_clock.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tool;
using namespace std::chrono_literals;

namespace {

leasehold::time_point now() { return leasehold::steady_clock{}.now(); }

struct supervision {
    command_end end;
    std::vector<wire_message> told;
};

// With a keeper that says no more than this, and is gone then.
supervision supervise_with_fake_keeper(const running_term& term, const std::optional<wire_message>& says = {})
{
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    if (says) send(ends[1], *says);
    ::shutdown(ends[1], SHUT_WR);
    supervision seen;
    {
        const keeper fake{ends[0]};
        signal_queue signals;
        seen.end = supervise(fake, signals, term);
    }
    while (const auto message = receive(ends[1])) seen.told.push_back(*message);
    ::close(ends[1]);
    return seen;
}

bool has(const std::vector<wire_message>& messages, word what) { return std::ranges::count(messages, what, &wire_message::what) > 0; }

command_plan plan_of(std::vector<std::string> command)
{
    command_plan plan{.command = std::move(command), .name = "job", .owner = "web-1", .kill_after = 5s, .signals_before = {}};
    ::sigemptyset(&plan.signals_before);
    return plan;
}

// A keeper at the other end of the first of these.
pid_t start_keeper(const std::array<int, 2>& ends, const command_plan& plan)
{
    const pid_t process = ::fork();
    if (process == 0) {
        ::close(ends[0]);
        keep(ends[1], plan);
        ::_exit(0);
    }
    return process;
}

// The process and group of the command.
pid_t start_told_by(const keeper& by)
{
    const auto message = by.receive();
    return message && message->what == word::started ? message->number : -1;
}

// A process in a group of its own, which is there until it is waited for, like one that finishes a write when it is killed.
pid_t start_group()
{
    const pid_t process = ::fork();
    ::setpgid(process, process);
    while (process == 0) ::pause();
    return process;
}

wire_message until(leasehold::time_point deadline) { return {word::until, 0, deadline.time_since_epoch().count()}; }

// After those that say that it was started.
wire_message end_told_by(const keeper& by)
{
    for (;;) {
        const auto message = by.receive();
        if (!message) return {word::not_started, ECHILD};
        if (message->what == word::ended || message->what == word::not_started) return *message;
    }
}

}  // namespace

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

BOOST_AUTO_TEST_CASE(command_can_never_run_if_it_is_not_there_and_may_run_later_if_the_system_had_nothing_left_for_it)
{
    using kind = command_end::kind;
    for (const int refusal : {ENOENT, ENOTDIR, EACCES, ENOEXEC})
        BOOST_TEST((command_end{.how = kind::not_started, .error = refusal}.can_never_run()), refusal);
    for (const int no_more : {EAGAIN, ENOMEM, EMFILE, ENFILE})
        BOOST_TEST((!command_end{.how = kind::not_started, .error = no_more}.can_never_run()), no_more);
    BOOST_TEST((!command_end{.status = 127 << 8}.can_never_run()), "what the command itself ends with is not a refusal");
    BOOST_TEST((!command_end{.how = kind::keeper_gone}.can_never_run()));
}

BOOST_AUTO_TEST_CASE(the_deadline_is_told_more_often_where_it_is_near)
{
    BOOST_TEST(tell_again_after(1h) == 500ms);
    BOOST_TEST(tell_again_after(400ms) == 100ms);
    BOOST_TEST(tell_again_after(0s) == 5ms);
}

BOOST_AUTO_TEST_CASE(a_command_whose_lease_is_lost_before_the_start_is_not_started)
{
    std::stop_source lost;
    lost.request_stop();
    for (const bool told : {true, false}) {
        int losses = 0;
        const running_term term{.token = leasehold::fencing_token{7},
                                .lost = told ? lost.get_token() : std::stop_token{},
                                .remaining = [told] { return told ? leasehold::duration{1h} : leasehold::duration::zero(); },
                                .on_lost = [&losses] { ++losses; }};
        const supervision seen = supervise_with_fake_keeper(term);
        BOOST_TEST(!has(seen.told, word::start), "told: " << told);
        BOOST_TEST((seen.end.how == command_end::kind::ended));
        BOOST_TEST(seen.end.lost());
        BOOST_TEST(losses == 1);
    }
}

BOOST_AUTO_TEST_CASE(deadline_that_is_told_is_not_later_than_that_of_the_lease_when_the_host_is_suspended_meanwhile)
{
    const leasehold::time_point deadline = now() + 1h;
    const auto remaining = [deadline] {
        const leasehold::time_point asked_at = now();
        while (now() < asked_at + 5ms) {}  // as if suspended before it is used
        return deadline - asked_at;
    };
    const running_term term{.token = leasehold::fencing_token{7}, .lost = {}, .remaining = remaining, .on_lost = [] {}};
    const supervision seen = supervise_with_fake_keeper(term);
    BOOST_TEST(has(seen.told, word::until));
    BOOST_TEST(has(seen.told, word::start));
    for (const wire_message& message : seen.told)
        if (message.what == word::until) BOOST_TEST(message.value <= deadline.time_since_epoch().count());
}

BOOST_AUTO_TEST_CASE(where_the_keeper_was_killed_it_is_over_when_the_group_is_gone_or_after_a_second)
{
    for (const bool goes : {true, false}) {
        const pid_t command = start_group();
        const running_term term{
            .token = leasehold::fencing_token{7}, .lost = {}, .remaining = [] { return leasehold::duration{1h}; }, .on_lost = [] {}};
        command_end end;
        std::atomic<bool> over = false;
        std::jthread supervising{[&] {
            end = supervise_with_fake_keeper(term, wire_message{word::started, command}).end;
            over = true;
        }};
        siginfo_t killed{};
        BOOST_TEST(::waitid(P_PID, static_cast<id_t>(command), &killed, WEXITED | WNOWAIT) == 0);
        BOOST_TEST(leasehold_test::throughout([&] { return !over; }, 100ms), "others of the group may be writing");
        if (goes) ::waitpid(command, nullptr, 0);
        supervising.join();
        BOOST_TEST((end.how == command_end::kind::keeper_gone));
        BOOST_TEST(killed.si_status == SIGKILL);
        if (!goes) ::waitpid(command, nullptr, 0);
    }
}

BOOST_AUTO_TEST_CASE(keeper_that_is_told_to_start_after_the_deadline_starts_nothing_until_there_is_another)
{
    const keeper by{plan_of({"sh", "-c", "echo \"$LEASEHOLD_NAME ${LEASEHOLD_CHECKPOINT-none}\" | grep -qx 'job none'"})};
    by.tell(until(now() - 1ms));
    by.tell({word::number, 3});
    by.tell({word::checkpoint, 0});
    by.tell({word::start, 0, 7});
    const auto late = by.receive();
    BOOST_REQUIRE(late.has_value());
    BOOST_TEST((late->what == word::ended));
    BOOST_TEST((command_end{.status = late->number, .notes = late->value}.lost()));
    by.tell(until(now() + 1h));
    by.tell({word::start, 0, 8});
    const wire_message end = end_told_by(by);
    BOOST_TEST((end.what == word::ended));
    BOOST_TEST(end.number == 0, "what the late one was told is not told to the next");
    BOOST_TEST(end.value == of_its_own);
}

BOOST_AUTO_TEST_CASE(keeper_ends_a_command_that_was_stopped_before_it_had_begun)
{
    const command_plan plan = plan_of({"sleep", "60"});
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    const std::string path = ::getenv("PATH");
    std::string long_path;  // takes so long to search that the signal comes before the end of it
    while (long_path.size() < 100'000) long_path += "x:";
    ::setenv("PATH", (long_path + path).c_str(), 1);
    const pid_t process = start_keeper(ends, plan);
    ::setenv("PATH", path.c_str(), 1);
    ::close(ends[1]);
    bool ended = false;
    {
        const keeper by{ends[0]};
        by.tell(until(now() + 1s));
        by.tell({word::start, 0, 7});
        const pid_t command = start_told_by(by);
        ::kill(command, SIGSTOP);
        ended = leasehold_test::eventually([command] { return ::kill(command, 0) != 0; });
        BOOST_TEST(ended);
        if (!ended) ::kill(command, SIGKILL);
        BOOST_TEST(end_told_by(by).value == made_to_end);
    }
    ::waitpid(process, nullptr, 0);
}

// As that of a tool that is stopped, or hangs.
BOOST_AUTO_TEST_CASE(keeper_whose_messages_nobody_reads_ends_a_stopped_command_at_the_deadline)
{
    const command_plan plan = plan_of({"sleep", "60"});
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    const pid_t process = start_keeper(ends, plan);
    {
        const keeper by{ends[0]};
        by.tell(until(now() + 2s));
        by.tell({word::start, 0, 7});
        const pid_t command = start_told_by(by);
        const wire_message filling{word::stopped, SIGSTOP};
        while (::send(ends[1], &filling, sizeof filling, MSG_DONTWAIT) > 0) {}
        ::close(ends[1]);
        by.tell({word::signal, SIGSTOP});
        BOOST_TEST(leasehold_test::eventually([command] { return ::kill(command, 0) != 0; }));
        BOOST_TEST(end_told_by(by).value == made_to_end);
    }
    ::waitpid(process, nullptr, 0);
}

#if defined(__linux__)
BOOST_AUTO_TEST_CASE(keeper_that_had_no_descriptor_for_a_start_tells_the_next_command_nothing_of_it)
{
    const command_plan plan = plan_of({"sh", "-c", "test \"$LEASEHOLD_CHECKPOINT\" = b"});
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    const pid_t process = start_keeper(ends, plan);
    ::close(ends[1]);
    {
        const keeper by{ends[0]};
        const auto limit_descriptors = [process](rlim_t most, rlimit* before) {
            rlimit limit{};
            ::prlimit(process, RLIMIT_NOFILE, nullptr, &limit);
            if (before) *before = limit;
            limit.rlim_cur = most;
            return ::prlimit(process, RLIMIT_NOFILE, &limit, nullptr) == 0;
        };
        rlimit before{};
        BOOST_REQUIRE(limit_descriptors(3, &before));  // those that it has
        by.tell(until(now() + 1h));
        by.tell({word::checkpoint, 1, 'a'});
        by.tell({word::start, 0, 7});
        const wire_message refused = end_told_by(by);
        BOOST_TEST((refused.what == word::not_started));
        BOOST_TEST(refused.number == EMFILE);
        BOOST_REQUIRE(limit_descriptors(before.rlim_cur, nullptr));
        by.tell({word::checkpoint, 1, 'b'});
        by.tell({word::start, 0, 8});
        const wire_message end = end_told_by(by);
        BOOST_TEST((end.what == word::ended));
        BOOST_TEST(end.number == 0);
    }
    ::waitpid(process, nullptr, 0);
}
#endif

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
