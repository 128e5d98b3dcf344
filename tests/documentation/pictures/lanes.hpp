// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_LANES_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_LANES_HPP

#include <leasehold/leasehold.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

namespace pictures {

namespace lh = leasehold;
using namespace std::chrono_literals;

inline constexpr double picture_width = 600;

/// Where an instant of the story stands in the picture.
struct time_axis {
    double left = 82;
    double right = picture_width - 16;
    lh::duration whole;

    [[nodiscard]] double x(lh::duration at) const
    {
        // Tenths of a pixel, so that no compiler's last digit shows.
        const double share = static_cast<double>(at.count()) / static_cast<double>(whole.count());
        return std::round((left + share * (right - left)) * 10) / 10;
    }
};

/// "30 s", "14.5 s".
inline std::string seconds(lh::duration d)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g s", std::round(std::chrono::duration<double>(d).count() * 10) / 10);
    return text.data();
}

}  // namespace pictures

#endif
