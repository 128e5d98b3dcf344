// SPDX-License-Identifier: BSL-1.0

// The subcommand that shows the members of a group, and whose its shards are.
#include "commands.hpp"
#include "duration_text.hpp"
#include "json.hpp"
#include "message.hpp"
#include "opened_store.hpp"
#include "records.hpp"

#include <leasehold/group_member.hpp>
#include <leasehold/shard_group.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tool {

namespace {

// What a look at a group has found.
struct group_view {
    std::vector<lh::member_record> members;
    std::vector<lh::shard_view> shards;
    std::optional<std::size_t> count;
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
    const lh::shard_group<lh::odbc_store> group{*store.operator->(), name, lh::max_shards};
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

std::string to_table(const group_view& group)
{
    std::map<std::string, std::vector<std::size_t>> owned;
    std::map<std::string, std::size_t> draining;
    for (const lh::shard_view& each : group.shards) {
        owned[each.owner].push_back(each.index);
        if (each.draining) ++draining[each.owner];
    }
    std::vector<std::vector<std::string>> rows{{"MEMBER", "SHARDS", "DRAINING", "REMAINING", "WHICH", "DATA"}};
    const auto add = [&](const std::string& id, const std::string& remaining, const std::string& data) {
        const auto& indices = owned[id];
        rows.push_back({printable(id), std::to_string(indices.size()), std::to_string(draining[id]), remaining, ranges_of(indices), data});
    };
    for (const lh::member_record& each : group.members) add(each.id, to_short_text(each.remaining), printable(each.data));
    for (const lh::shard_view& each : group.shards)  // of members that have died
        if (std::ranges::none_of(rows, [&](const auto& row) { return row.front() == printable(each.owner); })) add(each.owner, "-", "");
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

std::string to_json(const group_view& group)
{
    const auto milliseconds = [](lh::duration of) {
        return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(of).count());
    };
    std::string text = "{\"count\": " + (group.count ? std::to_string(*group.count) : "null") + ",\n \"members\": [";
    std::string between;
    for (const lh::member_record& each : group.members) {
        text += between + "{\"id\": " + json_string(each.id) + ", \"data\": " + json_string(each.data) +
                ", \"token\": " + std::to_string(each.token.value()) + ", \"remaining_ms\": " + milliseconds(each.remaining) + "}";
        between = ",\n  ";
    }
    text += "],\n \"shards\": [";
    between.clear();
    for (const lh::shard_view& each : group.shards) {
        text += between + "{\"index\": " + std::to_string(each.index) + ", \"owner\": " + json_string(each.owner) +
                ", \"token\": " + std::to_string(each.token.value()) + ", \"draining\": " + (each.draining ? "true" : "false") +
                ", \"remaining_ms\": " + milliseconds(each.remaining) + "}";
        between = ",\n  ";
    }
    return text + "]}\n";
}

}  // namespace

int ps(const std::string& name, bool json, const asked_store& asked)
{
    lh::validate_name(name);
    opened_store store{choose_store(asked)};
    const group_view group = look_at(store, name);
    const bool nobody = group.members.empty() && group.shards.empty();
    if (json) {
        std::cout << to_json(group);
    } else if (nobody) {
        std::cout << printable(name) << " has no members\n";
    } else {
        std::cout << to_table(group);
        if (group.count && group.shards.size() < *group.count)
            std::cout << *group.count - group.shards.size() << " of " << *group.count << " shards are owned by nobody\n";
    }
    return nobody ? exit_code::no : exit_code::success;
}

}  // namespace tool
