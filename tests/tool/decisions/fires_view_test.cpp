// SPDX-License-Identifier: BSL-1.0
#include <fires_view.hpp>
#include <schedule_choice.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

constexpr lh::fire_time midnight{};

tool::fire_records report_with(std::optional<lh::open_fire> open, std::optional<lh::completed_fire> last = {})
{
    lh::fire_record record{.schedule = "every 1d", .made_by = "web-1", .last = std::move(last), .open = open};
    return {{"report", std::move(record)}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_fires_view)

BOOST_AUTO_TEST_CASE(run_that_is_no_longer_open_and_was_not_completed_is_left_out_for_whatever_reason)
{
    const auto open = report_with(lh::open_fire{midnight, 1, midnight});
    BOOST_TEST(tool::changes_of(open, report_with({})) ==
                   std::vector<std::string>{"report  the run of " + tool::to_text(midnight) + " is left out"},
               boost::test_tools::per_element());
    const auto completed = tool::changes_of(open, report_with({}, lh::completed_fire{midnight, midnight + 1min, "web-1"}));
    BOOST_REQUIRE(completed.size() == 1U);
    BOOST_TEST(completed.front().ends_with(" is completed by web-1"), completed.front());
    BOOST_TEST(tool::changes_of(open, open).empty());
}

BOOST_AUTO_TEST_SUITE_END()
