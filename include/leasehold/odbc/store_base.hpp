// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_STORE_BASE_HPP
#define LEASEHOLD_ODBC_STORE_BASE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/config.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/odbc/dialect/spec.hpp>
#include <leasehold/odbc/odbc_options.hpp>
#include <leasehold/odbc/queue_ticket.hpp>
#include <leasehold/odbc/store_health.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/name_holding.hpp>
#include <leasehold/store_diagnostics.hpp>
#include <leasehold/waiting/local_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc {

namespace detail {
class configuration;
class store_operations;
struct fence_access;
}  // namespace detail

/// The operations of every basic_odbc_store, which says what holds for all of them. No template, and defined in odbc/src.hpp, so that
/// a program can compile them once, and the headers of ODBC with them.
class store_base : public name_holding<store_base> {
public:
    store_base(const store_base&) = delete;
    store_base& operator=(const store_base&) = delete;

    /// lease_store: a term for `owner`, more time for the one it has, or busy.
    [[nodiscard]] LEASEHOLD_DECL acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl,
                                                            std::error_code& ec);

    /// lease_store: true if that very term was unexpired and now ends `ttl` from now.
    [[nodiscard]] LEASEHOLD_DECL bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl,
                             std::error_code& ec);

    /// lease_store: true if that very term was unexpired and has ended. After a lost connection the row is read back.
    LEASEHOLD_DECL bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left,
                 std::error_code& ec);

    /// batching_store: how many terms go into one statement; 1 where the database can't, terms expire by observation, or
    /// nothing has been asked of the database yet.
    [[nodiscard]] LEASEHOLD_DECL std::size_t batch_size() const noexcept;

    /// batching_store: one statement for the terms of one ttl; where it doesn't answer for all, smaller ones, and in the end one
    /// each.
    LEASEHOLD_DECL void renew_many(std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within,
                                   std::error_code& ec);

    /// batching_store: the same, each statement a transaction; those with min_hold_left one by one.
    LEASEHOLD_DECL void release_many(std::span<const term_release> releases, std::span<batch_answer> answers, std::error_code& ec);

    /// batch_acquiring_store: one statement for those of one ttl (two where the database can't decide and show in one), at most
    /// batch_size() of them; one by one where batches have no advantage. A name or an owner that can't be one is an error
    /// before any I/O.
    LEASEHOLD_DECL void acquire_many(std::span<const term_request> requests, std::size_t most,
                                     std::span<std::optional<acquire_result>> answers, std::error_code& ec);

    /// lease_store: what is held now; the owner is empty where a release still keeps the name closed.
    [[nodiscard]] LEASEHOLD_DECL std::optional<lease_record> inspect(std::string_view name, std::error_code& ec);

    /// handover_store: what the holder says of itself.
    LEASEHOLD_DECL bool publish(std::string_view name, std::string_view owner, fencing_token token, std::string_view data,
                                std::error_code& ec);

    /// handover_store: asks the holder.
    LEASEHOLD_DECL bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec);

    /// handover_store: the reason, if that very term was asked.
    [[nodiscard]] LEASEHOLD_DECL std::optional<std::string> handover_requested(std::string_view name, std::string_view owner,
                                                                               fencing_token token, std::error_code& ec);

    /// checkpointing_store: one UPDATE. After a lost connection the row is read back; where a later term has saved another checkpoint by
    /// then, the error is errc::store_unavailable.
    LEASEHOLD_DECL bool save_checkpoint(std::string_view name, std::string_view owner, fencing_token token, std::string_view text,
                                        std::error_code& ec);

    /// checkpoint_replacing_store: likewise.
    LEASEHOLD_DECL bool replace_checkpoint(std::string_view name, std::string_view owner, fencing_token token, std::string_view replaced,
                                           std::string_view text, std::error_code& ec);

    /// checkpointing_store: the checkpoint that was saved last. It does not matter who holds the name.
    [[nodiscard]] LEASEHOLD_DECL std::optional<checkpoint_record> checkpoint(std::string_view name, std::error_code& ec);
    /// The same; throws store_error, or std::system_error with errc::invalid_name.
    [[nodiscard]] std::optional<checkpoint_record> checkpoint(std::string_view name)
    {
        validate_name(name);
        return or_throw("checkpoint '" + std::string{name} + "'", [&](std::error_code& ec) { return checkpoint(name, ec); });
    }

    /// The checkpoints of all names that begin with `prefix`, sorted by name. It does not matter who holds them. One SELECT.
    [[nodiscard]] LEASEHOLD_DECL std::vector<std::pair<std::string, checkpoint_record>> checkpoints(std::string_view prefix,
                                                                                                    std::error_code& ec);
    /// The same; throws store_error.
    [[nodiscard]] std::vector<std::pair<std::string, checkpoint_record>> checkpoints(std::string_view prefix = {})
    {
        return or_throw("checkpoints", [&](std::error_code& ec) { return checkpoints(prefix, ec); });
    }

    /// notifying_store: woken by the release where the database has session locks (PostgreSQL, MariaDB, MySQL).
    [[nodiscard]] LEASEHOLD_DECL queue_ticket enqueue(std::string_view name, waker& to_wake);
    /// notifying_store: in the order of coming, across processes, where the database has session locks.
    [[nodiscard]] LEASEHOLD_DECL acquire_result try_acquire(queue_ticket& ticket, std::string_view owner, duration ttl,
                                                            std::error_code& ec);
    /// ordered_store: in the order of coming, across processes, where the database has session locks; elsewhere all are first. Asks
    /// nothing of the table, but connects if the database isn't known yet, and asks the server every 5 s whether the place at the head is
    /// lost.
    [[nodiscard]] LEASEHOLD_DECL turn_answer turn(queue_ticket& ticket, std::error_code& ec);

    /// See queueing_store.
    [[nodiscard]] waiting::local_queue& local_waiters() noexcept { return *waiters_; }

    /// polled_store: SQLite is asked in a few microseconds, and can't wake anybody.
    [[nodiscard]] LEASEHOLD_DECL poll_pauses pauses() const noexcept;

    /// The names held now that begin with `prefix`, in the order of their bytes.
    [[nodiscard]] LEASEHOLD_DECL std::vector<lease_record> list(std::string_view prefix, std::error_code& ec);
    /// The same, of all names.
    [[nodiscard]] std::vector<lease_record> list(std::error_code& ec) { return list({}, ec); }
    /// The same; throws store_error.
    [[nodiscard]] std::vector<lease_record> list(std::string_view prefix = {})
    {
        return or_throw("list", [&](std::error_code& ec) { return list(prefix, ec); });
    }

    /// Ends the term of the holder of `name`; its token stays used. True if there was one. The holder learns of it from its
    /// next renewal, and those who wait for `name` by then. errc::invalid_name for what can't be a name.
    LEASEHOLD_DECL bool force_release(std::string_view name, std::error_code& ec);
    /// The same; throws store_error, or std::system_error with errc::invalid_name.
    bool force_release(std::string_view name)
    {
        validate_name(name);
        return or_throw("force_release '" + std::string{name} + "'", [&](std::error_code& ec) { return force_release(name, ec); });
    }

    /// Removes the rows of names that nobody has held, nor kept closed, for `unused_for`, so that a table with ever new names
    /// doesn't grow for ever; but those that have a checkpoint stay. Returns how many. Tokens are not used again: a name that comes
    /// back, and every name that is new, begins above all that were removed. PostgreSQL, MariaDB, MySQL and SQLite, by the database's
    /// clock; errc::store_failure for the generic dialect and for stores that expire by observation.
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
    std::size_t purge(duration unused_for, std::error_code& ec) { return purge(unused_for, 0, ec); }
    /// The same; throws store_error, or std::system_error with std::errc::invalid_argument.
    std::size_t purge(duration unused_for)
    {
        require_purgeable(unused_for);
        return or_throw("purge", [&](std::error_code& ec) { return purge(unused_for, ec); });
    }
    /// The same, names that have a checkpoint included: it goes with them.
    std::size_t purge(duration unused_for, with_checkpoints_t, std::error_code& ec)
    {
        return purge(unused_for, std::numeric_limits<std::int64_t>::max(), ec);
    }
    /// The same; throws store_error, or std::system_error with std::errc::invalid_argument.
    std::size_t purge(duration unused_for, with_checkpoints_t all)
    {
        require_purgeable(unused_for);
        return or_throw("purge", [&](std::error_code& ec) { return purge(unused_for, all, ec); });
    }

    /// Creates the table if it is not there; safe from many processes at once. Does nothing, and so needs no right to
    /// create, where the table with its columns is there. A table that lacks one is errc::schema_missing, and stays as it is.
    LEASEHOLD_DECL void create_schema(std::error_code& ec);
    /// The same; throws store_error.
    void create_schema() { or_throw("create_schema", [&](std::error_code& ec) { return create_schema(ec), true; }); }

    /// The statements of create_schema(), for those who run them by hand. Connects if the database isn't known yet.
    [[nodiscard]] LEASEHOLD_DECL std::vector<std::string> schema_sql(std::error_code& ec);
    /// The same; throws store_error.
    [[nodiscard]] std::vector<std::string> schema_sql()
    {
        return or_throw("schema_sql", [&](std::error_code& ec) { return schema_sql(ec); });
    }

    /// Whether the table can be read, and what else a readiness probe may want to know. Writes nothing, so a server that only
    /// takes no writes is healthy. Never throws an error of the store: see store_health::error. Time: as any call.
    [[nodiscard]] LEASEHOLD_DECL store_health health();

    /// Details of the calling thread's last call that failed on a store over ODBC, if this was the store.
    [[nodiscard]] LEASEHOLD_DECL store_diagnostics diagnostics() const;

    /// odbc_options::call_timeout.
    [[nodiscard]] duration call_timeout() const noexcept { return options().call_timeout; }
    /// The options it was made with.
    [[nodiscard]] LEASEHOLD_DECL const odbc_options& options() const noexcept;
    /// Calls given up so far because the driver did not return in time, and waits in a queue on connections that had gone silent.
    [[nodiscard]] LEASEHOLD_DECL std::uint64_t abandoned_calls() const;
    /// How many of these calls, without the waits, have a driver that has still not returned.
    [[nodiscard]] LEASEHOLD_DECL std::size_t hanging_calls() const;
    /// Connections for calls that the store has now, pool_size at most. Those that wait for releases, or have waited, come on top.
    [[nodiscard]] LEASEHOLD_DECL std::size_t sessions() const;

