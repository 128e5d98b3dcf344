// SPDX-License-Identifier: BSL-1.0
// What a term leaves for later ones, on a database that answers as written: which statements come, and what the answers are.
#include <unit/odbc/detail/flow/operators_database.hpp>

#include <leasehold/odbc/detail/flow/checkpoint_flow.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <optional>
#include <string>

BOOST_AUTO_TEST_SUITE(checkpoint_flow_test)

using namespace leasehold_test;
using namespace leasehold_test::flows;

namespace {

constexpr std::int64_t ours = 7;

reply shows_saved(std::int64_t token, const std::string& text, bool live)
{
    reply r = shows({{od::column::token, token}, {od::column::live, live}});
    r.texts = {{od::column::checkpoint, text}};
    return r;
}

struct answered {
    fault failed = fault::none;
    bool yes = false;
};

answered save(operators_database& db, bool repeated = false, bool over = false)
{
    answered a{.yes = true};
    a.failed = came_to(a.yes, od::save_checkpoint_flow(db, ours, "text", nullptr, repeated, over));
    return a;
}

answered replace(operators_database& db, std::string_view replaced, bool repeated = false)
{
    answered a{.yes = true};
    a.failed = came_to(a.yes, od::save_checkpoint_flow(db, ours, "text", &replaced, repeated, false));
    return a;
}

const statements one_update{statement::save_checkpoint}, one_look{statement::saved_checkpoint},
    update_and_look{statement::save_checkpoint, statement::saved_checkpoint};

}  // namespace

BOOST_AUTO_TEST_CASE(save_that_is_counted_is_one_statement)
{
    operators_database db{changes(1)};
    BOOST_TEST(save(db).yes);
    BOOST_TEST((db.asked == one_update));
    BOOST_TEST(db.tokens.front() == ours);
}

BOOST_AUTO_TEST_CASE(row_that_was_as_it_should_be_is_saved_though_it_is_not_counted)
{
    operators_database db{changes(0), shows_saved(ours, "text", true)};
    BOOST_TEST(save(db).yes);
    BOOST_TEST((db.asked == update_and_look));
}

BOOST_AUTO_TEST_CASE(term_that_is_over_is_false_whatever_it_has_saved_before)
{
    for (const reply& row : {no_row(), shows_saved(0, "", false), shows_saved(ours, "text", false), shows_saved(ours, "before", true),
                             shows_saved(ours - 1, "text", true), shows_saved(ours + 1, "text", false)}) {
        operators_database db{changes(0), row};
        const answered a = save(db);
        BOOST_TEST(!a.yes);
        BOOST_TEST(a.failed == fault::none);
    }
}

BOOST_AUTO_TEST_CASE(save_whose_reply_was_lost_is_read_back)
{
    operators_database done{changes(0), shows_saved(ours, "text", false)};
    BOOST_TEST(save(done, true).yes);
    operators_database not_done{changes(0), shows_saved(ours, "before", false)};
    BOOST_TEST(!save(not_done, true).yes);
    operators_database gone{changes(0), no_row()};
    BOOST_TEST(!save(gone, true).yes);
    operators_database again{changes(1)};
    BOOST_TEST(save(again, true).yes);
}

BOOST_AUTO_TEST_CASE(save_whose_reply_was_lost_and_that_a_later_term_has_written_over_is_unknown)
{
    operators_database db{changes(0), shows_saved(ours + 1, "later", false)};
    const answered a = save(db, true);
    BOOST_TEST(!a.yes);
    BOOST_TEST(a.failed == fault::overtaken);
    BOOST_TEST(db.advised() == od::advice::checkpoint_overtaken);
}

BOOST_AUTO_TEST_CASE(term_that_has_run_out_as_observed_writes_nothing)
{
    operators_database db{changes(1)};
    BOOST_TEST(!save(db, false, true).yes);
    BOOST_TEST(db.asked.empty());
    operators_database done{shows_saved(ours, "text", true)};
    BOOST_TEST(save(done, true, true).yes);
    BOOST_TEST((done.asked == one_look));
}

BOOST_AUTO_TEST_CASE(where_no_count_is_believed_the_row_is_read_before_and_after)
{
    const auto saves = [](const reply& before, const reply& after) {
        operators_database db{before, changes(1), after};
        db.believes = false;
        return save(db);
    };
    BOOST_TEST(saves(shows_saved(ours, "before", true), shows_saved(ours, "text", true)).yes);
    BOOST_TEST(saves(shows_saved(ours, "before", true), shows_saved(ours, "text", false)).yes);
    BOOST_TEST(!saves(shows_saved(ours, "before", true), shows_saved(ours, "before", false)).yes);
    BOOST_TEST((saves(shows_saved(0, "", true), shows_saved(ours + 1, "later", false)).failed == fault::overtaken));
    operators_database there{shows_saved(ours, "text", true)};
    there.believes = false;
    BOOST_TEST(save(there).yes);
    BOOST_TEST((there.asked == one_look));
    for (const reply& row : {no_row(), shows_saved(ours, "text", false), shows_saved(ours + 1, "later", false)}) {
        operators_database over{row};
        over.believes = false;
        BOOST_TEST(!save(over).yes);
        BOOST_TEST((over.asked == one_look));
    }
}

