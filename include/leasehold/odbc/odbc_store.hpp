// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_ODBC_STORE_HPP
#define LEASEHOLD_ODBC_ODBC_STORE_HPP

#include <leasehold/duration.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/call.hpp>
#include <leasehold/odbc/detail/configuration.hpp>
#include <leasehold/odbc/detail/held_locks.hpp>
#include <leasehold/odbc/detail/lock_order.hpp>
#include <leasehold/odbc/detail/pool.hpp>
#include <leasehold/odbc/detail/token_hints.hpp>
#include <leasehold/odbc/detail/unfinished_releases.hpp>
#include <leasehold/odbc/detail/waiting_line.hpp>
#include <leasehold/odbc/dialect/concept.hpp>
#include <leasehold/odbc/dialect/detected.hpp>
#include <leasehold/odbc/odbc_options.hpp>
#include <leasehold/odbc/release_watch.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

/// Leases in a table of a database, over ODBC.
///
/// Connections are the store's own, in autocommit, made when needed, at most odbc_options::pool_size at once; a lost one is
/// replaced within the call that meets the loss. A model of lease_store, diagnosing_store, polled_store and notifying_store:
/// where the database has session locks, up to odbc::detail::max_waiting_sessions (32) connections more wait for releases.
///
/// Time: every call returns within odbc_options::call_timeout, also when the driver doesn't: such a call is an
/// errc::store_timeout, its connection is left behind with its thread, and what it did is unknown; a grant that comes out of
/// it after all is ended again. At most odbc::detail::abandoned_calls_max (16) connections hang so at once; while they do,
/// calls fail at once with errc::store_unavailable. An in-process database (SQLite) uses the caller's thread.
/// Errors: errc::store_unavailable, store_timeout, store_conflict, schema_missing, store_failure; diagnostics() has the
/// SQLSTATE, and words on what to do. The forms without std::error_code throw store_error. Either may throw std::bad_alloc.
/// Thread safety: everything but construction and destruction may be called by many threads at once.
/// Lifetime: outlives the leases that use it. The destructor ends idle connections and waits for those, for no longer than
/// call_timeout; it does not wait for calls that were given up.
template <dialect::odbc_dialect Dialect>
class basic_odbc_store {
public:
    /// Does no I/O: the first call connects. Throws std::system_error (std::errc::invalid_argument), naming what is wrong
    /// with the options, or that the connection string holds a NUL. A connection string that is wrong otherwise is an
    /// errc::store_unavailable of the first call.
    explicit basic_odbc_store(std::string connection_string, odbc_options options = {})
    {
        validate(options);
        if (connection_string.find('\0') != std::string::npos)
            leasehold::detail::raise(std::system_error{std::make_error_code(std::errc::invalid_argument),
                                                       "leasehold: the connection string must not contain a NUL"});
        config_ = std::make_shared<const odbc::detail::configuration>(std::move(connection_string), std::move(options),
                                                                      &Dialect::describe);
        pool_ = std::make_shared<odbc::detail::pool>(config_, Dialect::in_process);
        line_ = std::make_unique<odbc::detail::waiting_line>(config_, pool_);
    }
    basic_odbc_store(const basic_odbc_store&) = delete;
    basic_odbc_store& operator=(const basic_odbc_store&) = delete;
    ~basic_odbc_store()
    {
        const time_point until = deadline();
        for (auto& [name, held] : held_.take_all())
            if (held.session->apart()) line_->sessions().put(std::move(held.session));
        line_->sessions().close(until);
        pool_->close(until);
    }

