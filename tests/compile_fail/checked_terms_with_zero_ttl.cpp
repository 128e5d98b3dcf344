// error: ttl_must_be_at_least_1_ms|call to consteval function
// note: ttl_must_be_at_least_1_ms
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/lease_terms.hpp>

using namespace std::chrono_literals;

#ifdef LEASEHOLD_COMPILE_OK
const auto terms = leasehold::checked_terms({.ttl = 1s, .safety_margin = 0s});
#else
const auto terms = leasehold::checked_terms({.ttl = 0s, .safety_margin = 0s});
#endif
