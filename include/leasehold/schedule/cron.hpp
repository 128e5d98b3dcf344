// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SCHEDULE_CRON_HPP
#define LEASEHOLD_SCHEDULE_CRON_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/printable.hpp>
#include <leasehold/error.hpp>
#include <leasehold/schedule/concept.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace leasehold::inline v0 {

namespace detail::cron_rules {

// What a constant line that breaks a rule calls. No constant expression may, so the compiler names the function.
inline void a_cron_line_has_five_fields_minute_hour_day_month_weekday() {}
inline void the_minute_of_a_cron_line_is_0_to_59() {}
inline void the_hour_of_a_cron_line_is_0_to_23() {}
inline void the_day_of_the_month_of_a_cron_line_is_1_to_31() {}
inline void the_month_of_a_cron_line_is_1_to_12_or_JAN_to_DEC() {}
inline void the_day_of_the_week_of_a_cron_line_is_0_to_7_or_SUN_to_SAT() {}
inline void this_cron_line_never_fires_no_such_day_is_in_its_months() {}

}  // namespace detail::cron_rules

namespace detail {

// What is wrong with a line, beside 0 to 4: that field.
inline constexpr std::size_t cron_number_of_fields = 5;
inline constexpr int cron_never_fires = 6;

struct cron_field {
    std::string_view name;
    std::string_view allowed;
    unsigned first;
    unsigned last;
    std::string_view names;  // three letters each, from the first value on

