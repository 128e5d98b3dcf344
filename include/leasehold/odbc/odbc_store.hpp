// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_ODBC_STORE_HPP
#define LEASEHOLD_ODBC_ODBC_STORE_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/config.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/store_impl.hpp>
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
#include <leasehold/odbc/queue_ticket.hpp>
#include <leasehold/odbc/store_health.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>
#include <leasehold/waiting/local_queue.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

namespace odbc::detail {
struct fence_access;
}

/// Leases in a table of a database, over ODBC.
///
/// Dialect: the SQL of the database, or `detected`. Expiry: who judges that a term is over, the database's clock or the one who
/// wants it next (expiry_by_observation); stores that differ in it need tables of their own.
///
/// Connections are the store's own, in autocommit, made when needed, at most odbc_options::pool_size at once; a lost one is
/// replaced within the call that meets the loss. A model of lease_store, diagnosing_store, polled_store, batching_store and
/// notifying_store: where the database has session locks, up to odbc::detail::max_waiting_sessions (32) connections more wait for
/// releases, and one has the locks of terms that nobody here waited for.
///
/// Time: every call returns within odbc_options::call_timeout, also when the driver doesn't: such a call is an
/// errc::store_timeout, its connection is left behind with its thread, and what it did is unknown; a grant that comes out of
/// it after all is ended again. The store's other connections are then replaced, but for those that have answered since. At
/// most pool_size and odbc::detail::abandoned_calls_max (16) more hang so at once; while they do, calls fail at once with
/// errc::store_unavailable. An in-process database (SQLite) uses the caller's thread.
/// Errors: errc::store_unavailable, store_timeout, store_conflict, schema_missing, store_failure; errc::invalid_name or
/// invalid_owner, before any I/O, for what can't be a name or an owner (renew_many and release_many look at neither).
/// diagnostics() has the
/// SQLSTATE, and words on what to do. Messages show *** for a password of the connection string: wherever it stands as the
/// value of its keyword, in any quoting; and wherever it stands by itself, unless it is shorter than 4 bytes, fewer than 12
/// letters or fewer than 8 digits, which can't be told from the words and numbers of a message. The forms without std::error_code throw store_error. Either may throw std::bad_alloc.
/// Thread safety: everything but construction and destruction may be called by many threads at once.
/// Lifetime: outlives the leases that use it. The destructor ends idle connections and waits for those, for no longer than
/// call_timeout; it does not wait for calls that were given up.
template <dialect::odbc_dialect Dialect, odbc_expiry Expiry = expiry_by_server_clock>
class basic_odbc_store {
public:
    /// Does no I/O: the first call connects. Throws std::system_error (std::errc::invalid_argument), naming what is wrong
    /// with the options, or that the connection string holds a NUL. A connection string that is wrong otherwise is an
    /// errc::store_unavailable of the first call.
    explicit basic_odbc_store(std::string connection_string, odbc_options options = {})
    {
        validate(options);
        if (connection_string.find('\0') != std::string::npos)
            leasehold::detail::throw_exception(std::system_error{std::make_error_code(std::errc::invalid_argument),
                                                       "leasehold: the connection string must not contain a NUL"});
        impl_ = std::make_unique<odbc::detail::store_impl>(std::move(connection_string), std::move(options), &describe, Dialect::in_process);
    }
    basic_odbc_store(const basic_odbc_store&) = delete;
    basic_odbc_store& operator=(const basic_odbc_store&) = delete;
    ~basic_odbc_store() = default;

