// SPDX-License-Identifier: BSL-1.0
// The subcommands that close a name and empty a host.
#include <contract/odbc_connection.hpp>
#include <support/eventually.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <string>

using namespace leasehold_test;

namespace holds_scene {

struct held_fixture : tool_fixture {
    child_process holder = start({"run", "job/1", "--owner", "web-1", "--ttl", "3s", "--handover-signal", "TERM", "--", "sh", "-c",
                                  "echo on; exec sleep 60"});

    held_fixture() { BOOST_REQUIRE(holder.read_line().value_or("") == "on"); }
};

inline bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace holds_scene

using namespace holds_scene;

BOOST_AUTO_TEST_SUITE(tool_holds)

BOOST_FIXTURE_TEST_CASE(nobody_gets_a_name_that_is_held_closed, tool_fixture)
{
    const auto done = run({"hold", "report", "--for", "2h", "--reason", "new tables"});
    BOOST_TEST(done.status.success());
    BOOST_TEST(done.out == "report is held closed for 2h: new tables\n");
    BOOST_TEST(run_words("run report --nowait -- true").status.code == 75);
    BOOST_TEST(says(run_words("show report").out, "(held closed: new tables)"));
    BOOST_TEST(says(run_words("list --json").out, "\"name\": \"report\", \"owner\": null, \"hold\": \"new tables\", \"token\": 1"));
    BOOST_TEST(run_words("ask report").status.code == 1);
    const auto again = run_words("hold report --for 1h");
    BOOST_TEST(again.status.code == 75);
    BOOST_TEST(says(again.err, "for the reason 'new tables'"), again.err);
    const auto opened = run_words("unhold report");
    BOOST_TEST(opened.status.success());
    BOOST_TEST(opened.out == "report is open again\n");
    BOOST_TEST(run_words("unhold report").status.code == 1);
    BOOST_TEST(run_words("run report --nowait -- true").status.success());
}

BOOST_FIXTURE_TEST_CASE(count_of_a_name_that_is_held_closed_cannot_be_changed_now, tool_fixture)
{
    BOOST_TEST(run_words("hold licences --for 2h --reason audit").status.success());
    const auto refused = run_words("resize licences 8");
    BOOST_TEST(refused.status.code == 75);
    BOOST_TEST(says(refused.err, "held closed (audit)"), refused.err);
    BOOST_TEST(run_words("unhold licences").status.success());
    BOOST_TEST(run_words("resize licences 8").status.success());
}

BOOST_FIXTURE_TEST_CASE(hold_asks_the_holder_first, held_fixture)
{
    BOOST_TEST(run_words("hold job/1 --for 1h --wait 30s").status.success());
    holder.wait(10s);
    BOOST_TEST(says(run_words("show job/1").out, "(held closed)"));
}

BOOST_FIXTURE_TEST_CASE(holder_that_does_not_answer_keeps_its_lease, tool_fixture)
{
    auto holder = start({"run", "job", "--owner", "web-1", "--", "sh", "-c", "echo on; exec sleep 60"});
    BOOST_REQUIRE(holder.read_line().value_or("") == "on");
    const auto failed = run_words("hold job --for 1h --wait 0s");
    BOOST_TEST(failed.status.code == 75);
    BOOST_TEST(says(failed.err, "'web-1/"), failed.err);
    BOOST_TEST(run_words("unhold job").status.code == 1);
    BOOST_TEST(says(run_words("show job").out, "web-1/"));
}

BOOST_FIXTURE_TEST_CASE(drain_asks_for_all_that_a_host_has_and_tells_what_is_left, held_fixture)
{
    auto stays = start({"run", "job/2", "--owner", "web-1", "--", "sh", "-c", "echo on; exec sleep 60"});
    auto another = start({"run", "job/3", "--owner", "web-10", "--", "sh", "-c", "echo on; exec sleep 60"});
    BOOST_REQUIRE(stays.read_line().value_or("") == "on");
    BOOST_REQUIRE(another.read_line().value_or("") == "on");
    const auto some = run_words("drain web-1 --timeout 5s");
    BOOST_TEST(some.status.code == 75);
    BOOST_TEST(says(some.out, "job/2"), some.out);
    BOOST_TEST(!says(some.out, "job/1"), some.out);
    BOOST_TEST(!says(some.out, "job/3"), some.out);
    BOOST_TEST(says(run_words("show job/2").out, "drain"));
    BOOST_TEST(!says(run_words("show job/3").out, "drain"));
    stays.signal(SIGTERM);
    const auto none = run_words("drain web-1 --timeout 20s --json");
    BOOST_TEST(none.status.success());
    BOOST_TEST(none.out == "[]\n");
    BOOST_TEST(run_words("drain web-2").out == "web-2 has nothing\n");
}

// The database refuses requests to the holder of job/0, the first of its list, for a while.
BOOST_FIXTURE_TEST_CASE(drain_goes_on_when_a_request_fails_and_makes_it_again, held_fixture)
{
    auto first = start({"run", "job/0", "--owner", "web-1", "--ttl", "3s", "--handover-signal", "TERM", "--", "sh", "-c",
                        "echo on; exec sleep 60"});
    BOOST_REQUIRE(first.read_line().value_or("") == "on");
    odbc_connection database{sqlite_connection_string(path("leases.db"))};
    database.execute("create trigger refuse before update of handover_request on leasehold when new.name = 'job/0'"
                     " begin select raise(fail, 'not now'); end");
    const auto failed = run_words("drain web-1 --timeout 3s");
    BOOST_TEST(failed.status.code == 75);
    BOOST_TEST(says(failed.err, "request_handover 'job/0'"), failed.err);
    BOOST_TEST(failed.err.find("request_handover 'job/0'") == failed.err.rfind("request_handover 'job/0'"), failed.err);
    BOOST_TEST(says(failed.out, "job/0"), failed.out);
    holder.wait(10s);
    auto drain = start({"drain", "web-1", "--timeout", "60s"});
    BOOST_TEST(file_gets("errors", "request_handover 'job/0'"));
    database.execute("drop trigger refuse");
    BOOST_TEST(drain.wait().success());
}

BOOST_AUTO_TEST_CASE(hold_that_failed_advises_to_open_nothing_that_was_not_seen)
{
    tool_fixture unreachable{"Driver=SQLite3;Database=/nonexistent/folder/leases.db"};
    const auto failed = unreachable.run_words("hold report --for 1h");
    BOOST_TEST(!failed.status.success());
    BOOST_TEST(!says(failed.err, "leasehold unhold"), failed.err);
}

BOOST_FIXTURE_TEST_CASE(what_can_not_be_a_hold_is_64, tool_fixture)
{
    for (const char* words : {"hold report", "hold report --for 0s", "hold --for 1h", "unhold", "drain"})
        BOOST_TEST(run_words(words).status.code == 64, words);
    const auto of_nobody = run({"drain", ""});  // as from a script with an unset $host, which reboots that host next
    BOOST_TEST(of_nobody.status.code == 64);
    BOOST_TEST(of_nobody.err == "leasehold: HOST is empty: name the host to drain\n");
    BOOST_TEST(run({"hold", "report", "--for", "1h", "--reason", std::string(161, 'x')}).status.code == 64);
    BOOST_TEST(run({"run", "job", "--owner", "held closed by me", "--", "true"}).status.code == 64);
}

BOOST_AUTO_TEST_SUITE_END()