    [[nodiscard]] constexpr bool is_of_days() const noexcept { return last == 31 || last == 7; }
};

inline constexpr std::array<cron_field, cron_number_of_fields> cron_fields{{
    {"minute", "0 to 59", 0, 59, ""},
    {"hour", "0 to 23", 0, 23, ""},
    {"day of the month", "1 to 31", 1, 31, ""},
    {"month", "1 to 12 or JAN to DEC", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"},
    {"day of the week", "0 to 7 (0 and 7 are Sunday) or SUN to SAT", 0, 7, "SUNMONTUEWEDTHUFRISAT"},
}};

// Values 0 to 59 as bits.
struct cron_values {
    std::uint64_t bits = 0;
    unsigned step = 0;  // of a field that is * (1) or */step, or of no days and means the same; 0 for others

    [[nodiscard]] constexpr bool has(unsigned value) const noexcept { return (bits >> value & 1U) != 0; }
    // The smallest value that is not less; 64 if there is none.
    [[nodiscard]] constexpr unsigned from(unsigned value) const noexcept
    {
        return value > 63 ? 64U : static_cast<unsigned>(std::countr_zero(bits >> value << value));
    }
    friend constexpr bool operator==(const cron_values&, const cron_values&) = default;
};

// Reads one field.
class cron_reader {
public:
    constexpr cron_reader(std::string_view text, const cron_field& field) noexcept : left_{text}, field_{field} {}

    // False: it breaks the field's rule.
    constexpr bool read(cron_values& into) noexcept
    {
        const bool fits = left_.starts_with('*') ? read_star(into) : read_list(into);
        // A star has a meaning of its own for days only.
        if (fits && !field_.is_of_days()) into.step = step_of(into.bits);
        return fits && left_.empty();
    }

private:
    constexpr bool read_list(cron_values& into) noexcept
    {
        do {
            if (!read_range(into)) return false;
        } while (take(','));
        return true;
    }

    // With which step a star means these values; 0: with none, or there is only one.
    [[nodiscard]] constexpr unsigned step_of(std::uint64_t bits) const noexcept
    {
        for (unsigned step = 1; field_.first + step <= field_.last; ++step) {
            cron_values same;
            set(same, field_.first, field_.last, step);
            if (same.bits == bits) return step;
        }
        return 0;
    }

    constexpr bool take(char c) noexcept
    {
        if (!left_.starts_with(c)) return false;
        left_.remove_prefix(1);
        return true;
    }

    constexpr bool read_star(cron_values& into) noexcept
    {
        left_.remove_prefix(1);
        into.step = 1;
        if (take('/') && !read_step(into.step)) return false;
        // Sunday has two numbers: a star means each day once.
        set(into, field_.first, field_.last == 7 ? 6 : field_.last, into.step);
        return true;
    }

    constexpr bool read_range(cron_values& into) noexcept
    {
        unsigned low = 0;
        if (!read_value(low)) return false;
        unsigned high = low;
        const bool range = take('-');
        if (range && (!read_value(high) || high < low)) return false;
        unsigned step = 1;
        // A step without a range runs to the field's end, as in "5/15".
        if (take('/')) {
            if (!read_step(step)) return false;
            if (!range) high = field_.last == 7 && low < 7 ? 6 : field_.last;
        }
        set(into, low, high, step);
        return true;
    }

    constexpr bool read_step(unsigned& step) noexcept { return read_number(step) && step >= 1 && step <= field_.last; }

    constexpr bool read_value(unsigned& value) noexcept
    {
        for (std::size_t i = 0; i + 3 <= field_.names.size() && left_.size() >= 3; i += 3)
            if (same_letters(left_.substr(0, 3), field_.names.substr(i, 3))) {
                value = field_.first + static_cast<unsigned>(i / 3);
                left_.remove_prefix(3);
                return true;
            }
        return read_number(value) && value >= field_.first && value <= field_.last;
    }

    constexpr bool read_number(unsigned& value) noexcept
    {
        std::size_t digits = 0;
        value = 0;
        for (; digits < left_.size() && left_[digits] >= '0' && left_[digits] <= '9'; ++digits)
            if (digits < 3) value = value * 10 + static_cast<unsigned>(left_[digits] - '0');
        left_.remove_prefix(digits);
        return digits >= 1 && digits <= 2;
    }

    static constexpr bool same_letters(std::string_view a, std::string_view capitals) noexcept
    {
        for (std::size_t i = 0; i < a.size(); ++i)
            if ((a[i] >= 'a' && a[i] <= 'z' ? static_cast<char>(a[i] - 'a' + 'A') : a[i]) != capitals[i]) return false;
        return true;
    }

    constexpr void set(cron_values& into, unsigned low, unsigned high, unsigned step) const noexcept
    {
        for (unsigned value = low; value <= high; value += step)
            into.bits |= std::uint64_t{1} << (field_.last == 7 && value == 7 ? 0U : value);
    }

    std::string_view left_;
    const cron_field& field_;
};

constexpr bool cron_blank(char c) noexcept { return c == ' ' || c == '\t'; }

constexpr std::string_view take_cron_word(std::string_view& line) noexcept
{
    while (!line.empty() && cron_blank(line.front())) line.remove_prefix(1);
    std::size_t size = 0;
    while (size < line.size() && !cron_blank(line[size])) ++size;
    const std::string_view word = line.substr(0, size);
    line.remove_prefix(size);
    return word;
}

// The five fields of a line.
class cron_line {
public:
    // One that is known at compile time. It is a parameter's type of its own, since clang++ 14 crashes where a class with a consteval
    // constructor is a temporary.
    template <std::size_t N>
    consteval cron_line(const char (&line)[N])
    {
        const std::string_view text{static_cast<const char*>(line), N - 1};
        const int wrong = read(text);
        switch (wrong) {
        case 0: cron_rules::the_minute_of_a_cron_line_is_0_to_59(); break;
        case 1: cron_rules::the_hour_of_a_cron_line_is_0_to_23(); break;
        case 2: cron_rules::the_day_of_the_month_of_a_cron_line_is_1_to_31(); break;
        case 3: cron_rules::the_month_of_a_cron_line_is_1_to_12_or_JAN_to_DEC(); break;
        case 4: cron_rules::the_day_of_the_week_of_a_cron_line_is_0_to_7_or_SUN_to_SAT(); break;
        case int{cron_number_of_fields}: cron_rules::a_cron_line_has_five_fields_minute_hour_day_month_weekday(); break;
        case cron_never_fires: cron_rules::this_cron_line_never_fires_no_such_day_is_in_its_months(); break;
        default: break;
        }
        if (wrong >= 0) refuse(text, wrong);  // clang++ 14 calls this when the program runs, for a global that is not constexpr
    }

    // Throws std::system_error for a line that is wrong.
    struct at_run_time {};
    constexpr cron_line(std::string_view line, at_run_time)
    {
        if (const int wrong = read(line); wrong >= 0) refuse(line, wrong);
    }

    [[nodiscard]] constexpr const cron_values& operator[](std::size_t field) const noexcept { return fields_[field]; }

    [[nodiscard]] constexpr bool one_day_is_enough() const noexcept { return fields_[2].step == 0 && fields_[4].step == 0; }

    friend constexpr bool operator==(const cron_line&, const cron_line&) = default;

private:
    // What is wrong with the line; -1: nothing.
    constexpr int read(std::string_view line) noexcept
    {
        std::string_view left = line;
        for (std::size_t i = 0; i < fields_.size(); ++i)
            if (take_cron_word(left).empty()) return int{cron_number_of_fields};
        if (!take_cron_word(left).empty()) return int{cron_number_of_fields};
        left = line;
        for (std::size_t i = 0; i < fields_.size(); ++i)
            if (!cron_reader{take_cron_word(left), cron_fields[i]}.read(fields_[i])) return static_cast<int>(i);
        return fires() ? -1 : cron_never_fires;
    }

    // Whether there is a day in its months. Each day of a year, the 29th of February too, falls on each day of the week at some time.
    [[nodiscard]] constexpr bool fires() const noexcept
    {
        constexpr std::array<unsigned, 12> longest{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        if (one_day_is_enough()) return true;
        for (unsigned month = 1; month <= 12; ++month)
            if (fields_[3].has(month) && fields_[2].from(1) <= longest[month - 1]) return true;
        return false;
    }

    [[noreturn]] static void refuse(std::string_view line, int wrong)
    {
        std::string message = "the cron line \"" + printable(line) + "\" ";
        if (wrong == int{cron_number_of_fields})
            message += "must have five fields: minute, hour, day of the month, month, day of the week";
        else if (wrong == cron_never_fires)
            message += "never fires: no such day is in its months";
        else {
            const cron_field& field = cron_fields[static_cast<std::size_t>(wrong)];
            message += "has a wrong " + std::string{field.name} + ": allowed are " + std::string{field.allowed} +
                   ", lists (1,2), ranges (1-5), steps (*/5, 10-40/5), and *";
        }
        raise_invalid(errc::invalid_terms, message);
    }

    std::array<cron_values, cron_number_of_fields> fields_{};
};

}  // namespace detail

/// A schedule that is written as in a crontab, in UTC: minute, hour, day of the month, month, day of the week.
///
///     lh::cron{"0 3 * * *"}            // each day at 03:00 UTC
///     lh::cron{"*/15 8-18 * * MON-FRI"}
///
/// A field is `*`, alone or with a step, or a list of values and ranges, each of which may have a step: `1,5-9,20-40/5`. `5/15` means from
/// 5 to the end in steps of 15. Months and days of the week have English names of three letters too, of either case; 0 and 7 are Sunday. If
/// both days are restricted, one of them is enough, as in cron(8): `0 0 1,15 * MON` is the 1st, the 15th and each Monday. A day that begins
/// with `*`, also with a step, is not restricted in this sense: then both must fit.
///
/// A literal that breaks a rule does not compile, and the compiler names the rule. There are no seconds, no `@daily`, no `L`, `W` and `#`.
class cron {
public:
    /// Reads a literal, at compile time.
    constexpr cron(detail::cron_line line) noexcept : line_{line} {}

    /// Reads a line that is known only when the program runs: a std::string, a std::string_view, a const char*. Throws std::system_error
    /// with errc::invalid_terms, which says which field is wrong and what is allowed; also for a line that never fires, as "0 0 30 2 *".
    template <std::convertible_to<std::string_view> Text>
        requires(!std::is_array_v<Text>)
    constexpr explicit cron(const Text& line) : line_{std::string_view{line}, detail::cron_line::at_run_time{}}
    {
    }

    /// See schedule.
    [[nodiscard]] constexpr fire_time next(fire_time after) const noexcept
    {
        // Names of std::chrono stand in full: a global of the user may have the same.
        using minutes = std::chrono::minutes;
        constexpr std::chrono::sys_days end{std::chrono::year{2262} / std::chrono::April / 11};  // the last whole day of a fire_time
        constexpr minutes all_day{24 * 60};
        if (after >= end) return no_fire;
        const auto earliest = std::chrono::floor<minutes>(after) + minutes{1};
        std::chrono::sys_days day = std::chrono::floor<std::chrono::days>(earliest);
        for (minutes from = earliest - day; day < end; from = minutes{0}) {
            if (const minutes at = first_of_day(from); fires_on(day) && at < all_day) return fire_time{day + at};
            day = next_day(day);
        }
        return no_fire;
    }

    /// As in "cron 0 3 * * *": lines that mean the same have the same text, however they are written. But a day with a star stays one
    /// with a star, since it is not restricted.
    [[nodiscard]] std::string text() const
    {
        std::string text = "cron";
        for (std::size_t i = 0; i < detail::cron_number_of_fields; ++i) text += ' ' + written(i);
        return text;
    }

    /// Whether they have the same text.
    friend constexpr bool operator==(const cron&, const cron&) = default;

private:
    [[nodiscard]] constexpr bool fires_on(std::chrono::sys_days day) const noexcept
    {
        const std::chrono::year_month_day date{day};
        if (!line_[3].has(static_cast<unsigned>(date.month()))) return false;
        const bool by_month = line_[2].has(static_cast<unsigned>(date.day()));
        const bool by_week = line_[4].has(std::chrono::weekday{day}.c_encoding());
        return line_.one_day_is_enough() ? by_month || by_week : by_month && by_week;
    }

    // The next day, or the first of the next month if this one has none.
    [[nodiscard]] constexpr std::chrono::sys_days next_day(std::chrono::sys_days day) const noexcept
    {
        const std::chrono::year_month_day date{day};
        if (line_[3].has(static_cast<unsigned>(date.month()))) return day + std::chrono::days{1};
        return std::chrono::sys_days{(date.year() / date.month() + std::chrono::months{1}) / std::chrono::day{1}};
    }

    // The first time of a day that is not before `from`; 24 hours or more if there is none.
    [[nodiscard]] constexpr std::chrono::minutes first_of_day(std::chrono::minutes from) const noexcept
    {
        const auto from_hour = static_cast<unsigned>(from.count() / 60);
        const auto from_minute = static_cast<unsigned>(from.count() % 60);
        unsigned hour = line_[1].from(from_hour);
        unsigned minute = line_[0].from(hour == from_hour ? from_minute : 0);
        if (minute > 59) {
            hour = line_[1].from(hour + 1);
            minute = line_[0].from(0);
        }
        return std::chrono::minutes{hour * 60 + minute};
    }

    [[nodiscard]] std::string written(std::size_t i) const
    {
        const detail::cron_values& field = line_[i];
        if (field.step > 0) return field.step == 1 ? "*" : "*/" + std::to_string(field.step);
        std::string text;
        for (unsigned low = field.from(0); low < 64;) {
            unsigned high = low;
            while (field.has(high + 1)) ++high;
            text += (text.empty() ? "" : ",") + std::to_string(low);
            if (high > low) text += (high == low + 1 ? "," : "-") + std::to_string(high);
            low = field.from(high + 1);
        }
        return text;
    }

    detail::cron_line line_;
};

}  // namespace leasehold::inline v0

#endif
