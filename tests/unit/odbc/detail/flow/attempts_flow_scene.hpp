// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_ODBC_DETAIL_ATTEMPTS_FLOW_SCENE_HPP
#define LEASEHOLD_TESTS_UNIT_ODBC_DETAIL_ATTEMPTS_FLOW_SCENE_HPP

// A table in memory, and one who attempts many of its names at once.

#include <leasehold/odbc/detail/flow/attempts_flow.hpp>

#include <unit/odbc/detail/flow/scripted_database.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold_test::attempts_flows {

namespace lh = leasehold;
using namespace lh::odbc::detail;
using namespace std::chrono_literals;

struct table_row {
    std::string owner;
    std::int64_t token = 0;
    bool live = false;
};

// Answers as a database would, and lets others come in between.
struct attempting_table {
    bool one_statement = false;
    std::size_t together = 100;
    bool free_statement = false;  // for lists of two names and more
    std::map<std::string, table_row, std::less<>> rows_of;
    std::set<std::string, std::less<>> locked;
    std::set<std::string, std::less<>> passed_over;  // by the next statement that grants, though free
    std::map<std::size_t, std::function<fault()>> before;  // the n-th statement, from 1
    std::map<std::size_t, fault> after;                    // what becomes of its reply, though it is carried out

    std::vector<std::string> asked;   // such as "read 3"
    std::vector<std::string> listed;  // such as "read a b c"
    int given_up = 0;
    bool table_is_locked = false;
    std::size_t brief_waits = 1000;  // at locked rows, for which there is time
    std::size_t full_waits = 1000;

    [[nodiscard]] std::size_t attempts_together() const { return together; }
    [[nodiscard]] bool has_time_for(lock_wait wait) const { return (wait == lock_wait::brief ? brief_waits : full_waits) > 0; }
    [[nodiscard]] bool expects_free(std::size_t names) const { return free_statement && names > 1; }
    [[nodiscard]] bool single_statement_grant() const { return one_statement; }
    [[nodiscard]] bool purges() const { return true; }
    void disable_batches()
    {
        ++given_up;
        together = 0;
    }
    [[nodiscard]] bool found() const { return true; }
    [[nodiscard]] std::int64_t rows() const { return count; }
    [[nodiscard]] std::int64_t number(column) const { return 7; }  // the floor
    void set_token(std::int64_t token) { first = token; }

    fault began(const std::string& what)
    {
        asked.push_back(what);
        const auto found = before.find(asked.size());
        return found == before.end() ? fault::none : found->second();
    }
    fault run(statement next)
    {
        const char* const what = next == statement::write_nothing ? "write nothing" : "floor";
        listed.emplace_back(what);
        const fault failed = began(what);
        return failed == fault::none && table_is_locked ? fault::lock_timeout : failed;
    }

    fault run_attempts(batch_kind kind, attempts& of, std::span<const item_number> items)
    {
        const char* const names[] = {"", "", "grant ", "read ", "take ", "insert ", "free "};
        const std::string what = names[static_cast<std::size_t>(kind)];
        listed.push_back(what.substr(0, what.size() - 1));
        for (const item_number i : items) listed.back().append(" ").append(of.name(i));
        const fault failed = began(what + std::to_string(items.size()));
        if (failed != fault::none) return failed;
        for (const item_number i : items)
            if (kind != batch_kind::reads && (table_is_locked || locked.contains(of.name(i)))) {
                if (brief_waits > 0) --brief_waits;
                return fault::lock_timeout;
            }
        const auto lost = after.find(asked.size());
        if (kind == batch_kind::reads)
            read(of, items);
        else if (kind == batch_kind::takes)
            take(of, items);
        else if (kind == batch_kind::inserts)
            return insert(of, items);
        else
            grant_first(of, items, lost == after.end(), kind == batch_kind::free_grants);
        return lost == after.end() ? fault::none : lost->second;
    }

