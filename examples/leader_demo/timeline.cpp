// SPDX-License-Identifier: BSL-1.0
#include "timeline.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace demo {

timeline::timeline(instant began)
    : began_{began},
      terminal_{::isatty(STDOUT_FILENO) == 1},
      coloured_{terminal_ && !std::getenv("NO_COLOR")}
{
}

timeline::~timeline() { clear(); }

void timeline::line(instant at, std::string_view who, std::string_view what, colour in)
{
    constexpr std::array<const char*, 5> codes = {"", "\033[2m", "\033[31m", "\033[32m", "\033[33m"};
    clear();
    const bool paint = coloured_ && in != colour::plain;
    std::printf("%s%s%s\n", paint ? codes[static_cast<std::size_t>(in)] : "", text(at, who, what).c_str(),
                paint ? "\033[0m" : "");
    std::fflush(stdout);
}

void timeline::now(instant at, std::string_view who, std::string_view what)
{
    if (!terminal_) return;
    clear();
    std::printf("%s", text(at, who, what).c_str());
    std::fflush(stdout);
    drawn_ = true;
}

void timeline::clear()
{
    if (drawn_) std::printf("\r\033[K");
    drawn_ = false;
}

std::string timeline::text(instant at, std::string_view who, std::string_view what) const
{
    std::array<char, 32> start{};
    std::snprintf(start.data(), start.size(), "%7s  ", seconds(std::max<instant>(at - began_, 0)).c_str());
    std::string whole{start.data()};
    whole.append(who).append(std::max<std::size_t>(who.size(), 10) - who.size() + 1, ' ').append(what);
    return whole;
}

std::string token_and_remaining(std::int64_t token, instant remaining, instant whole)
{
    constexpr std::size_t width = 20;
    const instant left = std::clamp<instant>(remaining, 0, whole);
    const auto full = static_cast<std::size_t>(left * static_cast<instant>(width) / std::max<instant>(whole, 1));
    std::string text = "token " + std::to_string(token) + "   remaining " + seconds(left) + "  [";
    return text.append(full, '#').append(width - full, '-').append("]");
}

std::string seconds(instant time)
{
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.2f s", static_cast<double>(time) / static_cast<double>(one_second));
    return text.data();
}

}  // namespace demo