    /// lease_store: a term for `owner`, more time for the one it has, or busy.
    [[nodiscard]] acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl,
                                             std::error_code& ec)
    {
        if (const auto place = line_->find(name)) return acquire_in_line(*place, name, owner, ttl, ec);
        return attempt(name, owner, ttl, {lock_use::with_grant, key_of(name), 0}, nullptr, ec).result;
    }

    /// lease_store: true if that very term was unexpired and now ends `ttl` from now.
    [[nodiscard]] bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl,
                             std::error_code& ec)
    {
        const bool renewed = call({operation::renew, name, owner, token.value(), ttl}, ec).yes && !ec;
        if (!renewed && !ec) give_back(name, held_.take(name, token.value()));
        return renewed;
    }

    /// lease_store: true if that very term was unexpired and has ended. After a lost connection the row is read back.
    bool release(std::string_view name, std::string_view owner, fencing_token token, duration keep_closed,
                 std::error_code& ec)
    {
        auto held = held_.take(name, token.value());
        const odbc::detail::request asked{operation::release, name, owner, token.value(), keep_closed};
        const bool released = (held ? call(asked, ec, order_for(name, *held), held->session) : call(asked, ec)).yes && !ec;
        if (held) let_go(std::move(*held), !ec);
        if (ec) unfinished_.put(name, owner, {token.value(), keep_closed});
        if (released && keep_closed <= duration::zero()) hints_.put(name, token.value());
        return released;
    }

    /// lease_store: what is held now; the owner is empty where a release still keeps the name closed.
    [[nodiscard]] std::optional<lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        return call({operation::inspect, name, {}, 0, {}}, ec).record;
    }

    /// notifying_store: woken by the release where the database has session locks (PostgreSQL, MariaDB, MySQL).
    [[nodiscard]] odbc::release_watch watch_release(std::string_view name, waker& to_wake) { return {*line_, name, to_wake}; }

    /// polled_store: SQLite is asked in a few microseconds, and can't wake anybody.
    [[nodiscard]] poll_pauses pauses() const noexcept
    {
        if (Dialect::in_process || config_->likely_in_process())
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
        return call({operation::list, prefix, {}, 0, {}}, ec).records;
    }
    [[nodiscard]] std::vector<lease_record> list(std::error_code& ec) { return list({}, ec); }
    [[nodiscard]] std::vector<lease_record> list(std::string_view prefix = {})
    {
        std::error_code ec;
        auto records = list(prefix, ec);
        throw_if(ec, "list");
        return records;
    }

    /// Ends the term of whoever holds `name`; its token stays used. True if there was one. The holder learns of it from its
    /// next renewal. errc::invalid_name for what can't be a name.
    bool force_release(std::string_view name, std::error_code& ec)
    {
        if (leasehold::detail::broken_text_rule(name, max_name_bytes)) {
            ec = errc::invalid_name;
            return false;
        }
        return call({operation::force_release, name, {}, 0, {}}, ec).yes && !ec;
    }
    bool force_release(std::string_view name)
    {
        validate_name(name);
        std::error_code ec;
        const bool ended = force_release(name, ec);
        throw_if(ec, "force_release '" + std::string{name} + "'");
        return ended;
    }

    /// Creates the table if it is not there; safe from many processes at once. Does nothing, and so needs no right to
    /// create, where the table with its columns is there.
    void create_schema(std::error_code& ec) { call({operation::create_schema, {}, {}, 0, {}}, ec); }
    void create_schema()
    {
        std::error_code ec;
        create_schema(ec);
        throw_if(ec, "create_schema");
    }

    /// What create_schema() would run, for those who do it by hand. Connects if the database isn't known yet.
    [[nodiscard]] std::vector<std::string> schema_sql(std::error_code& ec)
    {
        call({operation::connect, {}, {}, 0, {}}, ec);
        return ec ? std::vector<std::string>{} : config_->program_for({}, {})->schema();
    }
    [[nodiscard]] std::vector<std::string> schema_sql()
    {
        std::error_code ec;
        auto statements = schema_sql(ec);
        throw_if(ec, "schema_sql");
        return statements;
    }

    /// Details of the calling thread's last failed call on this store.
    [[nodiscard]] store_diagnostics diagnostics() const
    {
        return last_failure().of == this ? last_failure().details : store_diagnostics{};
    }

    [[nodiscard]] duration call_timeout() const noexcept { return config_->options().call_timeout; }
    [[nodiscard]] const odbc_options& options() const noexcept { return config_->options(); }
    /// Calls given up so far because the driver did not return in time.
    [[nodiscard]] std::uint64_t abandoned_calls() const { return pool_->abandoned_calls(); }
    /// Of these, those whose driver has still not returned.
    [[nodiscard]] std::size_t hanging_calls() const { return pool_->hanging(); }
    /// Connections the store has now.
    [[nodiscard]] std::size_t sessions() const { return pool_->sessions(); }

