// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_STORE_CALL_HPP
#define LEASEHOLD_STORE_STORE_CALL_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>

#include <cstdint>
#include <string_view>

namespace leasehold::inline v0 {

/// The operations of a store: the four that each store has, the three of handover_store, the two of checkpointing_store, and the ones
/// of timed_store, checkpoint_looking_store and listing_store. A replace_checkpoint is a save_checkpoint too.
enum class store_operation : std::uint8_t {
    try_acquire,
    renew,
    release,
    inspect,
    publish,
    request_handover,
    handover_requested,
    save_checkpoint,
    checkpoint,
    now,
    look_at_checkpoint,
    list
};

/// One call of a store's operation, as the decorators report it. The texts live as long as the call.
struct store_call {
    store_operation operation{};  ///< which operation
    std::string_view name;        ///< the name of the lease; the prefix of list; empty for now
    std::string_view owner{};     ///< empty for inspect, request_handover, checkpoint, now, look_at_checkpoint and list
    fencing_token token{};        ///< 0 for those and try_acquire
    duration time{};              ///< ttl, or how long release keeps the name closed; 0 for the others
};

}  // namespace leasehold::inline v0

#endif
