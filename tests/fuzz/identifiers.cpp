// SPDX-License-Identifier: BSL-1.0
// Names of tables and columns stay names in every statement of a dialect. Input: the dialect (choice), the table, and names of
// columns, a line each.
#include "fuzz.hpp"
#include "targets.hpp"

#include <leasehold/odbc/detail/flow/identifier.hpp>
#include <leasehold/odbc/detail/driver/statement_catalog.hpp>
#include <leasehold/odbc/dialect/generic.hpp>
#include <leasehold/odbc/dialect/mariadb.hpp>
#include <leasehold/odbc/dialect/postgresql.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>
#include <leasehold/odbc/odbc_options.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace leasehold::odbc::detail;
namespace lh = leasehold;

// As a database reads it: a quote that is doubled belongs to the name. Takes it off `sql`; nothing if it is never closed.
std::optional<std::string> take_quoted(std::string_view& sql)
{
    const char quote = sql.front();
    std::string name;
    for (std::size_t i = 1; i < sql.size(); ++i) {
        if (sql[i] != quote) {
            name += sql[i];
        } else if (i + 1 < sql.size() && sql[i + 1] == quote) {
            name += sql[++i];
        } else {
            sql.remove_prefix(i + 1);
            return name;
        }
    }
    return std::nullopt;
}

// A statement with a mark in place of each quoted name, and the names.
struct statement_parts {
    std::string around;
    std::vector<std::string> names;

    statement_parts(std::string_view sql, char quote)
    {
        while (!sql.empty()) {
            if (sql.front() != quote) {
                around += sql.front();
                sql.remove_prefix(1);
                continue;
            }
            const std::string_view whole = sql;
            const auto name = take_quoted(sql);
            fuzz::require(name.has_value(), "a quoted name ends", whole);
            names.push_back(*name);
            around += "<name>";
        }
    }
};

std::vector<std::string> statements_of(const statement_catalog& catalog)
{
    std::vector<std::string> all = catalog.schema();
    for (std::size_t i = 0; i < statement_count; ++i) all.push_back(catalog[static_cast<statement>(i)].sql);
    for (const auto& each : catalog.batches().statements) all.push_back(each.sql);
    for (const auto* each :
         {&catalog.fence().possible, &catalog.fence().lock, &catalog.fence().write, &catalog.fence().written})
        all.push_back(each->sql);
    return all;
}

std::array<std::string*, 12> columns_of(lh::odbc_columns& columns)
{
    return {&columns.name, &columns.owner, &columns.token,      &columns.expires_at, &columns.version,
            &columns.ttl,  &columns.data,  &columns.data_token, &columns.request,    &columns.request_token,
            &columns.checkpoint, &columns.checkpoint_token};
}

// The name that the one has where the other has its own.
std::string renamed(const std::string& name, lh::odbc_options& from, lh::odbc_options& to)
{
    if (name == from.table) return to.table;
    const auto old_columns = columns_of(from.columns), new_columns = columns_of(to.columns);
    for (std::size_t i = 0; i < old_columns.size(); ++i)
        if (name == *old_columns[i]) return *new_columns[i];
    return name;
}

void statements_differ_in_names_only(lh::dialect::spec of, lh::odbc_options options)
{
    // Lists as long as they can be would take all the time.
    of.batches.most = std::min<std::size_t>(of.batches.most, 2);
    of.many_attempts.most = std::min<std::size_t>(of.many_attempts.most, 2);
    lh::odbc_options usual;
    if (fuzz::contains(options.table, ".")) usual.table = "public.leasehold";
    const std::vector<std::string> here = statements_of({of, options});
    static std::map<std::string, std::vector<std::string>> known;  // it takes half of the time to make them
    std::vector<std::string>& there = known[std::string{of.name} + usual.table];
    if (there.empty()) there = statements_of({of, usual});
    for (std::size_t i = 0; i < here.size(); ++i) {
        const statement_parts got{here[i], of.quote}, expected{there[i], of.quote};
        fuzz::require(got.around == expected.around, "what is around the names does not depend on them", here[i], there[i]);
        fuzz::require(got.names.size() == expected.names.size(), "no name is two", here[i], there[i]);
        for (std::size_t n = 0; n < got.names.size(); ++n) {
            if (fuzz::contains(options.table, ".") && (expected.names[n] == "public" || expected.names[n] == "leasehold"))
                continue;
            fuzz::require(got.names[n] == renamed(expected.names[n], usual, options),
                          "each name is the one that was asked for", here[i], there[i]);
        }
    }
}

void is_quoted_whole(std::string_view identifier)
{
    for (const char quote : {'"', '`'}) {
        const std::string text = quoted_identifier(identifier, quote);
        std::string_view left = text;
        const auto first = take_quoted(left);
        fuzz::require(first.has_value(), "a quoted name ends", text);
        std::string all = *first;
        if (left.starts_with('.') && left.size() > 1) {
            left.remove_prefix(1);
            const auto second = take_quoted(left);
            fuzz::require(second.has_value(), "a quoted name ends", text);
            all += "." + *second;
        }
        fuzz::require(left.empty() && all == identifier, "a quoted name is the name, and ends with its quote", text);
    }
}

}  // namespace

void fuzz::identifiers(std::string_view input)
{
    reader in{input};
    const std::size_t dialect = in.choice(4);
    lh::odbc_options options;
    options.table = in.line();
    for (std::string* column : columns_of(options.columns))
        if (const std::string_view name = in.line(); !name.empty()) *column = name;

    if (is_qualified_identifier(options.table)) is_quoted_whole(options.table);
    if (const char* rule = options.broken_rule()) {
        require(contains(rule, is_qualified_identifier(options.table) ? "column" : "table"), "the rule says what is wrong",
                rule, options.table);
        return;
    }
    require(options.table.find_first_of("\"'`;\\ \t\r") == std::string::npos, "no quote gets through", options.table);
    using namespace std::chrono_literals;
    const lh::dialect::server_info at{.dbms_name = "", .dbms_version = "15", .lock_timeout = 1s, .call_timeout = 5s};
    constexpr std::array dialects{lh::dialect::postgresql::describe, lh::dialect::mariadb::describe,
                                  lh::dialect::sqlite::describe, lh::dialect::generic::describe};
    statements_differ_in_names_only(dialects[dialect](at), options);
}
