// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_CONCEPTS_HPP
#define LEASEHOLD_CONCEPTS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

// The four parameters of basic_lease, each documented where it is declared.
#include <leasehold/clock/concept.hpp>
#include <leasehold/owner_id/concept.hpp>
#include <leasehold/renew_policy/concept.hpp>
#include <leasehold/store/concept.hpp>

#endif
