// SPDX-License-Identifier: BSL-1.0
// Durations: as the command reads and writes them, and as the library computes with them. Input: a text; then --ttl, --margin,
// --kill-after and --min-hold, each may be empty; then numbers.
#include "fuzz.hpp"
#include "targets.hpp"

#include <duration_text.hpp>
#include <exit_code.hpp>
#include <failure.hpp>
#include <terms_choice.hpp>

#include <leasehold/detail/series.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renew_policy/renew_for.hpp>
#include <leasehold/waiting/deadline.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace {

namespace lh = leasehold;
using lh::duration;
using namespace std::chrono_literals;

struct unit {
    std::string_view name;
    long double nanoseconds;
};
constexpr std::array<unit, 6> units{
    {{"w", 604800e9L}, {"d", 86400e9L}, {"h", 3600e9L}, {"m", 60e9L}, {"s", 1e9L}, {"ms", 1e6L}}};

// The grammar once more, from its end: nothing where the text is no duration, else nanoseconds.
std::optional<long double> read_backwards(std::string text)
{
    if (text == "0") return 0;
    if (text.empty()) return std::nullopt;
    long double sum = 0;
    for (std::size_t smallest = units.size(); !text.empty();) {
        const std::size_t number_end = text.find_last_of("0123456789.") + 1;  // npos + 1 is 0
        const std::string name = text.substr(number_end);
        std::size_t which = 0;
        while (which < units.size() && units[which].name != name) ++which;
        if (which >= smallest) return std::nullopt;
        smallest = which;
        const std::size_t number_begin = number_end == 0 ? 0 : text.find_last_not_of("0123456789.", number_end - 1) + 1;
        const std::string number = text.substr(number_begin, number_end - number_begin);
        if (number.empty() || number == "." || number.find('.') != number.rfind('.')) return std::nullopt;
        sum += std::strtold(number.c_str(), nullptr) * units[which].nanoseconds;
        text.resize(number_begin);
    }
    return sum;
}

std::optional<duration> parsed(std::string_view line)
{
    const std::string_view text = line.substr(0, line.find('\0'));  // an argument has no NUL
    try {
        return tool::parse_duration(text);
    } catch (const tool::failure& refused) {
        fuzz::require(refused.status() == tool::exit_code::usage && fuzz::contains(refused.what(), "write durations like"),
                      "a refusal says what is allowed", text, refused.what());
        return std::nullopt;
    }
}

void is_read_and_written(std::string_view line)
{
    const std::string_view text = line.substr(0, line.find('\0'));
    constexpr long double longest = 3650 * 86400e9L;
    const auto expected = read_backwards(std::string{text});
    const auto got = parsed(text);
    // Rounding may decide at the limit itself.
    if (!expected || std::abs(*expected - longest) > 100)
        fuzz::require(got.has_value() == (expected && *expected < longest), "what is a duration is read", text);
    if (!got) return;
    fuzz::require(*got >= 0ns && *got <= 87600h, "a duration is from nothing to ten years", text);
    const auto off = static_cast<long double>(got->count()) - *expected;
    fuzz::require(std::abs(off) <= 3 + *expected * 1e-15L, "a duration is what is written, to the last digit of a double",
                  text);

    const std::string written = tool::to_text(*got);
    fuzz::require(tool::parse_duration(written) == std::chrono::floor<std::chrono::milliseconds>(*got),
                  "a duration that is printed is read again", text, written);
    fuzz::require(tool::to_short_text(*got).size() <= 8, "a column has room for it", text, tool::to_short_text(*got));
}

