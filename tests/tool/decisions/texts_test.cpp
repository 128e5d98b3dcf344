// SPDX-License-Identifier: BSL-1.0
#include <checkup.hpp>
#include <failure.hpp>
#include <json.hpp>
#include <records.hpp>
#include <store_choice.hpp>
#include <support/printing.hpp>
#include <wait_line.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

using namespace tool;
using namespace std::chrono_literals;

namespace {

std::string all(const std::vector<finding>& findings, finding::kind how)
{
    std::string text;
    for (const auto& each : findings)
        if (each.how == how) text += each.text + "\n";
    return text;
}

checkup of(const std::string& database)
{
    checkup found;
    found.facts.database = database;
    found.round_trip = 1ms;
    found.woken = true;
    return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_texts)

BOOST_AUTO_TEST_CASE(texts_are_fitted_by_characters)
{
    BOOST_TEST(fitted("grün", 6) == "grün  ");
    BOOST_TEST(fitted("grün", 4) == "grün");
    BOOST_TEST(fitted("grüne", 4) == "grü…");
    BOOST_TEST(fitted("x", 0) == "");
}

BOOST_AUTO_TEST_CASE(names_are_cut_in_the_middle)
{
    BOOST_TEST(fitted_name("shard/1", 9) == "shard/1  ");
    BOOST_TEST(fitted_name("nightly-shard/grün", 9) == "nigh…grün");
    BOOST_TEST(fitted_name("nightly-shard/12", 8) == "nigh…/12");
    BOOST_TEST(fitted_name("shard", 3) == "s…d");
    BOOST_TEST(fitted_name("shard", 2) == "s…");
    BOOST_TEST(fitted_name("shard", 0) == "");
}

BOOST_AUTO_TEST_CASE(a_wait_says_for_whom_and_how_long)
{
    const leasehold::lease_record record{"job", "web-1/0123456789abcdef0123456789abcdef", leasehold::fencing_token{3}, 20s};
    BOOST_TEST(describe_wait({.name = "job"}, record, 11100ms, 61900ms) ==
               "waiting 1m1s for 'job': held by web-1/01234567… for 12s more");
    BOOST_TEST(describe_wait({.name = "job", .at_most = 10s}, record, -1s, 3s) ==
               "waiting 3s of 10s for 'job': held by web-1/01234567… for 0s more");
    BOOST_TEST(describe_wait({.name = "job"}, leasehold::lease_record{"job", "", leasehold::fencing_token{3}, 20s}, 90s,
                             1s) == "waiting 1s for 'job': kept closed for 1m30s more");
    BOOST_TEST(describe_wait({.name = "job"}, {}, 0s, 2s) == "waiting 2s for 'job'");
    BOOST_TEST(describe_wait({.name = "job", .held = true}, {}, 0s, 2s) == "waiting 2s for somebody to hold 'job'");
}

BOOST_AUTO_TEST_CASE(an_owner_s_random_part_is_cut)
{
    BOOST_TEST(short_owner("web-1/0123456789abcdef0123456789abcdef") == "web-1/01234567…");
    BOOST_TEST(short_owner("0123456789abcdef0123456789abcdef") == "01234567…");
    BOOST_TEST(short_owner("web-1/0123456789abcdef0123456789abcdeg") == "web-1/0123456789abcdef0123456789abcdeg");
    BOOST_TEST(short_owner("pod-1") == "pod-1");
    BOOST_TEST(short_owner("") == "");
}

BOOST_AUTO_TEST_CASE(json_escapes_what_it_must)
{
    const leasehold::lease_record record{"a\"b\\c\n", "grün", leasehold::fencing_token{3}, 1500ms};
    BOOST_TEST(to_json(record) == R"({"name": "a\"b\\c\u000a", "owner": "grün", "token": 3, "remaining_ms": 1500})");
    BOOST_TEST(json_string("\xC2\x9B\x7f") == R"("\u009b\u007f")");
    BOOST_TEST(json_string("\xE2\x80\xAE"
                           "gpj.exe") == R"("\u202egpj.exe")");
    BOOST_TEST(json_string("\xF3\xA0\x81\x81") == R"("\udb40\udc41")");  // a tag: invisible, and not in the first plane
    BOOST_TEST(json_string("\xff"
                           "a\xC3") == R"("\ufffda\ufffd")");
}

