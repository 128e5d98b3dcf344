// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_EXPIRY_CONCEPT_HPP
#define LEASEHOLD_ODBC_EXPIRY_CONCEPT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/odbc/dialect/spec.hpp>

#include <concepts>
#include <utility>

namespace leasehold::inline v0 {

/// Who judges that a term in a database is over.
///
/// | expression | returns | does |
/// |---|---|---|
/// | E::applied_to(d) | dialect::spec | a dialect's statements, changed to judge so; may throw std::bad_alloc |
///
/// Models: expiry_by_server_clock, expiry_by_observation. Stores with different ones can't share a table.
template <class E>
concept odbc_expiry = requires(dialect::spec d)
{
    {
        E::applied_to(std::move(d))
        } -> std::same_as<dialect::spec>;
};

}  // namespace leasehold::inline v0

#endif
