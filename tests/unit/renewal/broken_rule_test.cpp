// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renewal/broken_rule.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>

BOOST_AUTO_TEST_SUITE(broken_rule_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

// Tells only when the first renewal is due; later attempts are never asked for here.
struct first_renewal {
    [[nodiscard]] std::optional<lh::duration> next(lh::renewal_state state) const noexcept
    {
        return state.attempt == 0 && state.granted == 0s ? after : 0s;
    }
    std::optional<lh::duration> after;
};

std::string broken_rule(const lh::lease_terms& terms, std::optional<lh::duration> first)
{
    const char* rule = lh::renewal::broken_rule(terms, first_renewal{first});
    return rule ? rule : "none";
}

}  // namespace

BOOST_AUTO_TEST_CASE(first_renewal_comes_before_the_deadline_or_never)
{
    const lh::lease_terms terms{.ttl = 30s, .safety_margin = 3s};
    BOOST_TEST(broken_rule(terms, 10s) == "none");
    BOOST_TEST(broken_rule(terms, 27s - 1ns) == "none");
    BOOST_TEST(
        broken_rule(terms, 27s) ==
        "the policy renews only when the deadline (ttl - safety_margin) has passed: renew earlier, or choose a shorter safety_margin");
    BOOST_TEST(broken_rule(terms, std::nullopt) == "none");
}

BOOST_AUTO_TEST_CASE(rules_of_the_terms_alone_come_first)
{
    BOOST_TEST(broken_rule({.ttl = 0s}, 1h) == "ttl must be at least 1 ms");
}

BOOST_AUTO_TEST_SUITE_END()
