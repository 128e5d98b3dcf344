// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEW_POLICY_RENEW_AT_FRACTION_HPP
#define LEASEHOLD_RENEW_POLICY_RENEW_AT_FRACTION_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/error.hpp>
#include <leasehold/renew_policy/concept.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace leasehold::inline v0 {

/// Renews in the background when a fraction of the ttl has passed; the default policy, with a third.
///
/// A renewal that fails without an answer is tried again after ttl/60. The pause doubles each time, up to ttl/12, and each
/// pause is shortened by up to a half at random, so that many holders don't all come back at once. With a third and the
/// default margin that makes 8 attempts or more before the deadline.
class renew_at_fraction {
public:
    /// Renews at a third of the ttl.
    constexpr renew_at_fraction() noexcept = default;

    /// Throws std::system_error with errc::invalid_terms unless 0 < numerator < denominator <= max_denominator.
    constexpr renew_at_fraction(std::int64_t numerator, std::int64_t denominator) : numerator_{numerator}, denominator_{denominator}
    {
        if (numerator <= 0 || numerator >= denominator || denominator > max_denominator)
            detail::raise_invalid(errc::invalid_terms, "renew_at_fraction needs 0 < numerator < denominator <= 1000");
    }

    /// See renew_policy.
    [[nodiscard]] constexpr std::optional<duration> next(renewal_state state) const noexcept
    {
        // Divide first: a ttl of years times the numerator would overflow.
        duration due = state.ttl / denominator_ * numerator_;
        duration pause = state.ttl / 60;
        for (unsigned failed = 1; failed <= std::min(state.attempt, max_counted_attempts); ++failed) {
            due += pause - pause / 2 / 1024 * random_1024(state.granted, failed);
            pause = std::min(pause * 2, state.ttl / 12);
        }
        return due;
    }

    /// The largest denominator.
    static constexpr std::int64_t max_denominator = 1000;

private:
    // More failures than this lie beyond any deadline.
    static constexpr unsigned max_counted_attempts = 64;

    // A hash (Sebastiano Vigna's splitmix64) and not a generator, so that the policy stays a pure function, which a
    // simulation can replay.
    static constexpr int random_1024(duration granted, unsigned attempt) noexcept
    {
        std::uint64_t x = static_cast<std::uint64_t>(granted.count()) + attempt * 0x9E3779B97F4A7C15ULL;
        x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
        return static_cast<int>((x ^ (x >> 31U)) & 1023U);
    }

    std::int64_t numerator_ = 1;
    std::int64_t denominator_ = 3;
};

}  // namespace leasehold::inline v0

#endif
