// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_FENCE_SQL_HPP
#define LEASEHOLD_ODBC_DIALECT_FENCE_SQL_HPP

#include <string>

namespace leasehold::inline v0::dialect {

/// The statements of odbc::fence, run on the caller's connection and in its transaction, whatever its isolation level.
///
/// Parameters as in spec. None may commit, nor change anything about the session.
struct fence_sql {
    /// A row if a take-over can be held off by `lock`, which on PostgreSQL needs an index; empty: nothing is needed, or `lock`
    /// fails without it. Run once per store.
    std::string possible{};
    /// A row if the session is in a transaction although the driver says that it is in autocommit mode: there are drivers that set
    /// it with the next statement. Empty: there are none.
    std::string transaction{};
    /// A row if other nodes of a cluster don't see the locks of this one, so that `write` is needed besides; empty: there are
    /// no such clusters. Run once per store.
    std::string cluster{};
    /// Keeps the token of the row with :name and :token from being changed until the transaction ends, and lets what changes
    /// nothing but its expiry pass if it can. An UPDATE: counts the row if it is live and :owner's. A SELECT: no row, or 0: that
    /// term is over; 1: it is live and :owner's; 2: the transaction may see an old version, so the row has to be read
    /// outside of it; 3: it sees the rows as they were before the term began.
    std::string lock{};
    /// For a cluster, after `lock`: an UPDATE as above, which changes the row, so that the nodes find the conflict.
    std::string write{};
    /// Where no count of rows is believed: a row if `lock`, an UPDATE that has set the version to :version, has found its row.
    std::string written{};
    /// Undoes what `write` has done to the row; may be empty.
    std::string write_back{};
};

}  // namespace leasehold::inline v0::dialect

#endif