void terms_work_or_are_refused(fuzz::reader& in)
{
    tool::asked_terms asked;
    if (const auto ttl = parsed(in.line())) asked.ttl = *ttl;
    asked.margin = parsed(in.line());
    asked.kill_after = parsed(in.line());
    asked.min_hold = parsed(in.line()).value_or(0ns);
    try {
        const tool::chosen_terms chosen = tool::choose_terms(asked);
        fuzz::require(chosen.lease.valid(), "terms that were accepted work",
                      chosen.lease.broken_rule() ? chosen.lease.broken_rule() : "");
        fuzz::require(chosen.kill_after <= chosen.lease.margin(), "the command is dead before another host is let in");
        fuzz::require(chosen.call_timeout > 0ns && chosen.call_timeout < chosen.lease.ttl,
                      "a renewal can be tried again within the term");
        fuzz::require(chosen.lease.ttl == asked.ttl && chosen.lease.min_hold == asked.min_hold, "what was said counts");
    } catch (const tool::failure& refused) {
        fuzz::require(refused.status() == tool::exit_code::usage && fuzz::is_harmless(refused.what()), "a refusal says why",
                      refused.what());
    }
}

void policies_stay_in_range(const lh::lease_terms& terms, duration age, unsigned failed, duration limit)
{
    const lh::renewal_state state{age, terms.ttl, failed};
    const auto due = lh::renew_at_fraction{}.next(state);
    // A third, and pauses of a twelfth at most.
    fuzz::require(due && *due >= terms.ttl / 4 && *due <= terms.ttl / 3 + terms.ttl / 12 * 64,
                  "the default policy renews within its pauses");
    if (limit < 0ns || age < 0ns) return;
    const auto limited = lh::renew_for{limit}.next(state);
    fuzz::require(!limited || age + *limited <= limit, "nothing is renewed beyond the limit");
}

struct still_clock {
    lh::time_point at;
    [[nodiscard]] lh::time_point now() const noexcept { return at; }
};

void any_numbers_are_safe(fuzz::reader& in)
{
    const duration first{in.number()}, second{in.number()}, third{in.number()};
    const auto failed = static_cast<unsigned>(in.number());
    fuzz::require(!tool::to_short_text(first).empty() && !tool::to_text(second).empty(), "any time is shown");

    const lh::lease_terms terms{.ttl = first, .safety_margin = second, .min_hold = third};
    if (terms.valid()) {
        fuzz::require(first > 0ns && second >= 0ns && second < first && third >= 0ns, "valid terms leave time to hold");
        fuzz::require(first <= 87600h && third <= 87600h, "valid terms are ten years at most");
        policies_stay_in_range(terms, duration{third.count() / 2}, failed, second * 3);
    }
    const lh::time_point now{std::max(third, 0ns)};
    for (const lh::time_point until :
         {lh::waiting::deadline_after(still_clock{now}, first),
          lh::waiting::deadline_after(still_clock{now},
                                      std::chrono::duration<double>{std::bit_cast<double>(second.count())})})
        fuzz::require(until >= now, "a wait does not end before it begins");
    const auto far = lh::waiting::deadline_after(still_clock{now}, std::chrono::hours{second.count()});
    fuzz::require(second.count() <= 0 ? far == now : far > now || far == lh::time_point::max(),
                  "a wait of hours ends later, whatever their number");

    lh::detail::histogram times;
    times.add(first);
    std::size_t bucket = 0;
    while (times.count(bucket) == 0) fuzz::require(++bucket < lh::detail::histogram::buckets, "each time is counted");
    const double seconds = std::floor(static_cast<double>(std::max(first, 0ns).count()) / 1e3) * 1e-6;
    fuzz::require(bucket + 1 == lh::detail::histogram::buckets ||
                      seconds <= lh::detail::histogram::bound_seconds(bucket) * (1 + 1e-9),
                  "no time is above its bound");
    fuzz::require(bucket == 0 || seconds >= lh::detail::histogram::bound_seconds(bucket - 1),
                  "no time is below the bound before");
}

}  // namespace

void fuzz::durations(std::string_view input)
{
    reader in{input};
    is_read_and_written(in.line());
    terms_work_or_are_refused(in);
    any_numbers_are_safe(in);
}