protected:
    /// See basic_odbc_store. `describe` makes the statements for the database that the first connection leads to.
    LEASEHOLD_DECL store_base(std::string connection_string, odbc_options options, dialect::spec (*describe)(const dialect::server_info&),
                              bool in_process);
    LEASEHOLD_DECL ~store_base();

    /// See basic_odbc_store::now().
    [[nodiscard]] LEASEHOLD_DECL store_time ask_clock(std::error_code& ec);
    /// The same; throws store_error.
    [[nodiscard]] store_time ask_clock()
    {
        return or_throw("now", [&](std::error_code& ec) { return ask_clock(ec); });
    }
    /// See basic_odbc_store::look_at_checkpoint().
    [[nodiscard]] LEASEHOLD_DECL checkpoint_look ask_all_of_checkpoint(std::string_view name, std::error_code& ec);

private:
    friend queue_ticket;
    friend detail::fence_access;
    class reporting;

    LEASEHOLD_DECL void leave(detail::waiting_ticket& place) noexcept;

    [[nodiscard]] bool is_purgeable(duration unused_for) const noexcept
    {
        return unused_for >= std::max(min_unused_for, 2 * call_timeout()) && unused_for <= max_unused_for;
    }

    void require_purgeable(duration unused_for) const
    {
        if (!is_purgeable(unused_for))
            leasehold::detail::throw_exception(
                std::system_error{std::make_error_code(std::errc::invalid_argument),
                                  "leasehold: purge: unused_for must be at least 1 minute and twice call_timeout, at most 50 years"});
    }

    // Checkpoints saved under a token less than `below` keep no name.
    LEASEHOLD_DECL std::size_t purge(duration unused_for, std::int64_t below, std::error_code& ec);

    template <class Call>
    std::invoke_result_t<Call&, std::error_code&> or_throw(std::string_view doing, Call call) const
    {
        std::error_code ec;
        auto result = call(ec);
        if (ec) leasehold::detail::throw_exception(store_error{ec, doing, diagnostics()});
        return result;
    }

    const bool in_process_;
    std::shared_ptr<const detail::configuration> config_;
    std::unique_ptr<detail::store_operations> operations_;
    std::unique_ptr<waiting::local_queue> waiters_ = std::make_unique<waiting::local_queue>();
};

}  // namespace leasehold::inline v0::odbc

#ifndef LEASEHOLD_SEPARATE_COMPILATION
#include <leasehold/odbc/src.hpp>
#endif

#endif
