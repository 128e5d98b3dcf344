// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STATIC_LEASE_RECORD_HPP
#define LEASEHOLD_STATIC_LEASE_RECORD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/bounded_text.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/static_text_limits.hpp>

namespace leasehold::inline v0 {

/// A lease_record without a heap.
template <static_text_limits Limits>
struct static_lease_record {
    bounded_text<Limits.name_bytes> name;    ///< the name of the lease
    bounded_text<Limits.owner_bytes> owner;  ///< who holds it; empty: released, but lease_terms::min_hold keeps it closed
    fencing_token token;                     ///< the token of the term
    duration remaining{};                    ///< time until the store lets somebody else in, by the store's clock; > 0

    friend constexpr bool operator==(const static_lease_record&, const static_lease_record&) = default;
};

}  // namespace leasehold::inline v0

#endif
