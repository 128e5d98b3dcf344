// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_BOUNDED_TEXT_HPP
#define LEASEHOLD_BOUNDED_TEXT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace leasehold::inline v0 {

/// Text of at most `MaxBytes` bytes, kept in the object itself: a std::string without a heap.
template <std::size_t MaxBytes>
class bounded_text {
    static_assert(MaxBytes > 0 && MaxBytes <= std::numeric_limits<std::uint8_t>::max());

public:
    constexpr bounded_text() noexcept = default;

    /// Assigns `text`. False if it does not fit; the old text is then unchanged.
    constexpr bool assign(std::string_view text) noexcept
    {
        if (text.size() > MaxBytes) return false;
        for (std::size_t i = 0; i < text.size(); ++i) bytes_[i] = text[i];
        size_ = static_cast<std::uint8_t>(text.size());
        return true;
    }

    /// Makes it empty.
    constexpr void clear() noexcept { size_ = 0; }

    /// Whether it is empty.
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    /// Its size in bytes.
    [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
    /// The text; valid as long as this object exists and is not changed.
    [[nodiscard]] constexpr std::string_view view() const noexcept { return {bytes_.data(), size_}; }
    /// The same as view().
    [[nodiscard]] constexpr operator std::string_view() const noexcept { return view(); }

    friend constexpr bool operator==(const bounded_text& a, const bounded_text& b) noexcept { return a.view() == b.view(); }
    friend constexpr bool operator==(const bounded_text& a, std::string_view b) noexcept { return a.view() == b; }

private:
    std::array<char, MaxBytes> bytes_{};
    std::uint8_t size_ = 0;
};

}  // namespace leasehold::inline v0

#endif
