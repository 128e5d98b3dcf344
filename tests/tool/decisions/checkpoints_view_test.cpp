// SPDX-License-Identifier: BSL-1.0
#include <checkpoints_view.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace lh = leasehold;

BOOST_AUTO_TEST_SUITE(tool_checkpoints_view)

BOOST_AUTO_TEST_CASE(text_that_is_saved_is_told_and_a_record_that_is_written_anew_beside_it_is_not)
{
    const tool::saved_checkpoints none, saved{{"report", {"row-7", lh::fencing_token{3}}}};
    BOOST_TEST(tool::changes_of(none, saved) == std::vector<std::string>{"report  the checkpoint is row-7, saved under token 3"},
               boost::test_tools::per_element());
    // The run of the next fire notes that it begins, under its own token.
    BOOST_TEST(tool::changes_of(saved, {{"report", {"row-7", lh::fencing_token{4}}}}).empty());
    BOOST_TEST(tool::changes_of(saved, {{"report", {"row-8", lh::fencing_token{4}}}}).size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
