// SPDX-License-Identifier: BSL-1.0
// The tool on PostgreSQL and MariaDB.
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>

using namespace leasehold_test;
using servers = boost::mpl::list<postgresql_server, mariadb_server>;

namespace {

/// One for all cases of a server: they leave it as they have found it, but for the leases' table.
template <class Server>
struct scene {
    static Server& server()
    {
        static Server only;
        return only;
    }

    tool_fixture tool{server().connection_string()};

    scene() { BOOST_REQUIRE(tool.run({"init"}).status.success()); }
};

using clock = std::chrono::steady_clock;

void end(child_process& process)
{
    process.signal(SIGTERM);
    process.wait();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_on_servers)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_missing_table_is_told_with_what_makes_it, Server, servers)
{
    tool_fixture tool{scene<Server>::server().connection_string()};
    const auto missing = tool.run({"run", "job", "--table", "not_there", "--", "true"});
    BOOST_TEST(missing.status.code == 69);
    BOOST_TEST(missing.err.find("create it with 'leasehold init'") != std::string::npos);
    BOOST_TEST(tool.run({"init", "--print", "--table", "not_there"}).out.find("create table if not exists") == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(three_hosts_with_one_cron_line_run_it_once, Server, servers)
{
    scene<Server> s;
    std::vector<child_process> hosts;
    for (const char* host : {"host-1", "host-2", "host-3"})
        hosts.push_back(s.tool.start({"run", "report", "--nowait", "--min-hold", "1m", "--owner", host, "--", "sh", "-c",
                                      "echo ran >> " + s.tool.path("report")}));
    std::vector<int> ended;
    for (auto& host : hosts) ended.push_back(host.wait().code);
    BOOST_TEST(s.tool.file("report") == "ran\n");
    BOOST_TEST(std::count(ended.begin(), ended.end(), 0) == 1);
    BOOST_TEST(std::count(ended.begin(), ended.end(), 75) == 2);
    BOOST_TEST(s.tool.errors() == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(five_hosts_whose_clocks_differ_by_minutes_agree_on_the_fire, Server, servers)
{
    scene<Server> s;
    const auto fire = std::chrono::ceil<std::chrono::seconds>(std::chrono::system_clock::now()) + 3s;
    const auto of_day = (fire - std::chrono::floor<std::chrono::days>(fire)) / 1s;
    const std::string at = std::to_string(of_day) + "s";
    std::vector<child_process> hosts;
    for (const char* clock : {"-180", "-60", "+0", "+90", "+180"})
        hosts.push_back(s.tool.start({"run", "nightly", "--once-per", "24h", "--at", at, "--", "sh", "-c",
                                      "echo $LEASEHOLD_FIRE >> " + s.tool.path("nights")},
                                     faketime_environment(clock)));
    BOOST_REQUIRE(s.tool.file_gets("nights", "Z"));
    BOOST_TEST((std::chrono::system_clock::now() >= fire));
    for (auto& host : hosts) BOOST_TEST(host.wait().success());
    const std::string nights = s.tool.file("nights");
    BOOST_TEST(std::count(nights.begin(), nights.end(), '\n') == 1, nights);
    BOOST_TEST(s.tool.errors() == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(waiter_is_next_and_an_election_continues_when_its_leader_is_killed, Server, servers)
{
    scene<Server> s;
    auto first = s.tool.start({"elect", "job", "--ttl", "6s", "--", "sh", "-c", "echo $$; exec sleep 60"});
    const pid_t child = std::stoi(first.read_line().value_or("-1"));
    auto second =
        s.tool.start({"elect", "job", "--ttl", "6s", "--", "sh", "-c",
                      "kill -0 " + std::to_string(child) + " 2>/dev/null && echo overlap || echo alone; exec sleep 60"});
    first.kill();
    BOOST_TEST(second.read_line(60s).value_or("") == "alone");
    auto third = s.tool.start({"run", "job", "--", "echo", "mine"});
    end(second);
    BOOST_TEST(third.read_line().value_or("") == "mine");
    BOOST_TEST(third.wait().success());
}

// Both drivers block for ever in a call to a stopped server.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_command_is_killed_within_the_ttl_while_the_server_is_frozen, Server, servers)
{
    scene<Server> s;
    const auto begun = clock::now();
    auto polite = s.tool.start({"run", "polite", "--ttl", "6s", "--", "sh", "-c", "echo $$; exec sleep 60"});
    auto stubborn = s.tool.start(
        {"run", "stubborn", "--ttl", "6s", "--", "sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.05; done"});
    const pid_t polite_child = std::stoi(polite.read_line().value_or("-1"));
    const pid_t stubborn_child = std::stoi(stubborn.read_line().value_or("-1"));
    BOOST_REQUIRE(alive(polite_child));
    // After a renewal, so that there is one that hangs.
    BOOST_TEST(!eventually([&] { return !alive(polite_child) || !alive(stubborn_child); }, begun + 3600ms - clock::now()));
    s.server().freeze();
    const auto frozen = clock::now();
    const bool both_gone = eventually([&] { return !alive(polite_child) && !alive(stubborn_child); }, 10s);
    const auto took = clock::now() - frozen;
    s.server().thaw();
    BOOST_TEST(both_gone);
    BOOST_TEST(took < 6s);  // the last renewal before the freeze is at most that old when its term ends
    BOOST_TEST(polite.wait().code == 76);
    BOOST_TEST(stubborn.wait().code == 76);
    BOOST_TEST(s.tool.errors().find("the lease 'polite' is lost: it could not be renewed in time") != std::string::npos);
    BOOST_TEST(s.tool.errors().find("the lease 'stubborn' is lost") != std::string::npos);
    BOOST_TEST(s.tool.errors().find("the command did not end in time, and was killed") != std::string::npos);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(doctor_names_the_database_and_how_waiting_works, Server, servers)
{
    scene<Server> s;
    const auto result = s.tool.run({"doctor"});
    // The servers of the tests are fast rather than safe, which is what it finds.
    BOOST_TEST(result.status.code == 1, result.out);
    const bool is_postgresql = std::is_same_v<Server, postgresql_server>;
    BOOST_TEST(result.out.find(is_postgresql ? "ok    PostgreSQL " : "ok    MariaDB ") != std::string::npos, result.out);
    BOOST_TEST(result.out.find("a release wakes the waiters") != std::string::npos, result.out);
    BOOST_TEST(result.out.find("the database's clock ") != std::string::npos, result.out);
    const std::size_t mend = result.out.find("mend  ");
    BOOST_TEST(result.out.find(is_postgresql ? "mend  fsync is off" : "mend  innodb_flush_log_at_trx_commit is 0") == mend,
               result.out);
    BOOST_TEST(result.out.find("mend  ", mend + 1) == std::string::npos, result.out);
    BOOST_TEST(result.out.find(Server::password) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(doctor_says_so_where_a_fail_over_can_lose_a_grant)
{
    postgresql_server primary;
    tool_fixture tool{primary.connection_string()};
    BOOST_REQUIRE(tool.run({"init"}).status.success());
    const auto says = [&tool](const std::string& words) { return tool.run({"doctor"}).out.find("mend  " + words) != std::string::npos; };
    BOOST_TEST(!says("standbys follow"));
    postgresql_server standby{postgresql_server::standby_of{primary}};
    BOOST_TEST(eventually([&] { return says("standbys follow this server (1), but none is synchronous"); }));
    primary.commit_also_on(standby);
    BOOST_TEST(!says("standbys follow"));
    BOOST_TEST(!says("synchronous_commit"));
    for (const std::string setting : {"off", "local"}) {
        primary.execute_sql("alter role leasehold set synchronous_commit = " + setting);
        BOOST_TEST(says("synchronous_commit is " + setting + " for this user"));
    }
}

// A trigger is the shortest way to a table that doesn't keep what it is given.
BOOST_AUTO_TEST_CASE(doctor_says_so_where_leases_do_not_exclude)
{
    scene<postgresql_server> s;
    BOOST_REQUIRE(s.tool.run({"init", "--table", "forgetful"}).status.success());
    s.server().execute_sql(
        "create function ends_now() returns trigger language plpgsql as"
        " $$ begin new.expires_at := clock_timestamp(); return new; end $$;"
        " create trigger ends_now before insert or update on forgetful for each row execute function ends_now()");
    const auto result = s.tool.run({"doctor", "--table", "forgetful"});
    BOOST_TEST(result.status.code == 69, result.out);
    for (const char* words : {"mend  a second owner was granted the lease while the first one held it",
                              "mend  a lease that is held can't be renewed", "mend  a lease that is held can't be released",
                              "does a trigger on the table"})
        BOOST_TEST(result.out.find(words) != std::string::npos, "missing: " << words << " in " << result.out);
    BOOST_TEST(result.out.find("ok    a lease can be") == std::string::npos, result.out);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(no_message_and_no_list_of_processes_has_the_password, Server, servers)
{
    scene<Server> s;
    const std::string good = s.server().connection_string();
    const std::string secret = "Tr0ub4dor&3";
    const std::string bad = s.server().connection_string(Server::user, secret, Server::database);
    for (const char* words : {"list", "doctor", "init"}) {
        const auto refused = s.tool.run({words, "--store", bad});
        BOOST_TEST(refused.status.code == 69);
        BOOST_TEST(refused.err.find("refuses the log-in") != std::string::npos, refused.err);
        BOOST_TEST((refused.out + refused.err).find(secret) == std::string::npos);
    }
    const auto unclear = s.tool.run({"list", "--frob", "--store", bad});
    BOOST_TEST(unclear.status.code == 64);
    BOOST_TEST(unclear.err.find(secret) == std::string::npos);

    auto holder = s.tool.start({"run", "job", "--store", good, "--", "sh", "-c", "echo on; exec sleep 60"});
    BOOST_REQUIRE(holder.read_line().value_or("") == "on");
    for (const pid_t process : process_tree(holder.pid())) {
        std::string arguments;
        // A process that is just becoming another program has none.
        BOOST_TEST(eventually([&] {
            arguments = read_file("/proc/" + std::to_string(process) + "/cmdline");
            return !arguments.empty();
        }));
        BOOST_TEST(arguments.find(Server::password) == std::string::npos);
    }
    end(holder);
}

BOOST_AUTO_TEST_SUITE_END()
