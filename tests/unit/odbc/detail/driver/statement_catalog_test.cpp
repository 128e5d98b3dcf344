// SPDX-License-Identifier: BSL-1.0
// From a dialect's SQL to what ODBC prepares.
#include <leasehold/odbc/detail/driver/statement_catalog.hpp>
#include <leasehold/odbc/dialect/generic.hpp>
#include <leasehold/odbc/dialect/mariadb.hpp>
#include <leasehold/odbc/dialect/postgresql.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(statement_catalog_test)

namespace lh = leasehold;
using namespace lh::odbc::detail;
using namespace std::chrono_literals;

namespace {

lh::dialect::spec plain()
{
    lh::dialect::spec d{};
    d.name = "plain";
    d.quote = '`';
    return d;
}

lh::dialect::server_info connected_to(std::string_view dbms)
{
    return {.dbms_name = dbms, .dbms_version = "15", .lock_timeout = 1s, .call_timeout = 5s};
}

}  // namespace

BOOST_AUTO_TEST_CASE(names_are_quoted_and_parameters_become_question_marks_in_their_order)
{
    auto d = plain();
    d.renew = "update {table} set {expires_at} = :us where {name} = :name and {token} = :token and {owner} = :owner";
    lh::odbc_options options;
    options.table = "jobs.leases";
    options.columns.owner = "locked_by";
    const statement_catalog compiled{d, options};
    const compiled_statement& renew = compiled[statement::renew];
    BOOST_TEST(renew.sql ==
               "update `jobs`.`leases` set `expires_at` = ? where `name` = ? and `token` = ? and `locked_by` = ?");
    const std::vector expected{parameter::us, parameter::name, parameter::token, parameter::owner};
    BOOST_TEST((renew.parameters == expected));
}

BOOST_AUTO_TEST_CASE(pieces_are_put_in_and_may_name_those_after_them)
{
    auto d = plain();
    d.fragments = {{"{mine}", "{owner} = :owner and {live}"}, {"{live}", "{expires_at} > {now}"}, {"{now}", "now()"}};
    d.read = "select {live} from {table} where {mine}";
    const statement_catalog compiled{d, {}};
    BOOST_TEST(compiled[statement::read].sql ==
               "select `expires_at` > now() from `leasehold` where `owner` = ? and `expires_at` > now()");
    BOOST_TEST((compiled[statement::read].parameters == std::vector{parameter::owner}));
}

BOOST_AUTO_TEST_CASE(data_and_request_are_shown_only_of_the_term_that_has_an_owner)
{
    auto d = plain();
    d.inspect = "select {data and request} from {table}";
    const statement_catalog compiled{d, {}};
    BOOST_TEST(compiled[statement::inspect].sql ==
               "select case when `holder_data_token` = `token` and `owner` <> '' then `holder_data` end,"
               " case when `handover_token` = `token` and `owner` <> '' then `handover_request` end from `leasehold`");
}

BOOST_AUTO_TEST_CASE(prologue_is_in_front_of_each_statement_but_for_those_of_a_fence)
{
    auto d = plain();
    d.prologue = "set x; ";
    d.renew = "update {table}";
    d.batches = {.renew = "update {table} where {each (:each_name)}", .release = "update {table}", .most = 2};
    d.fence.lock = "select for update";
    d.schema = {"create table {table}"};
    const statement_catalog compiled{d, {}};
    BOOST_TEST(compiled[statement::renew].sql == "set x; update `leasehold`");
    BOOST_TEST(compiled[statement::grant].sql == "");
    BOOST_TEST(compiled.batches().statements[compiled.batches().index_of(batch_kind::releases, 2)].sql == "set x; update `leasehold`");
    BOOST_TEST(compiled.fence().lock.sql == "select for update");
    // As users read it; put in front when it is run.
    BOOST_TEST(compiled.schema().front() == "create table `leasehold`");
}

BOOST_AUTO_TEST_CASE(behind_a_pooler_postgresql_keeps_nothing_on_a_session)
{
    lh::dialect::server_info at = connected_to("PostgreSQL");
    at.pooled = true;
    const lh::dialect::spec d = lh::dialect::detected::describe(at);
    BOOST_TEST(!d.locks.available());
    BOOST_TEST(d.prologue.find("set_config('statement_timeout', '5000', true)") != std::string::npos, d.prologue);
    BOOST_TEST(d.prologue.find("set_config('lock_timeout', '1000', true)") != std::string::npos);
    BOOST_TEST(d.prologue.find("false)") == std::string::npos);
    BOOST_TEST(std::ranges::count(d.prologue, ';') == d.prologue_results);
    BOOST_TEST(lh::dialect::detected::describe(connected_to("PostgreSQL")).prologue == "");
}

