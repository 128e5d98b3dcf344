// SPDX-License-Identifier: BSL-1.0
// The data of a term and requests to hand over, on a database that answers as written: which statements come, and what the answers are.
#include <unit/odbc/detail/flow/operators_database.hpp>

#include <leasehold/odbc/detail/flow/handover_flow.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(handover_flow_test)

using namespace leasehold_test;
using namespace leasehold_test::flows;

namespace {

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
BOOST_AUTO_TEST_CASE(request_of_a_candidate_or_a_member_of_a_shard_group_has_a_statement_of_its_own)
{
    for (const char* reason : {"priority 7", "as shard 3 of a"}) {
        operators_database candidates{changes(0), shows_request("a new version")};
        BOOST_TEST(request(candidates, reason).yes);
        BOOST_TEST((candidates.asked == statements{statement::request_of_candidate, statement::said}));
    }
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

BOOST_AUTO_TEST_SUITE_END()
