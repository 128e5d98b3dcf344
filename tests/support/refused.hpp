// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_REFUSED_HPP
#define LEASEHOLD_TESTS_SUPPORT_REFUSED_HPP

#include <leasehold/error.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <string_view>
#include <system_error>

namespace leasehold_test {

/// Whether the call throws a std::system_error of this code whose text contains these words.
inline bool refused(const std::function<void()>& call, leasehold::errc code, std::string_view words)
{
    try {
        call();
    }
    catch (const std::system_error& e) {
        BOOST_TEST_MESSAGE(e.what());
        return e.code() == code && std::string_view{e.what()}.find(words) != std::string_view::npos;
    }
    return false;
}

}  // namespace leasehold_test

#endif
