// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_GROUP_GROUP_TEXTS_HPP
#define LEASEHOLD_GROUP_GROUP_TEXTS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/agreed_count.hpp>
#include <leasehold/detail/handover_priority.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

// What members of a group write into the store for each other, and read there: names, data, reasons. Pure.
namespace leasehold::inline v0::group {

inline std::string prefix_of(std::string_view name) { return std::string{name} + '/'; }
inline std::string members_of(std::string_view name) { return std::string{name} + "/members/"; }
inline std::string shard_name(std::string_view name, std::size_t shard) { return prefix_of(name) + std::to_string(shard); }

// A number without sign or leading zeros, and nothing else.
inline std::optional<std::size_t> number_in(std::string_view text)
{
    std::size_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end || (text.size() > 1 && text.front() == '0')) return std::nullopt;
    return number;
}

// The shard that a name belongs to; `prefix` is prefix_of(), and the name begins with it.
inline std::optional<std::size_t> shard_in(std::string_view name, std::string_view prefix) { return number_in(name.substr(prefix.size())); }

// The owner of the record of the count, and back.
inline std::string count_text(std::size_t count) { return std::to_string(count) + " shards"; }
inline std::optional<std::size_t> count_in(std::string_view owner)
{
    constexpr std::string_view unit = " shards";
    return owner.ends_with(unit) ? number_in(owner.substr(0, owner.size() - unit.size())) : std::nullopt;
}

// The reason of a request by a member, and back. Everything else is an operator's, and a member's request does not take its place.
struct wanted_by {
    std::string_view id;
    std::size_t after;

    friend bool operator==(const wanted_by&, const wanted_by&) = default;
};
inline std::string request_text(const wanted_by& by)
{
    return std::string{detail::shard_prefix} + std::to_string(by.after) + " of " + std::string{by.id};
}
inline std::optional<wanted_by> request_in(std::string_view reason)
{
    constexpr std::string_view middle = " of ";
    if (!reason.starts_with(detail::shard_prefix)) return std::nullopt;
    reason.remove_prefix(detail::shard_prefix.size());
    const std::size_t end = reason.find(middle);
    if (end == std::string_view::npos) return std::nullopt;
    const std::optional<std::size_t> after = number_in(reason.substr(0, end));
    if (!after) return std::nullopt;
    return wanted_by{reason.substr(end + middle.size()), *after};
}

// What a member of a shard_group tells the others. Its own data come last, so that they can be anything.
struct member_words {
    std::uint32_t capacity = 1;
    std::size_t most = 0;  // 0: no limit
    std::size_t count = 0;
    bool paused = false;
    std::string_view data{};

    friend bool operator==(const member_words&, const member_words&) = default;
};
inline std::string words_text(const member_words& words)
{
    return "capacity=" + std::to_string(words.capacity) + " most=" + std::to_string(words.most) + " count=" + std::to_string(words.count) +
           " paused=" + (words.paused ? "1" : "0") + " data=" + std::string{words.data};
}
// Empty: the text is something else, or nothing: that of a group_member, which takes no shards, or of one that has only just joined.
inline std::optional<member_words> words_in(std::string_view text)
{
    std::size_t capacity = 0;
    std::size_t paused = 0;
    member_words words;
    const auto take = [&text](std::string_view before, std::size_t& number) {
        const std::optional<std::size_t> found = detail::take_text(text, before) ? detail::take_number(text) : std::nullopt;
        number = found.value_or(0);
        return found.has_value();
    };
    const bool complete = take("capacity=", capacity) && take(" most=", words.most) && take(" count=", words.count) &&
                          take(" paused=", paused) && detail::take_text(text, " data=");
    if (!complete || capacity == 0 || capacity > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    words.capacity = static_cast<std::uint32_t>(capacity);
    words.paused = paused != 0;
    words.data = text;
    return words;
}

// The most bytes of what words_text() adds to a member's own data.
inline constexpr std::size_t most_words = 80;

}  // namespace leasehold::inline v0::group

#endif
