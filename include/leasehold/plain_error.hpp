// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_PLAIN_ERROR_HPP
#define LEASEHOLD_PLAIN_ERROR_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/error.hpp>

#include <concepts>

namespace leasehold::inline v0 {

/// An errc, or none: takes the place of std::error_code if there is no heap.
///
/// A std::error_code knows its category, and categories make texts in std::string. So every program with one links the heap
/// and the unwinder, whether it uses them or not.
class plain_error {
public:
    constexpr plain_error() noexcept = default;
    /// This error.
    constexpr plain_error(errc code) noexcept : code_{code} {}

    /// No error.
    constexpr void clear() noexcept { code_ = errc{}; }
    /// Whether there is an error.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return code_ != errc{}; }
    /// The code; has no meaning if there is no error.
    [[nodiscard]] constexpr errc code() const noexcept { return code_; }

    friend constexpr bool operator==(plain_error, plain_error) noexcept = default;

private:
    errc code_{};
};

/// A type in which an operation that does not throw can report an error: plain_error, std::error_code.
template <class E>
concept error_report = requires(E& ec, const E& reported) {
    ec.clear();
    ec = errc::store_failure;
    { static_cast<bool>(reported) } -> std::same_as<bool>;
};

}  // namespace leasehold::inline v0

#endif
