// SPDX-License-Identifier: BSL-1.0
// `leasehold run` with permits, with a shared lease, and with several leases.
#include <tool/run_commands.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

using namespace leasehold_test;

BOOST_AUTO_TEST_SUITE(tool_run_rights)

BOOST_FIXTURE_TEST_CASE(at_most_so_many_run_at_a_time_with_permits, tool_fixture)
{
    auto first = start(run_with({"--permits", "2", "job"}, worker));
    BOOST_REQUIRE(first.read_line());
    const auto second = run({"run", "--permits", "2", "job", "--", "sh", "-c", "echo $LEASEHOLD_NAME $LEASEHOLD_PERMIT $LEASEHOLD_TOKEN"});
    BOOST_TEST(second.status.success());
    BOOST_TEST((second.out == "job/0 0 1\n" || second.out == "job/1 1 1\n"), second.out);
    auto third = start(run_with({"--permits", "2", "job"}, worker));
    BOOST_REQUIRE(third.read_line());
    const auto busy = run({"run", "--permits", "2", "job", "--nowait", "--verbose", "--", "true"});
    BOOST_TEST(busy.status.code == 75);
    BOOST_TEST(busy.err.find("all 2 permits of 'job' are held") != std::string::npos, busy.err);
    BOOST_TEST(run_words("list").out.find("job    (count: 2 permits)") != std::string::npos, "the record is no lease");
    BOOST_TEST(run_words("list --json").out.find("\"owner\": \"2 permits\", \"is_count\": true") != std::string::npos);
    auto waits = start(run_with({"--permits", "2", "job"}, {"echo", "had its turn"}));
    first.signal(SIGTERM);
    first.wait();
    BOOST_TEST(waits.read_line().value_or("") == "had its turn");
    third.signal(SIGTERM);
    third.wait();
}

BOOST_FIXTURE_TEST_CASE(another_number_of_permits_is_an_error_with_both, tool_fixture)
{
    auto holder = start(run_with({"--permits", "2", "job"}, worker));
    BOOST_REQUIRE(holder.read_line());
    const auto other = run({"run", "--permits", "3", "job", "--", "touch", path("ran")});
    BOOST_TEST(!other.status.success());
    BOOST_TEST(other.err.find("3 permits") != std::string::npos, other.err);
    BOOST_TEST(other.err.find("2 permits") != std::string::npos, other.err);
    BOOST_TEST(!std::filesystem::exists(path("ran")));
}

BOOST_FIXTURE_TEST_CASE(number_of_permits_changes_while_they_are_held, tool_fixture)
{
    auto first = start(run_with({"--permits", "1", "job"}, worker));
    BOOST_REQUIRE(first.read_line());
    BOOST_TEST(run_words("resize job 3").status.success());
    BOOST_TEST(run_words("list").out.find("(count: 3 permits") != std::string::npos);
    BOOST_TEST(!run({"run", "--permits", "1", "-n", "job", "--", "true"}).status.success());
    const auto both = run({"run", "--permits", "1", "--follow", "--take", "2", "-n", "job", "--", "sh", "-c",
                           "echo $LEASEHOLD_NAME $LEASEHOLD_PERMIT $LEASEHOLD_TOKEN"});
    BOOST_TEST(both.status.success(), both.err);
    BOOST_TEST((both.out.starts_with("job/1,job/2 1,2 ")), both.out);
    const auto busy = run({"run", "--permits", "3", "--take", "3", "-n", "-v", "job", "--", "true"});
    BOOST_TEST(busy.status.code == 75);
    BOOST_TEST(busy.err.find("fewer than 3 of the 3 permits of 'job' are free") != std::string::npos, busy.err);
    BOOST_TEST(run_words("resize job 0").err.find("N must be a number from 1 to 1024, not '0'") != std::string::npos);
    first.signal(SIGTERM);
    first.wait();
    auto holder = start(run_with({"lease"}, worker));
    BOOST_REQUIRE(holder.read_line());
    BOOST_TEST(!run_words("resize lease 2").status.success());
    BOOST_TEST(held("lease"));
    holder.signal(SIGTERM);
    holder.wait();
}

BOOST_FIXTURE_TEST_CASE(many_share_a_name_or_one_has_it_alone, tool_fixture)
{
    auto reader = start(run_with({"--shared", "catalog"}, worker));
    BOOST_REQUIRE(reader.read_line());
    const auto beside = run({"run", "--shared", "catalog", "--", "sh", "-c", "echo $LEASEHOLD_NAME"});
    BOOST_TEST(beside.out.starts_with("catalog/r"));
    BOOST_TEST(run({"run", "--exclusive", "catalog", "-n", "--", "true"}).status.code == 75);
    BOOST_TEST(!held("catalog/writer"));
    reader.signal(SIGTERM);
    reader.wait();
    auto writer = start(run_with({"--exclusive", "catalog"}, {"sh", "-c", "echo $LEASEHOLD_NAME; exec sleep 60"}));
    BOOST_TEST(writer.read_line().value_or("") == "catalog/writer");
    const auto busy = run({"run", "--shared", "catalog", "-n", "--verbose", "--", "true"});
    BOOST_TEST(busy.status.code == 75);
    BOOST_TEST(busy.err.find("'catalog/writer' is held by") != std::string::npos, busy.err);
    writer.signal(SIGTERM);
    writer.wait();
    BOOST_TEST(run({"run", "--shared", "catalog", "-n", "--", "true"}).status.success());
}

