// SPDX-License-Identifier: BSL-1.0
// What a store says of its health, on a database that answers as written.
#include <unit/odbc/detail/scripted_database.hpp>

#include <leasehold/odbc/detail/flow/operator_flows.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <vector>

BOOST_AUTO_TEST_SUITE(health_flow_test)

using namespace leasehold_test;
using namespace leasehold_test::flows;
using leasehold::duration;

namespace {

// This host's clock, which goes on by 10 ms with each look.
struct host_clock {
    duration now = 1'000'000s;
    duration operator()() { return now += 10ms; }
};

reply shows_time(duration of_day)
{
    return shows({{od::column::clock, std::chrono::duration_cast<std::chrono::microseconds>(of_day).count()}});
}

}  // namespace

BOOST_AUTO_TEST_CASE(clock_is_compared_with_the_middle_of_the_question)
{
    for (const duration ahead : {duration{0s}, duration{3s}, duration{-3s}}) {
        scripted_database db{no_row(), no_row(), shows_time(1'000'000s + 15ms + ahead)};
        db.has_columns = db.has_clock = true;
        od::health_answer found;
        BOOST_TEST(od::health_flow(db, host_clock{}, found) == fault::none);
        BOOST_TEST((db.asked == statements{statement::probe, statement::probe_said, statement::clock}));
        BOOST_TEST(found.schema_version == 2);
        BOOST_TEST((found.clock_ahead == ahead));
    }
}

BOOST_AUTO_TEST_CASE(table_without_the_columns_is_of_version_1_and_healthy)
{
    scripted_database old{no_row(), fails(fault::schema_missing), shows_time(1'000'000s)};
    old.has_columns = old.has_clock = true;
    od::health_answer found;
    BOOST_TEST(od::health_flow(old, host_clock{}, found) == fault::none);
    BOOST_TEST(found.schema_version == 1);
    BOOST_TEST(found.clock_ahead.has_value());

    scripted_database without{no_row()};  // a dialect that knows neither the columns nor a clock
    BOOST_TEST(od::health_flow(without, host_clock{}, found) == fault::none);
    BOOST_TEST((without.asked == statements{statement::probe}));
    BOOST_TEST(found.schema_version == 1);
    BOOST_TEST(!found.clock_ahead.has_value());
}

BOOST_AUTO_TEST_CASE(user_without_a_right_to_the_newer_columns_has_a_table_of_version_1)
{
    reply refused = fails(fault::failure);
    refused.advice = od::advice::permission;
    scripted_database db{no_row(), refused};
    db.has_columns = true;
    od::health_answer found;
    BOOST_TEST(od::health_flow(db, host_clock{}, found) == fault::none);
    BOOST_TEST(found.schema_version == 1);

    scripted_database broken{no_row(), fails(fault::failure)};
    broken.has_columns = true;
    BOOST_TEST(od::health_flow(broken, host_clock{}, found) == fault::failure);
}

BOOST_AUTO_TEST_CASE(first_failure_is_the_answer)
{
    od::health_answer found;
    scripted_database no_table{fails(fault::schema_missing)};
    no_table.has_columns = no_table.has_clock = true;
    BOOST_TEST(od::health_flow(no_table, host_clock{}, found) == fault::schema_missing);
    BOOST_TEST((no_table.asked == statements{statement::probe}));
    BOOST_TEST(found.schema_version == 0);

    scripted_database without_key{no_row(), no_row(), no_row()};
    without_key.key_is = fault::failure;
    BOOST_TEST(od::health_flow(without_key, host_clock{}, found) == fault::failure);
    BOOST_TEST((without_key.asked == statements{statement::probe}));
    BOOST_TEST(found.schema_version == 0);

    scripted_database lost{no_row(), fails(fault::connection_lost)};
    lost.has_columns = lost.has_clock = true;
    BOOST_TEST(od::health_flow(lost, host_clock{}, found) == fault::connection_lost);
    BOOST_TEST((lost.asked == statements{statement::probe, statement::probe_said}));

    scripted_database silent{no_row(), no_row(), fails(fault::timeout)};
    silent.has_columns = silent.has_clock = true;
    BOOST_TEST(od::health_flow(silent, host_clock{}, found) == fault::timeout);
    BOOST_TEST(!found.clock_ahead.has_value());

    for (const bool is_found : {false, true}) {
        reply shown = shows_time(1'000'000s);  // in a row that counts for nothing
        shown.found = is_found;
        shown.failed = is_found ? fault::timeout : fault::none;
        scripted_database unread{no_row(), no_row(), shown};
        unread.has_columns = unread.has_clock = true;
        BOOST_TEST(od::health_flow(unread, host_clock{}, found) == shown.failed);
        BOOST_TEST(!found.clock_ahead.has_value());
    }
}

BOOST_AUTO_TEST_SUITE_END()