    /// lease_store: a term for `owner`, more time for the one it has, or busy.
    [[nodiscard]] acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl,
                                             std::error_code& ec)
    {
        if (refuses(leasehold::detail::refusal_of(name, owner), ec)) return {};
        calling on{*this, ec};
        return impl_->try_acquire(name, owner, ttl, on.failed);
    }

    /// lease_store: true if that very term was unexpired and now ends `ttl` from now.
    [[nodiscard]] bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl,
                             std::error_code& ec)
    {
        if (refuses(leasehold::detail::refusal_of(name, owner), ec)) return {};
        calling on{*this, ec};
        return impl_->renew(name, owner, token, ttl, on.failed);
    }

    /// lease_store: true if that very term was unexpired and has ended. After a lost connection the row is read back.
    bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left,
                 std::error_code& ec)
    {
        if (refuses(leasehold::detail::refusal_of(name, owner), ec)) return {};
        calling on{*this, ec};
        return impl_->release(name, owner, token, min_hold_left, on.failed);
    }

    /// batching_store: how many terms go into one statement; 1 where the database can't, terms expire by observation, or
    /// nothing has been asked of the database yet.
    [[nodiscard]] std::size_t batch_size() const noexcept { return impl_->batch_size(); }

    /// batching_store: one statement for the terms of one ttl; where it doesn't answer for all, smaller ones, and in the end one
    /// each.
    void renew_many(std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within, std::error_code& ec)
    {
        calling on{*this, ec};
        impl_->renew_many(renewals, answers, within, on.failed);
    }

    /// batching_store: the same, each statement a transaction; those with min_hold_left one by one.
    void release_many(std::span<const term_release> releases, std::span<batch_answer> answers, std::error_code& ec)
    {
        calling on{*this, ec};
        impl_->release_many(releases, answers, on.failed);
    }

    /// batch_acquiring_store: one statement for those of one ttl (two where the database can't decide and show in one), at most
    /// batch_size() of them; one by one where batches have no advantage. A name or an owner that can't be one is an error
    /// before any I/O.
    void acquire_many(std::span<const term_request> requests, std::size_t most, std::span<std::optional<acquire_result>> answers, std::error_code& ec)
    {
        for (const term_request& each : requests)
            if (refuses(leasehold::detail::refusal_of(each.name, each.owner), ec)) return;
        calling on{*this, ec};
        impl_->acquire_many(requests, most, answers, on.failed);
    }

    /// lease_store: what is held now; the owner is empty where a release still keeps the name closed.
    [[nodiscard]] std::optional<lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        if (refuses(leasehold::detail::refusal_of(name), ec)) return {};
        calling on{*this, ec};
        return impl_->inspect(name, on.failed);
    }

    /// handover_store: what the holder says of itself. Adds the columns for it (version 2 of the schema) on the first use, if the
    /// user may; errc::schema_missing, with words on what to do, if not.
    bool publish(std::string_view name, std::string_view owner, fencing_token token, std::string_view data, std::error_code& ec)
    {
        if (refuses(leasehold::detail::refusal_of(name, owner), ec) || refuses(leasehold::detail::refusal_of_data(data), ec)) return false;
        calling on{*this, ec};
        return impl_->publish(name, owner, token, data, on.failed);
    }

    /// handover_store: asks the holder. The columns: as for publish().
    bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec)
    {
        if (refuses(leasehold::detail::refusal_of(name), ec) || refuses(leasehold::detail::refusal_of_data(reason), ec)) return false;
        calling on{*this, ec};
        return impl_->request_handover(name, reason, on.failed);
    }

    /// handover_store: the reason, if that very term was asked. Without the columns nobody can have asked.
    [[nodiscard]] std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, fencing_token token,
                                                                std::error_code& ec)
    {
        if (refuses(leasehold::detail::refusal_of(name, owner), ec)) return {};
        calling on{*this, ec};
        return impl_->handover_requested(name, owner, token, on.failed);
    }

    /// notifying_store: woken by the release where the database has session locks (PostgreSQL, MariaDB, MySQL).
    [[nodiscard]] odbc::queue_ticket enqueue(std::string_view name, waker& to_wake) { return impl_->enqueue(name, to_wake); }
    /// notifying_store: in the order of coming, across processes, where the database has session locks.
    [[nodiscard]] acquire_result try_acquire(odbc::queue_ticket& ticket, std::string_view owner, duration ttl, std::error_code& ec)
    {
        if (refuses(leasehold::detail::refusal_of(ticket.name(), owner), ec)) return {};
        calling on{*this, ec};
        return impl_->try_acquire(ticket, owner, ttl, on.failed);
    }

    /// See waiting::queueing_store.
    [[nodiscard]] waiting::local_queue& local_waiters() noexcept { return *waiters_; }

    /// polled_store: SQLite is asked in a few microseconds, and can't wake anybody.
    [[nodiscard]] poll_pauses pauses() const noexcept
    {
        if (Dialect::in_process || impl_->likely_in_process())
            return {std::chrono::milliseconds{1}, std::chrono::milliseconds{4}};
        return {};
    }

    /// What is held now, of names that begin with `prefix`, in the order of the names' bytes.
    [[nodiscard]] std::vector<lease_record> list(std::string_view prefix, std::error_code& ec)
    {
        if (prefix.size() > max_name_bytes) {
            ec.clear();
            return {};
        }
        calling on{*this, ec};
        return impl_->list(prefix, on.failed);
    }
    /// The same, of all names.
    [[nodiscard]] std::vector<lease_record> list(std::error_code& ec) { return list({}, ec); }
    /// The same; throws store_error.
    [[nodiscard]] std::vector<lease_record> list(std::string_view prefix = {})
    {
        std::error_code ec;
        auto records = list(prefix, ec);
        throw_if(ec, "list");
        return records;
    }

    /// Ends the term of the holder of `name`; its token stays used. True if there was one. The holder learns of it from its
    /// next renewal, and those who wait for `name` by then. errc::invalid_name for what can't be a name.
    bool force_release(std::string_view name, std::error_code& ec)
    {
        if (refuses(leasehold::detail::refusal_of(name), ec)) return false;
        calling on{*this, ec};
        return impl_->force_release(name, on.failed);
    }
    /// The same; throws store_error, or std::system_error with errc::invalid_name.
    bool force_release(std::string_view name)
    {
        validate_name(name);
        std::error_code ec;
        const bool ended = force_release(name, ec);
        throw_if(ec, "force_release '" + std::string{name} + "'");
        return ended;
    }

    /// Removes the rows of names that nobody has held, nor kept closed, for `unused_for`, so that a table with ever new names
    /// doesn't grow for ever. Returns how many. Tokens are not used again: a name that comes back, and every name that is new,
    /// begins above all that were removed. PostgreSQL, MariaDB, MySQL and SQLite, by the database's clock; errc::store_failure
    /// for the generic dialect and for stores that expire by observation.
    ///
    /// `unused_for`: at least min_unused_for (1 minute) and twice call_timeout, at most max_unused_for (50 years); otherwise
    /// std::errc::invalid_argument, and nothing is done. What tokens rest on is that no statement of any store on the table
    /// takes that long: let it be twice the longest call_timeout of them all, and more than the database's clock may jump
    /// forward by. A release by a version of the library without purge() counts as one in 1970.
    /// Time: for every 1,000 names (dialect::purge_sql::rows_per_step) one call, each bounded by call_timeout.
    /// Errors: as any call. What was removed before stays removed, and is returned. Of a call that has to be repeated because
    /// the connection was lost, what the first try removed isn't counted.
    /// Safe beside everything else, several purges included, but all processes that use the table must be of a version that
    /// has purge(), with a dialect that can: older ones begin new names at 1. A name that is locked by a fence or another
    /// transaction stays for the next purge, and those after it in the same step. Needs the right to DELETE.
    std::size_t purge(duration unused_for, std::error_code& ec)
    {
        if (!is_purgeable(unused_for)) {
            ec = std::make_error_code(std::errc::invalid_argument);
            return 0;
        }
        calling on{*this, ec};
        return impl_->purge(unused_for, on.failed);
    }
    /// The same; throws store_error, or std::system_error with std::errc::invalid_argument.
    std::size_t purge(duration unused_for)
    {
        if (!is_purgeable(unused_for))
            leasehold::detail::throw_exception(
                std::system_error{std::make_error_code(std::errc::invalid_argument),
                                  "leasehold: purge: unused_for must be at least 1 minute and twice call_timeout, at most 50 years"});
        std::error_code ec;
        const std::size_t gone = purge(unused_for, ec);
        throw_if(ec, "purge");
        return gone;
    }

    /// Creates the table if it is not there; safe from many processes at once. Does nothing, and so needs no right to
    /// create, where the table with its columns is there. To a table of version 1 it adds the columns of version 2, which takes no
    /// time; without the right to alter the table it stays as it is, and works, but for what is published and requested.
    void create_schema(std::error_code& ec)
    {
        calling on{*this, ec};
        impl_->create_schema(on.failed);
    }
    /// The same; throws store_error.
    void create_schema()
    {
        std::error_code ec;
        create_schema(ec);
        throw_if(ec, "create_schema");
    }

    /// What create_schema() would run, for those who do it by hand. Connects if the database isn't known yet.
    [[nodiscard]] std::vector<std::string> schema_sql(std::error_code& ec)
    {
        calling on{*this, ec};
        return impl_->schema_sql(on.failed);
    }
    /// The same; throws store_error.
    [[nodiscard]] std::vector<std::string> schema_sql()
    {
        std::error_code ec;
        auto statements = schema_sql(ec);
        throw_if(ec, "schema_sql");
        return statements;
    }

    /// Whether the table can be read, and what else a readiness probe may want to know. Writes nothing, so a server that only
    /// takes no writes is healthy. Never throws an error of the store: see store_health::error. Time: as any call.
    [[nodiscard]] store_health health()
    {
        store_health found;
        {
            calling on{*this, found.error};
            impl_->health(found, on.failed);
        }
        if (found.error) found.diagnostics = diagnostics();
        return found;
    }

    /// Details of the calling thread's last failed call on this store.
    [[nodiscard]] store_diagnostics diagnostics() const
    {
        return last_failure().of == this ? last_failure().details : store_diagnostics{};
    }

    /// odbc_options::call_timeout.
    [[nodiscard]] duration call_timeout() const noexcept { return impl_->options().call_timeout; }
    /// The options it was made with.
    [[nodiscard]] const odbc_options& options() const noexcept { return impl_->options(); }
    /// Calls given up so far because the driver did not return in time.
    [[nodiscard]] std::uint64_t abandoned_calls() const { return impl_->abandoned_calls(); }
    /// Of these, those whose driver has still not returned.
    [[nodiscard]] std::size_t hanging_calls() const { return impl_->hanging_calls(); }
    /// Connections for calls that the store has now, pool_size at most. Those that wait for releases, and the one for session locks, come
    /// on top.
    [[nodiscard]] std::size_t sessions() const { return impl_->sessions(); }

