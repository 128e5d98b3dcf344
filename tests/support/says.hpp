// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_SAYS_HPP
#define LEASEHOLD_TESTS_SUPPORT_SAYS_HPP

#include <leasehold/error.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

namespace leasehold_test {

/// For BOOST_CHECK_EXCEPTION: whether an error has that code, and all those words in its message, which is logged.
inline auto says(leasehold::errc code, std::vector<std::string> words)
{
    return [=](const std::system_error& e) {
        BOOST_TEST_MESSAGE(e.what());
        return e.code() == code && std::ranges::all_of(words, [&](const auto& word) {
                   return std::string{e.what()}.find(word) != std::string::npos;
               });
    };
}

}  // namespace leasehold_test

#endif
