// SPDX-License-Identifier: BSL-1.0
#include "fires_view.hpp"

#include "json.hpp"
#include "message.hpp"
#include "records.hpp"
#include "schedule_choice.hpp"

#include <chrono>

namespace tool {

namespace {

std::string attempts_text(const leasehold::open_fire& open)
{
    if (open.attempts == 0) return to_text(open.fire) + ", not begun";
    return to_text(open.fire) + ", " + std::to_string(open.attempts) + (open.attempts == 1 ? " attempt" : " attempts");
}

}  // namespace

fire_records fires_among(const std::vector<std::pair<std::string, leasehold::checkpoint_record>>& checkpoints)
{
    fire_records found;
    for (const auto& [name, saved] : checkpoints) {
        auto record = leasehold::read_fire_record(saved.text);
        if (!record || !record->schedule.empty()) found.emplace(name, std::move(record));
    }
    return found;
}

std::string to_table(const fire_records& records)
{
    if (records.empty()) return {};
    std::vector<std::vector<std::string>> rows{{"NAME", "LAST RUN", "COMPLETED", "OWNER", "NOT COMPLETED", "SCHEDULE"}};
    for (const auto& [name, record] : records) {
        rows.push_back({printable(name), "-", "-", "-", "-", record ? printable(record->schedule) : "(of a later version)"});
        if (!record) continue;
        if (const auto& last = record->last) {
            rows.back()[1] = to_text(last->fire);
            rows.back()[2] = to_text(std::chrono::floor<std::chrono::seconds>(last->completed_at));
            rows.back()[3] = short_owner(last->owner);
        }
        if (record->open) rows.back()[4] = attempts_text(*record->open);
    }
    return in_columns(rows);
}

std::string to_json(std::string_view name, const std::optional<leasehold::fire_record>& record)
{
    const auto time = [](leasehold::fire_time at) { return json_string(leasehold::detail::written_time(at)); };
    const bool has_schedule = record && !record->schedule.empty();
    std::string text = "{\"name\": " + json_string(name) + ", \"schedule\": " + (has_schedule ? json_string(record->schedule) : "null");
    if (record && record->last)
        text += ", \"fire\": " + time(record->last->fire) + ", \"completed_at\": " + time(record->last->completed_at) +
                ", \"owner\": " + json_string(record->last->owner);
    if (record && record->open)
        text += ", \"open\": " + time(record->open->fire) + ", \"attempts\": " + std::to_string(record->open->attempts);
    return text + "}";
}

std::string to_json(const fire_records& records, std::string_view between)
{
    std::string text{"["};
    for (const auto& [name, record] : records) text.append(text.size() > 1 ? between : "").append(to_json(name, record));
    return text + "]";
}

fire_records without_open_fires(fire_records records)
{
    for (auto& [name, record] : records)
        if (record) record->open.reset();
    return records;
}

std::vector<std::string> changes_of(const fire_records& before, const fire_records& now)
{
    std::vector<std::string> lines;
    for (const auto& [name, record] : now) {
        if (!record) continue;
        const auto known = before.find(name);
        const auto* const was = known != before.end() && known->second ? &*known->second : nullptr;
        if (record->last && (!was || was->last != record->last))
            lines.push_back(printable(name) + "  the run of " + to_text(record->last->fire) + " is completed by " +
                            short_owner(record->last->owner));
        // Given up, missed, or of a schedule that was replaced: the record does not say which.
        const bool left_out = was && was->open && !record->open && (!record->last || record->last->fire < was->open->fire);
        if (left_out) lines.push_back(printable(name) + "  the run of " + to_text(was->open->fire) + " is left out");
        if (record->open && (!was || was->open != record->open))
            lines.push_back(printable(name) + "  the run of " + attempts_text(*record->open) + ", is not completed");
    }
    return lines;
}

}  // namespace tool
