// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/fence/fence_flow.hpp>
#include <leasehold/odbc/dialect/generic.hpp>
#include <leasehold/odbc/dialect/mariadb.hpp>
#include <leasehold/odbc/dialect/postgresql.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>

#include <unit/odbc/detail/flow/scripted_database.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace lh = leasehold;
using namespace lh::odbc::detail;

namespace leasehold::odbc::detail {

std::ostream& boost_test_print_type(std::ostream& out, fence_answer answer)
{
    constexpr std::array words{"over", "current", "unsettled", "unseen"};
    return out << words.at(static_cast<std::size_t>(answer));
}

}  // namespace leasehold::odbc::detail

BOOST_AUTO_TEST_SUITE(fence_test)

namespace {

struct reply {
    fault failed = fault::none;
    bool result = false;
    bool row = false;
    int number = 0;
    int rows = 0;
};
const reply nothing_found{.result = true};
const reply a_row{.result = true, .row = true};
reply number(int n) { return {.result = true, .row = true, .number = n}; }
reply counted(int n) { return {.rows = n}; }

// A connection whose statements answer what they are told to.
struct scripted_connection {
    std::map<std::string, reply> replies;
    std::vector<std::string> ran{};
    reply last{};
    const char* advice = nullptr;
    bool autocommit = true;  // after the first statement

    fault read_autocommit(bool& on) const
    {
        on = autocommit || ran.empty();
        return fault::none;
    }
    fault run(const compiled_statement& statement, bool = false)
    {
        ran.push_back(statement.sql);
        last = replies.at(statement.sql);
        return last.failed;
    }
    bool has_result() const { return last.result; }
    bool found() const { return last.row; }
    int number() const { return last.number; }
    int rows() const { return last.rows; }
    fault fail(fault kind, const char* words)
    {
        advice = words;
        return kind;
    }
};

struct sql : compiled_fence {
    explicit sql(const std::string& at_first = {})
    {
        if (at_first.find("possible") != std::string::npos) possible.sql = "possible";
        if (at_first.find("cluster") != std::string::npos) cluster.sql = "cluster";
        lock.sql = "lock";
        write.sql = "write";
        if (at_first.find("back") != std::string::npos) write_back.sql = "back";
        if (at_first.find("transaction") != std::string::npos) transaction.sql = "transaction";
    }
};

fence_answer answer_to(const reply& lock)
{
    scripted_connection on{{{"lock", lock}}};
    fence_answer answer = fence_answer::current;
    BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, sql{})) == fault::none);
    return answer;
}

}  // namespace

BOOST_AUTO_TEST_CASE(update_that_counts_the_row_is_a_current_term)
{
    BOOST_TEST(answer_to(counted(1)) == fence_answer::current);
    BOOST_TEST(answer_to(counted(0)) == fence_answer::over);
    BOOST_TEST(answer_to(counted(-1)) == fence_answer::over);
}

BOOST_AUTO_TEST_CASE(select_says_unseen_over_current_or_unsettled)
{
    BOOST_TEST(answer_to(nothing_found) == fence_answer::unseen);
    BOOST_TEST(answer_to(number(0)) == fence_answer::over);
    BOOST_TEST(answer_to(number(1)) == fence_answer::current);
    BOOST_TEST(answer_to(number(2)) == fence_answer::unsettled);
}

BOOST_AUTO_TEST_CASE(failure_is_not_an_answer)
{
    scripted_connection on{{{"lock", {.failed = fault::conflict, .result = true, .row = true, .number = 1}}}};
    fence_answer answer = fence_answer::current;
    BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, sql{})) == fault::conflict);
    BOOST_TEST(answer == fence_answer::over);
}

