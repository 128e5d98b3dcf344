// SPDX-License-Identifier: BSL-1.0
#include "records.hpp"

#include "duration_text.hpp"
#include "json.hpp"
#include "message.hpp"

#include <algorithm>
#include <chrono>

namespace tool {

namespace {

bool continues_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string_view first_columns(std::string_view text, std::size_t columns) noexcept
{
    std::size_t end = 0;
    for (std::size_t column = 0; end < text.size(); ++end)
        if (!continues_character(text[end]) && column++ == columns) break;
    return text.substr(0, end);
}

std::string asked_text(const leasehold::lease_record& record)
{
    if (!record.handover_request) return {};
    return record.handover_request->empty() ? "yes" : printable(*record.handover_request);
}

}  // namespace

std::size_t columns_of(std::string_view text) noexcept
{
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

std::string fitted(std::string_view text, std::size_t width)
{
    const std::size_t columns = columns_of(text);
    if (columns <= width) return std::string{text}.append(width - columns, ' ');
    if (width == 0) return {};
    return std::string{first_columns(text, width - 1)}.append("…");
}

std::string fitted_name(std::string_view text, std::size_t width)
{
    const std::size_t columns = columns_of(text);
    if (columns <= width || width < 3) return fitted(text, width);
    const std::size_t at_end = (width - 1) / 2;
    const std::string_view begin = first_columns(text, width - 1 - at_end);
    return std::string{begin}.append("…").append(text.substr(first_columns(text, columns - at_end).size()));
}

std::string short_owner(std::string_view owner)
{
    constexpr std::size_t random_digits = 32;
    constexpr std::size_t digits_shown = 8;
    const std::size_t random = owner.rfind('/') + 1;  // npos + 1 is 0
    const bool is_random =
        owner.size() - random == random_digits && owner.find_first_not_of("0123456789abcdef", random) == owner.npos;
    return is_random ? printable(owner.substr(0, random + digits_shown)) + "…" : printable(owner);
}

std::string held_closed_text(std::string_view reason)
{
    return "(held closed" + (reason.empty() ? "" : ": " + printable(reason)) + ")";
}

std::string owner_or_what_else(const leasehold::lease_record& record, bool in_short)
{
    if (record.owner.empty()) return "(kept closed)";
    if (record.is_count()) return "(count: " + record.owner + ")";
    if (record.is_hold()) return held_closed_text(record.hold_reason());
    return in_short ? short_owner(record.owner) : printable(record.owner);
}

std::string in_columns(const std::vector<std::vector<std::string>>& rows)
{
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i + 1 < row.size(); ++i) text += fitted(row[i], widths[i]) + "  ";
        text += row.back() + "\n";
    }
    return text;
}

std::string to_table(const std::vector<leasehold::lease_record>& records)
{
    if (records.empty()) return {};
    const bool data = std::ranges::any_of(records, [](const auto& each) { return !each.data.empty(); });
    const bool asked = std::ranges::any_of(records, [](const auto& each) { return each.handover_request.has_value(); });
    std::vector<std::vector<std::string>> rows{{"NAME", "OWNER", "TOKEN", "REMAINING"}};
    if (data) rows.back().emplace_back("DATA");
    if (asked) rows.back().emplace_back("ASKED TO HAND OVER");
    for (const auto& each : records) {
        rows.push_back({printable(each.name), owner_or_what_else(each, false),
                        std::to_string(each.token.value()), to_short_text(each.remaining)});
        if (data) rows.back().push_back(printable(each.data));
        if (asked) rows.back().push_back(asked_text(each));
    }
    return in_columns(rows);
}

std::string to_json(const leasehold::lease_record& record)
{
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(record.remaining).count();
    return "{\"name\": " + json_string(record.name) +
           ", \"owner\": " + (record.owner.empty() || record.is_hold() ? "null" : json_string(record.owner)) +
           (record.is_hold() ? ", \"hold\": " + json_string(record.hold_reason()) : "") +
           (record.is_count() ? ", \"is_count\": true" : "") +
           ", \"token\": " + std::to_string(record.token.value()) + ", \"remaining_ms\": " + std::to_string(left) +
           (record.data.empty() ? "" : ", \"data\": " + json_string(record.data)) +
           (record.handover_request ? ", \"asked\": " + json_string(*record.handover_request) : "") + "}";
}

std::string to_json(const std::vector<leasehold::lease_record>& records, std::string_view between)
{
    std::string text{"["};
    for (const auto& each : records) text.append(text.size() > 1 ? between : "").append(to_json(each));
    return text + "]";
}

}  // namespace tool
