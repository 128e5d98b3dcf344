// SPDX-License-Identifier: BSL-1.0

// The subcommand that shows the members of a group, and whose its shards are.
#include "commands.hpp"
#include "duration_text.hpp"
#include "failure.hpp"
#include "json.hpp"
#include "live.hpp"
#include "message.hpp"
#include "opened_store.hpp"
#include "output.hpp"
#include "records.hpp"
#include "screen.hpp"
#include "signal_inbox.hpp"

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/error.hpp>
#include <leasehold/group_member.hpp>
#include <leasehold/shard_group.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace tool {

namespace {

// What a look at a group has found.
struct group_view {
    std::vector<lh::member_record> members;
    std::vector<lh::shard_view> shards;
    std::optional<std::size_t> count;

    [[nodiscard]] bool is_empty() const noexcept { return members.empty() && shards.empty(); }
    [[nodiscard]] std::size_t free_shards() const
    {
        if (!count) return 0;
        const auto owned = std::ranges::count_if(shards, [&](const auto& each) { return each.index < *count && !each.held_closed; });
        return *count - static_cast<std::size_t>(owned);
    }
};

// As in "12 shards"; nothing: a group of members alone.
std::optional<std::size_t> count_of(const std::optional<lh::lease_record>& record)
{
    constexpr std::string_view unit = " shards";
    if (!record || !record->is_count() || !std::string_view{record->owner}.ends_with(unit)) return std::nullopt;
    std::size_t count = 0;
    const char* const end = record->owner.data() + record->owner.size() - unit.size();
    return std::from_chars(record->owner.data(), end, count).ptr == end ? std::optional{count} : std::nullopt;
}

group_view look_at(opened_store& store, const std::string& name)
{
    // It never becomes a member. With a short id the group's name may be as long as members with such ids may have it.
    const lh::shard_group<lh::odbc_store> group{*store.operator->(), name, lh::max_shards, lh::shard_options{.id = "-"}};
    return {group.members(), group.view(), count_of(lh::basic_lease{*store, name}.inspect())};
}

// "0-3,7".
std::string ranges_of(const std::vector<std::size_t>& indices)
{
    std::string text;
    for (std::size_t i = 0; i < indices.size();) {
        std::size_t last = i;
        while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
        text += (text.empty() ? "" : ",") + std::to_string(indices[i]);
        if (last > i) text += "-" + std::to_string(indices[last]);
        i = last + 1;
    }
    return text;
}

// For the place of a member: also "(held closed: migration)".
std::string owner_of(const lh::shard_view& shard)
{
    return shard.held_closed ? held_closed_text(*shard.held_closed) : printable(shard.owner);
}

std::string to_table(const group_view& group)
{
    std::map<std::string, std::vector<std::size_t>> owned;
    std::map<std::string, std::size_t> draining;
    for (const lh::shard_view& each : group.shards) {
        owned[owner_of(each)].push_back(each.index);
        if (each.draining) ++draining[owner_of(each)];
    }
    std::vector<std::vector<std::string>> rows{{"MEMBER", "SHARDS", "DRAINING", "REMAINING", "WHICH", "DATA"}};
    const auto add = [&](const std::string& owner, const std::string& remaining, const std::string& data) {
        const auto& indices = owned[owner];
        rows.push_back({owner, std::to_string(indices.size()), std::to_string(draining[owner]), remaining, ranges_of(indices), data});
    };
    for (const lh::member_record& each : group.members) add(printable(each.id), to_short_text(each.remaining), printable(each.data));
    for (const lh::shard_view& each : group.shards)  // of members that have died, and those that are held closed
        if (std::ranges::none_of(rows, [&](const auto& row) { return row.front() == owner_of(each); })) add(owner_of(each), "-", "");
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) line += fitted(row[i], widths[i]) + "  ";
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

// The object without its braces. What separates the lists, and what is in them.
std::string to_json(const group_view& group, const std::string& of_lists, const std::string& in_lists)
{
    const auto milliseconds = [](lh::duration of) {
        return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(of).count());
    };
    std::string text = "\"count\": " + (group.count ? std::to_string(*group.count) : "null") + of_lists + "\"members\": [";
    std::string between;
    for (const lh::member_record& each : group.members) {
        text += between + "{\"id\": " + json_string(each.id) + ", \"data\": " + json_string(each.data) +
                ", \"token\": " + std::to_string(each.token.value()) + ", \"remaining_ms\": " + milliseconds(each.remaining) + "}";
        between = in_lists;
    }
    text += "]" + of_lists + "\"shards\": [";
    between.clear();
    for (const lh::shard_view& each : group.shards) {
        text += between + "{\"index\": " + std::to_string(each.index) +
                ", \"owner\": " + (each.held_closed ? "null, \"hold\": " + json_string(*each.held_closed) : json_string(each.owner)) +
                ", \"token\": " + std::to_string(each.token.value()) + ", \"draining\": " + (each.draining ? "true" : "false") +
                ", \"remaining_ms\": " + milliseconds(each.remaining) + "}";
        between = in_lists;
    }
    return text + "]";
}

