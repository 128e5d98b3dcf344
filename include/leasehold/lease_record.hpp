// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_RECORD_HPP
#define LEASEHOLD_LEASE_RECORD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>

#include <optional>
#include <string>

namespace leasehold::inline v0 {

/// What the store knows about a name that is not free.
///
/// An empty `owner` means that the holder has released it and `lease_terms::min_hold` still keeps it closed.
struct lease_record {
    std::string name;      ///< the name of the lease
    std::string owner;     ///< who holds it; may be empty, see above
    fencing_token token;   ///< the token of the term
    duration remaining{};  ///< time until the store lets somebody else in, by the store's clock; > 0
    std::string data{};    ///< what the holder has published in this term; empty if it has published nothing
    /// The reason of the request that the holder hand over, if there is one; it may be empty.
    std::optional<std::string> handover_request{};

    friend bool operator==(const lease_record&, const lease_record&) = default;
};

}  // namespace leasehold::inline v0

#endif
