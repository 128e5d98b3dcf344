// SPDX-License-Identifier: BSL-1.0
// The data of a term and requests to hand over, on a database that answers as written: which statements come, what the answers are,
// and how the columns are added to a table of version 1.
#include <unit/odbc/detail/operators_database.hpp>

#include <leasehold/odbc/detail/flow/handover_flow.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(handover_flow_test)

using namespace leasehold_test;
using namespace leasehold_test::flows;

namespace {

const reply done{};  // without a row, or a count
const reply no_columns = fails(fault::schema_missing, "no column");

// Columns of version 1 come in three statements.
const texts every_column{"data", "data_token", "request"};

reply shows_data(const std::string& data) { return shows_texts({{column::data, data}}); }
reply shows_request(const std::string& reason) { return shows_texts({{column::request, reason}}); }

struct answered {
    fault failed = fault::none;
    bool yes = false;
};

answered publish(operators_database& db, const std::string& data = "here")
{
    answered o{.yes = true};
    o.failed = came_to(o.yes, od::publish_flow(db, 7, data));
    return o;
}

answered request(operators_database& db, std::string_view reason = "a new version")
{
    answered o{.yes = true};
    o.failed = came_to(o.yes, od::request_flow(db, reason));
    return o;
}

struct heard {
    fault failed = fault::none;
    std::optional<std::string> reason;
};

heard requested(operators_database& db)
{
    heard h{.reason = "of the last time"};
    h.failed = came_to(h.reason, od::requested_flow(db, 7));
    return h;
}

fault upgrade(operators_database& db) { return od::upgrade_flow(db); }

}  // namespace

BOOST_AUTO_TEST_CASE(publication_that_is_counted_is_one_statement_about_that_term)
{
    operators_database db{changes(1)};
    const answered o = publish(db);
    BOOST_TEST(o.failed == fault::none);
    BOOST_TEST(o.yes);
    BOOST_TEST((db.asked == statements{statement::publish}));
    BOOST_TEST((db.tokens == std::vector<std::int64_t>{7}));
}

BOOST_AUTO_TEST_CASE(publication_that_is_not_counted_is_read)
{
    for (const std::int64_t rows : {-1, 0, 1}) {
        const bool believes = rows < 1;  // otherwise not even that it was one
        const auto published = [&](const reply& row) {
            operators_database db{changes(rows), row};
            db.believes = believes;
            const answered o = publish(db);
            BOOST_TEST(o.failed == row.failed);
            BOOST_TEST((db.asked == statements{statement::publish, statement::published}));
            return o.yes;
        };
        BOOST_TEST(published(shows_data("here")));
        BOOST_TEST(!published(shows_data("there")));
        BOOST_TEST(!published(no_row_after(shows_data("here"))));
        reply broken = shows_data("here");
        broken.failed = fault::connection_lost;
        BOOST_TEST(!published(broken));
    }
}

BOOST_AUTO_TEST_CASE(publication_that_fails_is_none)
{
    reply counted = fails(fault::connection_lost);
    counted.rows = 1;
    operators_database db{counted};
    const answered o = publish(db);
    BOOST_TEST(o.failed == fault::connection_lost);
    BOOST_TEST(!o.yes);
    BOOST_TEST((db.asked == statements{statement::publish}));
}

// "priority x" is somebody's words.
BOOST_AUTO_TEST_CASE(request_of_a_candidate_has_a_statement_of_its_own)
{
    operators_database candidates{changes(0), shows_request("a new version")};
    BOOST_TEST(request(candidates, "priority 7").yes);
    BOOST_TEST((candidates.asked == statements{statement::request_of_candidate, statement::said}));
    operators_database words{changes(1)};
    BOOST_TEST(request(words, "priority x").yes);
    BOOST_TEST((words.asked == statements{statement::request}));
}

BOOST_AUTO_TEST_CASE(request_is_counted_or_read)
{
    operators_database counted{changes(1)};
    BOOST_TEST(request(counted).yes);
    BOOST_TEST((counted.asked == statements{statement::request}));
    for (const std::int64_t rows : {-1, 0, 1}) {
        const auto asked = [&](const reply& row) {
            operators_database db{changes(rows), row};
            db.believes = rows < 1;
            const answered o = request(db);
            BOOST_TEST(o.failed == row.failed);
            BOOST_TEST((db.asked == statements{statement::request, statement::said}));
            return o.yes;
        };
        BOOST_TEST(asked(shows_request("")));
        BOOST_TEST(!asked(shows_data("here")));
        BOOST_TEST(!asked(no_row_after(shows_request("please"))));
        reply broken = shows_request("please");
        broken.failed = fault::connection_lost;
        BOOST_TEST(!asked(broken));
    }
    reply failed = fails(fault::timeout);
    failed.rows = 1;
    operators_database silent{failed};
    BOOST_TEST(request(silent).failed == fault::timeout);
    BOOST_TEST((silent.asked == statements{statement::request}));
    operators_database late{failed};
    BOOST_TEST(!request(late).yes);
}

