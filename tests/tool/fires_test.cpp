// SPDX-License-Identifier: BSL-1.0
// `run --once-per`, `run --cron`, `every` and `last`.
#include <contract/odbc_connection.hpp>
#include <tool/run_commands.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace leasehold_test;

namespace fires_scene {

struct scene : tool_fixture {
    std::vector<std::string> once(std::vector<std::string> options, const std::string& script)
    {
        options.insert(options.begin(), {"report", "--once-per", "365d"});
        return run_with(std::move(options), {"sh", "-c", script});
    }
    std::string note(const std::string& word) const { return "echo " + word + " >> " + path("notes") + "; "; }
};

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace fires_scene

using namespace fires_scene;

BOOST_AUTO_TEST_SUITE(tool_fires)

BOOST_FIXTURE_TEST_CASE(command_runs_once_per_fire_and_is_told_which, scene)
{
    const auto first = run(once({}, note("$LEASEHOLD_FIRE") + note("$LEASEHOLD_NAME")));
    BOOST_TEST(first.status.success(), first.err);
    BOOST_TEST(first.err == "");
    const std::string notes = file("notes");
    BOOST_TEST(notes.starts_with("20"), notes);
    BOOST_TEST(notes.ends_with("T00:00:00Z\nreport\n"), notes);
    const auto second = run(once({}, note("again")));
    BOOST_TEST(second.status.success());
    BOOST_TEST(second.err + second.out == "");
    BOOST_TEST(file("notes") == notes);
    const auto verbose = run(once({"--verbose"}, note("again")));
    BOOST_TEST(has(verbose.err, "was completed by"), verbose.err);
}

BOOST_FIXTURE_TEST_CASE(failed_command_leaves_the_run_for_the_next_host, scene)
{
    const auto failed = run(once({}, note("failed") + "exit 7"));
    BOOST_TEST(failed.status.code == 7);
    BOOST_TEST(has(failed.err, "status 7"), failed.err);
    BOOST_TEST(has(failed.err, "is not completed"), failed.err);
    BOOST_TEST(has(run_words("last report").out, "after 1 attempt"));
    BOOST_TEST(run_words("last report").status.code == 1);
    BOOST_TEST(run(once({}, note("done"))).status.success());  // after a pause of a second
    BOOST_TEST(run(once({}, note("again"))).status.success());
    BOOST_TEST(file("notes") == "failed\ndone\n");
}

BOOST_FIXTURE_TEST_CASE(metrics_file_counts_runs_that_failed_and_were_given_up, scene)
{
    const auto failed = run(once({"--metrics-file", path("report.prom"), "--retry", "1"}, "exit 7"));
    BOOST_TEST(failed.status.code == 7);
    const std::string metrics = file("report.prom");
    BOOST_TEST(has(metrics, "leasehold_fires_total{lease=\"report\",outcome=\"failed\",file=\"report.prom\"} 2"), metrics);
    BOOST_TEST(has(metrics, "leasehold_fires_total{lease=\"report\",outcome=\"given_up\",file=\"report.prom\"} 1"), metrics);
    BOOST_TEST(has(metrics, "leasehold_fires_total{lease=\"report\",outcome=\"missed\",file=\"report.prom\"} 0"), metrics);
}

BOOST_FIXTURE_TEST_CASE(metrics_file_tells_of_the_last_run_that_was_completed_by_whichever_command, scene)
{
    const auto completed = [](const std::string& name) {
        return "leasehold_fires_total{lease=\"report\",outcome=\"completed\",file=\"" + name + "\"} ";
    };
    const std::string last = "leasehold_fire_last_completed_timestamp_seconds{lease=\"report\",file=";
    BOOST_TEST(run(once({"--metrics-file", path("fails.prom")}, "exit 7")).status.code == 7);
    BOOST_TEST(has(file("fails.prom"), "leasehold_fire_failures_in_a_row{lease=\"report\",file=\"fails.prom\"} 1\n"), file("fails.prom"));
    BOOST_TEST(!has(file("fails.prom"), last), file("fails.prom"));
    BOOST_TEST(run(once({"--metrics-file", path("works.prom")}, "true")).status.success());
    BOOST_TEST(has(file("works.prom"), completed("works.prom") + "1\n"), file("works.prom"));
    BOOST_TEST(has(file("works.prom"), last + "\"works.prom\"} 1"), file("works.prom"));
    BOOST_TEST(run(once({"--metrics-file", path("late.prom")}, "true")).status.success());
    BOOST_TEST(has(file("late.prom"), completed("late.prom") + "0\n"), file("late.prom"));
    BOOST_TEST(has(file("late.prom"), last + "\"late.prom\"} 1"), file("late.prom"));
}

BOOST_FIXTURE_TEST_CASE(host_stays_to_retry_and_gives_up, scene)
{
    BOOST_TEST(run(once({"--retry", "2"}, note("tried") + "test $(wc -l < " + path("notes") + ") = 2")).status.success());
    BOOST_TEST(file("notes") == "tried\ntried\n");
    std::filesystem::remove(path("notes"));
    auto twice = once({"--retry", "1"}, note("tried") + "exit 4");
    twice[1] = "other";
    const auto given_up = run(twice);
    BOOST_TEST(given_up.status.code == 4);
    BOOST_TEST(file("notes") == "tried\ntried\n");
    BOOST_TEST(has(given_up.err, "is given up"), given_up.err);
    twice.insert(twice.begin() + 2, "--verbose");
    const auto late = run(twice);
    BOOST_TEST(late.status.code == 75);
    BOOST_TEST(has(late.err, "given up or missed"), late.err);
}

// It is stopped while it waits to try again, and so the other one is the first to do so.
BOOST_FIXTURE_TEST_CASE(host_that_stays_to_retry_has_succeeded_when_another_completes_the_run, scene)
{
    auto host = start(once({"--retry", "3", "--verbose"}, note("began") + "until [ -e " + path("go") + " ]; do sleep 0.05; done; exit 7"));
    BOOST_REQUIRE(file_gets("notes", "began"));
    std::ofstream{path("go")};
    const auto has_failed = [this] { return has(errors(), "the command has ended with status 7") && !held("report"); };
    BOOST_REQUIRE_MESSAGE(eventually(has_failed, 60s), errors());
    host.signal(SIGSTOP);
    BOOST_TEST(run(once({"--owner", "web-2", "--retry", "3"}, note("done"))).status.success());
    host.signal(SIGCONT);
    BOOST_TEST(host.wait().success());
    BOOST_TEST(has(errors(), "was completed by web-2"), errors());
    BOOST_TEST(file("notes") == "began\ndone\n");
}

BOOST_FIXTURE_TEST_CASE(signal_ends_a_host_that_cannot_note_a_run_as_done, scene)
{
    auto host = start(once({"--ttl", "30s"}, note("began") + "until [ -e " + path("go") + " ]; do sleep 0.05; done"));
    BOOST_REQUIRE(file_gets("notes", "began"));
    odbc_connection somebody{sqlite_connection_string(path("leases.db"))};
    somebody.execute("begin exclusive");
    std::ofstream{path("go")};
    BOOST_REQUIRE_MESSAGE(eventually([this] { return has(errors(), "can't note that the run"); }, std::chrono::seconds{60}), errors());
    host.signal(SIGTERM);
    BOOST_TEST(host.wait().code == 128 + SIGTERM);
    BOOST_TEST(has(errors(), "could be noted as done; another host may repeat it"), errors());
    somebody.execute("rollback");
}

BOOST_FIXTURE_TEST_CASE(others_wait_and_take_over_when_the_first_is_killed, scene)
{
    auto first = start(once({"--ttl", "5s"}, note("began") + "exec sleep 60"));
    BOOST_REQUIRE(file_gets("notes", "began"));
    const auto at_once = run(once({"--ttl", "5s", "--nowait", "--verbose"}, note("no")));
    BOOST_TEST(at_once.status.code == 75);
    BOOST_TEST(has(at_once.err, "held by"), at_once.err);
    auto second = start(once({"--ttl", "5s"}, note("second")));
    auto third = start(once({"--ttl", "5s"}, note("second")));
    first.signal(SIGKILL);
    first.wait();
    BOOST_TEST(second.wait().success());
    BOOST_TEST(third.wait().success());
    BOOST_TEST(file("notes") == "began\nsecond\n");
}

BOOST_FIXTURE_TEST_CASE(checkpoint_of_the_command_lives_beside_the_record, scene)
{
    const std::string tool = LEASEHOLD_TOOL;
    const auto saves = [&](const std::string& text) {
        return note("${LEASEHOLD_CHECKPOINT-none}") + tool + " checkpoint report --save " + text;
    };
    BOOST_TEST(run(once({}, saves("page-1") + "; exit 1")).status.code == 1);
    BOOST_TEST(run_words("checkpoint report").out == "page-1\n");
    BOOST_TEST(run(once({}, saves("page-2"))).status.success());
    BOOST_TEST(file("notes") == "none\npage-1\n");
    BOOST_TEST(run_words("checkpoint report").out == "page-2\n");
    BOOST_TEST(run_words("checkpoint report --save page-0").status.success());
    BOOST_TEST(run_words("checkpoint report").out == "page-0\n");
    BOOST_TEST(run_words("last report").status.success());
    BOOST_TEST(run(once({}, note("again"))).status.success());
    BOOST_TEST(file("notes") == "none\npage-1\n");
}

// What the command has left in the background may save while the run notes in the record that it is done.
BOOST_FIXTURE_TEST_CASE(save_that_began_before_the_record_changed_takes_nothing_back, scene)
{
    const std::string database = sqlite_connection_string(path("leases.db"));
    const std::string works = "until [ -e " + path("go") + " ]; do sleep 0.05; done";
    auto host = start(once({"--ttl", "30s"}, note("$LEASEHOLD_TOKEN $LEASEHOLD_OWNER .") + works));
    BOOST_REQUIRE(file_gets("notes", "."));
    std::istringstream words{file("notes")};
    std::string token, owner;
    words >> token >> owner;
    odbc_connection somebody{database};
    somebody.execute("begin immediate");  // who writes has to wait
    auto left = start({"checkpoint", "report", "--save", "page-2"}, {{"LEASEHOLD_NAME", "report"},
                                                                     {"LEASEHOLD_TOKEN", token},
                                                                     {"LEASEHOLD_OWNER", owner},
                                                                     {"LEASEHOLD_FIRE", "2026-01-01T00:00:00Z"},
                                                                     {"LEASEHOLD_STORE", database + ";Tracefile=" + path("statements")}});
    BOOST_REQUIRE(file_gets("statements", "update `leasehold` set `checkpoint`"));
    somebody.execute("update leasehold set checkpoint = replace(checkpoint, 'attempts: 1', 'attempts: 7')");
    somebody.execute("commit");
    BOOST_TEST(left.wait().success(), errors());
    BOOST_TEST(has(run_words("last report").out, "after 7 attempts"));
    BOOST_TEST(run_words("checkpoint report").out == "page-2\n");
    std::ofstream{path("go")};
    BOOST_TEST(host.wait().success());
    BOOST_TEST(run_words("last report").status.success());
    BOOST_TEST(run_words("checkpoint report").out == "page-2\n");
}

BOOST_FIXTURE_TEST_CASE(command_without_a_schedule_is_told_the_checkpoint_and_not_the_record, scene)
{
    const std::string tells = note("${LEASEHOLD_CHECKPOINT-none}");
    const std::string shards_name = "orders/0";
    for (const std::string name : {"report", shards_name.c_str()}) {
        const auto scheduled = [&](const std::string& script) { return run_with({name, "--once-per", "365d"}, {"sh", "-c", script}); };
        BOOST_TEST(run(scheduled("exit 1")).status.code == 1);
        BOOST_TEST(run(run_with({name}, {"sh", "-c", tells})).status.success());
        BOOST_TEST(run(scheduled(std::string{LEASEHOLD_TOOL} + " checkpoint " + name + " --save page-1")).status.success());
        BOOST_TEST(run(run_with({name}, {"sh", "-c", tells})).status.success());
    }
    BOOST_TEST(run({"elect", "report", "--restart", "never", "--", "sh", "-c", tells}).status.success());
    BOOST_TEST(file("notes") == "none\npage-1\nnone\npage-1\npage-1\n");
    auto host = start({"shard", "orders", "--of", "1", "--", "sh", "-c", tells + "exec sleep 60"});
    BOOST_TEST(file_gets("notes", "none\npage-1\nnone\npage-1\npage-1\npage-1\n"), file("notes"));
    host.signal(SIGTERM);
    BOOST_TEST(host.wait().success());
}

BOOST_FIXTURE_TEST_CASE(checkpoint_that_leaves_no_room_for_the_record_is_refused, scene)
{
    const auto ended = run(once({}, std::string{LEASEHOLD_TOOL} + " checkpoint report --save " + std::string(3000, 'y')));
    BOOST_TEST(ended.status.code == 64);
    BOOST_TEST(has(ended.err, "longer than the 2800 bytes"), ended.err);
}

BOOST_FIXTURE_TEST_CASE(another_schedule_of_the_name_is_refused_until_it_is_to_take_the_place, scene)
{
    BOOST_TEST(run(once({"--owner", "web-1"}, "true")).status.success());
    const auto refused = run(run_with({"report", "--cron", "0 3 * * *"}, {"true"}));
    BOOST_TEST(refused.status.code == 64);
    for (const char* words : {"every 365d", "cron 0 3 * * *", "made by web-1"}) BOOST_TEST(has(refused.err, words), refused.err);
    BOOST_TEST(run({"every", "report", "--cron", "0 3 * * *", "--", "true"}).status.code == 64);
    BOOST_TEST(run(run_with({"report", "--cron", "0 3 * * *", "--reschedule"}, {"true"})).status.success());
    BOOST_TEST(run(once({}, "true")).status.code == 64);
}

BOOST_FIXTURE_TEST_CASE(last_shows_what_was_completed, scene)
{
    const auto none = run_words("last report");
    BOOST_TEST(none.status.code == 1);
    BOOST_TEST(none.out == "report: no run was completed yet\n");
    BOOST_TEST(run(once({"--owner", "web-1"}, "true")).status.success());
    const auto last = run_words("last report");
    BOOST_TEST(last.status.success());
    BOOST_TEST(has(last.out, "00:00:00 UTC was completed 20"), last.out);
    BOOST_TEST(has(last.out, "by web-1"), last.out);
    const auto json = run_words("last report --json").out;
    BOOST_TEST(json.starts_with("{\"name\": \"report\", \"schedule\": \"every 365d\", \"fire\": \"20"), json);
    BOOST_TEST(run_words("list").out.find("report") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(list_and_watch_show_the_runs_of_schedules, scene)
{
    BOOST_TEST(run_words("list --fires").out == "");
    BOOST_TEST(has(run_words("list --fires --verbose").err, "nothing has a schedule"));
    BOOST_TEST(run_words("list --fires --json").out == "[]\n");
    BOOST_TEST(run_words("checkpoint import --save page-1").status.success());
    BOOST_TEST(run(once({"--owner", "web-1"}, "true")).status.success());
    BOOST_TEST(run(run_with({"tidy", "--cron", "0 3 * * *"}, {"false"})).status.code == 1);
    const auto table = run_words("list --fires").out;
    BOOST_TEST(table.starts_with("NAME    LAST RUN"), table);
    for (const char* words : {"\nreport  20", "web-1", "every 365d\n", "\ntidy    -", "1 attempt", "cron 0 3 * * *\n"})
        BOOST_TEST(has(table, words), table << " lacks " << words);
    BOOST_TEST(!has(table, "import"));
    BOOST_TEST(!has(run_words("list --fires tidy").out, "report"));
    const auto json = run_words("list --fires --json").out;
    BOOST_TEST(json.starts_with("[{\"name\": \"report\", \"schedule\": \"every 365d\", \"fire\": \"20"), json);
    BOOST_TEST(has(json, ",\n {\"name\": \"tidy\", \"schedule\": \"cron 0 3 * * *\", \"open\": \"20"), json);
    auto watch = start({"watch", "--fires", "--interval", "20ms"});
    const auto told = [&](const std::string& words) {
        for (int lines = 0; lines < 20; ++lines)
            if (has(watch.read_line().value_or(""), words)) return true;
        return false;
    };
    BOOST_TEST(has(watch.read_line().value_or(""), "1 attempt, is not completed"), "what was completed before is no news");
    BOOST_TEST(run(run_with({"tidy", "--cron", "0 3 * * *"}, {"true"})).status.success());
    BOOST_TEST(told("is completed by"));
    watch.signal(SIGTERM);
    BOOST_TEST(watch.wait().success());
    auto objects = start({"watch", "--fires", "--json"});
    BOOST_TEST(has(objects.read_line().value_or(""), ", \"leases\": [], \"fires\": [{\"name\": \"report\""));
    objects.signal(SIGTERM);
    BOOST_TEST(objects.wait().success());
}

BOOST_FIXTURE_TEST_CASE(what_can_t_work_is_refused_with_what_can, scene)
{
    const auto refused = [this](std::vector<std::string> options, const std::string& words) {
        options.insert(options.begin(), "report");
        const auto said = run(run_with(std::move(options), {"true"}));
        if (said.status.code == 64 && has(said.err, words)) return true;
        BOOST_TEST_MESSAGE(said.status.code << ": " << said.err);
        return false;
    };
    BOOST_TEST(refused({"--cron", "0 24 * * *"}, "wrong hour: allowed are 0 to 23"));
    BOOST_TEST(refused({"--cron", "0 0 30 2 *"}, "never fires"));
    BOOST_TEST(refused({"--at", "03:00"}, "--at goes with --once-per"));
    BOOST_TEST(refused({"--once-per", "24h", "--at", "3:00"}, "'3:00' is no time of day"));
    BOOST_TEST(refused({"--once-per", "24h", "--at", "24:00"}, "'24:00' is no time of day"));
    BOOST_TEST(refused({"--once-per", "1h", "--at", "03:00"}, "is not within --once-per"));
    BOOST_TEST(refused({"--once-per", "10ms"}, "at least 1s"));
    BOOST_TEST(refused({"--once-per", "24h", "--retry", "many"}, "--retry must be a number"));
    BOOST_TEST(refused({"--once-per", "24h", "--min-hold", "1m"}, "can't be used with"));
    BOOST_TEST(refused({"--retry", "3"}, "go with --once-per"));
    BOOST_TEST(refused({"--begin-within", "1h"}, "go with --once-per"));
    BOOST_TEST(refused({"--once-per", "24h", "--begin-within", "1h"}, "--begin-within goes with --catch-up none"));
    BOOST_TEST(refused({"--once-per", "24h", "--catch-up", "none", "--begin-within", "soon"}, "--begin-within: "));
    BOOST_TEST(has(run({"every", "report", "--once-per", "24h", "--begin-within", "1h", "--", "true"}).err, "goes with --catch-up none"));
    BOOST_TEST(has(run({"every", "report", "--", "true"}).err, "every needs --once-per or --cron"));
}

BOOST_FIXTURE_TEST_CASE(every_runs_the_command_at_each_time_until_it_is_asked_to_end, scene)
{
    std::vector<child_process> hosts;
    for (int i = 0; i < 3; ++i)
        hosts.push_back(start({"every", "job", "--once-per", "1s", "--catch-up", "all", "--", "sh", "-c", note("$LEASEHOLD_FIRE")}));
    BOOST_TEST(eventually([this] { return std::ranges::count(file("notes"), '\n') >= 4; }, 60s));
    for (auto& host : hosts) host.signal(SIGTERM);
    for (auto& host : hosts) BOOST_TEST(host.wait().success());
    std::vector<std::string> fires;
    std::istringstream lines{file("notes")};
    for (std::string line; std::getline(lines, line);) fires.push_back(line);
    BOOST_TEST(std::ranges::is_sorted(fires));
    BOOST_TEST((std::ranges::adjacent_find(fires) == fires.end()));
}

BOOST_FIXTURE_TEST_CASE(hangup_is_for_the_command_of_every_and_ends_nothing, scene)
{
    const auto runs = [this] { return std::ranges::count(file("notes"), '\n'); };
    auto host = start({"every", "job", "--once-per", "1s", "--", "sh", "-c", note("ran")});
    BOOST_REQUIRE(eventually([&] { return runs() >= 1; }, 60s));
    host.signal(SIGHUP);
    const auto before = runs();
    BOOST_TEST(eventually([&] { return runs() >= before + 2; }, 60s));
    host.signal(SIGTERM);
    BOOST_TEST(host.wait().success());
}

// As from a crontab that starts the command a little later than the schedule.
BOOST_FIXTURE_TEST_CASE(run_that_would_begin_too_late_is_missed_unless_it_is_given_more_time, scene)
{
    const auto run_at = [&](const std::string& time, std::vector<std::string> options) {
        auto environment = faketime_environment("@2027-01-" + time);
        environment["TZ"] = "UTC";
        options.insert(options.begin(), {"job", "--once-per", "24h", "--at", "03:00", "--catch-up", "none"});
        return run(run_with(std::move(options), {"sh", "-c", note("$LEASEHOLD_FIRE")}), environment);
    };
    const auto first = run_at("01 03:05:00", {});
    BOOST_TEST(first.status.success(), "the first of all runs is never late: " << first.err);
    const auto late = run_at("02 03:05:00", {});
    BOOST_TEST(late.status.code == 75);
    BOOST_TEST(has(late.err, "was missed"), late.err);
    const auto in_time = run_at("03 03:05:00", {"--begin-within", "10m"});
    BOOST_TEST(in_time.status.success(), in_time.err);
    BOOST_TEST(run_at("04 03:15:00", {"--begin-within", "10m"}).status.code == 75);
    BOOST_TEST(file("notes") == "2027-01-01T03:00:00Z\n2027-01-03T03:00:00Z\n");
}

// To wake up early by the store's clock would be to find the run before it, which is done.
BOOST_FIXTURE_TEST_CASE(host_that_waits_for_a_run_waits_by_the_clock_of_the_store_which_may_be_slower_than_its_own, scene)
{
    const auto at = [&](const std::string& clock) {
        auto environment = faketime_environment("@2027-01-01 00:00:" + clock);
        environment["TZ"] = "UTC";
        return run(run_with({"job", "--once-per", "20s"}, {"sh", "-c", note("$LEASEHOLD_FIRE")}), environment).status.success();
    };
    BOOST_TEST(at("01"));
    BOOST_TEST(at("18 x0.8"));
    BOOST_TEST(file("notes") == "2027-01-01T00:00:00Z\n2027-01-01T00:00:20Z\n");
}

// As from a crontab's @reboot, before the database is up.
BOOST_FIXTURE_TEST_CASE(every_that_finds_no_database_at_first_tries_again, scene)
{
    auto host = start({"every", "job", "--once-per", "1s", "--table", "nowhere", "--", "sh", "-c", note("ran")});
    const auto told = [this](const std::string& words) { return eventually([&] { return has(errors(), words); }, 60s); };
    BOOST_TEST(told("create it with 'leasehold init'"), errors());
    BOOST_TEST(told("; leasehold will try again\n"), errors());
    BOOST_TEST(run_words("init --table nowhere").status.success());
    BOOST_TEST(file_gets("notes", "ran"));
    host.signal(SIGTERM);
    BOOST_TEST(host.wait().success());
}

BOOST_FIXTURE_TEST_CASE(keeper_that_is_killed_ends_the_host_and_leaves_the_run_to_the_next, scene)
{
    const std::string notes = "echo $LEASEHOLD_FIRE; " + note("$LEASEHOLD_FIRE");
    const std::vector<std::string> scheduled{"every", "job", "--once-per", "1s", "--catch-up", "all", "--", "sh", "-c"};
    const auto start_with = [&](const std::string& script) {
        std::vector<std::string> words = scheduled;
        words.push_back(notes + script);
        return start(words);
    };
    auto first = start_with("exec sleep 60");
    const std::string fire = first.read_line().value_or("none");
    BOOST_REQUIRE(process_tree(first.pid()).size() >= 3);
    ::kill(process_tree(first.pid())[1], SIGKILL);
    BOOST_TEST(first.wait(30s).code == 70);
    BOOST_TEST(has(errors(), "the process that supervises the command was killed"), errors());
    BOOST_TEST(!has(errors(), "status 70"), errors());
    auto second = start_with("exec sleep 60");
    BOOST_TEST(second.read_line().value_or("") == fire);
    second.signal(SIGTERM);
    second.wait();

    auto once_only = start(once({"--retry", "3"}, "echo on; exec sleep 60"));
    BOOST_REQUIRE(once_only.read_line());
    ::kill(process_tree(once_only.pid())[1], SIGKILL);
    BOOST_TEST(once_only.wait(30s).code == 70);
    BOOST_TEST(!has(errors(), "status 70"), errors());
    BOOST_TEST(run(once({"--retry", "3"}, "true")).status.success());
}

// As from a crontab after an outage.
BOOST_FIXTURE_TEST_CASE(one_start_makes_up_for_all_runs_that_were_missed, scene)
{
    const std::vector<std::string> every_other_second{"run", "job", "--once-per", "2s", "--catch-up", "all", "--", "sh", "-c",
                                                      note("$LEASEHOLD_FIRE")};
    BOOST_TEST(run(every_other_second).status.success());
    const auto before = std::ranges::count(file("notes"), '\n');
    std::this_thread::sleep_for(std::chrono::seconds{7});  // three of them pass
    BOOST_TEST(run(every_other_second).status.success());
    BOOST_TEST(std::ranges::count(file("notes"), '\n') >= before + 3);
}

BOOST_FIXTURE_TEST_CASE(request_to_hand_over_is_passed_on_to_the_command_of_a_schedule, scene)
{
    const std::string waits = "trap 'echo asked; exit 9' USR1; echo on; while :; do sleep 0.05; done";
    for (const std::string subcommand : {"run", "every"}) {
        auto host = start({subcommand, "job", "--once-per", subcommand == "run" ? "365d" : "1s", "--reschedule", "--ttl", "3s",
                           "--handover-signal", "USR1", "--", "sh", "-c", waits});
        BOOST_REQUIRE(host.read_line().value_or("") == "on");
        BOOST_TEST(run_words("ask job").status.success());
        BOOST_TEST(host.read_line().value_or("") == "asked");
        if (subcommand == "every") host.signal(SIGTERM);
        BOOST_TEST(host.wait().code == (subcommand == "run" ? 9 : 0));
    }
}

BOOST_FIXTURE_TEST_CASE(command_that_runs_for_too_long_is_ended_and_its_run_has_failed, scene)
{
    const auto once_only = run(once({"--max-hold", "300ms"}, "sleep 600"));
    BOOST_TEST(once_only.status.code == 124);
    BOOST_TEST(has(once_only.err, "--max-hold"), once_only.err);
    BOOST_TEST(run_words("last report").status.code == 1, "no run was completed");

    child_process host = start({"every", "job", "--once-per", "1s", "--max-hold", "300ms", "--", "sh", "-c", note("begun") + "sleep 600"});
    BOOST_TEST(eventually([this] { return std::ranges::count(file("notes"), '\n') >= 2; }, 60s), "every goes on");
    host.signal(SIGTERM);
    BOOST_TEST(host.wait().success());
    BOOST_TEST(run_words("last job").status.code == 1, "no run was completed");
}

BOOST_AUTO_TEST_SUITE_END()