    void read(attempts& of, std::span<const item_number> items) const
    {
        for (const item_number i : items) {
            const auto found = rows_of.find(of.name(i));
            if (found == rows_of.end()) continue;
            const table_row& row = found->second;
            of.set_row(i, {row.token, row.live, false, row.owner == of.owner(i), 1s, row.owner});
        }
    }

    void take(const attempts& of, std::span<const item_number> items)
    {
        count = 0;
        for (const item_number i : items) {
            const auto found = rows_of.find(of.name(i));
            if (found == rows_of.end()) continue;
            table_row& row = found->second;
            if (row.live || row.token != of.token(i) || row.owner != of.holder(i)) continue;
            row = {std::string{of.owner(i)}, row.token + 1, true};
            ++count;
        }
    }

    fault insert(const attempts& of, std::span<const item_number> items)
    {
        for (const item_number i : items)
            if (rows_of.contains(of.name(i))) return fault::duplicate_key;
        for (const item_number i : items) rows_of[std::string{of.name(i)}] = {std::string{of.owner(i)}, first, true};
        count = static_cast<std::int64_t>(items.size());
        return fault::none;
    }

    // Without a limit where only rows that are free: so a flow that uses it for a part of them grants too many.
    void grant_first(attempts& of, std::span<const item_number> items, bool replies, bool only_free)
    {
        std::size_t left = only_free ? items.size() : of.left();
        for (const item_number i : items) {
            const auto found = rows_of.find(of.name(i));
            grant_answer said{};
            if (found != rows_of.end() && found->second.live && found->second.owner != of.owner(i)) {
                said = {{lh::acquire_status::busy, lh::fencing_token{found->second.token}, 1s}, false};
            } else {
                if (only_free && (found == rows_of.end() || found->second.live)) continue;
                if (left == 0 || passed_over.erase(std::string{of.name(i)}) > 0) continue;
                --left;
                said = granted(grant(of.name(i), of.owner(i)), true);
            }
            if (replies) of.set_answer(i, said);
        }
    }

    std::int64_t grant(std::string_view name, std::string_view owner)
    {
        table_row& row = rows_of[std::string{name}];
        row = {std::string{owner}, row.token == 0 ? 7 : row.token + 1, true};
        return row.token;
    }

    std::int64_t count = 0;
    std::int64_t first = 0;
};

struct scene {
    scene(std::vector<std::string> names, std::size_t most) : many{names.size(), most}
    {
        for (const std::string& each : names) many.add(each, "me");
    }

    fault run(bool repeated = false)
    {
        return attempts_flow(table, many, repeated, [&](std::string_view name, std::string_view owner) {
            grant_answer said;
            table.asked.push_back("single " + std::string{name});
            const auto found = table.rows_of.find(name);
            if (found != table.rows_of.end() && found->second.live && found->second.owner != owner)
                said = {{lh::acquire_status::busy, lh::fencing_token{found->second.token}, 1s}, false};
            else if (!table.locked.contains(name))
                said = granted(table.grant(name, owner), true);
            else if (table.full_waits > 0)
                --table.full_waits;
            return unless(single_fails, [&] { return said; });
        });
    }

    // "y" granted, "n" busy, "?" no answer.
    [[nodiscard]] std::string answers() const
    {
        std::string text;
        for (item_number i = 0; i < many.size(); ++i) {
            const auto& said = many.answer(i);
            text += !said ? '?' : said->result.granted() ? 'y' : 'n';
        }
        return text;
    }
    // Who was told of a term has it.
    void check_told() const
    {
        for (item_number i = 0; i < many.size(); ++i) {
            const auto& said = many.answer(i);
            if (!said || !said->result.granted()) continue;
            const table_row& row = table.rows_of.at(std::string{many.name(i)});
            BOOST_TEST(row.owner == "me");
            BOOST_TEST(row.token == said->result.token.value());
        }
    }

    attempting_table table;
    attempts many;
    fault single_fails = fault::none;
};

using asked = std::vector<std::string>;

}  // namespace leasehold_test::attempts_flows

#endif
