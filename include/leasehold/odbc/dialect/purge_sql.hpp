// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_PURGE_SQL_HPP
#define LEASEHOLD_ODBC_DIALECT_PURGE_SQL_HPP

#include <cstddef>
#include <string>
#include <utility>

namespace leasehold::inline v0::dialect {

/// The statements that remove the rows of names nobody uses any longer.
///
/// The row with the empty name has the floor: the token of the first term of a name without a row. It is raised above the
/// tokens of what is about to be removed, so no token comes twice. A dialect that has these statements uses the floor in
/// `insert` (see there) or `grant`, and writes the time of a release so that it can be read again.
///
/// "Unused" is a row that was released :us ago or longer, or ran out then; never one that is live. :us is never less than
/// min_unused_for. All are run in autocommit.
struct purge_sql {
    /// Rows that one step looks at.
    static constexpr std::size_t rows_per_step = 1000;

    std::string floor{};      ///< token; no row: 1
    std::string add_floor{};  ///< inserts the row with the floor 1; no error, or a duplicate key, if it is there
    std::string raise_floor{};      ///< the floor to :token, if it is less
    /// Over the next rows_per_step names after :name, in the table's own order: how many there are; the first token above
    /// those of the unused, 0 if there are none; the last name. No name that is too long for a lease.
    std::string look{};
    /// The rows after :name up to :upper that are unused and have tokens less than :token. Judged on the row as it is when
    /// it is removed; one that a fence has locked has to be waited for.
    std::string remove{};

    /// Whether the dialect has them.
    [[nodiscard]] bool available() const noexcept { return !remove.empty(); }
};

/// With plain statements about one table each, for a dialect that has the fragments {unused} and {name bytes}.
inline purge_sql purge_with(std::string add_floor)
{
    purge_sql p;
    p.floor = "select {token} from {table} where {name} = ''";
    p.add_floor = std::move(add_floor);
    p.raise_floor = "update {table} set {token} = :token where {name} = '' and {token} < :token";
    p.look = "select count(*), coalesce(max(case when {unused} then {token} + 1 end), 0), max({name})"
             " from (select {name}, {token}, {expires_at} from {table} where {name} > :name and {name} <> ''"
             " and {name bytes} <= 190 order by {name} limit " +
             std::to_string(purge_sql::rows_per_step) + ") as step";
    p.remove = "delete from {table} where {name} > :name and {name} <= :upper and {name} <> '' and {unused}"
               " and {token} < :token";
    return p;
}

}  // namespace leasehold::inline v0::dialect

#endif
