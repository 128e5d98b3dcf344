// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_FIRES_VIEW_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_FIRES_VIEW_HPP

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/fire_record.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

/// What the records of schedules say, by name. Empty: a later version of leasehold has written it, or it is damaged.
using fire_records = std::map<std::string, std::optional<leasehold::fire_record>>;

/// Those among the checkpoints that are records of schedules.
[[nodiscard]] fire_records fires_among(const std::vector<std::pair<std::string, leasehold::checkpoint_record>>& checkpoints);

/// A table with a heading. Empty where there are no records.
[[nodiscard]] std::string to_table(const fire_records& records);

/// {"name": ..., "schedule": ...}, and of what there is: "fire", "completed_at" and "owner" of the last completed run, "open" and
/// "attempts" of the one that is not completed. The schedule is null where there is none, and where it can't be read.
[[nodiscard]] std::string to_json(std::string_view name, const std::optional<leasehold::fire_record>& record);
/// An array of them; `between` two.
[[nodiscard]] std::string to_json(const fire_records& records, std::string_view between = ",\n ");

/// The same, as if all runs were completed.
[[nodiscard]] fire_records without_open_fires(fire_records records);

/// What is different between two looks, as lines without their time.
[[nodiscard]] std::vector<std::string> changes_of(const fire_records& before, const fire_records& now);

}  // namespace tool

#endif