BOOST_AUTO_TEST_CASE(table_and_cluster_are_asked_about_once)
{
    const sql of{"cluster, possible"};
    scripted_connection on{{{"cluster", nothing_found}, {"possible", a_row}, {"lock", counted(1)}}};
    fence_answer answer{};
    for (int i = 0; i < 2; ++i) BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, of)) == fault::none);
    const std::vector<std::string> expected{"cluster", "possible", "lock", "lock"};
    BOOST_TEST(on.ran == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(snapshot_from_before_the_term_is_a_conflict)
{
    scripted_connection on{{{"lock", number(3)}}};
    fence_answer answer = fence_answer::current;
    BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, sql{})) == fault::conflict);
    BOOST_TEST(answer == fence_answer::over);
    BOOST_TEST(std::string{on.advice}.find("snapshot") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(on_a_cluster_the_row_is_written_and_written_back)
{
    const sql of{"cluster, possible, back"};
    scripted_connection on{{{"cluster", a_row}, {"lock", number(2)}, {"write", counted(1)}, {"back", counted(1)}}};
    fence_answer answer{};
    BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, of)) == fault::none);
    BOOST_TEST(answer == fence_answer::current);
    const std::vector<std::string> expected{"cluster", "lock", "write", "back"};
    BOOST_TEST(on.ran == expected, boost::test_tools::per_element());

    on.replies["write"] = counted(0);
    BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, of)) == fault::none);
    BOOST_TEST(answer == fence_answer::over);
    BOOST_TEST(on.ran.back() == "write");

    on.replies["write"] = counted(1);
    on.replies["back"] = {.failed = fault::conflict};
    BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, of)) == fault::conflict);
    BOOST_TEST(answer == fence_answer::over);

    on.replies["lock"] = nothing_found;
    on.ran.clear();
    BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, of)) == fault::none);
    BOOST_TEST(answer == fence_answer::unseen);
    BOOST_TEST(on.ran == std::vector<std::string>{"lock"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(driver_that_tells_the_server_of_the_transaction_late_is_asked_by_a_statement)
{
    const sql of{"transaction"};
    scripted_connection in_one{{{"transaction", a_row}}};
    bool autocommit = true;
    BOOST_TEST(look_for_transaction(in_one, of, autocommit) == fault::none);
    BOOST_TEST(!autocommit);
    BOOST_TEST(look_for_transaction(in_one, of, autocommit) == fault::none);
    BOOST_TEST(in_one.ran.size() == 1U);  // only where the driver says autocommit

    scripted_connection in_none{{{"transaction", nothing_found}}};
    autocommit = true;
    BOOST_TEST(look_for_transaction(in_none, of, autocommit) == fault::none);
    BOOST_TEST(autocommit);
    BOOST_TEST(look_for_transaction(in_none, sql{}, autocommit) == fault::none);
    BOOST_TEST(autocommit);
    BOOST_TEST(in_none.ran.size() == 1U);

    // A database that nobody knows.
    sql unknown;
    unknown.written.sql = "written";
    scripted_connection late{.replies = {{"written", nothing_found}}, .autocommit = false};
    BOOST_TEST(look_for_transaction(late, unknown, autocommit) == fault::none);
    BOOST_TEST(!autocommit);
    autocommit = true;
    scripted_connection never{.replies = {{"written", nothing_found}}};
    BOOST_TEST(look_for_transaction(never, unknown, autocommit) == fault::none);
    BOOST_TEST(autocommit);
}

BOOST_AUTO_TEST_CASE(clusters_of_mariadb_and_mysql_are_told_by_either_variable)
{
    const std::string question = lh::dialect::mariadb::describe({}).fence.cluster;
    for (const char* variable : {"'wsrep_on' and value = 'ON'", "'group_replication_group_name' and value <> ''"})
        BOOST_TEST(question.find(variable) != std::string::npos, question);
}

BOOST_AUTO_TEST_CASE(table_on_which_nothing_would_wait_is_refused_until_it_has_its_index)
{
    const sql of{"possible"};
    scripted_connection on{{{"possible", nothing_found}, {"lock", counted(1)}}};
    fence_answer answer{};
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, of)) == fault::failure);
        BOOST_TEST(answer == fence_answer::over);
        BOOST_TEST(std::string{on.advice}.find("index") != std::string::npos);
    }
    on.replies["possible"] = a_row;
    BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, of)) == fault::none);
    BOOST_TEST(answer == fence_answer::current);
}

BOOST_AUTO_TEST_CASE(failed_question_is_asked_again)
{
    const sql of{"cluster"};
    scripted_connection on{{{"cluster", {.failed = fault::connection_lost}}, {"lock", counted(1)}}};
    fence_answer answer{};
    BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, of)) == fault::connection_lost);
    on.replies["cluster"] = nothing_found;
    BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, of)) == fault::none);
    BOOST_TEST(answer == fence_answer::current);
}

BOOST_AUTO_TEST_CASE(dialect_without_a_fence_is_named)
{
    sql of;
    of.lock.sql.clear();
    scripted_connection on{{}};
    fence_answer answer{};
    BOOST_TEST(leasehold_test::came_to(answer, fence_flow(on, of)) == fault::failure);
    BOOST_TEST(on.advice != nullptr);
}

BOOST_AUTO_TEST_CASE(every_dialects_fence_names_the_whole_term)
{
    const lh::odbc_options options{.table = "own.leases",
                                   .columns = {.name = "n", .owner = "o", .token = "t", .expires_at = "e"}};
    const lh::dialect::server_info at{
        .dbms_name = {}, .dbms_version = {}, .lock_timeout = {}, .call_timeout = {}};
    for (const auto& described : {lh::dialect::postgresql::describe(at), lh::dialect::mariadb::describe(at),
                                  lh::dialect::sqlite::describe(at), lh::dialect::generic::describe(at)}) {
        const statement_catalog compiled{described, options};
        for (const compiled_statement* each : {&compiled.fence().lock, &compiled.fence().write}) {
            if (each->sql.empty()) continue;
            BOOST_TEST(each->sql.find_first_of("{}:") == std::string::npos, each->sql);
            BOOST_TEST((std::count(each->parameters.begin(), each->parameters.end(), parameter::name) >= 1), each->sql);
            BOOST_TEST((std::count(each->parameters.begin(), each->parameters.end(), parameter::token) >= 1), each->sql);
        }
        BOOST_TEST(!compiled.fence().lock.sql.empty());
    }
}

BOOST_AUTO_TEST_CASE(checkpoint_that_is_not_counted_is_looked_for)
{
    sql of;
    of.save_checkpoint.sql = "save";
    of.saved_checkpoint.sql = "saved";
    scripted_connection counts{{{"save", counted(1)}}};
    BOOST_TEST((save_checkpoint_flow(counts, of, false) == fault::none));
    BOOST_TEST((counts.ran == std::vector<std::string>{"save"}));
    scripted_connection there{{{"save", counted(0)}, {"saved", a_row}}};
    BOOST_TEST((save_checkpoint_flow(there, of, false) == fault::none));
    scripted_connection undone{{{"save", counted(-1)}, {"saved", nothing_found}}};
    BOOST_TEST((save_checkpoint_flow(undone, of, false) == fault::failure));
    BOOST_TEST(undone.advice == advice::row_not_kept);
    scripted_connection conflicts{{{"save", {.failed = fault::conflict}}}};
    BOOST_TEST((save_checkpoint_flow(conflicts, of, false) == fault::conflict));
}

BOOST_AUTO_TEST_SUITE_END()