private:
    using operation = odbc::detail::operation;
    using fault = odbc::detail::fault;
    using lock_use = odbc::detail::lock_use;
    using held_lock = odbc::detail::held_locks::entry;
    using session_pointer = odbc::detail::pool::session_pointer;
    using time_point = odbc::detail::pool::time_point;

    struct failure_of_thread {
        const void* of = nullptr;
        store_diagnostics details{};
    };

    static failure_of_thread& last_failure()
    {
        static thread_local failure_of_thread last;
        return last;
    }

    void fail(fault kind, store_diagnostics details, std::error_code& ec) const
    {
        last_failure() = {this, std::move(details)};
        ec = make_error_code(odbc::detail::errc_of(kind));
    }

    void throw_if(std::error_code ec, std::string_view doing) const
    {
        if (ec) leasehold::detail::raise(store_error{ec, doing, diagnostics()});
    }

    [[nodiscard]] time_point deadline() const
    {
        return std::chrono::steady_clock::now() +
               std::chrono::duration_cast<std::chrono::steady_clock::duration>(config_->options().call_timeout);
    }

    odbc::detail::session_lock_key key_of(std::string_view name) const noexcept
    {
        return {config_->options().table, name};
    }

    odbc::detail::lock_order order_for(std::string_view name, const held_lock& held) const noexcept
    {
        return {lock_use::have, key_of(name), held.connection};
    }

    odbc::detail::grant_answer attempt(std::string_view name, std::string_view owner, duration ttl,
                                       const odbc::detail::lock_order& order, const session_pointer& own, std::error_code& ec)
    {
        const auto unfinished = unfinished_.find(name, owner);
        const odbc::detail::request asked{operation::acquire, name, owner,
                                          hints_.take(name),  ttl,  unfinished.value_or(no_release)};
        const auto answer = call(asked, ec, order, own);
        if (ec) return {};
        if (unfinished) unfinished_.erase(name, owner);
        if (!answer.grant.result.granted()) give_back(name, held_.take_older(name, answer.grant.result.token.value()));
        return answer.grant;
    }

    // A waiter's attempt. It comes after those who have waited longer, unless they make nothing of it.
    acquire_result acquire_in_line(odbc::detail::place_in_line& place, std::string_view name, std::string_view owner,
                                   duration ttl, std::error_code& ec)
    {
        odbc::detail::lock_order order;
        if (const auto first = place.borrow(order)) {
            const auto answer = attempt(name, owner, ttl, order, first, ec);
            if (ec || !answer.locked)
                place.lost();
            else if (answer.result.granted() && answer.fresh)
                place.spent();
            else
                place.kept();
            return answer.result;
        }
        auto answer = attempt(name, owner, ttl, {lock_use::in_line, key_of(name), 0}, nullptr, ec);
        if (ec || answer.result.granted()) return answer.result;
        line_->ask(place, name);
        if (!answer.out_of_turn) {
            answer.result.remaining += odbc::detail::line_grace;
            return answer.result;
        }
        if (const auto pause = place.leave_to_others(answer.result))
            answer.result.remaining = *pause;
        else
            answer = attempt(name, owner, ttl, {lock_use::none, {}, 0}, nullptr, ec);
        return answer.result;
    }

    // A lock whose term is over. In a statement of its own, which only lost terms cost.
    void give_back(std::string_view name, std::optional<held_lock> held)
    {
        if (!held) return;
        const auto given_back = carry_out({operation::unlock, name, {}, 0, {}}, order_for(name, *held), held->session);
        let_go(std::move(*held), given_back && given_back->failed == fault::none);
    }

    // `clean`: the lock has been given back.
    void let_go(held_lock held, bool clean)
    {
        if (!held.session->apart()) {
            if (!clean) held.session->inner().renew_connection();
        } else if (clean) {
            line_->sessions().put(std::move(held.session));
        } else {
            line_->sessions().drop(held.session);
        }
    }

    // Before the session is anybody else's again: from then on no other grant of that name may try the lock.
    void note_grant(std::string_view name, const session_pointer& session)
    {
        const odbc::detail::grant_answer& grant = session->inner().result().grant;
        if (!grant.result.granted() || !grant.fresh) return;
        if (!grant.locked) {
            held_.renew(name, grant.result.token.value());
            return;
        }
        try {
            auto replaced = held_.put(name, {session, session->inner().connection_number(), grant.result.token.value()});
            if (replaced && replaced->session != session) let_go(std::move(*replaced), false);
        } catch (const std::bad_alloc&) {
            session->inner().renew_connection();  // nobody will give the lock back
        }
    }

    odbc::detail::answer call(const odbc::detail::request& asked, std::error_code& ec, const odbc::detail::lock_order& order = {},
                              const session_pointer& own = nullptr)
    {
        ec.clear();
        fault why = fault::none;
        auto answer = carry_out(asked, order, own, &why);
        if (!answer) {
            const char* words = why == fault::none ? no_answer : why == fault::timeout ? no_session : too_many_hang;
            fail(why == fault::none ? fault::timeout : why, {{}, 0, words, {}}, ec);
            return {};
        }
        if (answer->thrown) std::rethrow_exception(answer->thrown);
        if (answer->failed != fault::none) fail(answer->failed, std::move(answer->details), ec);
        return std::move(*answer);
    }

    // `own`: the session that has, or is to have, the lock. Nothing: no session (`why` says why), or no answer.
    std::optional<odbc::detail::answer> carry_out(const odbc::detail::request& asked, const odbc::detail::lock_order& order,
                                                  const session_pointer& own, fault* why = nullptr)
    {
        const time_point until = deadline();
        fault ignored = fault::none;
        auto session = pool_->take(asked, until, why ? *why : ignored, own);
        if (!session) return std::nullopt;
        const bool may_lock = !own && order.use != lock_use::none && held_.may_lock(asked.name);
        if (may_lock || session == own) session->inner().set_lock_order(order);
        if (own && session != own && !own->apart()) own->inner().renew_connection();
        if (!run(session, until)) return std::nullopt;
        const bool acquired = asked.what == operation::acquire && session->inner().result().failed == fault::none;
        if (acquired) note_grant(asked.name, session);
        odbc::detail::answer answer = std::move(session->inner().result());
        pool_->give_back(std::move(session), acquired && answer.grant.result.granted());
        return answer;
    }

    // False: given up.
    bool run(const odbc::detail::pool::session_pointer& session, time_point until)
    {
        try {
            return session->run(until) || !pool_->give_up(session);
        } catch (...) {
            pool_->drop(session);
            throw;
        }
    }

    static constexpr odbc::detail::unfinished_release no_release{};
    static constexpr const char* no_session =
        "no connection of the pool became free in time: raise pool_size or call_timeout, or look for what blocks the others";
    static constexpr const char* too_many_hang =
        "too many calls hang in the driver already (frozen server or network): nothing is tried until some of them return";
    static constexpr const char* no_answer = "no answer within call_timeout (frozen server or network, or an overloaded "
                                             "one): the connection was given up, what the call did is unknown";

    std::shared_ptr<const odbc::detail::configuration> config_;
    std::shared_ptr<odbc::detail::pool> pool_;
    odbc::detail::token_hints hints_;
    odbc::detail::unfinished_releases unfinished_;
    odbc::detail::held_locks held_;
    std::unique_ptr<odbc::detail::waiting_line> line_;
};

/// The store for whatever database the connection string leads to.
using odbc_store = basic_odbc_store<dialect::detected>;

static_assert(diagnosing_store<odbc_store> && notifying_store<odbc_store> && polled_store<odbc_store>);

}  // namespace leasehold::inline v0

#endif
