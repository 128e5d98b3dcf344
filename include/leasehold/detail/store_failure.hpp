// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_STORE_FAILURE_HPP
#define LEASEHOLD_DETAIL_STORE_FAILURE_HPP

#include <leasehold/error.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <string>
#include <string_view>
#include <system_error>

namespace leasehold::inline v0::detail {

// What the store says about its last failure.
template <lease_store Store>
store_diagnostics diagnostics_of(const Store& store)
{
    if constexpr (diagnosing_store<Store>)
        return store.diagnostics();
    else
        return {};
}

// The exception for a failed call of a store, with the store's diagnostics.
template <lease_store Store>
store_error store_failure(Store& store, std::error_code ec, std::string_view operation, std::string_view name)
{
    return {ec, std::string{operation} + " '" + std::string{name} + "'", diagnostics_of(store)};
}

template <lease_store Store>
[[noreturn]] void raise_store_failure(Store& store, std::error_code ec, std::string_view operation, std::string_view name)
{
    raise_failed_call(ec, std::string{operation} + " '" + std::string{name} + "'", diagnostics_of(store));
}

}  // namespace leasehold::inline v0::detail

#endif
