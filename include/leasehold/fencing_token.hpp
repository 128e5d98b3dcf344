// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_FENCING_TOKEN_HPP
#define LEASEHOLD_FENCING_TOKEN_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>

namespace leasehold::inline v0 {

/// The number of one term of one name: larger in every later term, equal across renewals, never reused.
///
/// A resource that the holder writes to can compare tokens and so refuse a late holder: `where last_token <= ?`. A
/// default-constructed token is 0, which no term ever has. The idea and the word come from Martin Kleppmann (How to do
/// distributed locking, 2016); Chubby called it a sequencer.
class fencing_token {
public:
    /// 0, which no term ever has.
    constexpr fencing_token() noexcept = default;
    /// A token from a number that value() returned.
    constexpr explicit fencing_token(std::int64_t value) noexcept : value_{value} {}

    /// The number, for a statement's parameter.
    [[nodiscard]] constexpr std::int64_t value() const noexcept { return value_; }

    /// Orders terms of one name: the later term has the larger token.
    friend constexpr auto operator<=>(fencing_token, fencing_token) noexcept = default;

    // A template, so that including this header does not pull in <ostream>.
    template <class Char, class Traits>
    friend std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, fencing_token token)
    {
        return out << token.value_;
    }

private:
    std::int64_t value_ = 0;
};

}  // namespace leasehold::inline v0

/// \cond
template <>
struct std::hash<leasehold::fencing_token> {
    std::size_t operator()(leasehold::fencing_token token) const noexcept { return std::hash<std::int64_t>{}(token.value()); }
};
/// \endcond

#endif
