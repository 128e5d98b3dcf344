// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_PLAIN_ERROR_HPP
#define LEASEHOLD_PLAIN_ERROR_HPP

#include <leasehold/error.hpp>

#include <concepts>

namespace leasehold::inline v0 {

/// An errc, or none: takes the place of std::error_code where there is no heap.
///
/// A std::error_code knows its category, categories make texts in std::string, and so each program with one has the heap and
/// the unwinder linked into it, called or not.
class plain_error {
public:
    constexpr plain_error() noexcept = default;
    /// This error.
    constexpr plain_error(errc code) noexcept : code_{code} {}

    /// No error.
    constexpr void clear() noexcept { code_ = errc{}; }
    /// Whether there is an error.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return code_ != errc{}; }
    /// Without a meaning where there is none.
    [[nodiscard]] constexpr errc code() const noexcept { return code_; }

    friend constexpr bool operator==(plain_error, plain_error) noexcept = default;

private:
    errc code_{};
};

/// What an operation that does not throw can report in: plain_error, std::error_code.
template <class E>
concept error_report = requires(E& ec, const E& reported) {
    ec.clear();
    ec = errc::store_failure;
    { static_cast<bool>(reported) } -> std::same_as<bool>;
};

}  // namespace leasehold::inline v0

#endif
