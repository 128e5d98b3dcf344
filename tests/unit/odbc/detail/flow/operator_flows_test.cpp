// SPDX-License-Identifier: BSL-1.0
// What an operator asks for, on a database that answers as written: the list of what is held, and the table. inspect_flow_test,
// health_flow_test and purge_flow_test have the rest.
#include <support/printing.hpp>
#include <unit/odbc/detail/flow/operators_database.hpp>

#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/flow/operator_flows.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(operator_flows_test)

using namespace leasehold_test;
using namespace leasehold_test::flows;

namespace {

reply row(const std::string& name, std::int64_t remaining = 1'000'000)
{
    reply r = shows({{column::token, 3}, {column::remaining, remaining}});
    r.texts = {{column::name, name}, {column::owner, "owner of " + name}};
    return r;
}

reply rows(std::vector<reply> each, fault failed = fault::none) { return {.failed = failed, .each = std::move(each)}; }

struct listed {
    fault failed = fault::none;
    std::vector<leasehold::lease_record> records{leasehold::lease_record{}};  // of an earlier try
    [[nodiscard]] std::string names() const
    {
        std::string all;
        for (const auto& each : records) all += each.name + ' ';
        return all;
    }
};

listed list(operators_database& db, std::string_view prefix)
{
    listed l;
    l.failed = od::list_flow(db, prefix, l.records);
    return l;
}

fault make(operators_database& db) { return od::schema_flow(db); }

}  // namespace

BOOST_AUTO_TEST_CASE(range_of_a_prefix_has_every_name_that_begins_with_it)
{
    const texts greatest{"\xF4\x8F\xBF\xBF", "\xEF\xBF\xBF", "\xDF\xBF", "\x7F", "z", "a"};
    for (std::size_t size = 0; size <= leasehold::max_name_bytes; ++size) {
        const std::string prefix(size, 'p');
        const std::string last = od::last_with_prefix(prefix);
        BOOST_TEST(last.size() == leasehold::max_name_bytes);
        BOOST_TEST(last.starts_with(prefix));
        std::size_t left_out = 0;
        for (const std::string& first : greatest)
            for (const std::string& second : greatest)
                if (std::string name = prefix + first; name.size() <= leasehold::max_name_bytes) {
                    left_out += name > last ? 1 : 0;
                    while (name.size() + second.size() <= leasehold::max_name_bytes) name += second;
                    left_out += name > last ? 1 : 0;
                }
        BOOST_TEST(left_out == 0U, left_out << " names behind a prefix of " << size << " bytes");
    }
}

BOOST_AUTO_TEST_CASE(list_has_the_names_with_the_prefix_in_the_order_of_their_bytes)
{
    operators_database db{rows({row("job/b"), row("JOB/x"), row("job/a"), row("job/"), row("jo")})};
    const listed l = list(db, "job/");
    BOOST_TEST(l.failed == fault::none);
    BOOST_TEST(l.names() == "job/ job/a job/b ");
    BOOST_TEST((db.asked == statements{statement::list}));
    BOOST_TEST((db.uppers == texts{od::last_with_prefix("job/")}));
    const auto& first = l.records.front();
    BOOST_TEST(first.owner == "owner of job/");
    BOOST_TEST(first.token == leasehold::fencing_token{3});
    BOOST_TEST(first.remaining == 1s);
    BOOST_TEST(first.data == "");
    BOOST_TEST(!first.handover_request.has_value());
}

// It is live, though the database may have nothing left of it when it counts.
BOOST_AUTO_TEST_CASE(listed_terms_have_some_time_left)
{
    operators_database db{rows({row("a", -5), row("b", 0), row("c", 1), row("d", 2)})};
    const listed l = list(db, "");
    BOOST_REQUIRE(l.records.size() == 4U);
    BOOST_TEST(l.records[0].remaining == 1us);
    BOOST_TEST(l.records[1].remaining == 1us);
    BOOST_TEST(l.records[2].remaining == 1us);
    BOOST_TEST(l.records[3].remaining == 2us);
}

BOOST_AUTO_TEST_CASE(list_shows_data_and_requests)
{
    reply said = row("a");
    said.texts.emplace_back(column::data, "here");
    said.texts.emplace_back(column::request, "please");
    operators_database db{rows({said, row("b")})};
    const listed l = list(db, "");
    BOOST_TEST((db.asked == statements{statement::list}));
    BOOST_REQUIRE(l.records.size() == 2U);
    BOOST_TEST(l.records[0].data == "here");
    BOOST_TEST((l.records[0].handover_request == "please"));
    BOOST_TEST(l.records[1].data == "");
    BOOST_TEST(!l.records[1].handover_request.has_value());
}

