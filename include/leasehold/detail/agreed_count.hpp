// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_AGREED_COUNT_HPP
#define LEASEHOLD_DETAIL_AGREED_COUNT_HPP

#include <leasehold/limits.hpp>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace leasehold::inline v0::detail {

// Takes a number off the front of a text. Empty: there is none, or it is too large.
inline std::optional<std::size_t> take_number(std::string_view& text) noexcept
{
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

inline bool take_text(std::string_view& text, std::string_view expected) noexcept
{
    if (!text.starts_with(expected)) return false;
    text.remove_prefix(expected.size());
    return true;
}

// What all processes agree on: how many permits there are, and while they become fewer, how many there were. Each change has a number,
// one more than the change before. So a process that agreed on the count before tells a later change from a record that somebody else
// has written.
//
// As text it is the owner of the record: "5 permits"; "4 permits, was 8, change 1" while permits above the new count are held; then
// "4 permits, change 2".
struct agreed_count {
    std::size_t count = 0;
    std::size_t was = 0;     // more than `count` while permits may be held that are no more; otherwise 0
    std::size_t change = 0;  // how many changes there have been

    // While it changes, nobody is granted a permit from `count` on, and these permits are closed as they come free.
    [[nodiscard]] bool changing() const noexcept { return was > count; }
    // No permit from this number on is held.
    [[nodiscard]] std::size_t limit() const noexcept { return std::max(count, was); }
    // Once all permits from `count` on are closed.
    [[nodiscard]] agreed_count settled() const noexcept { return {count, 0, change + 1}; }

    // The change of this into another count, as the change of this number.
    [[nodiscard]] agreed_count resized(std::size_t to, std::size_t number) const noexcept
    {
        assert(to > 0 && number > change);
        return {to, limit() > to ? limit() : 0, number};
    }

    [[nodiscard]] std::string text(std::string_view unit) const
    {
        std::string all = std::to_string(count) + " " + std::string{unit};
        if (changing()) all += ", was " + std::to_string(was);
        if (change > 0) all += ", change " + std::to_string(change);
        return all;
    }

    // Empty: the text is no such record. May throw std::bad_alloc.
    static std::optional<agreed_count> of(std::string_view text, std::string_view unit)
    {
        agreed_count all;
        std::string_view left = text;
        const auto take = [&left](std::string_view before, std::size_t& number) {
            if (!take_text(left, before)) return true;
            const std::optional<std::size_t> taken = take_number(left);
            number = taken.value_or(0);
            return taken.has_value() && number > 0;
        };
        if (!take("", all.count) || !take_text(left, " ") || !take_text(left, unit)) return std::nullopt;
        if (!take(", was ", all.was) || !take(", change ", all.change) || !left.empty()) return std::nullopt;
        return all.limit() <= max_permits && all.text(unit) == text ? std::optional{all} : std::nullopt;
    }

    friend bool operator==(const agreed_count&, const agreed_count&) = default;
};

// What a process does that finds another count in the record than its own.
enum class count_verdict : std::uint8_t {
    follow,   // it makes that count its own
    restore,  // the record has fallen back behind a change that is still agreed on: it writes the change again
    refuse    // it may not take part
};

// How a process stands to the count.
struct count_stance {
    agreed_count own;
    bool agreed = false;   // it has found or written its own count in the record before
    bool lasts = false;    // and the record that it has written should still be there
    bool follows = false;  // its option: it takes whatever count there is
    std::size_t made = 0;  // the count that it was made with, before it followed any change
};

// A pure function of what is known. `found` differs from the own count.
inline count_verdict judge(const count_stance& here, const agreed_count& found) noexcept
{
    assert(!(here.own == found));
    if (here.agreed) {
        if (found.change > here.own.change) return count_verdict::follow;
        const bool conflict = found.count != here.own.count && here.lasts;  // two changes got one number: one of them knew too little
        if (found.change == here.own.change && found.change > 0) return conflict ? count_verdict::restore : count_verdict::follow;
        if (here.lasts && here.own.change > found.change) return count_verdict::restore;
    }
    const bool same = found.count == here.own.count;
    const bool begins_again = !here.lasts && found.count == here.made;  // its permits have ended, and the change is forgotten
    return same || here.follows || begins_again ? count_verdict::follow : count_verdict::refuse;
}

// The own count, to be written again as a new change, which gives back all permits that anybody may hold now.
inline agreed_count restored(const agreed_count& own, const agreed_count& found) noexcept
{
    const std::size_t limit = std::max(own.limit(), found.limit());
    return {own.count, limit > own.count ? limit : 0, std::max(own.change, found.change) + 1};
}

}  // namespace leasehold::inline v0::detail

#endif
