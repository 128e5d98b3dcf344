// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SITE_LIVE_RANGES_OF_OLD_LIBCXX_HPP
#define LEASEHOLD_SITE_LIVE_RANGES_OF_OLD_LIBCXX_HPP

// The algorithms on ranges that the shards' machines use and that libc++ before 15, as of Debian 12's emscripten, lacks. With a later
// one this header is empty.
#include <version>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 15000

#include <algorithm>
#include <functional>

namespace std::ranges {

template <class Range, class Value, class Projection>
constexpr auto find(Range&& range, const Value& value, Projection projection)
{
    return std::find_if(range.begin(), range.end(), [&](const auto& each) { return std::invoke(projection, each) == value; });
}

template <class Range, class Predicate>
constexpr bool any_of(Range&& range, Predicate holds)
{
    return std::any_of(range.begin(), range.end(), holds);
}

template <class Range, class Predicate>
constexpr bool all_of(Range&& range, Predicate holds)
{
    return std::all_of(range.begin(), range.end(), holds);
}

template <class Range, class Predicate>
constexpr bool none_of(Range&& range, Predicate holds)
{
    return std::none_of(range.begin(), range.end(), holds);
}

struct by_default {};

template <class Range, class Projection>
void stable_sort(Range&& range, by_default, Projection projection)
{
    std::stable_sort(range.begin(), range.end(),
                     [&](const auto& a, const auto& b) { return std::invoke(projection, a) < std::invoke(projection, b); });
}

}  // namespace std::ranges

#endif

#endif