BOOST_AUTO_TEST_CASE(holder_hears_the_reason_of_a_request_to_its_term)
{
    operators_database db{shows_request("please")};
    const heard h = requested(db);
    BOOST_TEST(h.failed == fault::none);
    BOOST_TEST((h.reason == "please"));
    BOOST_TEST((db.asked == statements{statement::requested}));
    BOOST_TEST((db.tokens == std::vector<std::int64_t>{7}));

    operators_database nobody{no_row_after(shows_request("please"))};
    BOOST_TEST((requested(nobody).reason == std::nullopt));

    reply broken = shows_request("please");
    broken.failed = fault::connection_lost;
    operators_database lost{broken};
    const heard failed = requested(lost);
    BOOST_TEST(failed.failed == fault::connection_lost);
    BOOST_TEST((failed.reason == std::nullopt));
    BOOST_TEST((lost.asked == statements{statement::requested}));
}

BOOST_AUTO_TEST_CASE(in_a_table_of_version_1_nobody_can_have_asked)
{
    operators_database old{no_columns, done};
    const heard h = requested(old);
    BOOST_TEST(h.failed == fault::none);
    BOOST_TEST((h.reason == std::nullopt));
    BOOST_TEST((old.asked == statements{statement::requested, statement::probe}));

    operators_database no_table{no_columns, fails(fault::schema_missing, "no table")};
    BOOST_TEST(requested(no_table).failed == fault::schema_missing);
    BOOST_TEST(no_table.told() == "no table");

    operators_database lost{no_columns, fails(fault::connection_lost)};
    BOOST_TEST(requested(lost).failed == fault::connection_lost);
}

BOOST_AUTO_TEST_CASE(database_whose_words_nobody_knows_lacks_columns_where_it_fails_and_has_the_table)
{
    operators_database old{fails(fault::failure), done};
    old.believes = false;
    BOOST_TEST(requested(old).failed == fault::none);
    BOOST_TEST((old.asked == statements{statement::requested, statement::probe}));

    operators_database broken{fails(fault::failure, "first"), fails(fault::connection_lost, "second")};
    broken.believes = false;
    BOOST_TEST(requested(broken).failed == fault::failure);
    BOOST_TEST(broken.told() == "first");

    for (const auto& [why, believes] : {std::pair{fault::failure, true}, std::pair{fault::conflict, false}}) {
        operators_database known{fails(why), done};
        known.believes = believes;
        BOOST_TEST(requested(known).failed == why);
        BOOST_TEST((known.asked == statements{statement::requested}));
    }
}

BOOST_AUTO_TEST_CASE(first_publication_adds_the_columns)
{
    operators_database db{no_columns, done, done, done, done, changes(1)};
    const answered o = publish(db);
    BOOST_TEST(o.failed == fault::none);
    BOOST_TEST(o.yes);
    BOOST_TEST((db.asked == statements{statement::publish, statement::probe, statement::publish}));
    BOOST_TEST((db.ran == every_column));

    operators_database unknown{fails(fault::failure), done, done, done, done, changes(0), shows_data("here")};
    unknown.believes = false;
    BOOST_TEST(publish(unknown).yes);
    BOOST_TEST((unknown.ran == every_column));
}

// Of many that add them at once all but one fail.
BOOST_AUTO_TEST_CASE(columns_that_somebody_else_has_added_are_as_good)
{
    operators_database db{no_columns, done, fails(fault::failure), done, fails(fault::failure), changes(1)};
    BOOST_TEST(publish(db).yes);
    BOOST_TEST((db.ran == every_column));
    BOOST_TEST((db.asked == statements{statement::publish, statement::probe, statement::publish}));
}

BOOST_AUTO_TEST_CASE(without_a_table_no_columns_are_added)
{
    operators_database db{no_columns, fails(fault::schema_missing, "no table")};
    BOOST_TEST(publish(db).failed == fault::schema_missing);
    BOOST_TEST(db.told() == "no table");
    BOOST_TEST(db.ran.empty());
    BOOST_TEST((db.asked == statements{statement::publish, statement::probe}));
}

