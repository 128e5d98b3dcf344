// SPDX-License-Identifier: BSL-1.0
// What two looks at a name tell.
#include <leasehold/detail/hold_text.hpp>
#include <leasehold/detail/lease_changes.hpp>
#include <leasehold/member_record.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace lease_changes_test {

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

using record_type = std::optional<lh::lease_record>;

record_type held(std::string owner, std::int64_t token, std::string data = {}, std::string name = "n")
{
    return lh::lease_record{
        .name = std::move(name), .owner = std::move(owner), .token = lh::fencing_token{token}, .remaining = 10s, .data = std::move(data)};
}
record_type hold(std::int64_t token) { return held(lh::detail::owner_of_hold("0123456789abcdef", "x"), token); }

const record_type free_name{};

template <class Records>
std::string told(const Records& before, const Records& after, lh::duration between = 1s)
{
    std::ostringstream text;
    const lh::time_point first{1h};
    for (const lh::lease_change& each : lh::detail::lease_changes(before, after, {first, first + between}))
        text << each.kind << ' ' << each.record.name << each.record.token << ';';
    return text.str();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lease_changes_test)

BOOST_AUTO_TEST_CASE(what_stays_is_no_change)
{
    record_type later = held("a", 1, "x");
    later->remaining = 3s;
    later->handover_request = "please";
    BOOST_TEST(told(free_name, free_name) == "");
    BOOST_TEST(told(held("a", 1, "x"), later) == "");
    BOOST_TEST(told(hold(1), hold(1)) == "");
}

BOOST_AUTO_TEST_CASE(terms_begin_and_publish)
{
    BOOST_TEST(told(free_name, held("a", 1)) == "acquired n1;");
    BOOST_TEST(told(held("a", 1), held("a", 1, "x")) == "data_changed n1;");
    BOOST_TEST(told(held("a", 1, "x"), held("a", 1)) == "data_changed n1;");
}

BOOST_AUTO_TEST_CASE(term_that_is_gone_before_its_time_was_released)
{
    BOOST_TEST(told(held("a", 1), free_name, 10s - 1ns) == "released n1;");
    BOOST_TEST(told(held("a", 1), free_name, 10s) == "expired n1;");
    BOOST_TEST(told(held("a", 1), free_name, 1h) == "expired n1;");
}

BOOST_AUTO_TEST_CASE(end_counts_from_when_the_look_before_was_sent)
{
    lh::detail::latest_look<record_type> latest;
    const lh::time_point first{1h};
    const auto look = [&](const record_type& found, lh::duration sent, lh::duration answered) {
        const auto changes = latest.changes_to(found, first + sent, first + answered, &lh::detail::lease_changes);
        latest.replace_by(found, first + sent);
        return changes.empty() ? std::string{"nothing"} : std::string{to_string(changes.front().kind)};
    };
    BOOST_TEST(look(held("a", 1), 0s, 2s) == "acquired");
    BOOST_TEST(look(free_name, 9s, 10s - 1ns) == "released");
    BOOST_TEST(look(held("a", 2), 20s, 22s) == "acquired");
    BOOST_TEST(look(held("a", 2), 25s, 28s) == "nothing");
    BOOST_TEST(look(free_name, 34s, 35s - 1ns) == "released", "it has been renewed");
    BOOST_TEST(look(held("a", 3), 40s, 44s) == "acquired");
    BOOST_TEST(look(free_name, 45s, 50s) == "expired");
}

BOOST_AUTO_TEST_CASE(name_that_is_kept_closed_was_released)
{
    BOOST_TEST(told(held("a", 1), held("", 1), 1h) == "released n1;");
    BOOST_TEST(told(held("a", 1), held("", 2), 1h) == "expired n1;", "another term, which nobody has seen, was released");
    BOOST_TEST(told(held("", 1), free_name) == "");
    BOOST_TEST(told(free_name, held("", 1)) == "");
    BOOST_TEST(told(held("", 1), held("b", 2)) == "acquired n2;");
}

BOOST_AUTO_TEST_CASE(another_term_without_a_free_name_between_is_a_take_over)
{
    BOOST_TEST(told(held("a", 1), held("b", 2)) == "taken_over n2;");
    BOOST_TEST(told(held("a", 1, "x"), held("a", 2, "y"), 1h) == "taken_over n2;");
    const lh::time_point first{1h};
    const auto changes = lh::detail::lease_changes(held("a", 1), held("b", 2), {first, first + 1s});
    BOOST_REQUIRE(changes.size() == 1U);
    BOOST_TEST((changes[0].before == held("a", 1) && changes[0].after == held("b", 2) && changes[0].record == *changes[0].after));
}

