// SPDX-License-Identifier: BSL-1.0
// needs: server
// Many attempts in one call, and what is made of them, on real servers: how many statements they take, who wins where
// processes race, and what becomes of terms whose answer came late or was lost.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <contract/asked_once.hpp>
#include <contract/odbc_connection.hpp>
#include <support/child_process.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/tcp_gate.hpp>
#include <support/temporary_directory.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <list>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(many_attempts)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr const char* connection_variable = "LEASEHOLD_TEST_RACES_ON";
constexpr const char* folder_variable = "LEASEHOLD_TEST_RACES_IN";
constexpr const char* owner_variable = "LEASEHOLD_TEST_RACES_AS";

struct counting_postgresql {
    postgresql_server server{{"-c", "log_statement=all"}};

    std::size_t statements()
    {
        std::istringstream lines{server.log()};
        std::size_t count = 0;
        for (std::string line; std::getline(lines, line);)
            if (line.find("LOG:  execute") != std::string::npos) ++count;
        return count;
    }
};

struct counting_mariadb {
    mariadb_server server{};

    std::size_t statements()
    {
        const std::string row = server.execute_sql("show global status like 'Com_stmt_execute'");
        return std::stoul(row.substr(row.find('\t') + 1));
    }
};

using servers = boost::mpl::list<counting_postgresql, counting_mariadb>;

template <class Server>
struct scene {
    Server counting;
    database_server& server = counting.server;
    // Without those that take session locks in the background.
    lh::odbc_store store{server.connection_string(), lh::odbc_options{.call_timeout = 5s, .session_locks = false}};

    scene() { store.create_schema(); }

    // What they do once for each connection, and for each prepared statement, is not counted.
    template <class Work>
    std::size_t statements_of(Work work)
    {
        const std::size_t before = counting.statements();
        work();
        return counting.statements() - before;
    }
};

std::string through(const tcp_gate& gate, const database_server& server)
{
    std::string text = server.connection_string();
    const std::string port = "Port=" + std::to_string(server.port());
    return text.replace(text.find(port), port.size(), "Port=" + std::to_string(gate.port()));
}

std::vector<std::string> names_of(std::size_t count)
{
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back("shard " + std::to_string(i));
    return names;
}

std::vector<lh::term_request> requests_for(const std::vector<std::string>& names, std::string_view owner)
{
    std::vector<lh::term_request> wanted;
    for (const std::string& each : names) wanted.push_back({each, owner, 1min});
    return wanted;
}

void acquire(lh::odbc_store& store, const std::vector<std::string>& names, std::string_view owner, std::size_t most)
{
    const auto wanted = requests_for(names, owner);
    std::vector<std::optional<lh::acquire_result>> answers(names.size());
    std::error_code ec;
    store.acquire_many(wanted, most, answers, ec);
    BOOST_REQUIRE_MESSAGE(!ec, ec.message() << store.diagnostics().server_message);
}

void release(lh::odbc_store& store, const std::vector<std::string>& names, std::string_view owner)
{
    std::error_code ec;
    for (const lh::lease_record& each : store.list())
        if (each.owner == owner && std::ranges::find(names, each.name) != names.end())
            BOOST_REQUIRE(store.release(each.name, owner, each.token, {}, ec));
}

