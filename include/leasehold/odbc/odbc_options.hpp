// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_ODBC_OPTIONS_HPP
#define LEASEHOLD_ODBC_ODBC_OPTIONS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/odbc/detail/flow/identifier.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

namespace leasehold::inline v0 {

/// The greatest pool_size.
inline constexpr std::size_t max_pool_size = 256;
/// Shortest and longest call_timeout that are accepted.
inline constexpr duration min_call_timeout = std::chrono::milliseconds{10};
namespace odbc::detail {

inline constexpr std::size_t max_session_locks_of_a_store = 256;

}  // namespace odbc::detail

/// See min_call_timeout.
inline constexpr duration max_call_timeout = std::chrono::hours{1};

/// Names of the columns, for a table that is there already. It needs them all, but that stores that expire by observation have
/// version and ttl in place of expires_at, which others have. The last six may be NULL; docs/migrating.md says how to add them.
struct odbc_columns {
    std::string name = "name";              ///< of the lease; the primary key
    std::string owner = "owner";            ///< who holds
    std::string token = "token";            ///< 64-bit integer
    std::string expires_at = "expires_at";  ///< when the term is over, by the database's clock
    std::string version = "version";        ///< counts the changes of the row
    std::string ttl = "ttl_us";             ///< the holder's ttl in microseconds; 0: free
    std::string data = "holder_data";              ///< what the holder has published
    std::string data_token = "holder_data_token";  ///< the token of the term that it was published in
    std::string request = "handover_request";      ///< the reason of the last request to hand over
    std::string request_token = "handover_token";  ///< the token of the term that was asked
    std::string checkpoint = "checkpoint";              ///< what was saved last for the next holder
    std::string checkpoint_token = "checkpoint_token";  ///< the token of the term that saved it
};

/// How long a name must have been unused at least, for basic_odbc_store::purge().
inline constexpr duration min_unused_for = std::chrono::minutes{1};
/// See min_unused_for.
inline constexpr duration max_unused_for = std::chrono::hours{24 * 365 * 50};

/// Tells basic_odbc_store::purge() to remove names that have a checkpoint, too.
struct with_checkpoints_t {
    explicit with_checkpoints_t() = default;
};
/// See with_checkpoints_t.
inline constexpr with_checkpoints_t with_checkpoints{};

/// What there is between a store and its database.
enum class transaction_pooler : std::uint8_t {
    detect,   ///< the store finds out, with a second connection while it makes its first one
    absent,   ///< nothing, or a pooler that keeps a session for each client: the store does not look
    present,  ///< a pooler that gives each transaction another session, as PgBouncer does with pool_mode = transaction
};

/// How an odbc_store uses its database. The defaults are meant to be left alone.
struct odbc_options {
    /// Every call returns within this time, waiting for a connection, connecting and retries included.
    duration call_timeout = std::chrono::seconds{5};
    /// Most connections for calls; made when needed, and kept. Those that wait for releases come on top: see basic_odbc_store.
    std::size_t pool_size = 4;
    /// Plain or "schema.table". Quoted in every statement, so it is case-sensitive where quoted names are.
    std::string table = "leasehold";
    /// Names of the columns.
    odbc_columns columns{};
    /// How long a statement waits for a row that another transaction has locked; then a grant is busy, or store_conflict if nobody
    /// holds the name and the whole table is locked. At most a third of call_timeout is used (MariaDB and MySQL
    /// count in seconds, and round up. For less than one MariaDB does not wait; MySQL waits for one: give it a call_timeout of 2 s).
    duration lock_timeout = std::chrono::seconds{1};
    /// PostgreSQL, MariaDB: a store has a session lock of the database while it has a term, so that a release wakes the first waiter,
    /// first come, first served. Only a hint: the row decides. Each name waited for takes one connection beyond the pool. If false,
    /// waiters poll.
    bool session_locks = true;
    /// Most session locks for terms that nobody waited for; those who wait for other such terms poll. Terms that wake one name (see
    /// term_request) have one lock together. The locks live in memory that the whole server shares, and has a fixed size on
    /// PostgreSQL: about max_locks_per_transaction (64) times max_connections, for all its programs together. 0: such terms have none.
    std::size_t max_session_locks = 8;
    /// PostgreSQL: whether a pooler such as PgBouncer gives each transaction another session. Then the store leaves nothing on the
    /// pooler's sessions: it has no session locks, so waiters poll, and prepares no statements. A database that answers at the numeric
    /// address in the connection string is known to have none.
    transaction_pooler pooler = transaction_pooler::detect;
    /// Statements run on each new connection, after the store's own, as in "PRAGMA synchronous=NORMAL". Where a pooler gives each
    /// transaction another session there must be none.
    std::vector<std::string> on_connect{};

    /// The rule these options break, in words, or nullptr if they can work.
    [[nodiscard]] const char* broken_rule() const noexcept
    {
        if (call_timeout < min_call_timeout) return "call_timeout must be at least 10 ms";
        if (call_timeout > max_call_timeout) return "call_timeout must be at most 1 hour";
        if (lock_timeout <= duration::zero()) return "lock_timeout must be positive";
        if (pool_size == 0 || pool_size > max_pool_size) return "pool_size must be 1 to 256";
        if (max_session_locks > odbc::detail::max_session_locks_of_a_store) return "max_session_locks must be at most 256";
        if (!odbc::detail::is_qualified_identifier(table))
            return "table must be a name or schema.name, each part a letter or _, then letters, digits, _ or $, up to 63 "
                   "bytes";
        for (const std::string* column : {&columns.name, &columns.owner, &columns.token, &columns.expires_at, &columns.version,
                                          &columns.ttl, &columns.data, &columns.data_token, &columns.request, &columns.request_token,
                                          &columns.checkpoint, &columns.checkpoint_token})
            if (!odbc::detail::is_identifier(*column))
                return "a column's name must be a letter or _, then letters, digits, _ or $, up to 63 bytes";
        return nullptr;
    }
};

/// Throws std::system_error with std::errc::invalid_argument, naming the broken rule.
inline void validate(const odbc_options& options)
{
    if (const char* rule = options.broken_rule())
        leasehold::detail::throw_exception(std::system_error{std::make_error_code(std::errc::invalid_argument),
                                                   std::string{"leasehold: odbc_options: "} + rule});
}

}  // namespace leasehold::inline v0

#endif
