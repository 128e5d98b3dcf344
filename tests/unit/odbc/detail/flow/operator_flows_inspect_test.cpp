// SPDX-License-Identifier: BSL-1.0
// What a store shows of one name, on a database that answers as written: the record of its term, and what was said during it.
#include <support/printing.hpp>
#include <unit/odbc/detail/flow/operators_database.hpp>

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/odbc/detail/flow/operator_flows.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(operator_flows_inspect_test)

using namespace leasehold_test;
using namespace leasehold_test::flows;

namespace {

reply row(std::int64_t token, std::vector<std::pair<column, std::string>> texts)
{
    reply r = shows({{column::token, token}, {column::remaining, 5'000'000}});
    r.texts = std::move(texts);
    return r;
}

const reply term = row(7, {{column::owner, "worker"}});
const reply term_with_words = row(7, {{column::owner, "worker"}, {column::data, "here"}, {column::request, "please"}});
const reply words = row(7, {{column::data, "here"}, {column::request, "please"}});  // as `said` shows them

reply failed_with(fault kind, reply r)
{
    r.failed = kind;
    return r;
}

struct inspected {
    fault failed = fault::none;
    std::optional<leasehold::lease_record> record{leasehold::lease_record{}};  // of an earlier try
};

inspected inspect(operators_database& db)
{
    inspected i;
    i.failed = came_to(i.record, od::inspect_flow(db, "job"));
    return i;
}

// After the look at the row, which is the first reply.
inspected observed(operators_database& db, leasehold::duration left)
{
    BOOST_TEST(db.run(statement::observe) == fault::none);
    db.asked.clear();
    inspected i;
    i.failed = came_to(i.record, od::observed_record_flow(db, "job", left));
    return i;
}

void check_record(const inspected& i, leasehold::duration remaining, const std::string& data = {},
                  const std::optional<std::string>& request = {})
{
    BOOST_TEST(i.failed == fault::none);
    BOOST_REQUIRE(i.record.has_value());
    BOOST_TEST(i.record->name == "job");
    BOOST_TEST(i.record->owner == "worker");
    BOOST_TEST(i.record->token == leasehold::fencing_token{7});
    BOOST_TEST(i.record->remaining == remaining);
    BOOST_TEST(i.record->data == data);
    BOOST_TEST((i.record->handover_request == request));
}

void check_none(const inspected& i, fault wanted = fault::none)
{
    BOOST_TEST(i.failed == wanted);
    BOOST_TEST(!i.record.has_value());
}

}  // namespace

BOOST_AUTO_TEST_CASE(record_of_a_held_name_is_one_statement)
{
    operators_database silent{term};
    check_record(inspect(silent), 5s);
    BOOST_TEST((silent.asked == statements{statement::inspect}));

    operators_database said{term_with_words};
    check_record(inspect(said), 5s, "here", "please");
    BOOST_TEST((said.asked == statements{statement::inspect}));
}

BOOST_AUTO_TEST_CASE(name_without_a_row_has_no_record_whatever_was_read_before)
{
    operators_database db{no_row_after(term)};
    check_none(inspect(db));
}

BOOST_AUTO_TEST_CASE(inspection_that_fails_has_no_record)
{
    operators_database db{failed_with(fault::connection_lost, term), term};
    check_none(inspect(db), fault::connection_lost);
    BOOST_TEST((db.asked == statements{statement::inspect}));
}

BOOST_AUTO_TEST_CASE(observed_term_that_is_over_has_no_record_and_is_not_asked_about)
{
    for (const leasehold::duration left : {leasehold::duration{0}, leasehold::duration{-1}}) {
        operators_database db{term, words};
        check_none(observed(db, left));
        BOOST_TEST(db.asked.empty());
    }
}

BOOST_AUTO_TEST_CASE(observed_term_has_the_time_that_was_observed_and_its_words_come_with_a_second_look)
{
    for (const leasehold::duration left : {leasehold::duration{1}, leasehold::duration{3s}}) {
        operators_database db{term, words};
        check_record(observed(db, left), left, "here", "please");
        BOOST_TEST((db.asked == statements{statement::said}));
    }
}

BOOST_AUTO_TEST_CASE(words_of_another_term_are_not_those_of_the_observed_one)
{
    for (const std::int64_t token : {6, 8}) {
        operators_database db{term, row(token, words.texts)};
        check_record(observed(db, 3s), 3s);
    }
    operators_database gone{term, no_row_after(words)};
    check_record(observed(gone, 3s), 3s);
}

BOOST_AUTO_TEST_CASE(observed_term_whose_words_can_not_be_read_is_a_failure)
{
    for (const fault why : {fault::connection_lost, fault::failure, fault::schema_missing}) {
        operators_database db{term, failed_with(why, words)};
        check_none(observed(db, 3s), why);
        BOOST_TEST((db.asked == statements{statement::said}));
    }
}

BOOST_AUTO_TEST_SUITE_END()
