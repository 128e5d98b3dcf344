// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_EXPIRY_EXPIRY_BY_OBSERVATION_HPP
#define LEASEHOLD_ODBC_EXPIRY_EXPIRY_BY_OBSERVATION_HPP

#include <leasehold/odbc/dialect/observing_sql.hpp>
#include <leasehold/odbc/expiry/concept.hpp>

#include <utility>

namespace leasehold::inline v0 {

/// Whoever wants the lease judges: it is over when its row has not changed for the holder's whole ttl, on the challenger's
/// own monotonic clock. No clock of a database takes part, so none can end a term by a jump, of whatever size.
///
/// The price: a challenger must have been looking for a ttl, counted from its first look at the row as it is. So a dead
/// holder's lease, and a name that min_hold keeps closed, are only ever had by stores that live longer than that and try
/// again; a program that starts, tries once and ends never gets them. A released lease is free at once, as ever, and so
/// is an owner's own term to that owner, as a new one.
///
/// The table has a version and a ttl instead of the expiry. Every write gives the row a version of its own, drawn at random,
/// so that a write whose reply was lost is known by it.
struct expiry_by_observation {
    /// See odbc_expiry.
    [[nodiscard]] static dialect::spec applied_to(dialect::spec d)
    {
        return d.observes ? d : dialect::observing(std::move(d));
    }
};

static_assert(odbc_expiry<expiry_by_observation>);

}  // namespace leasehold::inline v0

#endif
