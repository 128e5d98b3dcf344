// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_DETAIL_GUARDS_HPP
#define LEASEHOLD_ASIO_DETAIL_GUARDS_HPP

#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/run_access.hpp>
#include <leasehold/release_all.hpp>

// What the asynchronous operations need of each kind of guard.
namespace leasehold::inline v0::detail {

/// A guard of one right, of one term or more.
template <class T>
concept any_guard = requires { T::body_type::is_one_term; };

/// Releases what nobody takes, and so nobody has worked under; several guards in few calls, and in none after a call that fails.
template <class Result>
void drop(Result& result) noexcept
{
    if constexpr (range_of_guards<Result>) {
        for (const auto& guard : result) lease_access::forget_min_hold(guard);
        static_cast<void>(release_range(result));
    }
    else if constexpr (any_guard<Result>) {
        lease_access::forget_min_hold(result);
    }
    else if constexpr (requires { run_access::never_begun(result); }) {
        run_access::never_begun(result);
    }
    result = Result{};
}

}  // namespace leasehold::inline v0::detail

#endif
