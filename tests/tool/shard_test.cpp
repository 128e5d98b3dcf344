// SPDX-License-Identifier: BSL-1.0
// `leasehold shard`: a command for each shard; and `leasehold ps --watch`.
#include <contract/odbc_connection.hpp>
#include <tool/run_commands.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace leasehold_test;

namespace shard_scene {

struct scene : tool_fixture {
    // A member that looks every 330 ms.
    std::vector<std::string> shard(std::vector<std::string> options, const std::string& script)
    {
        options.insert(options.begin(), {"shard", "orders", "--ttl", "1s", "--pause", "100ms"});
        for (const char* each : {"--", "sh", "-c"}) options.emplace_back(each);
        options.push_back(script);
        options.emplace_back("command");
        options.emplace_back("{}");
        return options;
    }
    // Notes its beginning and, when asked to end, its end.
    std::string noted(const std::string& file_name = "notes") const
    {
        const std::string to = " >> " + path(file_name) + "; ";
        return "trap 'echo end $1" + to + "exit 0' TERM; echo begin $1" + to + "while :; do sleep 0.05; done";
    }
    std::multiset<std::string> lines(const std::string& name) const
    {
        std::istringstream in{file(name)};
        std::multiset<std::string> all;
        for (std::string line; std::getline(in, line);) all.insert(line);
        return all;
    }
    bool notes_are(const std::multiset<std::string>& expected, const std::string& name = "notes")
    {
        return eventually([&] { return lines(name) == expected; });
    }
};

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace shard_scene

using namespace shard_scene;

BOOST_AUTO_TEST_SUITE(tool_shard)

BOOST_FIXTURE_TEST_CASE(command_runs_for_each_shard_and_sigterm_drains_all_and_hands_them_over, scene)
{
    auto host = start(shard({"--of", "3", "--data", "10.0.0.7"}, noted()));
    BOOST_TEST(notes_are({"begin 0", "begin 1", "begin 2"}));
    const auto shown = run_words("ps orders");
    BOOST_TEST(has(shown.out, "  0-2    10.0.0.7\n"), shown.out);
    host.signal(SIGTERM);
    BOOST_TEST(host.wait(20s).success());
    BOOST_TEST(notes_are({"begin 0", "begin 1", "begin 2", "end 0", "end 1", "end 2"}));
    BOOST_TEST(run_words("ps orders").out == "orders has no members\n");
    BOOST_TEST(!has(errors(), "leasehold: "), errors());
}

BOOST_FIXTURE_TEST_CASE(command_is_told_what_it_runs_for_and_saves_a_checkpoint_under_it, scene)
{
    auto host = start(shard({"--of", "1"}, "echo $LEASEHOLD_SHARD $LEASEHOLD_NAME $LEASEHOLD_TOKEN ${LEASEHOLD_CHECKPOINT:-none} >> " +
                                               path("notes") + "; " + std::string{LEASEHOLD_TOOL} +
                                               " checkpoint $LEASEHOLD_NAME --save from-$LEASEHOLD_TOKEN; cat; exec sleep 60"));
    BOOST_TEST(notes_are({"0 orders/0 1 none"}));
    BOOST_TEST(eventually([&] { return run_words("checkpoint orders/0").out == "from-1\n"; }));
    host.signal(SIGTERM);
    BOOST_TEST(host.wait(20s).success());
}

BOOST_FIXTURE_TEST_CASE(host_that_joins_gets_its_share_and_the_command_there_begins_when_the_one_here_has_ended, scene)
{
    auto one = start(shard({"--of", "4"}, noted()));
    BOOST_TEST(notes_are({"begin 0", "begin 1", "begin 2", "begin 3"}));
    auto other = start(shard({"--of", "4"}, noted("others")));
    BOOST_TEST(eventually([&] { return lines("others").size() == 2; }));
    for (const std::string& each : lines("others")) BOOST_TEST(lines("notes").contains("end" + each.substr(5)), each);
    other.signal(SIGTERM);
    BOOST_TEST(other.wait(20s).success());
    BOOST_TEST(eventually([&] { return lines("notes").size() == 4U + 2U + 2U; }));  // begun again here
    one.signal(SIGTERM);
    BOOST_TEST(one.wait(20s).success());
}

BOOST_FIXTURE_TEST_CASE(killed_host_takes_its_commands_with_it_and_another_host_takes_over, scene)
{
    auto one = start(shard({"--of", "2"}, "echo $$ >> " + path("notes") + "; exec sleep 60"));
    BOOST_TEST(eventually([&] { return lines("notes").size() == 2; }));
    one.signal(SIGKILL);
    one.wait(20s);
    BOOST_TEST(eventually([&] { return std::ranges::none_of(lines("notes"), [](const auto& each) { return alive(std::stoi(each)); }); }));
    auto other = start(shard({"--of", "2"}, noted("others")));
    BOOST_TEST(notes_are({"begin 0", "begin 1"}, "others"));
    other.signal(SIGTERM);
    BOOST_TEST(other.wait(20s).success());
}

BOOST_FIXTURE_TEST_CASE(lost_shard_ends_its_command_and_is_taken_again, scene)
{
    auto host = start(shard({"--of", "1"}, "trap '' TERM; echo begin >> " + path("notes") + "; while :; do sleep 0.05; done"));
    BOOST_TEST(notes_are({"begin"}));
    BOOST_TEST(run_words("release orders/0 --force").status.success());
    BOOST_TEST(notes_are({"begin", "begin"}));
    BOOST_TEST(has(errors(), "the lease 'orders/0' is lost: it ran out or was taken away"), errors());
    BOOST_TEST(has(errors(), "the command did not end in time, and was killed"), errors());
    BOOST_TEST(run_words("release orders/0 --force").status.success());
    host.signal(SIGTERM);
    BOOST_TEST(eventually([&] { return run_words("ps orders").status.code == 1; }));
}

BOOST_FIXTURE_TEST_CASE(command_that_fails_is_run_again_and_one_that_cannot_be_run_ends_it, scene)
{
    const std::string notes = path("notes");
    auto host = start(shard({"--of", "1"}, "echo try >> " + notes + "; test $(wc -l < " + notes + ") = 2 || exit 3; exec sleep 60"));
    BOOST_TEST(notes_are({"try", "try"}));
    BOOST_TEST(has(errors(), "'orders/0': the command has ended with status 3; it is tried again after a pause"), errors());
    host.signal(SIGINT);
    BOOST_TEST(host.wait(20s).code == 130);
    BOOST_TEST(run({"shard", "orders", "--of", "1", "--", "/no/such/command"}).status.code == 127);
    const auto late = run({"shard", "orders", "--of", "1", "--ttl", "1s", "--", "/no/such/{}"});
    BOOST_TEST(late.status.code == 127);
    BOOST_TEST(has(late.err, "can't run /no/such/{}: No such file or directory"), late.err);
}

BOOST_FIXTURE_TEST_CASE(host_that_can_start_no_commands_any_more_ends, scene)
{
    auto host = start(shard({"--of", "2"}, "test $1 = 0 || exec sleep 60; echo on; until [ -e " + path("go") + " ]; do sleep 0.05; done"));
    BOOST_REQUIRE(host.read_line().value_or("") == "on");
    const auto tree = process_tree(host.pid());
    BOOST_REQUIRE(tree.size() >= 3);
    ::kill(tree[1], SIGKILL);
    std::ofstream{path("go")};
    BOOST_TEST(host.wait(30s).code == 70);
    BOOST_TEST(has(errors(), "the process that starts the commands was killed"), errors());
    BOOST_TEST(run_words("ps orders").out == "orders has no members\n");
}

#if defined(__linux__)
BOOST_FIXTURE_TEST_CASE(host_that_had_no_descriptor_for_a_command_keeps_its_shards_and_tries_again, scene)
{
    const std::string works = "echo begin $1 >> " + path("notes") + "; test $1 = 0 || exec sleep 60; until [ -e " + path("go") +
                              " ]; do sleep 0.05; done; exit 3";
    auto host = start(shard({"--of", "2"}, works));
    BOOST_REQUIRE(notes_are({"begin 0", "begin 1"}));
    const pid_t starts_keepers = process_tree(host.pid())[1];
    limited_descriptors for_the_socket_alone{starts_keepers, 1};
    std::ofstream{path("go")};
    BOOST_REQUIRE_MESSAGE(eventually([this] { return has(errors(), "can't run sh: "); }, 60s), errors());
    std::filesystem::remove(path("go"));
    for_the_socket_alone.lift();
    BOOST_TEST(eventually([this] { return lines("notes") == std::multiset<std::string>{"begin 0", "begin 0", "begin 1"}; }, 60s),
               file("notes") + errors());
    host.signal(SIGTERM);
    BOOST_TEST(host.wait(20s).success());
}
#endif

BOOST_FIXTURE_TEST_CASE(what_can_not_work_is_refused, scene)
{
    const auto refused = [this](const std::string& words) {
        const auto said = run_words(words);
        BOOST_TEST(said.status.code == 64);
        return said.err;
    };
    BOOST_TEST(has(refused("shard orders -- true"), "shard needs --of N"));
    BOOST_TEST(has(refused("shard orders --of 0 -- true"), "--of must be a number from 1 to 4096, not '0'"));
    BOOST_TEST(has(refused("shard orders --of 5000 -- true"), "not '5000'"));
    BOOST_TEST(has(refused("shard orders --of 2 --capacity 0 -- true"), "--capacity must be a number from 1 to 1000"));
    BOOST_TEST(has(refused("shard orders --of 2"), "the command is missing"));
    BOOST_TEST(has(refused("shard --of 2 -- true"), "NAME is required"));
    auto host = start(shard({"--of", "2"}, noted()));
    BOOST_TEST(notes_are({"begin 0", "begin 1"}));
    const std::string other = refused("shard orders --of 3 -- true");
    BOOST_TEST(has(other, "'orders' has 3 shards here, but the store's record of that name says '2 shards'"), other);
    host.signal(SIGTERM);
    BOOST_TEST(host.wait(20s).success());
}

BOOST_FIXTURE_TEST_CASE(other_signals_go_to_all_commands, scene)
{
    auto host = start(shard({"--of", "2"}, "trap 'echo reload $1 >> " + path("notes") + "' HUP; trap 'exit 0' TERM; echo begin $1 >> " +
                                               path("notes") + "; while :; do sleep 0.05; done"));
    BOOST_TEST(notes_are({"begin 0", "begin 1"}));
    host.signal(SIGHUP);
    BOOST_TEST(notes_are({"begin 0", "begin 1", "reload 0", "reload 1"}));
    host.signal(SIGTERM);
    BOOST_TEST(host.wait(20s).success());
}

BOOST_FIXTURE_TEST_CASE(sigint_and_sigquit_drain_all_shards_as_sigterm_does, scene)
{
    for (const int signal : {SIGINT, SIGQUIT}) {
        auto host = start(shard({"--of", "2"}, noted()));
        BOOST_TEST(notes_are({"begin 0", "begin 1"}));
        host.signal(signal);
        BOOST_TEST(host.wait(20s).code == 128 + signal);
        BOOST_TEST(notes_are({"begin 0", "begin 1", "end 0", "end 1"}));
        std::filesystem::remove(path("notes"));
    }
}

BOOST_FIXTURE_TEST_CASE(ps_watches_a_group_in_a_pipe, scene)
{
    auto watch = start({"ps", "orders", "--watch", "--interval", "20ms"});
    BOOST_TEST(watch.read_line().value_or("").size() == 8U);  // the time of day
    BOOST_TEST(watch.read_line().value_or("") == "orders has no members");
    auto host = start(shard({"--of", "2", "--data", "here"}, noted()));
    std::string line;
    BOOST_TEST(eventually([&] {
        line = watch.read_line().value_or("");
        return has(line, " 0-1 ") && has(line, " here");
    }));
    host.signal(SIGTERM);
    BOOST_TEST(host.wait(20s).success());
    watch.signal(SIGTERM);
    BOOST_TEST(watch.wait(20s).success());
    auto json = start({"ps", "orders", "--watch", "--json", "--interval", "20ms"});
    const std::string object = json.read_line().value_or("");
    BOOST_TEST(object.starts_with("{\"at\": \"20"), object);
    BOOST_TEST(object.ends_with("\"members\": [], \"shards\": []}"), object);
    json.signal(SIGTERM);
    BOOST_TEST(json.wait(20s).success());
    BOOST_TEST(run_words("ps orders --interval 1s").status.code == 64);
}

BOOST_FIXTURE_TEST_CASE(ps_that_watches_ends_by_a_signal_though_its_looks_take_longer_than_its_interval, scene)
{
    odbc_connection{sqlite_connection_string(path("leases.db"))}.execute(
        "insert into leasehold (name, owner, token, expires_at)"
        " with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 8000)"
        " select 'orders/members/' || n, 'a', 1, 4000000000000 from numbers");
    auto watch = start({"ps", "orders", "--watch", "--interval", "10ms"});
    BOOST_REQUIRE(watch.read_line());
    watch.signal(SIGTERM);
    while (watch.read_line()) {}
    BOOST_TEST(watch.wait(20s).success());
}

BOOST_AUTO_TEST_SUITE_END()
