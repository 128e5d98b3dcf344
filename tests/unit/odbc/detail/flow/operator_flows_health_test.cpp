// SPDX-License-Identifier: BSL-1.0
// What a store says of its health, on a database that answers as written.
#include <unit/odbc/detail/flow/operators_database.hpp>

#include <leasehold/odbc/detail/flow/operator_flows.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(operator_flows_health_test)

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

reply shows_record(const std::string& text) { return shows_texts({{od::column::owner, text}}); }

}  // namespace

BOOST_AUTO_TEST_CASE(version_is_that_of_the_record_and_a_later_one_is_refused)
{
    const auto version_in = [](const reply& record, fault expected) {
        operators_database db{record};
        od::health_answer found;
        BOOST_TEST(od::health_flow(db, host_clock{}, found) == expected);
        BOOST_TEST((db.asked == statements{statement::probe}));
        if (expected == fault::failure) BOOST_TEST(db.advised() == od::advice::later_table);
        return found.schema_version;
    };
    BOOST_TEST(version_in(shows_record("leasehold schema 1"), fault::none) == 1);
    BOOST_TEST(version_in(no_row_after(shows_record("leasehold schema 2")), fault::none) == 1);
    BOOST_TEST(version_in(shows_record("somebody"), fault::none) == 1);
    BOOST_TEST(version_in(shows_record("leasehold schema 2"), fault::failure) == 0);
    BOOST_TEST(version_in(shows_record("leasehold schema 10"), fault::failure) == 0);
    BOOST_TEST(version_in(fails(fault::timeout), fault::timeout) == 0);
}

BOOST_AUTO_TEST_CASE(clock_is_compared_with_the_middle_of_the_question)
{
    for (const duration ahead : {duration{0s}, duration{3s}, duration{-3s}}) {
        operators_database db{no_row(), shows_time(1'000'000s + 15ms + ahead)};
        db.has_clock = true;
        od::health_answer found;
        BOOST_TEST(od::health_flow(db, host_clock{}, found) == fault::none);
        BOOST_TEST((db.asked == statements{statement::probe, statement::clock}));
        BOOST_TEST(found.schema_version == 1);
        BOOST_TEST((found.clock_ahead == ahead));
    }
}

BOOST_AUTO_TEST_CASE(dialect_without_a_clock_is_not_asked_for_the_time)
{
    operators_database db{no_row()};
    od::health_answer found;
    BOOST_TEST(od::health_flow(db, host_clock{}, found) == fault::none);
    BOOST_TEST((db.asked == statements{statement::probe}));
    BOOST_TEST(found.schema_version == 1);
    BOOST_TEST(!found.clock_ahead.has_value());
}

BOOST_AUTO_TEST_CASE(first_failure_is_the_answer)
{
    od::health_answer found;
    operators_database no_table{fails(fault::schema_missing)};
    no_table.has_clock = true;
    BOOST_TEST(od::health_flow(no_table, host_clock{}, found) == fault::schema_missing);
    BOOST_TEST((no_table.asked == statements{statement::probe}));
    BOOST_TEST(found.schema_version == 0);

    operators_database without_key{no_row(), no_row()};
    without_key.key_is = fault::failure;
    BOOST_TEST(od::health_flow(without_key, host_clock{}, found) == fault::failure);
    BOOST_TEST((without_key.asked == statements{statement::probe}));
    BOOST_TEST(found.schema_version == 0);

    operators_database silent{no_row(), fails(fault::timeout)};
    silent.has_clock = true;
    BOOST_TEST(od::health_flow(silent, host_clock{}, found) == fault::timeout);
    BOOST_TEST(!found.clock_ahead.has_value());

    for (const bool is_found : {false, true}) {
        reply shown = shows_time(1'000'000s);  // in a row that counts for nothing
        shown.found = is_found;
        shown.failed = is_found ? fault::timeout : fault::none;
        operators_database unread{no_row(), shown};
        unread.has_clock = true;
        BOOST_TEST(od::health_flow(unread, host_clock{}, found) == shown.failed);
        BOOST_TEST(!found.clock_ahead.has_value());
    }
}

BOOST_AUTO_TEST_SUITE_END()
