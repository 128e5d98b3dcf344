// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_STORE_HEALTH_HPP
#define LEASEHOLD_ODBC_STORE_HEALTH_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <cstddef>
#include <optional>
#include <system_error>

namespace leasehold::inline v0 {

/// The result of basic_odbc_store::health().
struct store_health {
    std::error_code error{};          ///< why the table can't be read, or can't keep leases; none: it can
    store_diagnostics diagnostics{};  ///< of that error
    bool reachable = false;           ///< the database answered, if only to say that there is no table
    duration took{};                  ///< the whole question, with the wait for a connection
    /// The version of the table, which its row with the empty name tells; 1 so far, and without that row. 0 if there is an `error`: the
    /// table can't be read, lacks a column, or is of a later version than this library knows.
    int schema_version = 0;
    /// How far the database's clock is ahead of this host's system clock, give or take `took`. It affects no lease: the
    /// database's clock alone counts. Empty where the database has this host's clock or no clock that counts, or did not say.
    std::optional<duration> clock_ahead{};
    bool wakes = false;             ///< a release wakes those who wait; otherwise they poll
    bool one_call_at_a_time = false;  ///< Threading = 3 in odbcinst.ini: one ODBC call of the process keeps all others out
    bool pooled = false;            ///< a pooler gives each transaction another session: see transaction_pooler
    std::size_t session_locks = 0;  ///< that the store has for terms of its leases
    std::size_t sessions = 0;       ///< connections of the store for calls
    std::size_t hanging_calls = 0;  ///< calls that were given up and have not come back
};

}  // namespace leasehold::inline v0

#endif
