// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_RECORDS_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_RECORDS_HPP

#include <leasehold/lease_record.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// Columns a text takes on a terminal, one for each character of UTF-8.
[[nodiscard]] std::size_t columns_of(std::string_view text) noexcept;
/// `text` in `width` columns: filled with blanks, or cut, which shows as an ellipsis at the end.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t width);
/// The same, but cut in the middle: names that begin alike mostly differ at their ends.
[[nodiscard]] std::string fitted_name(std::string_view text, std::size_t width);

/// An owner for people: of a random part, as random_owner_id makes it, only so much as tells owners apart.
[[nodiscard]] std::string short_owner(std::string_view owner);

/// "(held closed: migration)".
[[nodiscard]] std::string held_closed_text(std::string_view reason);

/// For the place of an owner: also "(kept closed)", "(held closed: migration)", and the record of a count, as in
/// "(count: 2 permits)".
[[nodiscard]] std::string owner_or_what_else(const leasehold::lease_record& record, bool in_short);

/// Rows of as many cells, their columns as wide as they need to be.
[[nodiscard]] std::string in_columns(const std::vector<std::vector<std::string>>& rows);

/// A table with a heading. Empty where there are no records.
[[nodiscard]] std::string to_table(const std::vector<leasehold::lease_record>& records);

/// {"name": ..., "owner": ..., "token": ..., "remaining_ms": ...}; the owner is null where the name is only kept closed, and where it is
/// held closed: then "hold" is the reason. What the holder has published follows as "data", the reason of a request to hand over as
/// "asked", where there is one, and "is_count" for the record of a count.
[[nodiscard]] std::string to_json(const leasehold::lease_record& record);
/// An array of them; `between` two.
[[nodiscard]] std::string to_json(const std::vector<leasehold::lease_record>& records, std::string_view between = ",\n ");

}  // namespace tool

#endif