BOOST_AUTO_TEST_CASE(only_what_is_known_to_be_no_secret_is_shown_of_a_connection_string)
{
    BOOST_TEST(shown("Driver={PostgreSQL Unicode};Server=db;UID=me;PWD=secret;SSLKEY=x") ==
               "Driver={PostgreSQL Unicode};Server=db;UID=me;PWD=***;SSLKEY=***");
    BOOST_TEST(shown("pwd={se;cr}}et};DSN=ops") == "pwd=***;DSN=ops");
    BOOST_TEST(shown("PWD={unclosed;Server=x") == "PWD=***");
    BOOST_TEST(shown("DSN=ops") == "DSN=ops");
    BOOST_TEST(shown("Server=db;Uid=lease Pwd=secret") == "Server=db;Uid=***");  // a semicolon was forgotten
    BOOST_TEST(shown("Driver={x;PWD=secret;Server=db") == "Driver=***");                // a brace was
    BOOST_TEST(shown("PWD=se;cret;UID=me") == "PWD=***;***;UID=me");                    // braces were
}

BOOST_AUTO_TEST_CASE(a_file_with_a_connection_string_may_have_comments)
{
    BOOST_TEST(connection_string_in("# ops\n\n  DSN=ops;PWD=x \n# end\n") == "DSN=ops;PWD=x");
    BOOST_TEST(connection_string_in("DSN=ops") == "DSN=ops");
    BOOST_TEST(connection_string_in("# nothing\n") == "");
    BOOST_TEST(connection_string_in("\xEF\xBB\xBF# from an editor\r\nDSN=ops\r\n") == "DSN=ops");
    const auto names_line = [](const failure& e) { return e.status() == 64 && std::string{e.what()}.starts_with("line 2 has a NUL"); };
    BOOST_CHECK_EXCEPTION(static_cast<void>(connection_string_in({"# ops\nDSN=ops\0;PWD=x", 21})), failure, names_line);
}

BOOST_AUTO_TEST_CASE(a_good_database_has_nothing_to_mend)
{
    checkup found = of("PostgreSQL");
    found.clock_ahead = 3ms;
    found.settings = {{"fsync", "on"}};
    BOOST_TEST(all(judge(found), finding::kind::warning) == "");
    BOOST_TEST(all(judge(found), finding::kind::note) == "");
    BOOST_TEST(all(judge(found), finding::kind::good).find("a release wakes the waiters") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(slow_and_unsafe_settings_are_warned_of)
{
    checkup slow = of("PostgreSQL");
    slow.round_trip = 400ms;
    slow.woken = false;
    slow.settings = {{"fsync", "off"}};
    slow.clock_ahead = -5s;
    const auto says = judge(slow);
    for (const char* words : {"400 ms", "fsync is off"})
        BOOST_TEST(all(says, finding::kind::warning).find(words) != std::string::npos, words);
    BOOST_TEST(all(says, finding::kind::note).find("have to poll") != std::string::npos);
    BOOST_TEST(all(says, finding::kind::note).find("behind this host's, which does not affect leases") != std::string::npos);

    checkup pooled = of("PostgreSQL");
    pooled.woken = false;
    pooled.pooled = true;
    BOOST_TEST(all(judge(pooled), finding::kind::warning) == "");
    BOOST_TEST(all(judge(pooled), finding::kind::note).find("a pooler gives each transaction another session") != std::string::npos);

    checkup galera = of("MariaDB");
    galera.settings = {{"innodb_flush_log_at_trx_commit", "2"}, {"binlog_format", "STATEMENT"}, {"wsrep_on", "1"}};
    BOOST_TEST(std::ranges::count(judge(galera), finding::kind::warning, &finding::how) == 2);
    BOOST_TEST(all(judge(galera), finding::kind::note).find("Galera") != std::string::npos);
    galera.settings = {{"wsrep_on", "1"},
                       {"wsrep_provider_options", "pc.ignore_quorum = false; pc.ignore_sb = false; pc.linger = PT20S; "}};
    BOOST_TEST(all(judge(galera), finding::kind::warning) == "");
    galera.settings["wsrep_provider_options"] = "pc.ignore_quorum = true; pc.ignore_sb = true; pc.linger = PT20S; ";
    BOOST_TEST(std::ranges::count(judge(galera), finding::kind::warning, &finding::how) == 2);
    BOOST_TEST(all(judge(galera), finding::kind::warning).find("pc.ignore_quorum is true") != std::string::npos);

    checkup sqlite = of("SQLite");
    sqlite.settings = {{"journal_mode", "delete"}};
    BOOST_TEST(all(judge(sqlite), finding::kind::warning).find("not WAL") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