private:
    friend struct odbc::detail::fence_access;

    static dialect::spec describe(const dialect::server_info& at)
    {
        return Expiry::applied_to(Dialect::describe(at));
    }

    [[nodiscard]] bool is_purgeable(duration unused_for) const noexcept
    {
        return unused_for >= std::max(min_unused_for, 2 * call_timeout()) && unused_for <= max_unused_for;
    }

    struct failure_of_thread {
        const void* of = nullptr;
        store_diagnostics details{};
    };

    static failure_of_thread& last_failure()
    {
        static thread_local failure_of_thread last;
        return last;
    }

    // Before any I/O.
    static bool refuses(std::error_code why, std::error_code& ec)
    {
        ec = why;
        if (ec) last_failure() = {};
        return static_cast<bool>(ec);
    }

    // Reports what a call came to, at its end.
    class calling {
    public:
        calling(const basic_odbc_store& store, std::error_code& ec) noexcept : store_{store}, ec_{ec} { ec.clear(); }
        calling(const calling&) = delete;
        calling& operator=(const calling&) = delete;
        ~calling()
        {
            if (!failed) return;
            ec_ = make_error_code(odbc::detail::errc_of(failed.kind));
            last_failure() = {&store_, std::move(failed.details)};
        }

        odbc::detail::failure failed;

    private:
        const basic_odbc_store& store_;
        std::error_code& ec_;
    };

    void throw_if(std::error_code ec, std::string_view doing) const
    {
        if (ec) leasehold::detail::throw_exception(store_error{ec, doing, diagnostics()});
    }

    std::unique_ptr<odbc::detail::store_impl> impl_;
    std::unique_ptr<waiting::local_queue> waiters_ = std::make_unique<waiting::local_queue>();
};

/// The store for whatever database the connection string leads to.
using odbc_store = basic_odbc_store<dialect::detected>;

/// The same, where no clock of a database is trusted; see expiry_by_observation.
using observing_odbc_store = basic_odbc_store<dialect::detected, expiry_by_observation>;

static_assert(diagnosing_store<odbc_store> && notifying_store<odbc_store> && polled_store<odbc_store> && batching_store<odbc_store> &&
              batch_acquiring_store<odbc_store> && handover_store<odbc_store>);

}  // namespace leasehold::inline v0

#ifdef LEASEHOLD_SEPARATE_COMPILATION
#include <leasehold/odbc/detail/compiled_once.hpp>
#else
#include <leasehold/odbc/src.hpp>
#endif

#endif