BOOST_AUTO_TEST_CASE(parameters_whose_names_begin_alike_are_told_apart)
{
    auto d = plain();
    d.locks.lock = "select get_lock(:lock_name), :lock_number, :seen, :upper, :version";
    const statement_catalog compiled{d, {}};
    const std::vector expected{parameter::lock_name, parameter::lock_number, parameter::seen, parameter::upper,
                               parameter::version};
    BOOST_TEST((compiled[statement::lock].parameters == expected));
    BOOST_TEST(compiled[statement::lock].sql == "select get_lock(?), ?, ?, ?, ?");
}

BOOST_AUTO_TEST_CASE(list_of_a_statement_for_many_is_as_long_as_the_dialect_says)
{
    auto d = plain();
    d.batches.most = 20;
    d.batches.renew = "update {table} set x = :us where {name} in (:each_name) and y in (cast(:each_term))";
    d.batches.release = "delete where {name} in (:each_name)";
    const statement_catalog compiled{d, {}};
    const compiled_batches& batches = compiled.batches();
    BOOST_TEST(!batches.arrays);
    BOOST_TEST(std::ranges::count(batches.statements[batches.index_of(batch_kind::renewals, 17)].sql, '?') == 41);
    BOOST_TEST(std::ranges::count(batches.statements[batches.index_of(batch_kind::renewals, 16)].sql, '?') == 33);
    BOOST_TEST(std::ranges::count(batches.statements[batches.index_of(batch_kind::releases, 20)].sql, '?') == 20);
    const compiled_statement& few = batches.statements[batches.index_of(batch_kind::releases, 2)];
    BOOST_TEST(few.sql.starts_with("delete where `name` in (?, ?, "));
    BOOST_TEST((few.parameters == std::vector(16, parameter::each_name)));
}

BOOST_AUTO_TEST_CASE(statement_with_arrays_is_the_same_for_any_number)
{
    auto d = plain();
    d.batches.most = 1000;
    d.batches.renew = "update {table} from unnest(:all_names, :all_owners, :all_tokens) where x > :us";
    const statement_catalog compiled{d, {}};
    BOOST_TEST(compiled.batches().arrays);
    BOOST_TEST(compiled.batches().index_of(batch_kind::renewals, 2) == compiled.batches().index_of(batch_kind::renewals, 1000));
    const std::vector expected{parameter::all_names, parameter::all_owners, parameter::all_tokens, parameter::us};
    BOOST_TEST((compiled.batches().statements[0].parameters == expected));
}

BOOST_AUTO_TEST_CASE(text_for_each_place_of_a_list_is_repeated)
{
    auto d = plain();
    d.batches = {"renew", "release", 20};
    d.many_attempts.most = 3;
    d.many_attempts.take = "values ('', 0){each , (:nth_name, :nth_token)} where x in (:each_term) limit :most";
    const statement_catalog compiled{d, {}};
    const compiled_statement& take = compiled.batches().statements[compiled.batches().index_of(batch_kind::takes, 2)];
    BOOST_TEST(take.sql == "values ('', 0), (?, ?), (?, ?), (?, ?) where x in (?, ?, ?) limit ?");
    BOOST_TEST((take.parameters[2] == parameter::nth_name && take.parameters[3] == parameter::nth_token));
    BOOST_TEST((take.parameters[6] == parameter::each_term && take.parameters[9] == parameter::most));
}

BOOST_AUTO_TEST_CASE(text_for_each_group_is_about_the_places_of_that_group)
{
    auto d = plain();
    d.batches = {"renew", "release", 130};
    d.many_attempts.most = 130;
    d.many_attempts.take = "case{group  when {name} <= :last_name then elt(field({name}{each , :nth_name}){each , :nth_owner})} end";
    const statement_catalog compiled{d, {}};
    const compiled_batches& batches = compiled.batches();
    const auto when = [](std::size_t places) {
        std::string text = " when `name` <= ? then elt(field(`name`";
        for (std::size_t i = 0; i < places; ++i) text += ", ?";
        text += ")";
        for (std::size_t i = 0; i < places; ++i) text += ", ?";
        return text + ")";
    };
    const compiled_statement& many = batches.statements[batches.index_of(batch_kind::takes, 129)];
    BOOST_TEST(many.sql == "case" + when(64) + when(64) + when(2) + " end");
    BOOST_TEST((many.parameters[0] == parameter::last_name && many.parameters[129] == parameter::last_name));
    BOOST_TEST((many.parameters[64] == parameter::nth_name && many.parameters[65] == parameter::nth_owner));
    BOOST_TEST(batches.statements[batches.index_of(batch_kind::takes, 128)].sql == "case" + when(64) + when(64) + " end");
    BOOST_TEST(batches.statements[batches.index_of(batch_kind::takes, 17)].sql == "case" + when(64) + when(64) + " end");
    BOOST_TEST(batches.statements[batches.index_of(batch_kind::takes, 16)].sql == "case" + when(16) + " end");
}

