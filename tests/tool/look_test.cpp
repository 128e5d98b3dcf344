// SPDX-License-Identifier: BSL-1.0
// The subcommands that look into the store or mend it, and what is said about wrong command lines.
#include <contract/odbc_connection.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <string>

using namespace leasehold_test;

BOOST_AUTO_TEST_SUITE(tool_looks)

struct held_fixture : tool_fixture {
    child_process holder = start({"run", "job/1", "--owner", "web-1", "--", "sh", "-c", "echo on; exec sleep 60"});

    held_fixture() { BOOST_REQUIRE(holder.read_line().value_or("") == "on"); }
};

BOOST_FIXTURE_TEST_CASE(show_says_who_holds, held_fixture)
{
    const auto held = run_words("show job/1");
    BOOST_TEST(held.status.success());
    BOOST_TEST(held.out.starts_with("NAME   OWNER"));
    BOOST_TEST(held.out.find("\njob/1  web-1/") != std::string::npos);
    const auto json = run_words("show job/1 --json");
    BOOST_TEST(json.out.starts_with("{\"name\": \"job/1\", \"owner\": \"web-1/"));
    BOOST_TEST(json.out.find("\"token\": 1, \"remaining_ms\": ") != std::string::npos);

    const auto free = run_words("show other");
    BOOST_TEST(free.status.code == 1);
    BOOST_TEST(free.out == "other is free\n");
    BOOST_TEST(run_words("show other --json").out == "null\n");
}

BOOST_FIXTURE_TEST_CASE(list_has_what_is_held_of_a_prefix, held_fixture)
{
    BOOST_TEST(run_words("run other --min-hold 1m -- true").status.success());
    const auto all = run_words("list");
    BOOST_TEST(all.out.find("job/1") != std::string::npos);
    BOOST_TEST(all.out.find("other  (kept closed)") != std::string::npos);
    BOOST_TEST(run_words("list job/").out.find("other") == std::string::npos);
    BOOST_TEST(run_words("list oth --json").out.find("\"owner\": null") != std::string::npos);
    BOOST_TEST(run_words("list none --json").out == "[]\n");
    BOOST_TEST(run_words("list none").out == "");
}

BOOST_FIXTURE_TEST_CASE(release_asks_for_force, held_fixture)
{
    BOOST_TEST(run_words("release job/1").status.code == 64);
    BOOST_TEST(held("job/1"));
    const auto forced = run_words("release job/1 --force");
    BOOST_TEST(forced.status.success());
    BOOST_TEST(forced.out.starts_with("job/1 was held by web-1/"));
    BOOST_TEST(run_words("release job/1 --force").status.code == 1);
}

BOOST_FIXTURE_TEST_CASE(wait_waits_for_free_and_for_held, held_fixture)
{
    BOOST_TEST(run_words("wait job/1 --held").status.success());
    BOOST_TEST(run_words("wait other --free").status.success());
    BOOST_TEST(run_words("wait job/1 --free --timeout 50ms").status.code == 75);
    auto waiter = start({"wait", "job/1", "--free"});
    holder.signal(SIGTERM);
    BOOST_TEST(waiter.wait(10s).success());
}

BOOST_FIXTURE_TEST_CASE(init_prints_or_makes_the_table, tool_fixture)
{
    const std::string store = sqlite_connection_string(path("other.db"));
    const auto printed = run({"init", "--print", "--store", store, "--table", "mine"});
    BOOST_TEST(printed.out.find("create table if not exists `mine`") != std::string::npos);
    const auto missing = run({"show", "job", "--store", store, "--table", "mine"});
    BOOST_TEST(missing.status.code == 69);
    BOOST_TEST(missing.err.find("create it with 'leasehold init'") != std::string::npos);
    BOOST_TEST(run({"init", "--store", store, "--table", "mine"}).status.success());
    BOOST_TEST(run({"show", "job", "--store", store, "--table", "mine"}).status.code == 1);
    BOOST_TEST(run({"show", "job"}, {{"LEASEHOLD_STORE", store}, {"LEASEHOLD_TABLE", "mine"}}).status.code == 1);
}

BOOST_FIXTURE_TEST_CASE(the_default_store_is_a_file_in_a_folder_of_the_user_s_own, tool_fixture)
{
    BOOST_TEST(run_words("list").status.success());
    const auto folder = std::filesystem::status(path("state/leasehold"));
    BOOST_TEST(std::filesystem::exists(path("state/leasehold/leases.db")));
    BOOST_TEST((folder.permissions() == std::filesystem::perms::owner_all));
    const auto homeless = run({"list"}, {{"XDG_STATE_HOME", ""}, {"HOME", ""}});
    BOOST_TEST(homeless.status.code == 64);
    BOOST_TEST(run({"list"}, {{"XDG_STATE_HOME", ""}, {"HOME", path("home")}}).status.success());
    BOOST_TEST(std::filesystem::exists(path("home/.local/state/leasehold/leases.db")));
}