BOOST_AUTO_TEST_CASE(holds_are_no_terms_of_anybody)
{
    BOOST_TEST(told(free_name, hold(1)) == "hold_begun n1;");
    BOOST_TEST(told(hold(1), free_name, 1h) == "hold_ended n1;");
    BOOST_TEST(told(held("a", 1), hold(2)) == "released n1;hold_begun n2;");
    BOOST_TEST(told(held("a", 1), hold(2), 1h) == "expired n1;hold_begun n2;");
    BOOST_TEST(told(hold(1), held("a", 2)) == "hold_ended n1;acquired n2;");
    BOOST_TEST(told(hold(1), hold(2)) == "hold_ended n1;hold_begun n2;");
}

BOOST_AUTO_TEST_CASE(counts_are_no_terms)
{
    BOOST_TEST(told(free_name, held("5 permits", 1)) == "");
    BOOST_TEST(told(held("5 permits", 1), free_name) == "");
    BOOST_TEST(told(held("a", 1), held("5 permits", 2)) == "released n1;");
}

BOOST_AUTO_TEST_CASE(of_many_names_each_is_compared_with_itself)
{
    using records = std::vector<lh::lease_record>;
    const records before{*held("a", 1, "", "a"), *held("a", 2, "", "b"), *held("a", 3, "", "d")};
    const records after{*held("a", 1, "x", "a"), *held("b", 4, "", "c"), *held("b", 5, "", "d"), *held("b", 6, "", "e")};
    BOOST_TEST(told(before, after) == "data_changed a1;released b2;acquired c4;taken_over d5;acquired e6;");
    BOOST_TEST(told(records{}, before) == "acquired a1;acquired b2;acquired d3;");
    BOOST_TEST(told(before, records{}) == "released a1;released b2;released d3;");
}

BOOST_AUTO_TEST_CASE(look_that_is_older_than_what_is_known_is_no_news)
{
    lh::detail::latest_look<record_type> latest;
    const lh::time_point first{1h};
    const auto look = [&](record_type found, lh::duration sent) {
        latest.leave_out_older(found, first + sent);
        const auto changes = latest.changes_to(found, first + sent, first + sent, &lh::detail::lease_changes);
        latest.replace_by(found, first + sent);
        return changes.empty() ? std::string{"nothing"} : std::string{to_string(changes.front().kind)};
    };
    BOOST_TEST(look(held("a", 4), 0s) == "acquired");
    BOOST_TEST(look(held("b", 5), 1s) == "taken_over");
    BOOST_TEST(look(held("a", 4), 2s) == "nothing");
    BOOST_TEST((latest.found->token == lh::fencing_token{5} && latest.found->remaining == 9s));
    BOOST_TEST(look(held("b", 5), 3s) == "nothing");
    BOOST_TEST(look(held("a", 4), 4s) == "nothing");
    BOOST_TEST(look(free_name, 13s) == "expired", "its end counts from the look that has shown it");
    BOOST_TEST(look(held("b", 5), 20s) == "acquired");
    BOOST_TEST(look(held("c", 1), 30s) == "taken_over", "tokens have begun anew");
}

BOOST_AUTO_TEST_CASE(of_many_names_each_is_known_by_its_own_token)
{
    using records = std::vector<lh::lease_record>;
    const records known{*held("b", 2, "", "a"), *held("b", 9, "", "c"), *held("b", 1, "", "d")};
    records seen{*held("a", 1, "", "a"), *held("a", 1, "", "b"), *held("a", 1, "", "c"), *held("c", 2, "", "d"), *held("c", 1, "", "e")};
    lh::detail::keep_newer(known, seen, 1s);
    BOOST_TEST(told(known, seen) == "acquired b1;taken_over d2;acquired e1;");
    const std::vector<lh::member_record> members{{"a", "", "o", lh::fencing_token{2}, 2s}};
    std::vector<lh::member_record> later{{"a", "", "o", lh::fencing_token{1}, 2s}};
    lh::detail::keep_newer(members, later, 1s);
    BOOST_TEST((later.front().token == lh::fencing_token{2}));
}

BOOST_AUTO_TEST_CASE(kinds_have_names)
{
    for (const char* name : {"acquired", "released", "expired", "taken_over", "data_changed", "hold_begun", "hold_ended"}) {
        bool found = false;
        for (unsigned char i = 0; i < 7; ++i) found = found || to_string(static_cast<lh::lease_change_kind>(i)) == name;
        BOOST_TEST(found, name);
    }
    BOOST_TEST(to_string(static_cast<lh::lease_change_kind>(7)) == "invalid");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace lease_changes_test
