// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_STORE_CALL_HPP
#define LEASEHOLD_STORE_STORE_CALL_HPP

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>

#include <cstdint>
#include <string_view>

namespace leasehold::inline v0 {

/// The four operations of a store.
enum class store_operation : std::uint8_t { try_acquire, renew, release, inspect };

/// One call of a store's operation, as the decorators report it. The texts live as long as the call.
struct store_call {
    store_operation operation{};  ///< which operation
    std::string_view name;        ///< the name of the lease
    std::string_view owner{};     ///< empty for inspect
    fencing_token token{};        ///< 0 for try_acquire and inspect
    duration time{};              ///< ttl, or how long release keeps the name closed; 0 for inspect
};

}  // namespace leasehold::inline v0

#endif