BOOST_FIXTURE_TEST_CASE(all_leases_are_held_or_none, tool_fixture)
{
    const auto both = run({"run", "--all", "b,a", "--", "sh", "-c", "echo $LEASEHOLD_NAME $LEASEHOLD_TOKEN"});
    BOOST_TEST(both.out == "b,a 1,1\n");
    auto holder = start(run_with({"b"}, worker));
    BOOST_REQUIRE(holder.read_line());
    const auto busy = run({"run", "--all", "a,b,c", "--nowait", "--verbose", "--", "true"});
    BOOST_TEST(busy.status.code == 75);
    BOOST_TEST(busy.err.find("'b' is held by") != std::string::npos, busy.err);
    for (const char* name : {"a", "c"}) BOOST_TEST(!held(name));
    auto waits = start(run_with({"--all", "a,b,c"}, {"sh", "-c", "echo $LEASEHOLD_TOKEN"}));
    BOOST_TEST(run({"run", "--all", "a,b,c", "--wait", "100ms", "--", "true"}).status.code == 75);
    holder.signal(SIGTERM);
    holder.wait();
    const std::string tokens = waits.read_line().value_or("");
    BOOST_TEST(std::ranges::count(tokens, ',') == 2, tokens);
    BOOST_TEST(waits.wait().success());
    for (const char* name : {"a", "b", "c"}) BOOST_TEST(!held(name));
}

// Nothing has run under what they get in passing and give back.
BOOST_FIXTURE_TEST_CASE(waiter_for_all_leases_keeps_none_closed, tool_fixture)
{
    auto holder = start(run_with({"b"}, worker));
    BOOST_REQUIRE(holder.read_line());
    auto waits = start(run_with({"--all", "a,b", "--min-hold", "1h", "--metrics-file", path("waits.prom")}, {"echo", "on"}));
    const std::string busy = "leasehold_attempts_total{lease=\"b\",outcome=\"busy\",file=\"waits.prom\"} ";
    BOOST_REQUIRE(file_gets("waits.prom", busy));
    BOOST_REQUIRE(eventually([&] { return file("waits.prom").find(busy + "0\n") == std::string::npos; }));
    holder.signal(SIGTERM);
    holder.wait();
    BOOST_TEST(waits.read_line(60s).value_or("") == "on");
    BOOST_TEST(waits.wait().success());
    BOOST_TEST(run({"run", "b", "--nowait", "--", "true"}).status.code == 75);
}

BOOST_FIXTURE_TEST_CASE(loss_of_one_of_all_leases_ends_the_command, tool_fixture)
{
    auto holder = start(run_with({"--all", "a,b", "--ttl", "3s"}, worker));
    const pid_t command = process_in(holder.read_line());
    BOOST_TEST(run({"release", "--force", "b"}).status.success());
    BOOST_TEST(holder.wait().code == 76);
    BOOST_TEST(!alive(command));
    BOOST_TEST(!held("a"));
}

BOOST_FIXTURE_TEST_CASE(rights_that_can_t_be_say_what_can, tool_fixture)
{
    const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
        {{"--permits", "0", "job"}, "--permits must be a number from 1 to 1024, not '0'"},
        {{"--permits", "1025", "job"}, "from 1 to 1024, not '1025'"},
        {{"--permits", "five", "job"}, "not 'five'"},
        {{"--permits", "5"}, "NAME is required"},
        {{"--permits", "5", "--take", "6", "job"}, "--take must be a number from 1 to the 5 of --permits, not '6'"},
        {{"--permits", "5", "--take", "0", "job"}, "--take must be a number from 1 to 1024, not '0'"},
        {{"--take", "2", "job"}, "requires --permits"},
        {{"--permits", "5", "--shared", "job"}, "excludes"},
        {{"--all", "a,,b"}, "one comma between them"},
        {{"--all", ""}, "one comma between them"},
        {{"--all", "a,b,a"}, "'a' is in the set twice"},
        {{"--all", "a,b", "job"}, "no NAME beside it"},
        {{"--all", "a", "--permits", "2"}, "excludes"},
        {{"--shared", "job", "--min-hold", "1m"}, "--min-hold can't be used with --shared"},
    };
    for (const auto& [words, expected] : wrong) {
        const auto result = run(run_with(words, {"touch", path("ran")}));
        BOOST_TEST(result.status.code == 64, words.front() << " " << words.at(1) << ": " << result.err);
        BOOST_TEST(result.err.find(expected) != std::string::npos, result.err);
    }
    BOOST_TEST(!std::filesystem::exists(path("ran")));
}

BOOST_AUTO_TEST_SUITE_END()
