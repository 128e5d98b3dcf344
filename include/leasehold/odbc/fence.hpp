// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_FENCE_HPP
#define LEASEHOLD_ODBC_FENCE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/config.hpp>
#include <leasehold/detail/guard_core.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/fwd.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/driver/handle.hpp>
#include <leasehold/odbc/fence_sql.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

template <class Store>
inline constexpr bool is_odbc_store = false;
template <class... Policies>
inline constexpr bool is_odbc_store<basic_odbc_store<Policies...>> = true;

// use(store, name) with the store itself, or with what a decorator decorates and what that one calls the name.
template <class Store, class Use>
decltype(auto) in_innermost(Store& store, std::string_view name, Use use)
{
    if constexpr (requires { store.stored_name(name); })
        return in_innermost(store.underlying(), store.stored_name(name), use);
    else if constexpr (requires { store.underlying(); })
        return in_innermost(store.underlying(), name, use);
    else
        return use(store, name);
}

}  // namespace leasehold::inline v0::odbc::detail

namespace leasehold::inline v0::odbc {

namespace detail {

// See odbc::fence(), and odbc::save_checkpoint() where there is a `checkpoint`. Fills in `ec` and the details where it fails.
LEASEHOLD_DECL bool fence_term(store_base& store, SQLHDBC connection, std::string_view name, std::string_view owner, fencing_token token,
                               std::optional<std::string_view> checkpoint, std::error_code& ec, store_diagnostics& details);

template <class Guard>
bool fence(SQLHDBC connection, const Guard& guard, std::optional<std::string_view> checkpoint, std::error_code& ec,
           store_diagnostics& details)
{
    ec.clear();
    if (!guard.held()) return false;
    return in_innermost(*guard.store(), guard.name(), [&]<class Store>(Store& store, std::string_view name) {
        constexpr bool possible = is_odbc_store<Store>;
        static_assert(possible, "a fence or a checkpoint in a transaction needs a lease in a database: its store must be a"
                                " basic_odbc_store");
        if constexpr (possible) return fence_term(store, connection, name, guard.owner(), guard.token(), checkpoint, ec, details);
        return false;
    });
}

// Throws for odbc::fence() and odbc::save_checkpoint(), if there is an error.
inline void throw_of_fence(std::error_code ec, std::string_view doing, std::string_view name, store_diagnostics details)
{
    if (!ec) return;
    const std::string what = std::string{doing} + " '" + leasehold::detail::printable(name) + "'";
    if (ec == std::errc::invalid_argument && ec.category() == std::generic_category())
        leasehold::detail::throw_exception(
            std::system_error{ec, "leasehold: " + what +
                                      ": the connection is in autocommit mode, in which a fence would end with its own statement; set"
                                      " SQL_ATTR_AUTOCOMMIT to SQL_AUTOCOMMIT_OFF, and end the transaction with SQLEndTran"});
    leasehold::detail::throw_exception(store_error{ec, what, std::move(details)});
}

template <class Guard>
bool fence_or_throw(SQLHDBC connection, const Guard& guard, std::optional<std::string_view> checkpoint)
{
    std::error_code ec;
    store_diagnostics details;
    const bool fenced = fence(connection, guard, checkpoint, ec, details);
    throw_of_fence(ec, checkpoint ? "save_checkpoint" : "fence", guard.name(), std::move(details));
    return fenced;
}

template <class Guard>
bool fence_without_throwing(SQLHDBC connection, const Guard& guard, std::optional<std::string_view> checkpoint,
                            std::error_code& ec) noexcept
{
    bool fenced = false;
    leasehold::detail::catch_into(ec, [&] {
        store_diagnostics ignored;
        fenced = fence(connection, guard, checkpoint, ec, ignored);
    });
    return fenced && !ec;
}

}  // namespace detail

/// Confirms the term of `guard` inside the caller's own transaction, on the caller's own connection to the same database,
/// and keeps the lease from changing hands until that transaction ends. So what the transaction writes can't come after
/// what a later holder writes, however long this process sleeps before it commits.
///
///     SQLSetConnectAttr(connection, SQL_ATTR_AUTOCOMMIT, SQL_AUTOCOMMIT_OFF, 0);
///     if (lh::odbc::fence(connection, guard)) { /* write */ SQLEndTran(SQL_HANDLE_DBC, connection, SQL_COMMIT); }
///     else SQLEndTran(SQL_HANDLE_DBC, connection, SQL_ROLLBACK);
///
/// True: by the database's clock that very term (name, owner, token) is unexpired, and nobody else is granted the name until
/// the transaction ends, or is rolled back to a savepoint from before; an attempt at it answers busy after
/// odbc_options::lock_timeout. The term itself can still run out or be released meanwhile, only nobody can have it next.
/// On a cluster (Galera, Group Replication) another node may grant it nevertheless; then the transaction fails, at the latest
/// in its commit.
/// False: it is over, or the guard is empty or no longer held(), for which nothing is asked. End the transaction: it may have
/// got the lock nevertheless.
///
/// The holder's own renewals and releases go through meanwhile on PostgreSQL and MariaDB. On SQLite, Galera and the generic
/// dialect they wait, like everybody else who writes to that file or row: keep such a transaction much shorter than the
/// ttl and the store's call_timeout. See docs/dialects.md. For connections that are not ODBC's: fence_sql().
///
/// `guard`: a guard; or the leader_term, shard_term or recurring_run of which that is.
/// The connection must not be in autocommit mode, must find the table under the same name, and needs the right to update it.
/// Nothing is committed or rolled back, no attribute is changed, and the statement is gone when fence() returns. It waits as
/// long as the connection's own settings allow; call_timeout doesn't hold for it. Any isolation level will do.
///
/// Throws std::system_error with std::errc::invalid_argument in autocommit mode; store_error when the database fails,
/// among them errc::store_conflict where the transaction has to be begun again (a snapshot from before the term, or SQLite
/// busy). After any error, also of a statement of your own, roll back and begin again with the fence. PostgreSQL aborts a transaction in
/// which a statement has failed. MariaDB and MySQL roll all of it back, the fence included, after a deadlock (1213; also 1205 with
/// innodb_rollback_on_timeout): what is written after that without a new fence is not protected.
/// Thread safety: as the guard's and the connection's.
template <class Guard>
[[nodiscard]] bool fence(SQLHDBC connection, const Guard& guard)
{
    return detail::fence_or_throw(connection, guard, std::nullopt);
}

/// Does not throw; false where `ec` is set.
template <class Guard>
[[nodiscard]] bool fence(SQLHDBC connection, const Guard& guard, std::error_code& ec) noexcept
{
    return detail::fence_without_throwing(connection, guard, std::nullopt, ec);
}

template <class Guard>
bool fence(SQLHDBC, const Guard&&) = delete;  ///< a temporary guard has released: name it, or use try_run()
template <class Guard>
bool fence(SQLHDBC, const Guard&&, std::error_code&) = delete;  ///< a temporary guard has released: name it, or use try_run()
template <leasehold::detail::guard_of_several Guard>
bool fence(SQLHDBC, const Guard&) = delete;  ///< it has several terms, so use each of its guards()
template <leasehold::detail::guard_of_several Guard>
bool fence(SQLHDBC, const Guard&, std::error_code&) = delete;  ///< it has several terms, so use each of its guards()

/// Fences as fence() does, and saves `text` as the checkpoint of the guard's lease in the same transaction: so either what the transaction
/// writes and the checkpoint are there for the next holder, or neither is. At most max_checkpoint_bytes (4,096) bytes of UTF-8
/// without a NUL.
///
///     write(connection, batch);
///     const bool ours = lh::odbc::save_checkpoint(connection, guard, "offset=4712");
///     SQLEndTran(SQL_HANDLE_DBC, connection, ours ? SQL_COMMIT : SQL_ROLLBACK);
///
/// True: the fence holds, and the checkpoint is saved once the transaction commits. False: as for fence(); roll back.
///
/// The row is locked until the transaction ends, on every database, and the holder's own renewals wait for that: call it last, just before
/// the commit, and keep the transaction much shorter than the ttl and the store's call_timeout. At repeatable read and above a
/// renewal after the transaction's snapshot is errc::store_conflict on PostgreSQL, and on MariaDB with innodb_snapshot_isolation, its
/// default since 11.6: begin again, or use read committed.
///
/// Everything else is as for fence(). Throws std::system_error with errc::invalid_data for a text that can't be a checkpoint, too.
template <class Guard>
[[nodiscard]] bool save_checkpoint(SQLHDBC connection, const Guard& guard, std::string_view text)
{
    validate_checkpoint(text);
    return detail::fence_or_throw(connection, guard, text);
}

/// Does not throw; false where `ec` is set.
template <class Guard>
[[nodiscard]] bool save_checkpoint(SQLHDBC connection, const Guard& guard, std::string_view text, std::error_code& ec) noexcept
{
    ec = leasehold::detail::refusal_of_checkpoint(text);
    return !ec && detail::fence_without_throwing(connection, guard, text, ec);
}

template <class Guard>
bool save_checkpoint(SQLHDBC, const Guard&&, std::string_view) = delete;  ///< a temporary guard has released: name it, or use try_run()
template <class Guard>
bool save_checkpoint(SQLHDBC, const Guard&&, std::string_view, std::error_code&) = delete;  ///< a temporary guard has released
template <leasehold::detail::guard_of_several Guard>
bool save_checkpoint(SQLHDBC, const Guard&, std::string_view) = delete;  ///< it has several terms, so use each of its guards()
template <leasehold::detail::guard_of_several Guard>
bool save_checkpoint(SQLHDBC, const Guard&, std::string_view, std::error_code&) = delete;  ///< several terms, so use each of its guards()

/// Deleted: the checkpoint of a run contains the record of its fires. In a transaction use run.complete(connection), which saves both what
/// run.save_checkpoint(text) has saved and that the fire is completed.
template <class Lease>
bool save_checkpoint(SQLHDBC connection, const recurring_run<Lease>& run, std::string_view text) = delete;
/// Deleted: see above.
template <class Lease>
bool save_checkpoint(SQLHDBC connection, const recurring_run<Lease>& run, std::string_view text, std::error_code& ec) = delete;

}  // namespace leasehold::inline v0::odbc

namespace leasehold::inline v0 {

/// recurring_run::complete(connection) calls this for an ODBC connection; it is odbc::save_checkpoint(). Found by the guard's namespace.
template <class Lease>
[[nodiscard]] bool save_checkpoint_on(SQLHDBC connection, const lease_guard<Lease>& guard, std::string_view text)
{
    return odbc::save_checkpoint(connection, guard, text);
}
/// The same, reported in `ec`: does not throw.
template <class Lease>
[[nodiscard]] bool save_checkpoint_on(SQLHDBC connection, const lease_guard<Lease>& guard, std::string_view text,
                                      std::error_code& ec) noexcept
{
    return odbc::save_checkpoint(connection, guard, text, ec);
}
template <class Lease>
bool save_checkpoint_on(SQLHDBC, const lease_guard<Lease>&&, std::string_view) = delete;  ///< a temporary guard has released
template <class Lease>
bool save_checkpoint_on(SQLHDBC, const lease_guard<Lease>&&, std::string_view, std::error_code&) = delete;  ///< it has released

}  // namespace leasehold::inline v0

#ifndef LEASEHOLD_SEPARATE_COMPILATION
#include <leasehold/odbc/detail/fence/fence_src.hpp>
#endif

#endif
