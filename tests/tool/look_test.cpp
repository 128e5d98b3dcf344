// SPDX-License-Identifier: BSL-1.0
// The subcommands that look into the store or mend it, and what is said about wrong command lines.
#include <contract/odbc_connection.hpp>
#include <support/eventually.hpp>
#include <tool/tool_fixture.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>

using namespace leasehold_test;

namespace lh = leasehold;

namespace {

/// As if nobody had used the names for years.
void make_old(const std::string& database)
{
    odbc_connection own{sqlite_connection_string(database)};
    own.execute("update leasehold set expires_at = 1 where name <> ''");
}

}  // namespace

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

BOOST_FIXTURE_TEST_CASE(wait_for_held_waits_for_a_holder, tool_fixture)
{
    BOOST_TEST(run_words("hold closed --for 1h").status.success());
    BOOST_TEST(run_words("run kept --min-hold 1h -- true").status.success());
    BOOST_TEST(run_words("resize permits 3").status.success());
    for (const char* name : {"closed", "kept", "permits"}) {
        const auto waited = run({"wait", name, "--held", "--timeout", "50ms"});
        BOOST_TEST(waited.status.code == 75, name);
        BOOST_TEST(run({"wait", name, "--free", "--timeout", "50ms"}).status.code == 75, name);
    }
    BOOST_TEST(run_words("wait closed -v --held --timeout 50ms").err.find("is held closed") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(request_to_a_count_has_nobody_to_reach, tool_fixture)
{
    BOOST_TEST(run_words("resize permits 3").status.success());
    const auto asked = run_words("ask permits --reason now");
    BOOST_TEST(asked.status.code == 1);
    BOOST_TEST(asked.out == "permits is held by nobody who could be asked\n");
    BOOST_TEST(run_words("show permits --json").out.find("now") == std::string::npos);
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
    BOOST_TEST(waiter.wait().success());
}

BOOST_FIXTURE_TEST_CASE(init_prints_or_makes_the_table, tool_fixture)
{
    const std::string store = sqlite_connection_string(path("other.db"));
    const auto printed = run({"init", "--print", "--store", store, "--table", "mine"});
    BOOST_TEST(printed.out.find("create table if not exists `mine`") != std::string::npos);
    const auto missing = run({"show", "job", "--store", store, "--table", "mine"});
    BOOST_TEST(missing.status.code == 69);
    BOOST_TEST(missing.err.find("create it with 'leasehold init'") != std::string::npos);
    BOOST_TEST(run({"init", "--store", store, "--table", "mine"}).out == "created the table 'mine'\n");
    BOOST_TEST(run({"init", "--store", store, "--table", "mine"}).out == "the table 'mine' exists already\n");
    BOOST_TEST(run({"show", "job", "--store", store, "--table", "mine"}).status.code == 1);
    BOOST_TEST(run({"show", "job"}, {{"LEASEHOLD_STORE", store}, {"LEASEHOLD_TABLE", "mine"}}).status.code == 1);
}

BOOST_FIXTURE_TEST_CASE(a_database_that_is_not_there_is_69, tool_fixture)
{
    const auto failed = run({"run", "job", "--store", sqlite_connection_string("/no/such/folder/leases.db"), "--", "true"});
    BOOST_TEST(failed.status.code == 69);
    BOOST_TEST(failed.err.starts_with("leasehold: "));
    BOOST_TEST(run({"list", "--store", "no-such-data-source"}).status.code == 69);
    BOOST_TEST(run({"list", "--store", "no-such-data-source", "--quiet"}).err == "");
}

// The host has these drivers and data sources, whatever the test's own host has.
BOOST_FIXTURE_TEST_CASE(misspelt_driver_or_data_source_gets_those_that_there_are, tool_fixture)
{
    std::ofstream{path("odbcinst.ini")} << "[PostgreSQL Unicode]\nDriver=psqlodbcw.so\n[MariaDB Unicode]\nDriver=libmaodbc.so\n";
    std::ofstream{path("odbc.ini")} << "[ops]\nDriver=PostgreSQL Unicode\n";
    const auto says = [&](const std::string& store) {
        const auto failed = run({"list", "--store", store}, {{"ODBCSYSINI", folder().string()}, {"HOME", folder().string()}});
        BOOST_TEST(failed.status.code == 69);
        return failed.err;
    };
    const std::string misspelt = says("Driver=PostgreSQL Unicod;Server=127.0.0.1");
    BOOST_TEST(misspelt.find("finds its file in none of its folders: did you mean 'PostgreSQL Unicode'? There are:") != std::string::npos,
               misspelt);
    BOOST_TEST(misspelt.find("'MariaDB Unicode'") != std::string::npos, misspelt);
    const std::string unlike = says("Driver=Oracle;Server=127.0.0.1");
    BOOST_TEST(unlike.find("finds its file in none of its folders. There are:") != std::string::npos, unlike);
    BOOST_TEST(says("Driver=/no/such/driver.so").find("There are:") == std::string::npos);  // a file's name is no driver's

    const std::string no_source = says("opps");
    BOOST_TEST(no_source.find("There is the data source 'ops'") != std::string::npos, no_source);
    BOOST_TEST(no_source.find("'MariaDB Unicode'") != std::string::npos, no_source);
}

BOOST_FIXTURE_TEST_CASE(doctor_checks_and_says_so, tool_fixture)
{
    const auto result = run_words("doctor");
    BOOST_TEST(result.status.success());
    for (const char* words : {"ok    connects, and the table exists", "ok    a lease can be acquired, renewed and released",
                              "ok    SQLite 3", "a round trip takes", "waiters poll", "for processes on one host"})
        BOOST_TEST(result.out.find(words) != std::string::npos, "missing: " << words);
    odbc_connection own{sqlite_connection_string(path("version.db"))};
    const std::string version = own.execute("select sqlite_version()");
    BOOST_TEST(result.out.find("ok    SQLite " + version + ",") != std::string::npos, result.out);
    BOOST_TEST(run({"doctor", "--store", sqlite_connection_string(path("empty.db"))}).status.code == 69);
}

BOOST_FIXTURE_TEST_CASE(doctor_says_it_in_json_too, tool_fixture)
{
    const auto result = run_words("doctor --json");
    BOOST_TEST(result.status.success());
    BOOST_TEST(result.out.starts_with("{\"store\": \"Driver="), result.out);
    BOOST_TEST(result.out.find("\"table\": \"leasehold\", \"findings\": [{\"is\": \"ok\", \"text\": \"connects, and") !=
                   std::string::npos,
               result.out);
    BOOST_TEST(result.out.ends_with("}], \"well\": true}\n"), result.out);
    BOOST_TEST(result.out.find('\n') == result.out.size() - 1);
    const auto failed = run({"doctor", "--json", "--store", sqlite_connection_string(path("empty.db"))});
    BOOST_TEST(failed.status.code == 69);
    BOOST_TEST(failed.out.find("\"findings\": [{\"is\": \"mend\", \"text\": \"the table for the leases") != std::string::npos, failed.out);
    BOOST_TEST(failed.out.ends_with("}], \"well\": false}\n"), failed.out);
    BOOST_TEST(failed.err.find("leasehold: the table for the leases") == 0U, failed.err);
}

BOOST_FIXTURE_TEST_CASE(doctor_says_in_json_that_the_database_can_not_be_reached, tool_fixture)
{
    const std::string nowhere = "Driver=SQLite3;Database=" + path("no/such/folder/x.db");
    const auto failed = run({"doctor", "--json", "--store", nowhere});
    BOOST_TEST(failed.status.code == 69);
    BOOST_TEST(failed.out.starts_with("{\"store\": \"Driver=SQLite3;Database="), failed.out);
    BOOST_TEST(failed.out.find("\"findings\": [{\"is\": \"mend\", \"text\": \"") != std::string::npos, failed.out);
    BOOST_TEST(failed.out.ends_with("}], \"well\": false}\n"), failed.out);
    BOOST_TEST(failed.out.find('\n') == failed.out.size() - 1);
    const auto in_words = run({"doctor", "--store", nowhere});
    BOOST_TEST(in_words.status.code == 69);
    BOOST_TEST(in_words.out.find("mend") == std::string::npos, in_words.out);
    BOOST_TEST(in_words.err == failed.err);
}

BOOST_FIXTURE_TEST_CASE(doctor_says_that_a_name_can_have_two_rows, tool_fixture)
{
    const std::string store = sqlite_connection_string(path("keyless.db"));
    odbc_connection own{store};
    own.execute("create table leasehold (name text not null, owner text not null, token integer not null, expires_at integer not null, " +
                handover_columns + ")");
    const auto told = run({"doctor", "--store", store});
    BOOST_TEST(told.status.code == 69);
    BOOST_TEST(told.err.find("two holders") != std::string::npos, told.err);
    const auto in_json = run({"doctor", "--json", "--store", store});
    BOOST_TEST(in_json.status.code == 69);
    BOOST_TEST(in_json.out.find("{\"is\": \"mend\", \"text\": ") != std::string::npos, in_json.out);
    BOOST_TEST(in_json.out.find("two holders") != std::string::npos, in_json.out);
}

BOOST_FIXTURE_TEST_CASE(table_that_lacks_a_column_is_not_told_to_be_made, tool_fixture)
{
    const std::string store = sqlite_connection_string(path("older.db"));
    odbc_connection own{store};
    own.execute("create table leasehold (name text primary key, owner text not null, token integer not null, expires_at integer not null)");
    for (const char* command : {"init", "doctor", "list"}) {
        const auto told = run({command, "--store", store});
        BOOST_TEST(told.status.code == 69);
        BOOST_TEST(told.err.find("docs/migrating.md") != std::string::npos, told.err);
        BOOST_TEST(told.err.find("leasehold init") == std::string::npos, told.err);
    }
}

BOOST_FIXTURE_TEST_CASE(wrong_command_lines_are_64_and_say_what_is_right, tool_fixture)
{
    const std::pair<const char*, const char*> wrong[]{
        {"frobnicate", "there is no subcommand 'frobnicate'; see leasehold --help"},
        {"lsit", "there is no subcommand 'lsit': did you mean list? See leasehold --help"},
        {"help lsit", "did you mean list?"},
        {"relaese job --force", "did you mean release?"},
        {"ls", "did you mean list?"},
        {"--store x list", "the subcommand comes first, then its options"},
        {"list --jsno", "there is no option --jsno: did you mean --json? See leasehold list --help"},
        {"run --nowiat job -- true", "there is no option --nowiat: did you mean --nowait?"},
        {"show -odd", "put -- before it"},
        {"show -- -odd -odd", "'-odd' was not expected"},
        {"init more", "'more' was not expected"},
        {"version more", "'more' was not expected"},
        {"purge", "--unused-for is required"},
        {"purge --unused-for 59s --yes", "--unused-for must be at least 1m"},
        {"purge --unused-for 1h", "add --yes"},
        {"run", "see leasehold run --help"},
        {"run job", "the command is missing; put it last, after --"},
        {"run job --", "the command is missing"},
        {"run job echo", "put -- before the command, as in: leasehold run job -- echo; see leasehold run --help"},
        {"run job ls -l --nowait", "as in: leasehold run job -- ls -l --nowait;"},
        {"run ls -l", "put -- before the command, as in: leasehold run NAME -- COMMAND ARGUMENT..."},
        {"run job --ttl 5 -- true", "--ttl: '5' is not a duration: the unit is missing"},
        {"run job --wait 1x -- true", "--wait: '1x' is not a duration: there is no such unit"},
        {"run job --wait 1s --nowait -- true", "excludes"},
        {"run job --kill-after 20s -- true", "use --ttl 48s or longer"},
        {"run job --margin 1s --kill-after 2s -- true", "--margin 1s is shorter than --kill-after 2s"},
        {"run job -E 300 -- true", "300"},
        {"elect job --restart sometimes -- true", "see leasehold elect --help"},
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
    BOOST_TEST(run({"run", "job", "sh", "-c", "it's"}).err.find("-- sh -c 'it'\\''s';") != std::string::npos);
    BOOST_TEST(run({"init", "DSN=ops;PWD=secret"}).err.find("secret") == std::string::npos);
    BOOST_TEST(run({"run", "", "--", "true"}).status.code == 64);
    BOOST_TEST(run({"run", "job", "--owner", std::string(200, 'x'), "--", "true"}).status.code == 64);
}

BOOST_FIXTURE_TEST_CASE(without_a_subcommand_they_are_listed_and_it_is_64, tool_fixture)
{
    const auto nothing = run({});
    BOOST_TEST(nothing.status.code == 64);
    BOOST_TEST(nothing.out == "");
    for (const char* words :
         {"\n  run  ", "Run a command while holding a lease", "\n  purge  ", "leasehold help SUBCOMMAND"})
        BOOST_TEST(nothing.err.find(words) != std::string::npos, nothing.err);
}

BOOST_FIXTURE_TEST_CASE(help_and_version_are_words_too, tool_fixture)
{
    BOOST_TEST(run_words("version").out == run_words("--version").out);
    BOOST_TEST(run_words("help").out == run_words("--help").out);
    BOOST_TEST(run_words("help run").out == run_words("run --help").out);
    BOOST_TEST(run_words("help help").status.success());
}

BOOST_FIXTURE_TEST_CASE(control_characters_in_what_was_typed_are_shown_escaped, tool_fixture)
{
    const std::string forged = "job\nleasehold: all is well \xE2\x80\xAE\xC2\x9B";
    const std::string escaped = "job\\nleasehold: all is well \\u{202e}\\u{9b}";
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{forged}, {"init", forged}, {"list", "--" + forged}, {"run", "x", forged}}) {
        const auto refused = run(words);
        BOOST_TEST(refused.status.code == 64);
        BOOST_TEST(refused.err.find(escaped) != std::string::npos, refused.err);
        BOOST_TEST(refused.err.find('\n') == refused.err.size() - 1);
    }
    BOOST_TEST(run({"run", forged, "--min-hold", "1m", "--", "true"}).status.success());
    for (const std::string& shown :
         {run({"list"}).out, run({"show", forged}).out, run({"run", forged, "-n", "-v", "--", "true"}).err,
          run({"release", forged, "--force"}).out, run({"show", forged}).out})
        BOOST_TEST(shown.find(escaped) != std::string::npos, shown);
}

BOOST_FIXTURE_TEST_CASE(a_name_that_begins_with_a_dash_is_shown_and_released_after_a_double_dash, tool_fixture)
{
    lh::odbc_store store{sqlite_connection_string(path("leases.db"))};
    std::error_code ec;
    BOOST_REQUIRE(store.try_acquire("-odd", "somebody", 1min, ec).granted());
    BOOST_TEST(run_words("list -- -o").out.find("-odd") != std::string::npos);
    BOOST_TEST(run_words("show --json -- -odd").out.starts_with("{\"name\": \"-odd\""));
    BOOST_TEST(run_words("wait --held -- -odd").status.success());
    BOOST_TEST(run_words("release --force -- -odd").status.success());
    BOOST_TEST(run_words("show -- -odd").out == "-odd is free\n");
}

BOOST_FIXTURE_TEST_CASE(ask_asks_the_holder_and_show_tells, held_fixture)
{
    const auto asked = run({"ask", "job/1", "--reason", "a new version"});
    BOOST_TEST(asked.status.success());
    BOOST_TEST(asked.out.starts_with("job/1 is held by web-1/"), asked.out);
    BOOST_TEST(asked.out.ends_with("the holder was asked to hand it over\n"), asked.out);
    BOOST_TEST(run_words("show job/1").out.find("a new version") != std::string::npos);
    BOOST_TEST(run_words("list --json").out.find("\"asked\": \"a new version\"}") != std::string::npos);
    BOOST_TEST(held("job/1"));
    const auto free = run_words("ask other");
    BOOST_TEST(free.status.code == 1);
    BOOST_TEST(free.out == "other is held by nobody who could be asked\n");
    const auto too_long = run({"ask", "job/1", "--reason", std::string(1025, 'x')});
    BOOST_TEST(too_long.status.code == 64);
    BOOST_TEST(too_long.err.find("the reason is longer than the 1024 bytes") != std::string::npos, too_long.err);
}

BOOST_FIXTURE_TEST_CASE(show_and_list_show_what_the_holder_has_published, tool_fixture)
{
    lh::odbc_store store{sqlite_connection_string(path("leases.db"))};
    lh::basic_lease lease{store, "job"};
    auto guard = lease.try_acquire();
    BOOST_TEST(guard.publish("10.0.0.7:8443"));
    BOOST_TEST(run_words("show job").out.find("DATA\n") != std::string::npos);
    BOOST_TEST(run_words("list").out.find("10.0.0.7:8443\n") != std::string::npos);
    BOOST_TEST(run_words("show job --json").out.find("\"data\": \"10.0.0.7:8443\"}") != std::string::npos);
    guard.release();
    BOOST_TEST(run_words("show job").out == "job is free\n");
}

BOOST_FIXTURE_TEST_CASE(ps_shows_members_and_whose_the_shards_are, tool_fixture)
{
    const auto nobody = run_words("ps orders");
    BOOST_TEST(nobody.status.code == 1);
    BOOST_TEST(nobody.out == "orders has no members\n");
    lh::odbc_store store{sqlite_connection_string(path("leases.db"))};
    lh::shard_group shards{store, "orders", 4, lh::shard_options{.max_shards = 3, .id = "web-1", .data = "10.0.0.7:8443"}};
    std::jthread runs{[&shards](const std::stop_token& stop) {
        shards.run(stop, [](auto& shard) {
            while (shard.held() && !shard.draining()) std::this_thread::sleep_for(std::chrono::milliseconds{2});
        });
    }};
    BOOST_REQUIRE(eventually([&] { return shards.owned().size() == 3; }));
    const auto shown = run_words("ps orders");
    BOOST_TEST(shown.status.success());
    BOOST_TEST(shown.out.starts_with("MEMBER  SHARDS  DRAINING  REMAINING  WHICH  DATA\nweb-1   3       0         "), shown.out);
    BOOST_TEST(shown.out.find("  0-2    10.0.0.7:8443\n1 of 4 shards are owned by nobody\n") != std::string::npos, shown.out);
    const auto json = run_words("ps orders --json");
    BOOST_TEST(json.out.starts_with("{\"count\": 4,\n \"members\": [{\"id\": \"web-1\", \"data\": \"10.0.0.7:8443\", "), json.out);
    BOOST_TEST(json.out.find("{\"index\": 2, \"owner\": \"web-1\", \"token\": ") != std::string::npos, json.out);
}

BOOST_FIXTURE_TEST_CASE(ps_shows_a_group_whose_name_is_too_long_for_members_with_long_ids, tool_fixture)
{
    const std::string name(170, 'x');
    lh::odbc_store store{sqlite_connection_string(path("leases.db"))};
    lh::shard_group shards{store, name, 1, lh::shard_options{.id = "web-1"}};
    std::jthread runs{[&shards](const std::stop_token& stop) {
        shards.run(stop, [](auto& shard) {
            while (shard.held() && !shard.draining()) std::this_thread::sleep_for(std::chrono::milliseconds{2});
        });
    }};
    BOOST_REQUIRE(eventually([&] { return shards.owned().size() == 1; }, 60s));
    const auto shown = run({"ps", name});
    BOOST_TEST(shown.status.success(), shown.err);
    BOOST_TEST(shown.out.find("\nweb-1   1       0  ") != std::string::npos, shown.out);
}

BOOST_FIXTURE_TEST_CASE(ps_shows_what_drains_and_what_is_held_closed, tool_fixture)
{
    lh::odbc_store store{sqlite_connection_string(path("leases.db"))};
    BOOST_TEST(run_words("hold orders/3 --for 1h --reason migration").status.success());
    lh::shard_group shards{store, "orders", 4, lh::shard_options{.ttl = 3s, .id = "web-1"}};
    std::atomic<bool> goes_on{true};
    std::jthread runs{[&](const std::stop_token& stop) {
        shards.run(stop, [&goes_on](auto& shard) {
            while (shard.held() && (goes_on || !shard.draining())) std::this_thread::sleep_for(std::chrono::milliseconds{2});
        });
    }};
    BOOST_TEST(eventually([&] { return shards.owned().size() == 3; }));
    shards.pause();
    std::string shown;
    BOOST_TEST(eventually([&] {
        shown = run_words("ps orders").out;
        return shown.find("\nweb-1                     3       3  ") != std::string::npos;
    }), shown);
    BOOST_TEST(shown.find("\n(held closed: migration)  1       0         -          3\n") != std::string::npos, shown);
    BOOST_TEST(shown.ends_with("1 of 4 shards are owned by nobody\n"), shown);
    const std::string json = run_words("ps orders --json").out;
    BOOST_TEST(json.find("{\"index\": 3, \"owner\": null, \"hold\": \"migration\", \"token\": ") != std::string::npos, json);
    goes_on = false;
}

BOOST_FIXTURE_TEST_CASE(checkpoint_is_saved_and_shown, tool_fixture)
{
    BOOST_TEST(run_words("checkpoint job").status.code == 1);
    BOOST_TEST(run_words("checkpoint job --json").out == "null\n");
    BOOST_TEST(run({"checkpoint", "job", "--save", "offset=1, \"two\""}).status.success());
    const auto shown = run_words("checkpoint job");
    BOOST_TEST(shown.status.success());
    BOOST_TEST(shown.out == "offset=1, \"two\"\n");
    BOOST_TEST(run_words("checkpoint job --json").out == "{\"checkpoint\": \"offset=1, \\\"two\\\"\", \"token\": 1}\n");
    BOOST_TEST(run_words("show job").out.starts_with("job is free\n"));
    BOOST_TEST(run({"checkpoint", "job", "--save", ""}).status.success());
    BOOST_TEST(run_words("checkpoint job").out == "\n");
    const auto too_long = run({"checkpoint", "job", "--save", std::string(4097, 'x')});
    BOOST_TEST(too_long.status.code == 64);
    BOOST_TEST(too_long.err.find("the checkpoint is longer than the 4096 bytes") != std::string::npos, too_long.err);
}

BOOST_FIXTURE_TEST_CASE(checkpoints_are_listed_shown_and_watched, tool_fixture)
{
    BOOST_TEST(run_words("list --checkpoints").out == "");
    BOOST_TEST(run_words("list --checkpoints --json").out == "[]\n");
    BOOST_TEST(run({"checkpoint", "import", "--save", "page 1"}).status.success());
    BOOST_TEST(run_words("run report --once-per 24h -- true").status.success());
    BOOST_TEST(run_words("list --checkpoints").out == "NAME    TOKEN  CHECKPOINT\nimport  1      page 1\n", "a record of fires is none");
    BOOST_TEST(run_words("checkpoint report --save row-7").status.success());
    BOOST_TEST(run_words("list --checkpoints --json").out ==
               "[{\"name\": \"import\", \"checkpoint\": \"page 1\", \"token\": 1},\n"
               " {\"name\": \"report\", \"checkpoint\": \"row-7\", \"token\": 2}]\n");
    BOOST_TEST(run_words("list --checkpoints rep").out == "NAME    TOKEN  CHECKPOINT\nreport  2      row-7\n");
    BOOST_TEST(run_words("list --checkpoints --fires").status.code == 64);
    const auto free = run_words("show import");
    BOOST_TEST(free.status.code == 1);
    BOOST_TEST(free.out == "import is free\ncheckpoint: page 1, saved under token 1\n");
    BOOST_TEST(run_words("show import --json").out == "null\n");
    auto holder = start({"run", "import", "--", "sh", "-c", "echo on; exec sleep 60"});
    BOOST_REQUIRE(holder.read_line().value_or("") == "on");
    BOOST_TEST(run_words("show import").out.ends_with("\ncheckpoint: page 1, saved under token 1\n"));
    const auto json = run_words("show import --json").out;
    BOOST_TEST(json.ends_with(", \"checkpoint\": \"page 1\", \"checkpoint_token\": 1}\n"), json);
    auto objects = start({"watch", "report", "--checkpoints", "--json"});
    const std::string object = objects.read_line().value_or("");
    BOOST_TEST(object.ends_with("\"leases\": [], \"checkpoints\":"
                                " [{\"name\": \"report\", \"checkpoint\": \"row-7\", \"token\": 2}]}"),
               object);
    objects.signal(SIGTERM);
    BOOST_TEST(objects.wait().success());
    auto watch = start({"watch", "--checkpoints", "--interval", "20ms"});
    BOOST_TEST(watch.read_line().value_or("").find("import  held by") != std::string::npos);
    BOOST_TEST(run({"checkpoint", "another", "--save", "x"}).status.success());
    std::string line;
    for (int lines = 0; lines < 5 && line.find("checkpoint") == std::string::npos; ++lines) line = watch.read_line().value_or("");
    BOOST_TEST(line.ends_with("another  the checkpoint is x, saved under token 1"), line);
    watch.signal(SIGTERM);
    BOOST_TEST(watch.wait().success());
    holder.signal(SIGTERM);
}

BOOST_FIXTURE_TEST_CASE(checkpoint_of_a_lease_that_somebody_holds_is_not_saved_from_outside, held_fixture)
{
    BOOST_TEST(run_words("checkpoint job/1 --save x").status.code == 75);
    BOOST_TEST(run_words("checkpoint job/1").status.code == 1);
    BOOST_TEST(held("job/1"));
}

BOOST_FIXTURE_TEST_CASE(purge_leaves_names_with_a_checkpoint_unless_told_otherwise, tool_fixture)
{
    BOOST_TEST(run_words("checkpoint job --save x").status.success());
    make_old(path("leases.db"));
    BOOST_TEST(run_words("purge --unused-for 1m --yes").out.starts_with("0 names"));
    BOOST_TEST(run_words("purge --unused-for 1m --with-checkpoints --yes").out.starts_with("1 name"));
}

BOOST_FIXTURE_TEST_CASE(purge_removes_names_that_nobody_uses, tool_fixture)
{
    BOOST_TEST(run_words("run job -- true").status.success());
    const auto none = run_words("purge --unused-for 1m --yes");
    BOOST_TEST(none.status.success());
    BOOST_TEST(none.out == "0 names that nobody has held for 1m were removed\n");
    make_old(path("leases.db"));
    BOOST_TEST(run_words("purge --unused-for 1m --yes").out == "1 name that nobody has held for 1m was removed\n");
    BOOST_TEST(run({"run", "job", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN"}).out == "2\n");
}

BOOST_FIXTURE_TEST_CASE(every_subcommand_has_help_and_examples, tool_fixture)
{
    BOOST_TEST(run_words("--version").out.starts_with("leasehold "));
    BOOST_TEST(run_words("--help").out.find("crontab") != std::string::npos);
    for (const char* each : {"run", "elect", "shard", "show", "list", "ps", "watch", "release", "ask", "checkpoint", "init", "wait",
                             "purge"}) {
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
    BOOST_TEST(watch.wait().success());
}

BOOST_FIXTURE_TEST_CASE(watch_writes_an_object_of_json_each_time, held_fixture)
{
    auto watch = start({"watch", "--json", "--interval", "20ms"});
    for (int i = 0; i < 2; ++i) {
        const std::string line = watch.read_line().value_or("");
        BOOST_TEST(line.starts_with("{\"at\": \"2"), line);
        BOOST_TEST(line.find("Z\", \"leases\": [{\"name\": \"job/1\", \"owner\": \"web-1/") != std::string::npos, line);
        BOOST_TEST(line.ends_with("}]}"), line);
    }
    watch.signal(SIGTERM);
    BOOST_TEST(watch.wait().success());
}

// As with any other tool in front of `head -1`.
BOOST_FIXTURE_TEST_CASE(reader_of_the_output_may_stop_reading, held_fixture)
{
    for (const char* words : {"watch", "watch --json", "watch --interval 1m", "list"}) {
        const std::string in_shell = std::string{LEASEHOLD_TOOL} + " " + words + " 2>'" + path("said") + "'";
        child_process shell{{"bash", "-c", in_shell + " | head -1 >/dev/null; echo ${PIPESTATUS[0]}"},
                            {.environment = {{"LEASEHOLD_DEFAULT_STORE_FILE", store_file()}}, .capture = true}};
        const std::string status = shell.read_line(60s).value_or("");
        BOOST_TEST((status == "141" || (status == "0" && std::string{words} == "list")), words << " ends with " << status);
        BOOST_TEST(file("said") == "");
    }
}

BOOST_AUTO_TEST_SUITE_END()
