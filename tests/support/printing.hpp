// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_PRINTING_HPP
#define LEASEHOLD_TESTS_SUPPORT_PRINTING_HPP

// How values look in a failed BOOST_TEST(a == b). Include it in every test file, before the first comparison.

#include <leasehold/error.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/store/concept.hpp>

#include <boost/test/tools/detail/print_helper.hpp>

#include <chrono>
#include <optional>
#include <ostream>
#include <system_error>

// Found by argument-dependent look-up from Boost.Test.
namespace leasehold {

inline std::ostream& boost_test_print_type(std::ostream& out, const lease_record& record)
{
    return out << '{' << record.name << ", owner " << record.owner << ", token " << record.token << ", remaining "
               << std::chrono::duration<double, std::milli>{record.remaining}.count() << " ms}";
}

inline std::ostream& boost_test_print_type(std::ostream& out, const acquire_result& result)
{
    return out << '{' << result.status << ", token " << result.token << ", remaining "
           << std::chrono::duration<double, std::milli>{result.remaining}.count() << " ms}";
}

}  // namespace leasehold

// Types of the standard library are not looked up in our namespace, so they go the other way.
namespace boost::test_tools::tt_detail {

template <class Rep, class Period>
struct print_log_value<std::chrono::duration<Rep, Period>> {
    void operator()(std::ostream& out, const std::chrono::duration<Rep, Period>& duration)
    {
        out << std::chrono::duration<double, std::milli>{duration}.count() << " ms";
    }
};

template <class Clock, class Duration>
struct print_log_value<std::chrono::time_point<Clock, Duration>> {
    void operator()(std::ostream& out, const std::chrono::time_point<Clock, Duration>& time)
    {
        print_log_value<Duration>{}(out << "at ", time.time_since_epoch());
    }
};

template <>
struct print_log_value<std::errc> {
    void operator()(std::ostream& out, std::errc code)
    {
        out << "std::errc (" << std::make_error_code(code).message() << ')';
    }
};

template <class T>
struct print_log_value<std::optional<T>> {
    void operator()(std::ostream& out, const std::optional<T>& value)
    {
        if (value)
            print_log_value<T>{}(out, *value);
        else
            out << "nothing";
    }
};

}  // namespace boost::test_tools::tt_detail

#endif
