// SPDX-License-Identifier: BSL-1.0
#include <records.hpp>
#include <support/printing.hpp>
#include <watch_model.hpp>
#include <watch_view.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

using namespace tool;
using namespace std::chrono_literals;
using leasehold::lease_record;

namespace {

leasehold::time_point at(leasehold::duration time) { return leasehold::time_point{time}; }

lease_record held(const std::string& name, const std::string& owner, std::int64_t token, leasehold::duration remaining = 30s)
{
    return {name, owner, leasehold::fencing_token{token}, remaining};
}

std::vector<std::string> lines(const std::vector<lease_change>& changes)
{
    std::vector<std::string> result;
    for (const auto& each : changes) result.push_back(to_line(each));
    return result;
}

using texts = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_watch)

BOOST_AUTO_TEST_CASE(changes_between_two_looks_are_told_and_renewals_are_not)
{
    watch_model model;
    BOOST_TEST((lines(model.look({held("a", "x", 1), held("c", "", 4)}, at(0s))) ==
                texts{"a  held by x, token 1", "c  kept closed for 30.0s"}));
    BOOST_TEST((lines(model.look({held("a", "x", 1, 25s), held("c", "", 4)}, at(1s))) == texts{}));
    BOOST_TEST((lines(model.look({held("a", "y", 2), held("b", "z", 9), held("c", "", 4)}, at(2s))) ==
                texts{"a  taken by y, token 2, after x", "b  taken by z, token 9"}));
    BOOST_TEST((lines(model.look({held("b", "z", 10), held("c", "", 4)}, at(3s))) ==
                texts{"b  taken by z, token 10", "a  free, after y, token 2"}));
    BOOST_TEST((lines(model.look({held("a", "x", 3), held("b", "", 10, 9s)}, at(4s))) ==
                texts{"a  taken by x, token 3", "b  released, kept closed for 9.0s", "c  free"}));
}

BOOST_AUTO_TEST_CASE(holds_are_told_as_such)
{
    const std::string owner = "held closed 0123456789abcdef: x";
    watch_model model;
    BOOST_TEST((lines(model.look({held("a", "y", 1)}, at(0s))) == texts{"a  held by y, token 1"}));
    BOOST_TEST((lines(model.look({held("a", owner, 2)}, at(1s))) == texts{"a  held closed: x"}));
    BOOST_TEST((lines(model.look({held("a", "y", 3)}, at(2s))) == texts{"a  taken by y, token 3"}));
    static_cast<void>(model.look({held("a", owner, 4)}, at(3s)));
    BOOST_TEST((lines(model.look({}, at(4s))) == texts{"a  open again"}));
}

BOOST_AUTO_TEST_CASE(freed_leases_are_shown_for_a_while)
{
    watch_model model;
    static_cast<void>(model.look({held("a", "x", 1)}, at(0s)));
    static_cast<void>(model.look({}, at(1s)));
    BOOST_TEST(model.leases().size() == 1U);
    BOOST_TEST(!model.leases().at("a").held);
    static_cast<void>(model.look({}, at(6s)));
    BOOST_TEST(model.leases().empty());
}

BOOST_AUTO_TEST_CASE(remaining_time_runs_between_looks)
{
    watch_model model;
    static_cast<void>(model.look({held("a", "x", 1, 10s)}, at(0s)));
    const watched_lease& row = model.leases().at("a");
    BOOST_TEST(row.remaining(at(4s)) == 6s);
    BOOST_TEST(row.remaining(at(40s)) == 0s);
    static_cast<void>(model.look({held("a", "x", 1, 30s)}, at(5s)));
    BOOST_TEST(row.longest == 30s);
}

BOOST_AUTO_TEST_CASE(bars_are_filled_in_eighths)
{
    BOOST_TEST(bar(1s, 2s, 4) == "██  ");
    BOOST_TEST(bar(2s, 2s, 2) == "██");
    BOOST_TEST(bar(5s, 2s, 2) == "██");
    BOOST_TEST(bar(0s, 2s, 2) == "  ");
    BOOST_TEST(bar(1s, 16s, 2) == "▏ ");
    BOOST_TEST(bar(1s, 0s, 2) == "  ");
}

