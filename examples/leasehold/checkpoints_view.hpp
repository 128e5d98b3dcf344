// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_CHECKPOINTS_VIEW_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_CHECKPOINTS_VIEW_HPP

#include <leasehold/checkpoint_record.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

/// What holders have saved, by name.
using saved_checkpoints = std::map<std::string, leasehold::checkpoint_record>;

/// What a holder has saved: of the record of a schedule, the text beside it. Empty if there is none.
[[nodiscard]] std::optional<leasehold::checkpoint_record> own_checkpoint(std::optional<leasehold::checkpoint_record> saved);
/// The same of many names, without those that have none.
[[nodiscard]] saved_checkpoints own_checkpoints(std::vector<std::pair<std::string, leasehold::checkpoint_record>> saved);

/// A table with a heading. Empty where there are no checkpoints.
[[nodiscard]] std::string to_table(const saved_checkpoints& saved);

/// "checkpoint": ..., "checkpoint_token": ..., without braces: for an object that has the token of a term too.
[[nodiscard]] std::string json_members(const leasehold::checkpoint_record& saved);
/// An array of {"name": ..., "checkpoint": ..., "token": ...}; `between` two.
[[nodiscard]] std::string to_json(const saved_checkpoints& saved, std::string_view between = ",\n ");

/// What is different between two looks, as lines without their time.
[[nodiscard]] std::vector<std::string> changes_of(const saved_checkpoints& before, const saved_checkpoints& now);

}  // namespace tool

#endif
