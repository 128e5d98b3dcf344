// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_ODBC_STORE_HPP
#define LEASEHOLD_ODBC_ODBC_STORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/odbc/dialect/concept.hpp>
#include <leasehold/odbc/dialect/detected.hpp>
#include <leasehold/odbc/dialect/generic.hpp>
#include <leasehold/odbc/dialect/mariadb.hpp>
#include <leasehold/odbc/dialect/postgresql.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>
#include <leasehold/odbc/expiry/concept.hpp>
#include <leasehold/odbc/expiry/expiry_by_observation.hpp>
#include <leasehold/odbc/expiry/expiry_by_server_clock.hpp>
#include <leasehold/odbc/odbc_options.hpp>
#include <leasehold/odbc/store_base.hpp>
#include <leasehold/store/concept.hpp>

#include <concepts>
#include <string>
#include <utility>

namespace leasehold::inline v0 {

/// Leases in a table of a database, over ODBC.
///
/// Dialect: the SQL of the database, or `detected`. Expiry: who judges that a term is over, the database's clock or the one who
/// wants it next (expiry_by_observation); stores that differ in it need tables of their own.
///
/// Connections are the store's own, in autocommit, made when needed, at most odbc_options::pool_size at once; a lost one is
/// replaced within the call that meets the loss. Where the database has session locks, up to odbc::detail::max_waiting_sessions (32)
/// connections more wait for releases, or have waited for terms that there are.
///
/// A model of the concepts in store/concept.hpp but observed_store and those of stores around a store; with the generic dialect, not of
/// timed_store and checkpoint_looking_store.
///
/// Time: every call returns within odbc_options::call_timeout, also when the driver doesn't: such a call is an
/// errc::store_timeout, its connection is left behind with its thread, and what it did is unknown; a grant that comes out of
/// it after all is ended again, if nobody held the name before, and runs out otherwise. The store's other connections are then replaced,
/// but for those that have answered since or have session locks. At most pool_size and odbc::detail::abandoned_calls_max (16) more hang so
/// at once; while they do, calls fail at once with errc::store_unavailable. An in-process database (SQLite) uses the caller's thread.
/// Errors: errc::store_unavailable, store_timeout, store_conflict, schema_missing, store_failure; errc::invalid_name or
/// invalid_owner, before any I/O, for what can't be a name or an owner (renew_many and release_many look at neither).
/// diagnostics() has the SQLSTATE, and words on what to do. Messages show *** for a password of the connection string: wherever it
/// stands as the value of its keyword, in any quoting; and wherever it stands by itself, unless it is shorter than 4 bytes, fewer than
/// 12 letters or fewer than 8 digits, which can't be told from the words and numbers of a message. The forms without std::error_code
/// throw store_error. Either may throw std::bad_alloc.
/// Thread safety: everything but construction and destruction may be called by many threads at once.
/// Lifetime: outlives the leases that use it. The destructor ends idle connections and waits for those, for no longer than
/// call_timeout; it does not wait for calls that were given up.
template <dialect::odbc_dialect Dialect, odbc_expiry Expiry = expiry_by_server_clock>
class basic_odbc_store : public odbc::store_base {
public:
    /// Does no I/O: the first call connects. Throws std::system_error (std::errc::invalid_argument), naming what is wrong
    /// with the options, or that the connection string holds a NUL. A connection string that is wrong otherwise is an
    /// errc::store_unavailable of the first call.
    explicit basic_odbc_store(std::string connection_string, odbc_options options = {})
        : store_base{std::move(connection_string), std::move(options), &describe, Dialect::in_process}
    {
    }

    /// timed_store: by the database's clock, in UTC; SQLite's is the host's. errc::store_failure if the database turns out to be one for
    /// the generic dialect, which knows no SQL for it.
    [[nodiscard]] store_time now(std::error_code& ec)
        requires(!std::same_as<Dialect, dialect::generic>)
    {
        return ask_clock(ec);
    }
    /// The same; throws store_error.
    [[nodiscard]] store_time now()
        requires(!std::same_as<Dialect, dialect::generic>)
    {
        return ask_clock();
    }

    /// checkpoint_looking_store: one SELECT; where the dialect is one of your own that has none, two. Otherwise like now().
    [[nodiscard]] checkpoint_look look_at_checkpoint(std::string_view name, std::error_code& ec)
        requires(!std::same_as<Dialect, dialect::generic>)
    {
        return ask_all_of_checkpoint(name, ec);
    }

private:
    static dialect::spec describe(const dialect::server_info& at) { return Expiry::applied_to(Dialect::describe(at)); }
};

/// The store for whatever database the connection string leads to.
using odbc_store = basic_odbc_store<dialect::detected>;

/// The same, where no clock of a database is trusted; see expiry_by_observation.
using observing_odbc_store = basic_odbc_store<dialect::detected, expiry_by_observation>;

static_assert(diagnosing_store<odbc_store> && notifying_store<odbc_store> && polled_store<odbc_store> && batching_store<odbc_store> &&
              batch_acquiring_store<odbc_store> && handover_store<odbc_store> && checkpoint_replacing_store<odbc_store> &&
              timed_store<odbc_store> && checkpoint_looking_store<odbc_store>);

}  // namespace leasehold::inline v0

// Templates whose usual instance is compiled with the definitions of odbc/src.hpp.
#ifdef LEASEHOLD_SEPARATE_COMPILATION
#include <leasehold/basic_lease.hpp>
namespace leasehold::inline v0 {
extern template class renewal::engine<steady_clock>;
extern template class renewal::term_keeper<odbc_store, steady_clock, renew_at_fraction>;
extern template class detail::guard_base<lease_guard<basic_lease<odbc_store>>, lease_guard<basic_lease<odbc_store>>::body_type>;
extern template class detail::lease_attempts<odbc_store, steady_clock, random_owner_id, renew_at_fraction>;
extern template class detail::acquire_forms<detail::lease_attempts<odbc_store, steady_clock, random_owner_id, renew_at_fraction>>;
extern template class basic_lease<odbc_store>;
}  // namespace leasehold::inline v0
#endif

#endif
