// SPDX-License-Identifier: BSL-1.0
#include "watch_view.hpp"

#include "duration_text.hpp"
#include "message.hpp"
#include "records.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace tool {

namespace {

using leasehold::duration;
using leasehold::time_point;

constexpr const char* bold = "\033[1m";
constexpr const char* dim = "\033[2m";
constexpr const char* green = "\033[32m";
constexpr const char* yellow = "\033[33m";
constexpr const char* red = "\033[31m";
constexpr const char* reversed = "\033[7m";
constexpr const char* plain = "\033[0m";

/// 0: that column isn't shown.
struct widths {
    std::size_t name = 4;
    std::size_t owner = 5;
    std::size_t token = 5;
    std::size_t bar = 0;
    static constexpr std::size_t remaining = 9;
    static constexpr std::size_t gap = 2;

    [[nodiscard]] std::size_t used() const noexcept
    {
        return name + (owner == 0 ? 0 : gap + owner) + (token == 0 ? 0 : gap + token) + gap + remaining;
    }
};

std::string owner_of(const watched_lease& row)
{
    if (!row.held) return "free";
    return owner_or_what_else(row.record, true) + (row.record.data.empty() ? "" : " " + printable(row.record.data));
}

widths wanted(const watch_view& view)
{
    widths w;
    for (const auto& [name, row] : view.model.leases()) {
        w.name = std::max(w.name, columns_of(printable(name)));
        w.owner = std::max(w.owner, columns_of(owner_of(row)));
        w.token = std::max(w.token, std::to_string(row.record.token.value()).size());
    }
    return w;
}

// The names are what one looks for. So in a narrow terminal first the bar goes, then owners and long names are cut, then
// tokens and owners go, and last of all names are cut to what is left.
widths fit(const watch_view& view)
{
    constexpr std::size_t least_owner = 8;
    constexpr std::size_t least_name = 20;
    constexpr std::size_t least_bar = 4;
    constexpr std::size_t most_bar = 30;
    const widths whole = wanted(view);
    widths w = whole;
    const auto spare = [&] { return view.width > w.used() ? view.width - w.used() : 0; };
    const auto cut = [&](std::size_t& column, std::size_t least) {
        const std::size_t excess = w.used() > view.width ? w.used() - view.width : 0;
        column -= std::min(excess, column > least ? column - least : 0);
    };
    cut(w.owner, least_owner);
    cut(w.name, least_name);
    if (w.used() > view.width) w.token = 0;
    if (w.used() > view.width) w.owner = 0;
    cut(w.name, 1);
    w.name += std::min(spare(), whole.name - w.name);
    if (w.owner > 0) w.owner += std::min(spare(), whole.owner - w.owner);
    if (spare() >= least_bar) w.bar = std::min(spare(), most_bar);
    return w;
}

std::string coloured(const watch_view& view, const char* with, const std::string& text)
{
    return view.colour ? with + text + plain : text;
}

const char* colour_of(duration left, duration whole)
{
    return left * 4 > whole * 2 ? green : left * 4 > whole ? yellow : red;
}

std::string draw_row(const watch_view& view, const widths& w, const std::string& name, const watched_lease& row,
                     time_point now)
{
    const duration left = row.remaining(now);
    std::string text = fitted_name(printable(name), w.name);
    if (w.owner > 0) text += "  " + fitted(owner_of(row), w.owner);
    if (w.token > 0) text += "  " + fitted(std::to_string(row.record.token.value()), w.token);
    // Colours say it to those who see them, the arrow to everybody.
    const bool fresh = row.fresh(now) && row.held;
    if (fresh) text = coloured(view, reversed, text);
    if (!row.held) text = coloured(view, dim, text);
    text += fresh ? "> " : "  ";
    text += fitted(row.held ? to_short_text(left) : "", widths::remaining);
    return w.bar == 0 ? text : text + coloured(view, colour_of(left, row.longest), bar(left, row.longest, w.bar));
}

// Leases first; events have what they leave, and at least a quarter.
void draw_rows(const watch_view& view, const widths& w, time_point now, std::vector<std::string>& lines)
{
    const auto& leases = view.model.leases();
    const std::size_t room = view.height > lines.size() ? view.height - lines.size() : 0;
    const std::size_t spare = room > leases.size() + 1 ? room - leases.size() - 1 : 0;
    const std::size_t for_events = std::min(view.events.size(), std::max(spare, room / 4));
    const std::size_t for_leases = room - std::min(room, for_events > 0 ? for_events + 1 : 0);
    const std::size_t shown =
        leases.size() <= for_leases ? leases.size() : for_leases - std::min<std::size_t>(for_leases, 1);
    std::size_t left = shown;
    for (auto each = leases.begin(); left > 0; ++each, --left)
        lines.push_back(draw_row(view, w, each->first, each->second, now));
    if (shown < leases.size()) lines.push_back(fitted("and " + std::to_string(leases.size() - shown) + " more", view.width));
    if (leases.empty()) lines.push_back(fitted("nothing is held", view.width));
    if (for_events > 0) lines.emplace_back();
    for (std::size_t i = view.events.size() - for_events; i < view.events.size(); ++i)
        lines.push_back(coloured(view, dim, fitted(view.events[i], view.width)));
}

}  // namespace

std::string bar(duration part, duration whole, std::size_t width)
{
    constexpr std::array<std::string_view, 8> eighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    if (whole <= duration::zero() || part <= duration::zero()) return std::string(width, ' ');
    const double share = std::min(1.0, static_cast<double>(part.count()) / static_cast<double>(whole.count()));
    const auto filled = static_cast<std::size_t>(share * static_cast<double>(width) * 8);
    std::string text;
    for (std::size_t i = 0; i < filled / 8; ++i) text += "█";
    text += eighths[filled % 8];
    return text.append(width - columns_of(text), ' ');
}

std::vector<std::string> draw(const watch_view& view, time_point now)
{
    const widths w = fit(view);
    std::vector<std::string> lines;
    lines.push_back(coloured(view, bold, fitted(view.title, view.width)));
    if (!view.trouble.empty()) lines.push_back(coloured(view, red, fitted(view.trouble, view.width)));
    lines.emplace_back();
    std::string heading = fitted("NAME", w.name);
    if (w.owner > 0) heading += "  " + fitted("OWNER", w.owner);
    if (w.token > 0) heading += "  " + fitted("TOKEN", w.token);
    lines.push_back(coloured(view, dim, fitted(heading + "  REMAINING", view.width)));
    draw_rows(view, w, now, lines);
    if (lines.size() > view.height) lines.resize(view.height);
    return lines;
}

}  // namespace tool
