// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_NEW_STOP_SOURCE_HPP
#define LEASEHOLD_DETAIL_NEW_STOP_SOURCE_HPP

#include <stop_token>

namespace leasehold::inline v0::detail {

// A stop source with a state. Where g++ 12 inlines its default constructor into a user's function, -Wmaybe-uninitialized takes the
// object under construction for an uninitialised one. May throw std::bad_alloc.
#ifdef __GNUC__
[[gnu::noinline]]
#endif
inline std::stop_source new_stop_source()
{
    return {};
}

}  // namespace leasehold::inline v0::detail

#endif