// All that a look has found, as lines.
std::string to_text(const group_view& group, const std::string& name)
{
    if (group.is_empty()) return printable(name) + " has no members\n";
    std::string text = to_table(group);
    if (const std::size_t left = group.free_shards(); left > 0)
        text += std::to_string(left) + " of " + std::to_string(*group.count) + " shards are owned by nobody\n";
    return text;
}

// Who has what, so that two looks can be compared.
using ownership = std::vector<std::pair<std::size_t, std::string>>;
ownership owners_in(const group_view& group)
{
    ownership all;
    for (const lh::member_record& each : group.members) all.emplace_back(lh::max_shards, each.id);
    for (const lh::shard_view& each : group.shards) all.emplace_back(each.index, owner_of(each) + (each.draining ? " drains" : ""));
    return all;
}

// Looks again and again. An outage is shown, and looked past, but not the first look's: somebody has mistyped something.
class group_watch {
public:
    group_watch(opened_store& store, const ps_options& options, signal_inbox& signals) : store_{store}, options_{options}, signals_{signals}
    {
        look();
    }

    int run()
    {
        if (options_.json || ::isatty(STDOUT_FILENO) == 0) return write();
        signals_.passing_on(true);
        screen on;
        for (;;) {
            draw_on(on);
            if (wait(&on)) return exit_code::success;
            look();
        }
    }

private:
    void look()
    {
        try {
            seen_ = look_at(store_, options_.group);
            trouble_.clear();
            looked_ = true;
        } catch (const lh::store_error& why) {
            if (!looked_) throw;
            trouble_ = "the database does not answer: " + why.code().message();
        }
        next_ = clock_.now() + options_.interval;
    }

    int write()
    {
        std::optional<ownership> shown;
        for (;;) {
            if (options_.json)
                std::cout << "{\"at\": " << json_string(timestamp()) << ", "
                          << (trouble_.empty() ? to_json(seen_, ", ", ", ") : "\"error\": " + json_string(trouble_)) << "}\n";
            else if (trouble_.empty() && shown != owners_in(seen_))
                std::cout << time_of_day() << '\n' << to_text(seen_, options_.group);
            if (trouble_.empty()) shown = owners_in(seen_);
            if (!trouble_.empty() && !options_.json && trouble_ != told_) complain(trouble_);
            told_ = trouble_;
            if (!std::cout.flush()) return exit_code::success;  // main() tells why
            if (wait(nullptr)) return nobody_reads_output() ? exit_code::unread : exit_code::success;
            look();
        }
    }

    void draw_on(const screen& on) const
    {
        const auto size = on.size();
        std::vector<std::string> lines{"leasehold ps " + printable(options_.group) + "   " + time_of_day(), trouble_};
        std::istringstream text{to_text(seen_, options_.group)};
        for (std::string line; std::getline(text, line);) lines.push_back(line);
        if (lines.size() > size.height) lines.resize(size.height);
        for (std::string& each : lines)
            if (columns_of(each) > size.width) each = fitted(each, size.width);
        on.show(lines);
    }

    // Until it is time to look again, which may be at once: to show what was seen may take long. True: it is over.
    bool wait(screen* on)
    {
        do {
            bool key = false;
            wait_for(signals_, on != nullptr, std::max(next_ - clock_.now(), lh::duration::zero()), key);
            while (const auto signal = signals_.take()) {
                if (*signal != SIGTSTP || !on) continue;
                on->leave();
                ::raise(SIGSTOP);
                on->enter();
            }
            if (signals_.asked_to_end().stop_requested() || (!on && nobody_reads_output())) return true;
            char pressed = 0;
            if (key && (::read(STDIN_FILENO, &pressed, 1) != 1 || pressed == 'q')) return true;
        } while (clock_.now() < next_);
        return false;
    }

    opened_store& store_;
    const ps_options& options_;
    signal_inbox& signals_;
    lh::steady_clock clock_;
    lh::time_point next_{};
    group_view seen_;
    bool looked_ = false;
    std::string trouble_;
    std::string told_;
};

}  // namespace

int ps(const ps_options& options, const asked_store& asked)
{
    lh::validate_name(options.group);
    const chosen_store chosen = choose_store(asked);
    if (!options.watch) {
        opened_store store{chosen};
        const group_view group = look_at(store, options.group);
        std::cout << (options.json ? "{" + to_json(group, ",\n ", ",\n  ") + "}\n" : to_text(group, options.group));
        return group.is_empty() ? exit_code::no : exit_code::success;
    }
    if (options.interval < std::chrono::milliseconds{10}) throw failure{exit_code::usage, "--interval must be at least 10ms"};
    const blocked_signals blocked;
    signal_inbox signals{blocked, true};
    opened_store store{chosen};
    return group_watch{store, options, signals}.run();
}

}  // namespace tool