BOOST_AUTO_TEST_CASE(list_that_fails_is_not_tried_in_another_way)
{
    for (const fault why : {fault::connection_lost, fault::schema_missing}) {
        operators_database db{rows({}, why), rows({row("a")})};
        BOOST_TEST(list(db, "").failed == why);
        BOOST_TEST((db.asked == statements{statement::list}));
    }
}

BOOST_AUTO_TEST_CASE(table_that_is_there_is_checked_and_not_made)
{
    operators_database db{reply{}, reply{}};
    BOOST_TEST(make(db) == fault::none);
    BOOST_TEST((db.asked == statements{statement::probe}));
    BOOST_TEST(db.columns_checked == 1);
    BOOST_TEST(db.ran.empty());

    operators_database unfit{reply{}, reply{}};
    unfit.column_is = fault::failure;
    BOOST_TEST(make(unfit) == fault::failure);
    BOOST_TEST((unfit.asked == statements{statement::probe}));

    operators_database without_key{reply{}, reply{}};
    without_key.key_is = fault::failure;
    BOOST_TEST(make(without_key) == fault::failure);
    BOOST_TEST((without_key.asked == statements{statement::probe}));

    operators_database later{shows_texts({{od::column::owner, "leasehold schema 2"}})};
    BOOST_TEST(make(later) == fault::failure);
    BOOST_TEST(later.advised() == od::advice::later_table);
    BOOST_TEST(later.ran.empty());
}

BOOST_AUTO_TEST_CASE(table_that_can_not_be_looked_at_is_not_made)
{
    operators_database db{fails(fault::connection_lost), reply{}};
    BOOST_TEST(make(db) == fault::connection_lost);
    BOOST_TEST((db.asked == statements{statement::probe}));
    BOOST_TEST(db.ran.empty());
    BOOST_TEST(db.columns_checked == 0);
}

BOOST_AUTO_TEST_CASE(missing_table_is_made_and_looked_at)
{
    operators_database db{fails(fault::schema_missing), reply{}};
    BOOST_TEST(make(db) == fault::none);
    BOOST_TEST((db.ran == texts{"table", "index", "version"}));
    BOOST_TEST((db.asked == statements{statement::probe, statement::probe}));

    const reply missing = fails(fault::schema_missing, "elsewhere");
    operators_database still{missing, reply{}, reply{}, reply{}, missing};
    BOOST_TEST(make(still) == fault::schema_missing);
    BOOST_TEST(still.told() == "elsewhere");
}

// Whoever made it has to say what is to become of it.
BOOST_AUTO_TEST_CASE(table_that_lacks_a_column_is_left_as_it_is)
{
    reply lacking = fails(fault::schema_missing, "no column");
    lacking.advice = od::advice::column;
    operators_database db{lacking, reply{}};
    BOOST_TEST(make(db) == fault::schema_missing);
    BOOST_TEST(db.told() == "no column");
    BOOST_TEST(db.advised() == od::advice::column);
    BOOST_TEST(db.ran.empty());
    BOOST_TEST((db.asked == statements{statement::probe}));
    BOOST_TEST(db.columns_checked == 0);
}

BOOST_AUTO_TEST_CASE(table_that_somebody_else_made_at_the_same_time_is_as_good)
{
    operators_database db{fails(fault::schema_missing), fails(fault::duplicate_key), reply{}};
    BOOST_TEST(make(db) == fault::none);
    BOOST_TEST((db.ran == texts{"table"}), "what comes after a statement that failed would only fail as well");
    BOOST_TEST((db.asked == statements{statement::probe, statement::probe}));
}

BOOST_AUTO_TEST_CASE(failure_to_make_the_table_is_told_in_the_words_of_that_statement)
{
    const reply missing = fails(fault::schema_missing, "no table");
    for (const fault why : {fault::failure, fault::conflict, fault::duplicate_key}) {
        operators_database db{missing, reply{}, fails(why, "of the index"), missing};
        BOOST_TEST(make(db) == (why == fault::duplicate_key ? fault::conflict : why));
        BOOST_TEST(db.told() == "of the index");
        BOOST_TEST((db.ran == texts{"table", "index"}));
    }
    operators_database lost{missing, fails(fault::connection_lost, "lost"), reply{}};
    BOOST_TEST(make(lost) == fault::connection_lost);
    BOOST_TEST(lost.told() == "lost");
    BOOST_TEST((lost.asked == statements{statement::probe}));
    BOOST_TEST((lost.ran == texts{"table"}));
}

BOOST_AUTO_TEST_SUITE_END()
