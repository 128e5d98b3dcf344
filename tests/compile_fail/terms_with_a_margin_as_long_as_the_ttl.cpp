// error: safety_margin_must_be_shorter_than_ttl|call to consteval function
// note: safety_margin_must_be_shorter_than_ttl
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;
using namespace std::chrono_literals;

#ifdef LEASEHOLD_COMPILE_OK
const auto terms = lh::checked_terms({.ttl = 10s, .safety_margin = 1s});
#else
const auto terms = lh::checked_terms({.ttl = 10s, .safety_margin = 10s});
#endif
