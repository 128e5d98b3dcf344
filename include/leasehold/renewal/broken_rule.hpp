// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_BROKEN_RULE_HPP
#define LEASEHOLD_RENEWAL_BROKEN_RULE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/lease_terms.hpp>
#include <leasehold/renew_policy/concept.hpp>

namespace leasehold::inline v0::renewal {

/// The rule that these terms break by themselves or together with the policy, in words, or nullptr if they can work.
template <renew_policy Policy>
constexpr const char* broken_rule(const lease_terms& terms, const Policy& policy)
{
    if (const char* rule = terms.broken_rule()) return rule;
    const auto first = policy.next(renewal_state{.granted = {}, .ttl = terms.ttl, .attempt = 0});
    if (first && *first >= terms.ttl - terms.margin())
        return "the policy renews only when the deadline (ttl - safety_margin) has passed: renew earlier, or choose a shorter "
               "safety_margin";
    return nullptr;
}

}  // namespace leasehold::inline v0::renewal

#endif