BOOST_AUTO_TEST_CASE(statements_a_dialect_has_not_got_are_empty)
{
    const statement_catalog compiled{plain(), {}};
    BOOST_TEST(compiled[statement::try_lock].sql.empty());
    BOOST_TEST(compiled.schema().empty());
}

BOOST_AUTO_TEST_CASE(candidates_ask_as_others_do_where_a_dialect_has_no_statement_for_them)
{
    auto d = plain();
    d.handover.request = "update {table}";
    BOOST_TEST((statement_catalog{d, {}}[statement::request_of_candidate].sql == "update `leasehold`"));
    d.handover.request_of_candidate = "update {table} if";
    BOOST_TEST((statement_catalog{d, {}}[statement::request_of_candidate].sql == "update `leasehold` if"));
}

BOOST_AUTO_TEST_CASE(key_is_looked_for_by_the_parts_of_the_table_s_name)
{
    auto d = plain();
    d.name_key = {.present = "select '{schema}', '{bare table}', '{name}'", .add = "create {schema}.{bare table}_name on {table}"};
    const statement_catalog qualified{d, {.table = "jobs.leases"}};
    BOOST_TEST(qualified.spec().name_key.present == "select 'jobs', 'leases', '`name`'");
    BOOST_TEST(qualified.spec().name_key.add == "create jobs.leases_name on `jobs`.`leases`");
    const statement_catalog plain_name{d, {.table = "leases"}};
    BOOST_TEST(plain_name.spec().name_key.present == "select '', 'leases', '`name`'");
    BOOST_TEST(plain_name.spec().name_key.add == "create leases_name on `leases`");
}

// A marker that nothing replaces would be sent to the database.
BOOST_AUTO_TEST_CASE(dialects_that_ship_leave_no_marker)
{
    for (const char* dbms : {"PostgreSQL", "MariaDB", "MySQL", "SQLite", "Some Other"}) {
        const statement_catalog compiled{lh::dialect::detected::describe(connected_to(dbms)), {}};
        for (std::size_t i = 0; i < statement_count; ++i) {
            const compiled_statement& each = compiled[static_cast<statement>(i)];
            BOOST_TEST(each.sql.find('{') == std::string::npos, each.sql);
            BOOST_TEST(each.sql.find(" :") == std::string::npos, each.sql);
            BOOST_TEST(static_cast<std::size_t>(std::ranges::count(each.sql, '?')) == each.parameters.size(), each.sql);
        }
        for (const compiled_statement& each : compiled.batches().statements) {
            BOOST_TEST(each.sql.find('{') == std::string::npos, each.sql.substr(0, 200));
            BOOST_TEST(each.sql.find("(:") == std::string::npos, each.sql.substr(0, 200));
            BOOST_TEST(static_cast<std::size_t>(std::ranges::count(each.sql, '?')) == each.parameters.size(), each.sql);
            BOOST_TEST(each.sql.find(" :") == std::string::npos, each.sql.substr(0, 200));
        }
        const auto has = [&](batch_kind kind) { return !compiled.batches().statements[compiled.batches().index_of(kind, 2)].sql.empty(); };
        const bool grants = compiled.spec().single_statement_grant, any = compiled.batches().available();
        for (const batch_kind kind : {batch_kind::renewals, batch_kind::releases, batch_kind::reads}) BOOST_TEST(has(kind) == any);
        for (const batch_kind kind : {batch_kind::takes, batch_kind::inserts}) BOOST_TEST(has(kind) == (any && !grants));
        BOOST_TEST(has(batch_kind::grants) == grants);
        BOOST_TEST(has(batch_kind::free_grants) == compiled.batches().grants_free);
        BOOST_TEST((!compiled.batches().grants_free || grants));
        const lh::dialect::name_key_sql& key = compiled.spec().name_key;
        BOOST_TEST((key.present + key.add).find('{') == std::string::npos, key.present << key.add);
        BOOST_TEST(key.present.empty() == compiled.spec().reads_back);
        BOOST_TEST(!compiled[statement::renew].sql.empty());
        BOOST_TEST(!compiled.schema().empty());
    }
}

