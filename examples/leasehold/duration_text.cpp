// SPDX-License-Identifier: BSL-1.0
#include "duration_text.hpp"

#include "exit_code.hpp"
#include "failure.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace tool {

namespace {

using leasehold::duration;
using namespace std::chrono_literals;

struct unit {
    std::string_view name;
    duration length;
};

constexpr std::array<unit, 6> units{{{"w", 168h}, {"d", 24h}, {"h", 1h}, {"m", 1min}, {"s", 1s}, {"ms", 1ms}}};
constexpr duration longest = 3650 * 24h;

[[noreturn]] void refuse(std::string_view text, const std::string& why)
{
    throw failure{exit_code::usage,
                  "'" + std::string{text} + "' is not a duration: " + why +
                      "; write durations like 90s, 5m, 1h30m or 500ms, with the units w, d, h, m, s and ms"};
}

// A number without a sign, with digits after a point or without; takes it off `text`.
double take_number(std::string_view& text, std::string_view whole)
{
    const std::string number{text.substr(0, text.find_first_not_of("0123456789."))};
    if (number.empty()) refuse(whole, "a number is missing");
    if (number.find('.') != number.rfind('.') || number == ".") refuse(whole, "'" + number + "' is not a number");
    text.remove_prefix(number.size());
    return std::strtod(number.c_str(), nullptr);  // the locale is C
}

const unit* take_unit(std::string_view& text)
{
    const std::string_view name = text.substr(0, text.find_first_of("0123456789."));
    text.remove_prefix(name.size());
    for (const unit& each : units)
        if (each.name == name) return &each;
    return nullptr;
}

}  // namespace

duration parse_duration(std::string_view whole)
{
    if (whole == "0") return {};
    std::string_view text = whole;
    if (text.empty()) refuse(whole, "it is empty");
    duration sum{};
    duration before = duration::max();
    while (!text.empty()) {
        const double number = take_number(text, whole);
        if (text.empty()) refuse(whole, "the unit is missing");
        const unit* of = take_unit(text);
        if (!of) refuse(whole, "there is no such unit");
        if (of->length >= before) refuse(whole, "larger units come first, and each unit only once");
        before = of->length;
        const double nanoseconds = number * static_cast<double>(of->length.count());
        if (nanoseconds > static_cast<double>((longest - sum).count()))
            refuse(whole, "at most ten years (3650d) are allowed");
        sum += duration{static_cast<duration::rep>(nanoseconds + 0.5)};
    }
    return sum;
}

std::string to_text(duration time)
{
    if (time < 1ms) return "0s";
    std::string text;
    for (const unit& each : units) {
        if (each.name == "w") continue;
        const auto count = time / each.length;
        if (count > 0) text.append(std::to_string(count)).append(each.name);
        time -= count * each.length;
    }
    return text;
}

std::string to_short_text(duration time)
{
    std::array<char, 32> text{};
    const auto in = [time](duration of) { return static_cast<long long>(time / of); };
    if (time < 1s)
        std::snprintf(text.data(), text.size(), "%lldms", in(1ms));
    else if (time < 1min)
        std::snprintf(text.data(), text.size(), "%lld.%llds", in(1s), in(100ms) % 10);
    else if (time < 1h)
        std::snprintf(text.data(), text.size(), "%lldm%02llds", in(1min), in(1s) % 60);
    else if (time < 24h)
        std::snprintf(text.data(), text.size(), "%lldh%02lldm", in(1h), in(1min) % 60);
    else
        std::snprintf(text.data(), text.size(), "%lldd%02lldh", in(24h), in(1h) % 24);
    return text.data();
}

}  // namespace tool