BOOST_AUTO_TEST_CASE(lock_on_the_table_is_worth_another_try_and_its_words_are_told)
{
    for (const fault why : {fault::conflict, fault::lock_timeout}) {
        operators_database db{no_columns, done, fails(why, "locked"), fails(fault::failure, "is there"), done};
        BOOST_TEST(publish(db).failed == why);
        BOOST_TEST(db.told() == "locked");
        BOOST_TEST((db.ran == every_column));
        BOOST_TEST((db.asked == statements{statement::publish, statement::probe}));
    }
    operators_database lost{no_columns, done, fails(fault::failure, "is there"), fails(fault::connection_lost, "lost"), done};
    BOOST_TEST(publish(lost).failed == fault::connection_lost);
    BOOST_TEST(lost.told() == "lost");
    BOOST_TEST((lost.ran == texts{"data", "data_token"}));
    BOOST_TEST((lost.asked == statements{statement::publish, statement::probe}));
}

BOOST_AUTO_TEST_CASE(columns_that_can_not_be_added_are_told_as_what_they_are)
{
    const reply still_none = fails(fault::schema_missing, "still none");
    operators_database db{no_columns, done, fails(fault::failure, "forbidden"), done, done, still_none};
    BOOST_TEST(publish(db).failed == fault::schema_missing);
    BOOST_TEST(db.told() == "no column");
    BOOST_TEST(db.advised() == od::advice::version_1);

    operators_database unknown{fails(fault::failure, "first"), done, done, done, done, fails(fault::failure, "second")};
    unknown.believes = false;
    BOOST_TEST(publish(unknown).failed == fault::failure);
    BOOST_TEST(unknown.told() == "first");
    BOOST_TEST(unknown.advised() == "of the driver");

    operators_database lost{no_columns, done, done, done, done, fails(fault::connection_lost, "lost")};
    BOOST_TEST(publish(lost).failed == fault::connection_lost);
    BOOST_TEST(lost.told() == "lost");
}

BOOST_AUTO_TEST_CASE(upgrade_looks_first)
{
    operators_database without{fails(fault::connection_lost)};
    BOOST_TEST(upgrade(without) == fault::none);
    BOOST_TEST(without.asked.empty());

    for (const fault said : {fault::none, fault::connection_lost}) {
        operators_database there{fails(said)};
        there.has_columns = true;
        BOOST_TEST(upgrade(there) == said);
        BOOST_TEST((there.asked == statements{statement::probe_said}));
        BOOST_TEST(there.ran.empty());
    }
}

BOOST_AUTO_TEST_CASE(upgrade_adds_the_columns_and_looks_again)
{
    for (const reply& added : {done, fails(fault::failure, "is there"), fails(fault::conflict), fails(fault::lock_timeout)}) {
        operators_database db{no_columns, added, done, done, done};
        db.has_columns = true;
        BOOST_TEST(upgrade(db) == fault::none);
        BOOST_TEST((db.ran == every_column));
        BOOST_TEST((db.asked == statements{statement::probe_said, statement::probe_said}));
    }
    operators_database lost{no_columns, done, fails(fault::connection_lost, "lost"), done};
    lost.has_columns = true;
    BOOST_TEST(upgrade(lost) == fault::connection_lost);
    BOOST_TEST(lost.told() == "lost");
    BOOST_TEST((lost.asked == statements{statement::probe_said}));

    operators_database later{no_columns, done, done, done, fails(fault::connection_lost)};
    later.has_columns = true;
    BOOST_TEST(upgrade(later) == fault::connection_lost);
}

BOOST_AUTO_TEST_CASE(store_that_may_not_upgrade_continues_with_version_1)
{
    for (const reply& second : {done, fails(fault::conflict)}) {
        operators_database db{no_columns, fails(fault::failure, "forbidden"), second, done, no_columns};
        db.has_columns = true;
        BOOST_TEST(upgrade(db) == fault::none);
    }
    operators_database silent{no_columns, done, done, done, no_columns};
    silent.has_columns = true;
    BOOST_TEST(upgrade(silent) == fault::none);
    for (const fault why : {fault::conflict, fault::lock_timeout}) {
        operators_database locked{no_columns, fails(why, "locked"), fails(fault::failure, "is there"), done, no_columns};
        locked.has_columns = true;
        BOOST_TEST(upgrade(locked) == why);
        BOOST_TEST(locked.told() == "locked");
    }
}

BOOST_AUTO_TEST_SUITE_END()