BOOST_AUTO_TEST_CASE(the_table_has_names_owners_tokens_times_and_the_latest_events)
{
    watch_model model;
    static_cast<void>(model.look({held("job", "web-1", 7, 20s)}, at(0s)));
    static_cast<void>(model.look({held("job", "web-2", 8, 20s)}, at(1s)));
    const std::deque<std::string> events{"12:00:01  job  taken by web-2, token 8, after web-1"};
    const auto shown = draw({model, events, "title", "", 80, 10, false}, at(2s));
    BOOST_TEST(shown.size() == 6U);
    BOOST_TEST(shown[0] == fitted("title", 80));
    BOOST_TEST(shown[2].starts_with("NAME  OWNER  TOKEN  REMAINING"));
    BOOST_TEST(shown[3].starts_with("job   web-2  8    > 19.0s"));
    BOOST_TEST(shown[3].find("█████") != std::string::npos);
    BOOST_TEST(shown.back().starts_with("12:00:01  job"));
    BOOST_TEST(draw({model, events, "title", "", 80, 10, true}, at(2s))[3].find("\033[7m") == 0U);
    BOOST_TEST(draw({model, events, "title", "", 80, 10, true}, at(9s))[3].find("\033[7m") == std::string::npos);
    BOOST_TEST(draw({model, events, "title", "no answer", 80, 10, false}, at(2s))[1].starts_with("no answer"));
}

BOOST_AUTO_TEST_CASE(names_that_differ_at_their_ends_are_told_apart_in_a_narrow_terminal)
{
    watch_model model;
    std::vector<lease_record> records;
    for (int i = 1; i <= 12; ++i)
        records.push_back(held("invoices/eu/shard-" + std::to_string(100 + i),
                               "web-3.example.com/0123456789abcdef0123456789abcdef", 1000 + i));
    static_cast<void>(model.look(records, at(0s)));
    const std::deque<std::string> events(20, "12:00:01  something");
    for (const std::size_t width : {38U, 30U, 24U}) {
        const auto shown = draw({model, events, "title", "", width, 24, false}, at(1s));
        for (int i = 1; i <= 12; ++i)
            BOOST_TEST(std::ranges::count_if(shown,
                                             [i](const std::string& line) {
                                                 return line.find("-" + std::to_string(100 + i)) != std::string::npos &&
                                                        line.find("29.0s") != std::string::npos;
                                             }) == 1,
                       i << " in " << width << " columns");
    }
    const auto low = draw({model, events, "title", "", 80, 10, false}, at(1s));
    BOOST_TEST(std::ranges::count_if(low, [](const std::string& line) { return line.starts_with("and 8 more"); }) == 1);
    BOOST_TEST(std::ranges::count_if(low, [](const std::string& line) { return line.starts_with("invoices"); }) == 4);
}

BOOST_AUTO_TEST_CASE(no_line_is_wider_and_no_table_higher_than_the_terminal)
{
    constexpr unsigned seed = 4711;
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937 random{seed};
    const auto pick = [&random](int most) { return std::uniform_int_distribution<int>{0, most}(random); };
    for (int i = 0; i < 2000; ++i) {
        watch_model model;
        std::vector<lease_record> records;
        for (int r = pick(12); r > 0; --r)
            records.push_back(held(std::string(static_cast<std::size_t>(1 + pick(60)), 'n') + std::to_string(r),
                                   pick(3) ? std::string(static_cast<std::size_t>(pick(80)), 'o') + "ü" : "",
                                   1 + pick(99999)));
        static_cast<void>(model.look(records, at(0s)));
        std::deque<std::string> events;
        for (int e = pick(20); e > 0; --e) events.emplace_back(static_cast<std::size_t>(pick(150)), 'e');
        const watch_view view{model,
                              events,
                              "title",
                              pick(1) ? "trouble" : "",
                              static_cast<std::size_t>(20 + pick(180)),
                              static_cast<std::size_t>(4 + pick(50)),
                              false};
        const auto shown = draw(view, at(1s));
        BOOST_REQUIRE(shown.size() <= view.height);
        for (const std::string& line : shown)
            BOOST_REQUIRE_MESSAGE(columns_of(line) <= view.width, line << " in " << view.width);
    }
}

BOOST_AUTO_TEST_SUITE_END()
