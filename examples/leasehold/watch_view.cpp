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

struct widths {
    std::size_t name = 4;
    std::size_t owner = 5;
    std::size_t token = 5;
    std::size_t bar = 0;
    static constexpr std::size_t remaining = 9;
};

std::string owner_of(const watched_lease& row)
{
    if (!row.held) return "free";
    return row.record.owner.empty() ? "(kept closed)" : short_owner(row.record.owner);
}

// Names and owners share what the numbers leave them, and the bar gets the rest, up to 30 columns.
widths fit(const watch_view& view)
{
    widths w;
    for (const auto& [name, row] : view.model.leases()) {
        w.name = std::max(w.name, columns_of(printable(name)));
        w.owner = std::max(w.owner, columns_of(owner_of(row)));
        w.token = std::max(w.token, std::to_string(row.record.token.value()).size());
    }
    const std::size_t fixed = w.token + widths::remaining + 6;
    const std::size_t room = view.width > fixed ? view.width - fixed : 0;
    w.name = std::min(w.name, std::max<std::size_t>(room / 3, 4));
    const std::size_t for_bar = std::min<std::size_t>(room / 4, 12);
    w.owner = std::min(w.owner, room > w.name + for_bar + 2 ? room - w.name - for_bar - 2 : 5);
    const std::size_t used = w.name + w.owner + 2;
    w.bar = room > used ? std::min<std::size_t>(room - used, 30) : 0;
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
    std::string text = fitted(printable(name), w.name) + "  " + fitted(owner_of(row), w.owner) + "  " +
                       fitted(std::to_string(row.record.token.value()), w.token);
    // Colours say it to those who see them, the arrow to everybody.
    const bool fresh = row.fresh(now) && row.held;
    if (fresh) text = coloured(view, reversed, text);
    if (!row.held) text = coloured(view, dim, text);
    text += fresh ? "> " : "  ";
    text += fitted(row.held ? to_short_text(left) : "", widths::remaining);
    return w.bar == 0 ? text : text + coloured(view, colour_of(left, row.longest), bar(left, row.longest, w.bar));
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
    lines.push_back(coloured(
        view, dim,
        fitted(fitted("NAME", w.name) + "  " + fitted("OWNER", w.owner) + "  " + fitted("TOKEN", w.token) + "  REMAINING",
               view.width)));
    const std::size_t for_events = std::min<std::size_t>(view.events.size(), std::max<std::size_t>(view.height / 3, 3));
    const std::size_t last = view.height > for_events + 2 ? view.height - for_events - 2 : 0;
    for (const auto& [name, row] : view.model.leases()) {
        if (lines.size() >= last) break;
        lines.push_back(draw_row(view, w, name, row, now));
    }
    if (view.model.leases().empty()) lines.push_back(fitted("nothing is held", view.width));
    if (for_events > 0) lines.emplace_back();
    for (std::size_t i = view.events.size() - for_events; i < view.events.size(); ++i)
        lines.push_back(coloured(view, dim, fitted(view.events[i], view.width)));
    if (lines.size() > view.height) lines.resize(view.height);
    return lines;
}

}  // namespace tool
