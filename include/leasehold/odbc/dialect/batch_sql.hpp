// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_BATCH_SQL_HPP
#define LEASEHOLD_ODBC_DIALECT_BATCH_SQL_HPP

#include <cstddef>
#include <string>

namespace leasehold::inline v0::dialect {

/// The statements for many terms at once, of distinct names.
///
/// Each does to every term what the statement for one does, and counts the rows it has changed; a row that is not counted
/// though its term is live costs time at most, for then they are taken a few at a time, and in the end one by one.
///
/// The terms come either as arrays in PostgreSQL's notation (:all_names, :all_owners, :all_tokens, each a text), or in lists of
/// parameters that are written for one and repeated: :each_name, and :each_term, which is the token, a blank, the bytes of the
/// name, a blank, the name and the owner, so that it is the same for no two terms. Where there are fewer terms, the rest of a
/// list is empty texts.
struct batch_sql {
    std::string renew{};    ///< extends the terms
    std::string release{};  ///< ends the terms
    std::size_t most = 0;   ///< terms in one statement; 0: there are none

    /// Whether the dialect has them.
    [[nodiscard]] bool available() const noexcept { return most > 1; }
};

}  // namespace leasehold::inline v0::dialect

#endif