// The store takes its next long list for free.
void expect_free(lh::odbc_store& store, const std::vector<std::string>& names)
{
    release(store, names, "me");
    for (int round = 0; round < 2; ++round) {
        acquire(store, names, "me", names.size());
        release(store, names, "me");
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(take_few_statements, Server, servers)
{
    scene<Server> s;
    const std::vector<std::string> names = names_of(200);
    const auto wanted = requests_for(names, "me");
    std::vector<std::optional<lh::acquire_result>> answers(names.size());
    std::error_code ec;
    s.store.acquire_many(std::span{wanted}.first(1), 1, std::span{answers}.first(1), ec);  // shows what database this is
    for (int round = 0; round < 2; ++round) {
        std::ranges::fill(answers, std::nullopt);
        const std::size_t taken = s.statements_of([&] { s.store.acquire_many(wanted, names.size(), answers, ec); });
        BOOST_TEST(!ec);
        BOOST_TEST(std::ranges::count_if(answers, [](const auto& each) { return each && each->granted(); }) == 200);
        std::vector<lh::term_release> releases;
        for (std::size_t i = 0; i < names.size(); ++i) releases.push_back({names[i], "me", answers[i]->token, {}});
        std::vector<lh::batch_answer> released(names.size());
        s.store.release_many(releases, released, ec);
        // The first time the names have no rows, but for one, which is the asking owner's own.
        if (round > 0) BOOST_TEST(taken <= 2U);
    }
}

// The database's log tells it from the upsert. New names and busy ones would cost more by it.
BOOST_AUTO_TEST_CASE(take_the_statement_for_free_rows_where_most_were_free_the_last_time)
{
    scene<counting_postgresql> s;
    const std::vector<std::string> names = names_of(20);
    const auto for_free_rows = [&] {
        const std::string log = s.server.log();
        std::size_t count = 0;
        for (std::size_t at = log.find("wanted rows\" as ("); at != std::string::npos; at = log.find("wanted rows\" as (", at + 1)) ++count;
        return count;
    };
    const auto used_for = [&](std::string_view owner, std::size_t most) {
        const std::size_t before = for_free_rows();
        acquire(s.store, names, owner, most);
        return for_free_rows() - before;
    };
    BOOST_TEST(s.store.list().empty());  // shows what database this is
    BOOST_TEST(used_for("me", 20) == 0U);
    BOOST_TEST(used_for("me", 20) == 0U, "they were new");
    release(s.store, names, "me");
    BOOST_TEST(used_for("me", 20) == 0U, "they were one's own");
    release(s.store, names, "me");
    BOOST_TEST(used_for("me", 19) == 0U, "not all may be granted");
    release(s.store, names, "me");
    BOOST_TEST(used_for("me", 20) == 1U);
    BOOST_TEST(used_for("another", 20) == 1U, "they are busy, but were free");
    BOOST_TEST(used_for("another", 20) == 0U);
}

// In a list long enough for the statement that is for free rows, where the database has one.
BOOST_AUTO_TEST_CASE_TEMPLATE(of_a_long_list_find_each_row_as_it_is, Server, servers)
{
    scene<Server> s;
    const std::vector<std::string> names = names_of(40);
    std::error_code ec;
    const auto grant = [&](std::size_t i, std::string_view owner) {
        const auto said = s.store.try_acquire(names[i], owner, 1min, ec);
        BOOST_REQUIRE(said.granted());
        return said.token;
    };
    expect_free(s.store, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r"});
    for (std::size_t i = 0; i < 10; ++i) BOOST_REQUIRE(s.store.release(names[i], "another", grant(i, "another"), {}, ec));
    for (std::size_t i = 10; i < 20; ++i) grant(i, "me");
    for (std::size_t i = 20; i < 30; ++i) grant(i, "another");

    const auto wanted = requests_for(names, "me");
    std::vector<std::optional<lh::acquire_result>> answers(names.size());
    s.store.acquire_many(wanted, names.size(), answers, ec);
    BOOST_REQUIRE_MESSAGE(!ec, ec.message() << s.store.diagnostics().server_message);
    for (std::size_t i = 0; i < names.size(); ++i) {
        BOOST_TEST_CONTEXT(names[i])
        {
            BOOST_REQUIRE(answers[i].has_value());
            const bool busy = i >= 20 && i < 30;
            BOOST_TEST(answers[i]->granted() != busy);
            BOOST_TEST(answers[i]->token.value() == (i < 20 ? 2 : 1));
            BOOST_TEST((answers[i]->remaining > 50s && answers[i]->remaining <= 1min) == busy);
            const auto record = s.store.inspect(names[i], ec);
            BOOST_REQUIRE(record.has_value());
            BOOST_TEST(record->owner == (busy ? "another" : "me"));
            BOOST_TEST(record->token.value() == answers[i]->token.value());
            BOOST_TEST((record->remaining > 50s && record->remaining <= 1min));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(for_a_permit_of_which_half_are_taken_take_at_most_three_statements, Server, servers)
{
    scene<Server> s;
    lh::lease_semaphore all{s.store, "licences", 16, 1min};
    {
        std::vector<decltype(all.try_acquire())> each;
        for (int i = 0; i < 16; ++i) each.push_back(all.try_acquire());
    }
    lh::lease_semaphore theirs{s.store, "licences", 16, 1min}, ours{s.store, "licences", 16, 1min};
    std::vector<decltype(theirs.try_acquire())> half;
    for (int i = 0; i < 8; ++i) half.push_back(theirs.try_acquire());
    const std::size_t first = s.statements_of([&] { BOOST_TEST(is_held(ours.try_acquire())); });
    BOOST_TEST(first <= 3U + 2U, "with the record of the count, and a release");
    decltype(ours.try_acquire()) one, another;
    ours.try_acquire().release();
    one = ours.try_acquire();  // the one that was released last
    BOOST_TEST(s.statements_of([&] { another = ours.try_acquire(); }) <= 3U);
    BOOST_TEST(another.held());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(for_all_shares_of_64_readers_take_at_most_six_statements, Server, servers)
{
    scene<Server> s;
    lh::shared_lease catalog{s.store, "catalog", 1min};
    BOOST_TEST(is_held(catalog.try_acquire()));
    lh::shared_lease another{s.store, "catalog", 1min};
    decltype(another.try_acquire()) writer;
    BOOST_TEST(s.statements_of([&] { writer = another.try_acquire(); }) <= 6U);
    BOOST_TEST(writer.held());
}

// Not a test by itself: one of the processes of the next one. The holder of a name has a file of that name, which nobody else has.
BOOST_AUTO_TEST_CASE(as_a_process_that_races)
{
    const char* connection_string = std::getenv(connection_variable);
    if (!connection_string) return;
    const std::filesystem::path folder = std::getenv(folder_variable);
    const std::string owner = std::getenv(owner_variable);
    lh::odbc_store store{connection_string};
    std::vector<std::string> names = names_of(60);
    std::mt19937 random{std::random_device{}()};
    std::size_t grants = 0, met = 0, calls = 0;
    for (const auto until = std::chrono::steady_clock::now() + 2s; std::chrono::steady_clock::now() < until;) {
        std::ranges::shuffle(names, random);
        // All of them as often as only some, since then another statement is used.
        const std::size_t most = random() % 2 == 0 ? names.size() : random() % names.size() + 1;
        const auto wanted = requests_for(names, owner);
        std::vector<std::optional<lh::acquire_result>> answers(names.size());
        std::error_code ec;
        store.acquire_many(wanted, most, answers, ec);
        ++calls;
        BOOST_REQUIRE_MESSAGE(!ec, ec.message() << store.diagnostics().server_message);
        std::vector<lh::term_release> releases;
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (!answers[i]->granted()) continue;
            const int file = ::open((folder / names[i]).c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
            if (file < 0)
                ++met;
            else
                ::close(file);
            releases.push_back({names[i], owner, answers[i]->token, {}});
        }
        BOOST_REQUIRE(releases.size() <= most);
        grants += releases.size();
        for (const auto& each : releases) std::filesystem::remove(folder / each.name);
        std::vector<lh::batch_answer> released(releases.size());
        store.release_many(releases, released, ec);
        BOOST_REQUIRE_MESSAGE(!ec, ec.message() << store.diagnostics().server_message);
        BOOST_REQUIRE(std::ranges::count(released, lh::batch_answer::yes) == static_cast<std::ptrdiff_t>(releases.size()));
    }
    BOOST_TEST(met == 0U);
    BOOST_TEST(grants > 0U);
    std::cout << owner << ": " << grants << " grants in " << calls << " calls\n";
}

BOOST_AUTO_TEST_CASE_TEMPLATE(of_processes_that_race_never_grant_a_name_twice_nor_fail, Server, servers)
{
    scene<Server> s;
    const temporary_directory folder;
    std::list<child_process> processes;
    for (const char* owner : {"one", "two", "three"})
        processes.emplace_back(std::vector<std::string>{"/proc/self/exe", "--run_test=many_attempts/as_a_process_that_races"},
                               process_options{.environment = {{connection_variable, s.server.connection_string()},
                                                               {folder_variable, folder.path().string()},
                                                               {owner_variable, owner}}});
    for (child_process& each : processes) BOOST_TEST(each.wait().success());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(whose_answer_comes_too_late_leave_nothing_that_nobody_holds, Server, servers)
{
    scene<Server> s;
    tcp_gate gate{s.server.port()};
    lh::odbc_store store{through(gate, s.server), lh::odbc_options{.call_timeout = 1s}};
    const std::vector<std::string> names = names_of(20);
    const auto wanted = requests_for(names, "me");
    std::vector<std::optional<lh::acquire_result>> answers(names.size());
    std::error_code ec;
    store.acquire_many(std::span{wanted}.first(1), 1, std::span{answers}.first(1), ec);
    BOOST_TEST(store.release(names[0], "me", answers[0]->token, {}, ec));
    for (const std::size_t most : {15U, 20U}) {
        if (most == names.size()) expect_free(store, names);
        gate.stall(direction::to_client);
        std::ranges::fill(answers, std::nullopt);
        store.acquire_many(wanted, most, answers, ec);
        BOOST_TEST(ec == lh::errc::store_timeout);
        BOOST_TEST(std::ranges::none_of(answers, [](const auto& each) { return each.has_value(); }));
        gate.pass();
        BOOST_TEST(eventually([&] { return store.hanging_calls() == 0; }, 30s));
        BOOST_TEST(eventually([&] { return s.store.list().empty(); }, 30s));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(whose_answer_was_lost_are_granted_no_more_than_asked_for, Server, servers)
{
    scene<Server> s;
    tcp_gate gate{s.server.port()};
    lh::odbc_store store{through(gate, s.server), lh::odbc_options{.call_timeout = 10s, .session_locks = false}};
    const std::vector<std::string> names = names_of(20);
    const auto wanted = requests_for(names, "me");
    std::vector<std::optional<lh::acquire_result>> answers(names.size());
    std::error_code ec;
    store.acquire_many(std::span{wanted}.first(1), 1, std::span{answers}.first(1), ec);
    BOOST_TEST(store.release(names[0], "me", answers[0]->token, {}, ec));
    for (const std::size_t most : {5U, 20U}) {
        if (most == names.size()) expect_free(store, names);
        gate.stall(direction::to_client);
        std::ranges::fill(answers, std::nullopt);
        {
            const std::jthread breaks{[&] {
                // By then PostgreSQL has granted some. MariaDB has shown what is there, and is asked for nothing more.
                static_cast<void>(eventually([&] { return !s.store.list().empty(); }, 1s));
                gate.cut();
                gate.pass();
            }};
            store.acquire_many(wanted, most, answers, ec);
        }
        BOOST_TEST(!ec);
        BOOST_TEST(std::ranges::count_if(answers, [](const auto& each) { return each && each->granted(); }) == most);
        const auto held = s.store.list();
        BOOST_TEST(held.size() == most);
        for (const auto& each : held) {
            const auto at = static_cast<std::size_t>(std::ranges::find(names, each.name) - names.begin());
            BOOST_TEST(answers[at]->token == each.token);
        }
    }
}

// Locked as a fence does. The others don't wait for them; to wait for each of several as for one would take all of the call's time.
BOOST_AUTO_TEST_CASE_TEMPLATE(are_granted_but_for_those_whose_rows_are_locked, Server, servers)
{
    for (const std::vector<std::size_t>& locked : {std::vector<std::size_t>{7}, {0, 5, 6, 7, 13, 19}}) {
        scene<Server> s;
        const std::vector<std::string> names = names_of(20);
        const auto wanted = requests_for(names, "me");
        expect_free(s.store, names);
        odbc_connection locks{s.server.connection_string()};
        locks.begin();
        for (const std::size_t i : locked) locks.execute("update leasehold set token = token where name = '" + names[i] + "'");
        std::vector<std::optional<lh::acquire_result>> answers(names.size());
        std::error_code ec;
        s.store.acquire_many(wanted, names.size(), answers, ec);
        BOOST_TEST(!ec, ec.message() << s.store.diagnostics().advice << s.store.diagnostics().server_message);
        BOOST_TEST(s.store.abandoned_calls() == 0U);
        for (std::size_t i = 0; i < names.size(); ++i) {
            BOOST_REQUIRE_MESSAGE(answers[i].has_value(), names[i]);
            BOOST_TEST(answers[i]->granted() == (std::ranges::find(locked, i) == locked.end()), names[i]);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
