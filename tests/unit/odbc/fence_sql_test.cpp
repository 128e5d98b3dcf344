// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/dialect/generic.hpp>
#include <leasehold/odbc/fence_sql.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <system_error>

namespace lh = leasehold;

BOOST_AUTO_TEST_SUITE(fence_sql_test)

namespace {

constexpr const char* databases[] = {"postgresql", "mariadb", "mysql", "galera", "sqlite"};

// What a user's own dialect may get wrong.
template <int Mistake>
struct own_dialect {
    static constexpr bool in_process = false;
    static lh::dialect::spec describe(const lh::dialect::server_info&)
    {
        lh::dialect::spec d{};
        d.name = "own";
        const char* const fences[] = {"update {table} set {token} = {token} where {name} = :name and {owner} = :owner and {token} = :token",
                                      "update {table} set {token} = {token} where {name} = :name and {token} = :token and {owner} = :owner",
                                      "update {table} set {token} = :token where {name} = :name and {owner} = :owner and {token} = :token",
                                      "update {table} set {token} = {token} where {name} = :name"};
        d.fence.by_itself = fences[Mistake];
        return d;
    }
};

std::size_t count(const std::string& text, const std::string& what)
{
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

template <class Call>
std::string refusal(Call call)
{
    try {
        static_cast<void>(call());
    }
    catch (const std::system_error& refused) {
        BOOST_TEST((refused.code() == std::errc::invalid_argument));
        return refused.what();
    }
    return "accepted";
}

}  // namespace

BOOST_AUTO_TEST_CASE(has_the_three_parameters_in_the_style_of_the_databases_interfaces)
{
    for (const char* database : databases) BOOST_TEST_CONTEXT(database) {
            const std::string sql = lh::fence_sql(database);
            const bool numbers = database == std::string{"postgresql"};
            for (const char* marker : {"{", "}", ":name", ":owner", ":token"}) BOOST_TEST(sql.find(marker) == std::string::npos, sql);
            BOOST_TEST(count(sql, "?") == (numbers ? 0U : 3U), sql);
            BOOST_TEST(count(sql, "$") == (numbers ? 3U : 0U), sql);
        }
}

BOOST_AUTO_TEST_CASE(takes_another_style)
{
    const std::string numbered = lh::fence_sql("sqlite", {}, lh::odbc::sql_placeholders::dollar_numbers);
    const std::size_t first = numbered.find("`name` = $1");
    const std::size_t second = numbered.find("`owner` = $2");
    const std::size_t third = numbered.find("`token` = $3");
    BOOST_TEST(((first < second && second < third && third != std::string::npos)), numbered);
    BOOST_TEST(count(numbered, "?") == 0U);
    const std::string marked = lh::fence_sql("postgresql", {}, lh::odbc::sql_placeholders::question_marks);
    BOOST_TEST(count(marked, "?") == 3U);
    BOOST_TEST(count(marked, "$") == 0U);
}

BOOST_AUTO_TEST_CASE(a_dialect_and_its_name_give_one_text_in_both_namespaces)
{
    BOOST_TEST(lh::fence_sql(lh::dialect::postgresql{}) == lh::odbc::fence_sql("postgresql"));
    BOOST_TEST(lh::fence_sql(lh::dialect::mariadb{}) == lh::fence_sql("mariadb"));
    BOOST_TEST(lh::fence_sql(lh::dialect::mariadb{}) == lh::fence_sql("mysql"));
    BOOST_TEST(lh::fence_sql(lh::dialect::sqlite{}) == lh::fence_sql("sqlite"));
    BOOST_TEST(lh::fence_sql("galera") != lh::fence_sql("mariadb"));
}

BOOST_AUTO_TEST_CASE(has_the_names_of_table_and_columns_that_the_store_has)
{
    const lh::odbc_options options{.table = "Own.Leases",
                                   .columns = {.name = "Key", .owner = "Holder", .token = "Number", .expires_at = "Until"}};
    for (const char* database : databases) BOOST_TEST_CONTEXT(database) {
            const std::string sql = lh::fence_sql(database, options);
            const char quote = database == std::string{"postgresql"} ? '"' : '`';
            for (const std::string name : {"Own", "Leases", "Key", "Holder", "Number", "Until"})
                BOOST_TEST(sql.find(quote + name + quote) != std::string::npos, sql);
            for (const std::string name : {"leasehold", "name", "owner", "token", "expires_at"})
                BOOST_TEST(sql.find(quote + name + quote) == std::string::npos, sql);
        }
}

BOOST_AUTO_TEST_CASE(names_the_databases_that_it_knows)
{
    for (const std::string unknown : {"", "oracle", "PostgreSQL", "generic", "maria\ndb"}) {
        const std::string why = refusal([&] { return lh::fence_sql(unknown); });
        BOOST_TEST(why.find("postgresql, mariadb, mysql, galera or sqlite") != std::string::npos, why);
        BOOST_TEST(why.find('\n') == std::string::npos, why);
    }
    BOOST_TEST(refusal([] { return lh::fence_sql("oracle"); }).find("'oracle'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(refuses_a_dialect_that_cannot_judge_a_term_in_one_statement)
{
    const std::string why = refusal([] { return lh::fence_sql(lh::dialect::generic{}); });
    BOOST_TEST(why.find("generic") != std::string::npos, why);
}

BOOST_AUTO_TEST_CASE(refuses_names_that_would_not_be_names)
{
    for (const char* database : databases)
        BOOST_TEST(refusal([&] { return lh::fence_sql(database, {.table = "a; drop table b"}); }).find("table must be") !=
                   std::string::npos);
}

BOOST_AUTO_TEST_CASE(checks_the_parameters_of_a_dialect_of_ones_own)
{
    BOOST_TEST(lh::fence_sql(own_dialect<0>{}) ==
               "update \"leasehold\" set \"token\" = \"token\" where \"name\" = ? and \"owner\" = ? and \"token\" = ?");
    BOOST_TEST(refusal([] { return lh::fence_sql(own_dialect<1>{}); }).find("in this order") != std::string::npos);
    BOOST_TEST(refusal([] { return lh::fence_sql(own_dialect<2>{}); }).find("once each") != std::string::npos);
    BOOST_TEST(refusal([] { return lh::fence_sql(own_dialect<3>{}); }).find("own") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(checkpoint_has_four_parameters_in_the_same_styles)
{
    for (const char* database : databases) BOOST_TEST_CONTEXT(database) {
            const std::string sql = lh::checkpoint_sql(database);
            const bool numbers = database == std::string{"postgresql"};
            for (const char* marker : {"{", "}", ":name", ":owner", ":token", ":checkpoint"})
                BOOST_TEST(sql.find(marker) == std::string::npos, sql);
            BOOST_TEST(count(sql, "?") == (numbers ? 0U : 4U), sql);
            BOOST_TEST(count(sql, "$") == (numbers ? 4U : 0U), sql);
        }
    const std::string marked = lh::checkpoint_sql("postgresql", {}, lh::odbc::sql_placeholders::question_marks);
    BOOST_TEST(marked.starts_with("update \"leasehold\" set \"checkpoint\" = ?, \"checkpoint_token\" = \"token\""
                                  " where \"name\" = ?"),
               marked);
}

BOOST_AUTO_TEST_CASE(checkpoint_is_refused_for_what_has_no_such_statement)
{
    const std::string database = refusal([] { return lh::checkpoint_sql("oracle"); });
    BOOST_TEST(database.find("checkpoint_sql: the database must be postgresql") != std::string::npos, database);
    BOOST_TEST(refusal([] { return lh::checkpoint_sql(lh::dialect::generic{}); }).find("generic") != std::string::npos);
    BOOST_TEST(refusal([] { return lh::checkpoint_sql(own_dialect<0>{}); }).find("no such statement") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
