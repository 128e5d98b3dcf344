// SPDX-License-Identifier: BSL-1.0
#include "checkpoints_view.hpp"

#include "json.hpp"
#include "message.hpp"
#include "records.hpp"

#include <leasehold/fire_record.hpp>

namespace tool {

std::optional<leasehold::checkpoint_record> own_checkpoint(std::optional<leasehold::checkpoint_record> saved)
{
    if (!saved) return saved;
    auto text = leasehold::detail::own_text(saved->text);
    if (!text) return std::nullopt;
    saved->text = std::move(*text);
    return saved;
}

saved_checkpoints own_checkpoints(std::vector<std::pair<std::string, leasehold::checkpoint_record>> saved)
{
    saved_checkpoints found;
    for (auto& [name, record] : saved)
        if (auto own = own_checkpoint(std::move(record))) found.emplace(std::move(name), std::move(*own));
    return found;
}

std::string to_table(const saved_checkpoints& saved)
{
    if (saved.empty()) return {};
    std::vector<std::vector<std::string>> rows{{"NAME", "TOKEN", "CHECKPOINT"}};
    for (const auto& [name, record] : saved)
        rows.push_back({printable(name), std::to_string(record.token.value()), printable(record.text)});
    return in_columns(rows);
}

std::string json_members(const leasehold::checkpoint_record& saved)
{
    return "\"checkpoint\": " + json_string(saved.text) + ", \"checkpoint_token\": " + std::to_string(saved.token.value());
}

std::string to_json(const saved_checkpoints& saved, std::string_view between)
{
    std::string text{"["};
    for (const auto& [name, record] : saved)
        text.append(text.size() > 1 ? between : "")
            .append("{\"name\": " + json_string(name) + ", \"checkpoint\": " + json_string(record.text) +
                    ", \"token\": " + std::to_string(record.token.value()) + "}");
    return text + "]";
}

std::vector<std::string> changes_of(const saved_checkpoints& before, const saved_checkpoints& now)
{
    std::vector<std::string> lines;
    for (const auto& [name, record] : now) {
        const auto known = before.find(name);
        // Beside a schedule, the token is that of the run that wrote the record last, whatever it wrote.
        if (known != before.end() && known->second.text == record.text) continue;
        lines.push_back(printable(name) + "  the checkpoint is " + printable(record.text) + ", saved under token " +
                        std::to_string(record.token.value()));
    }
    return lines;
}

}  // namespace tool