BOOST_FIXTURE_TEST_CASE(a_store_can_be_named_in_a_file, tool_fixture)
{
    std::ofstream{path("store")} << "# the database of the tests\n\n"
                                 << sqlite_connection_string(path("other.db")) << ";PWD=secret\n";
    BOOST_TEST(run({"init", "--store-file", path("store")}).err.find("chmod 600") != std::string::npos);
    std::filesystem::permissions(path("store"), std::filesystem::perms::owner_read);
    const auto quiet = run({"list"}, {{"LEASEHOLD_STORE_FILE", path("store")}});
    BOOST_TEST(quiet.status.success());
    BOOST_TEST(quiet.err == "");
    BOOST_TEST(run({"list", "--store-file", path("none")}).status.code == 64);
}

BOOST_FIXTURE_TEST_CASE(a_database_that_is_not_there_is_69, tool_fixture)
{
    const auto failed = run({"run", "job", "--store", sqlite_connection_string("/no/such/folder/leases.db"), "--", "true"});
    BOOST_TEST(failed.status.code == 69);
    BOOST_TEST(failed.err.starts_with("leasehold: "));
    BOOST_TEST(run({"list", "--store", "no-such-data-source"}).status.code == 69);
    BOOST_TEST(run({"list", "--store", "no-such-data-source", "--quiet"}).err == "");
}

BOOST_FIXTURE_TEST_CASE(doctor_checks_and_says_so, tool_fixture)
{
    const auto result = run_words("doctor");
    BOOST_TEST(result.status.success());
    for (const char* words :
         {"ok    connects, and the table is there", "ok    a lease can be acquired, renewed and released", "ok    SQLite 3",
          "a round trip takes", "who waits polls", "for processes of one host"})
        BOOST_TEST(result.out.find(words) != std::string::npos, "missing: " << words);
    odbc_connection own{sqlite_connection_string(path("version.db"))};
    const std::string version = own.execute("select sqlite_version()");
    BOOST_TEST(result.out.find("ok    SQLite " + version + ",") != std::string::npos, result.out);
    BOOST_TEST(run({"doctor", "--store", sqlite_connection_string(path("empty.db"))}).status.code == 69);
}

BOOST_FIXTURE_TEST_CASE(wrong_command_lines_are_64_and_say_what_is_right, tool_fixture)
{
    const std::pair<const char*, const char*> wrong[]{
        {"", "see leasehold --help"},
        {"frobnicate", "see leasehold --help"},
        {"run", "see leasehold run --help"},
        {"run job", "the command is missing; it comes last, after --"},
        {"run job --", "the command is missing"},
        {"run job echo", "see leasehold run --help"},
        {"run job --ttl 5 -- true", "--ttl: '5' is no duration: the unit is missing"},
        {"run job --wait 1x -- true", "--wait: '1x' is no duration: there is no such unit"},
        {"run job --wait 1s --nowait -- true", "excludes"},
        {"run job --kill-after 20s -- true", "say --ttl 48s or longer"},
        {"run job --margin 1s --kill-after 2s -- true", "--margin 1s is shorter than --kill-after 2s"},
        {"run job -E 300 -- true", "300"},
        {"elect job --restart sometimes -- true", "see leasehold elect --help"},
        {"list -- true", "runs no command"},
        {"wait job", "wait needs --free or --held"},
        {"wait job --free --held", "see leasehold wait --help"},
        {"watch --interval 1ms", "at least 10ms"},
    };
    for (const auto& [words, says] : wrong) {
        const auto result = run_words(words);
        BOOST_TEST(result.status.code == 64, "status of: " << words << ": " << result.status);
        BOOST_TEST(result.err.starts_with("leasehold: "));
        BOOST_TEST(result.err.find(says) != std::string::npos, words << " says: " << result.err);
    }
    BOOST_TEST(run({"run", "", "--", "true"}).status.code == 64);
    BOOST_TEST(run({"run", "job", "--owner", std::string(200, 'x'), "--", "true"}).status.code == 64);
}

BOOST_FIXTURE_TEST_CASE(every_subcommand_has_help_and_examples, tool_fixture)
{
    BOOST_TEST(run_words("--version").out.starts_with("leasehold "));
    BOOST_TEST(run_words("--help").out.find("crontab") != std::string::npos);
    for (const char* each : {"run", "elect", "show", "list", "watch", "release", "init", "wait"}) {
        const auto help = run({each, "--help"});
        BOOST_TEST(help.status.success());
        BOOST_TEST(help.out.find("\n  leasehold " + std::string{each}) != std::string::npos, each);
    }
    BOOST_TEST(run_words("run --help").out.find("run [OPTIONS] NAME -- COMMAND") != std::string::npos);
    BOOST_TEST(run_words("doctor --help").out.find("leasehold-doctor") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(watch_without_a_terminal_writes_a_line_for_each_change, held_fixture)
{
    auto watch = start({"watch", "job", "--interval", "20ms"});
    BOOST_TEST(watch.read_line().value_or("").find("job/1  held by web-1/") != std::string::npos);
    holder.signal(SIGTERM);
    BOOST_TEST(watch.read_line().value_or("").find("job/1  free, after web-1/") != std::string::npos);
    auto next = start({"run", "job/2", "--owner", "web-2", "--", "sleep", "60"});
    BOOST_TEST(watch.read_line().value_or("").find("job/2  taken by web-2/") != std::string::npos);
    next.signal(SIGTERM);
    BOOST_TEST(watch.read_line().value_or("").find("job/2  free") != std::string::npos);
    watch.signal(SIGTERM);
    BOOST_TEST(watch.wait(10s).success());
}

BOOST_AUTO_TEST_SUITE_END()
