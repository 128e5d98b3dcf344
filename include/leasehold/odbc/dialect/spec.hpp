// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_SPEC_HPP
#define LEASEHOLD_ODBC_DIALECT_SPEC_HPP

#include <leasehold/duration.hpp>
#include <leasehold/odbc/dialect/batch_sql.hpp>
#include <leasehold/odbc/dialect/fence_sql.hpp>
#include <leasehold/odbc/dialect/purge_sql.hpp>
#include <leasehold/odbc/dialect/session_lock_sql.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::dialect {

/// What a statement returns for the time that is left where the expiry is no time at all.
inline constexpr std::int64_t remaining_is_no_time = -std::numeric_limits<std::int64_t>::max();

/// What a dialect may look at.
struct server_info {
    std::string_view dbms_name;     ///< SQL_DBMS_NAME; empty before the first connection
    std::string_view dbms_version;  ///< SQL_DBMS_VER
    duration lock_timeout;  ///< odbc_options::lock_timeout
    duration call_timeout;  ///< odbc_options::call_timeout
};

/// All that the store needs to know of one database: its SQL, and how it is to be used.
///
/// In the statements, {table}, {name}, {owner}, {token} and {expires_at} stand for the quoted names; :name, :owner, :token,
/// :us (a duration in microseconds), :unit (the smallest change that the expiry's column keeps, likewise), :upper (end of a
/// range of names), :version and :seen (the version to write, and the one that was read; see expiry_by_observation) for
/// parameters, and {version}, {ttl} for its columns. "Live" is a row whose expiry is later than the database's clock in that
/// very statement.
struct spec {
    std::string_view name;  ///< of the dialect
    char quote = '"';  ///< around the names of table and columns
    bool in_process = false;              ///< a call can't hang on a network, and so needs no thread to be given up
    bool single_statement_grant = false;  ///< `grant` decides; otherwise `read`, then `insert`, `take` or `renew`
    bool observes = false;                ///< see expiry_by_observation: `observe`, then `insert`, `take` or `renew`
    bool reads_back = false;  ///< no count of rows is believed, and no write that can't be read; integers go as digits; with `observes`

    bool numeric_expiry = false;          ///< a column for text would make text of the expiry

    /// Fragments of SQL that the statements name in braces, as in {live}. A fragment may name those after it.
    std::vector<std::pair<std::string_view, std::string>> fragments;

    std::string_view connection_prefix{};  ///< pairs, each with its semicolon, that go before the connection string
    std::vector<std::string> on_connect;  ///< run on each new connection, before the user's own
    std::vector<std::string> schema;      ///< creates table and index if absent, then the row with the version

    std::string probe;    ///< no rows; fails unless the table and its columns are there; one column: {expires_at}
    std::string grant;    ///< granted (1, 0), token, remaining us, fresh (1: a new term)
    std::string read;     ///< token, whose (0 another's, 1 :owner's, 2 nobody's), live, remaining us, released
    std::string observe;  ///< token, version, the holder's ttl in us (0 when released), owner, name
    std::string insert;   ///< the first term of a name; fails with a duplicate key if the row is there. Its token is 1; where
                          ///< there is `purge` it is :token, and nothing is inserted if the floor is higher by now
    std::string take;     ///< a new term, if the row has :token and is not live
    std::string renew;    ///< if the row has :owner, :token and is live; never to an earlier expiry, and where rows are certified or
                          ///< only changes are counted: always to another one
    std::string release;  ///< the same. :us > 0: no owner, and live for :us. Else the expiry is long ago, so that a clock set back
                          ///< revives nothing: a thousandth of the time since 1970 where there is `purge`, which reads it, so
                          ///< that `released` is before 1971
    std::string inspect;  ///< token, remaining us, owner of a live row
    std::string list;     ///< token, remaining us, owner, name of live rows
    std::string force_release;  ///< as release, whoever holds

    batch_sql batches;       ///< for many terms at once; without them it is one after the other
    session_lock_sql locks;  ///< for waking waiters; empty where sessions have no locks
    fence_sql fence;         ///< for odbc::fence; without a `lock` there is none on this database
    purge_sql purge;         ///< for removing names nobody uses; without it there is no such thing
};

}  // namespace leasehold::inline v0::dialect

#endif
