// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_CONCEPT_HPP
#define LEASEHOLD_ODBC_DIALECT_CONCEPT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/odbc/dialect/spec.hpp>

#include <concepts>

namespace leasehold::inline v0::dialect {

namespace detail {

template <class D>
concept dialect_knows_its_place = requires
{
    {
        D::in_process
        } -> std::convertible_to<bool>;
};

template <class D>
concept dialect_can_describe = requires(const server_info& at)
{
    {
        D::describe(at)
        } -> std::same_as<spec>;
};

}  // namespace detail

/// The SQL of one database.
///
/// | expression | returns | does |
/// |---|---|---|
/// | D::in_process | bool, constant | whether the database is a library in this process, so that a call can't hang on a network; false where it isn't known before the first connection |
/// | D::describe(at) | spec | the statements and how to use them, `at` being what is known of the database; called once per store, after its first connection; may throw std::bad_alloc |
///
/// What the statements must do is at spec's members; the minimal model is generic.hpp, the one with everything
/// postgresql.hpp.
template <class D>
concept odbc_dialect = detail::dialect_knows_its_place<D> && detail::dialect_can_describe<D>;

}  // namespace leasehold::inline v0::dialect

#endif
