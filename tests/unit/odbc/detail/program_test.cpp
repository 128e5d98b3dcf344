// SPDX-License-Identifier: BSL-1.0
// From a dialect's SQL to what ODBC prepares.
#include <leasehold/odbc/detail/program.hpp>
#include <leasehold/odbc/dialect/detected.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lh = leasehold;
using namespace lh::odbc::detail;
using namespace std::chrono_literals;

namespace {

lh::dialect::description plain()
{
    lh::dialect::description d{};
    d.name = "plain";
    d.quote = '`';
    return d;
}

lh::dialect::circumstances connected_to(std::string_view dbms)
{
    return {.dbms_name = dbms, .dbms_version = "15", .now = "CURRENT_TIMESTAMP", .lock_timeout = 1s, .call_timeout = 5s};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(program_test)

BOOST_AUTO_TEST_CASE(names_are_quoted_and_parameters_become_question_marks_in_their_order)
{
    auto d = plain();
    d.renew = "update {table} set {expires_at} = :us where {name} = :name and {token} = :token and {owner} = :owner";
    lh::odbc_options options;
    options.table = "jobs.leases";
    options.columns.owner = "locked_by";
    const program compiled{d, options};
    const compiled_statement& renew = compiled[statement::renew];
    BOOST_TEST(renew.sql ==
               "update `jobs`.`leases` set `expires_at` = ? where `name` = ? and `token` = ? and `locked_by` = ?");
    const std::vector expected{parameter::us, parameter::name, parameter::token, parameter::owner};
    BOOST_TEST((renew.parameters == expected));
}

BOOST_AUTO_TEST_CASE(pieces_are_put_in_and_may_name_those_after_them)
{
    auto d = plain();
    d.pieces = {{"{mine}", "{owner} = :owner and {live}"}, {"{live}", "{expires_at} > {now}"}, {"{now}", "now()"}};
    d.read = "select {live} from {table} where {mine}";
    const program compiled{d, {}};
    BOOST_TEST(compiled[statement::read].sql ==
               "select `expires_at` > now() from `leasehold` where `owner` = ? and `expires_at` > now()");
    BOOST_TEST((compiled[statement::read].parameters == std::vector{parameter::owner}));
}

BOOST_AUTO_TEST_CASE(parameters_whose_names_begin_alike_are_told_apart)
{
    auto d = plain();
    d.locks.lock = "select get_lock(:lock_name), :lock_number, :released, :upper, :expiry";
    const program compiled{d, {}};
    const std::vector expected{parameter::lock_name, parameter::lock_number, parameter::released, parameter::upper,
                               parameter::expiry};
    BOOST_TEST((compiled[statement::lock].parameters == expected));
    BOOST_TEST(compiled[statement::lock].sql == "select get_lock(?), ?, ?, ?, ?");
}

BOOST_AUTO_TEST_CASE(statements_a_dialect_has_not_got_are_empty)
{
    const program compiled{plain(), {}};
    BOOST_TEST(compiled[statement::locking_grant].sql.empty());
    BOOST_TEST(compiled.schema().empty());
}

// A marker that nothing replaces would be sent to the database.
BOOST_AUTO_TEST_CASE(dialects_that_ship_leave_no_marker)
{
    for (const char* dbms : {"PostgreSQL", "MariaDB", "MySQL", "SQLite", "Some Other"}) {
        const program compiled{lh::dialect::detected::describe(connected_to(dbms)), {}};
        for (std::size_t i = 0; i < statement_count; ++i) {
            const compiled_statement& each = compiled[static_cast<statement>(i)];
            BOOST_TEST(each.sql.find('{') == std::string::npos, each.sql);
            BOOST_TEST(each.sql.find(" :") == std::string::npos, each.sql);
            BOOST_TEST(static_cast<std::size_t>(std::ranges::count(each.sql, '?')) == each.parameters.size(), each.sql);
        }
        BOOST_TEST(!compiled[statement::renew].sql.empty());
        BOOST_TEST(!compiled.schema().empty());
    }
}

BOOST_AUTO_TEST_SUITE_END()