BOOST_AUTO_TEST_CASE(save_that_names_what_it_replaces_has_a_statement_of_its_own)
{
    operators_database db{changes(1)};
    BOOST_TEST(replace(db, "before").yes);
    BOOST_TEST((db.asked == statements{statement::replace_checkpoint}));
    operators_database another{changes(0), shows_saved(ours, "another", true)};
    BOOST_TEST(!replace(another, "before").yes);
    BOOST_TEST((another.asked == statements{statement::replace_checkpoint, statement::saved_checkpoint}));
    operators_database lost{changes(0), shows_saved(ours, "text", false)};
    BOOST_TEST(replace(lost, "before", true).yes);
}

BOOST_AUTO_TEST_CASE(where_no_count_is_believed_what_is_replaced_is_read_before)
{
    operators_database another{shows_saved(ours, "another", true)};
    another.believes = false;
    BOOST_TEST(!replace(another, "before").yes);
    BOOST_TEST((another.asked == one_look));
    operators_database same{shows_saved(ours, "before", true), changes(1), shows_saved(ours, "text", true)};
    same.believes = false;
    BOOST_TEST(replace(same, "before").yes);
}

BOOST_AUTO_TEST_CASE(failures_of_statements_are_the_flows)
{
    operators_database writes{fails(fault::lock_timeout)};
    BOOST_TEST(save(writes).failed == fault::lock_timeout);
    operators_database reads{changes(0), fails(fault::connection_lost)};
    BOOST_TEST(save(reads).failed == fault::connection_lost);
    operators_database looks{fails(fault::timeout)};
    looks.believes = false;
    BOOST_TEST(save(looks).failed == fault::timeout);
}

BOOST_AUTO_TEST_CASE(checkpoint_is_there_if_a_token_is)
{
    const auto read = [](const reply& row) {
        operators_database db{row};
        std::optional<leasehold::checkpoint_record> record{leasehold::checkpoint_record{}};
        BOOST_TEST(came_to(record, od::checkpoint_flow(db)) == fault::none);
        return record;
    };
    BOOST_TEST(!read(no_row()).has_value());
    BOOST_TEST(!read(no_row_after(shows_saved(ours, "text", true))).has_value());
    BOOST_TEST(!read(shows_saved(0, "", true)).has_value());
    BOOST_TEST((read(shows_saved(ours, "", false)) == leasehold::checkpoint_record{"", leasehold::fencing_token{ours}}));
    BOOST_TEST((read(shows_saved(ours, "text", false)) == leasehold::checkpoint_record{"text", leasehold::fencing_token{ours}}));
}

BOOST_AUTO_TEST_CASE(look_is_one_statement_where_the_dialect_has_it)
{
    leasehold::checkpoint_look seen;
    operators_database db{shows({{column::token, 7}, {column::live, 1}, {column::saved_by, 5}, {column::clock, 42}})};
    db.has_clock = db.looks_at_once = true;
    BOOST_TEST(came_to(seen, od::look_at_checkpoint_flow(db)) == fault::none);
    BOOST_TEST((db.asked == statements{statement::look_at_checkpoint}));
    BOOST_TEST((seen.saved == leasehold::checkpoint_record{"", leasehold::fencing_token{5}} && seen.latest == leasehold::fencing_token{7}));
    BOOST_TEST((seen.open && seen.now.time_since_epoch().count() == 42));
    operators_database nothing{shows({{column::clock, 42}})};
    nothing.has_clock = nothing.looks_at_once = true;
    BOOST_TEST(came_to(seen, od::look_at_checkpoint_flow(nothing)) == fault::none);
    BOOST_TEST((!seen.saved && seen.latest == leasehold::fencing_token{} && !seen.open));
    operators_database failing{fails(fault::timeout)};
    failing.has_clock = failing.looks_at_once = true;
    BOOST_TEST(came_to(seen, od::look_at_checkpoint_flow(failing)) == fault::timeout);
}

BOOST_AUTO_TEST_CASE(look_is_put_together_where_the_dialect_has_none)
{
    leasehold::checkpoint_look seen;
    operators_database db{shows({{column::clock, 42}}), shows_saved(ours, "text", false)};
    db.has_clock = true;
    BOOST_TEST(came_to(seen, od::look_at_checkpoint_flow(db)) == fault::none);
    BOOST_TEST((db.asked == statements{statement::clock, statement::saved_checkpoint}));
    BOOST_TEST((seen.saved == leasehold::checkpoint_record{"text", leasehold::fencing_token{ours}}));
    BOOST_TEST((seen.open && seen.latest == leasehold::fencing_token{} && seen.now.time_since_epoch().count() == 42));
    operators_database none{shows({{column::clock, 42}})};
    BOOST_TEST(came_to(seen, od::look_at_checkpoint_flow(none)) == fault::failure);
    BOOST_TEST(none.asked.empty());
}

BOOST_AUTO_TEST_CASE(database_without_a_clock_says_so)
{
    std::int64_t now = 1;
    operators_database none{shows({{od::column::clock, 42}})};
    BOOST_TEST(came_to(now, od::clock_flow(none)) == fault::failure);
    BOOST_TEST(none.advised() == od::advice::no_clock);
    BOOST_TEST(none.asked.empty());
    operators_database db{shows({{od::column::clock, 42}})};
    db.has_clock = true;
    BOOST_TEST(came_to(now, od::clock_flow(db)) == fault::none);
    BOOST_TEST(now == 42);
}

BOOST_AUTO_TEST_SUITE_END()