// So that whoever lacks one hears of it at the first use, and nobody needs one that the table has not.
BOOST_AUTO_TEST_CASE(probe_asks_for_each_column_of_the_table_and_no_statement_for_another)
{
    for (const char* dbms : {"PostgreSQL", "MariaDB", "MySQL", "SQLite", "Some Other"}) {
        for (const bool observes : {false, true}) {
            lh::dialect::spec d = lh::dialect::detected::describe(connected_to(dbms));
            if (observes) d = lh::expiry_by_observation::applied_to(std::move(d));
            const statement_catalog compiled{d, {}};
            const std::vector<std::string> by_clock{"expires_at"}, by_observation{"version", "ttl_us"};
            std::vector<std::string> columns = d.observes ? by_observation : by_clock;
            for (const char* name : {"name", "owner", "token", "holder_data", "holder_data_token", "handover_request", "handover_token",
                                     "checkpoint", "checkpoint_token"})
                columns.emplace_back(name);
            std::string schema;
            for (const std::string& text : compiled.schema()) schema += text;
            for (const std::string& column : columns) {
                const std::string quoted = quoted_identifier(column, d.quote);
                BOOST_TEST(compiled[statement::probe].sql.find(quoted) != std::string::npos, dbms << " asks for " << quoted);
                BOOST_TEST(schema.find(quoted) != std::string::npos, dbms << " makes " << quoted);
            }
            std::string all = schema + compiled.fence().lock.sql + compiled.fence().write.sql + compiled.fence().write_back.sql;
            for (std::size_t i = 0; i < statement_count; ++i) all += compiled[static_cast<statement>(i)].sql;
            for (const std::string& column : d.observes ? by_clock : by_observation)
                BOOST_TEST(all.find(quoted_identifier(column, d.quote)) == std::string::npos, dbms << " knows nothing of " << column);
        }
    }
}

// The column of a table taken over may be one that MariaDB sets to the present time in every UPDATE that does not set it. The fence's are
// for clusters.
BOOST_AUTO_TEST_CASE(every_update_of_a_term_sets_the_expiry_on_mariadb)
{
    const auto d = lh::dialect::mariadb::describe(connected_to("MariaDB"));
    for (const std::string& text :
         {d.take, d.renew, d.release, d.force_release, d.batches.renew, d.batches.release, d.many_attempts.take, d.handover.publish,
          d.handover.request, d.handover.request_of_candidate, d.checkpoint.save, d.checkpoint.save_fenced,
          d.checkpoint.by_itself, d.fence.write, d.fence.write_back, d.fence.by_itself_on_cluster}) {
        BOOST_TEST_CONTEXT(text)
        {
            BOOST_REQUIRE((text.find("update {table") != std::string::npos && text.find(" where ") != std::string::npos));
            const std::string sql = statement_catalog::compile(text, d, {}).sql;
            BOOST_TEST(sql.substr(0, sql.find(" where ")).find("`expires_at` = ") != std::string::npos);
        }
    }
}

// Else the optimizer is free to take the index that a fence locks.
BOOST_AUTO_TEST_CASE(statements_that_lock_rows_of_names_say_by_which_index_on_mariadb)
{
    const auto by = [](std::string_view key, const lh::odbc_options& options = {}) {
        auto at = connected_to("MariaDB");
        at.name_key = key;
        return statement_catalog{lh::dialect::mariadb::describe(at), options}[statement::renew].sql.substr(0, 50);
    };
    BOOST_TEST(by({}).starts_with("update `leasehold` force index (`PRIMARY`) set "));
    BOOST_TEST(by("`of``name`").starts_with("update `leasehold` force index (`of``name`) set "));
    BOOST_TEST(by("1").starts_with("update `leasehold` set "));
    for (const auto& d : {lh::dialect::mariadb::describe(connected_to("MariaDB")),
                          lh::dialect::observing(lh::dialect::mariadb::describe(connected_to("MySQL")))}) {
        for (const std::string& text :
             {d.take, d.renew, d.release, d.force_release, d.batches.renew, d.batches.release, d.many_attempts.take, d.handover.publish,
              d.handover.request, d.handover.request_of_candidate, d.purge.remove, d.purge.raise_floor})
            BOOST_TEST((text.empty() || text.find("{table by name} ") != std::string::npos), text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
