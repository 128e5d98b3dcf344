// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_SRC_HPP
#define LEASEHOLD_ODBC_SRC_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

/// The definitions behind <leasehold/odbc/odbc_store.hpp>. It includes them itself, unless LEASEHOLD_SEPARATE_COMPILATION is defined:
/// then one file of the program includes this one.

#include <leasehold/detail/config.hpp>
#include <leasehold/error.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/driver/configuration.hpp>
#include <leasehold/odbc/detail/driver/connection.hpp>
#include <leasehold/odbc/detail/flow/advice.hpp>
#include <leasehold/odbc/detail/flow/batch_flow.hpp>
#include <leasehold/odbc/detail/flow/checkpoint_flow.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/handover_flow.hpp>
#include <leasehold/odbc/detail/flow/observing_flow.hpp>
#include <leasehold/odbc/detail/flow/operator_flows.hpp>
#include <leasehold/odbc/detail/queue/queue_machine.hpp>
#include <leasehold/odbc/detail/queue/waiting_ticket.hpp>
#include <leasehold/odbc/detail/session/job.hpp>
#include <leasehold/odbc/detail/session/session.hpp>
#include <leasehold/odbc/detail/session/steps.hpp>
#include <leasehold/odbc/detail/store_operations.hpp>
#include <leasehold/odbc/dialect/detected.hpp>
#include <leasehold/odbc/dialect/generic.hpp>
#include <leasehold/odbc/dialect/mariadb.hpp>
#include <leasehold/odbc/dialect/postgresql.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>
#include <leasehold/odbc/queue_ticket.hpp>
#include <leasehold/odbc/store_base.hpp>
#include <leasehold/odbc/store_health.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>

#ifdef LEASEHOLD_SEPARATE_COMPILATION
#include <leasehold/odbc/detail/fence/fence_src.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

namespace odbc {

// A call: tells what it came to, at its end; or why it is refused, before any I/O.
class store_base::reporting {
public:
    reporting(const store_base& store, std::error_code& ec, std::error_code refusal = {}) : store_{store}, ec_{ec}
    {
        ec = refusal;
        if (ec) last_failure::keep(nullptr, {});
    }
    reporting(const reporting&) = delete;
    reporting& operator=(const reporting&) = delete;
    ~reporting()
    {
        if (!failed) return;
        ec_ = make_error_code(detail::errc_of(failed.kind));
        last_failure::keep(&store_, std::move(failed.details));
    }

    // Carries out a step, see detail::job_of, on a session of the store, unless the call is refused. Returns its result; an empty one if
    // the call is refused or fails.
    template <class Step>
    detail::result_of<Step> carry_out(const detail::call_texts& texts, Step step, detail::job_traits how = {})
    {
        if (ec_) return {};
        return store_.operations_->call(texts, std::move(step), failed, how);
    }

    detail::failure failed;

private:
    const store_base& store_;
    std::error_code& ec_;
};

LEASEHOLD_DECL store_base::store_base(std::string connection_string, odbc_options options,
                                      dialect::spec (*describe)(const dialect::server_info&), bool in_process)
    : in_process_{in_process}
{
    validate(options);
    if (connection_string.find('\0') != std::string::npos)
        leasehold::detail::throw_exception(std::system_error{std::make_error_code(std::errc::invalid_argument),
                                                             "leasehold: the connection string must not contain a NUL"});
    config_ = std::make_shared<const detail::configuration>(std::move(connection_string), std::move(options), describe);
    operations_ = std::make_unique<detail::store_operations>(config_, in_process);
}

LEASEHOLD_DECL store_base::~store_base() = default;

LEASEHOLD_DECL acquire_result store_base::try_acquire(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec)
{
    reporting call{*this, ec, leasehold::detail::refusal_of(name, owner)};
    if (ec) return {};
    return operations_->attempt({name, owner, ttl, operations_->deadline()}, call.failed);
}

// Queues for the lock before it looks at the row.
LEASEHOLD_DECL acquire_result store_base::try_acquire(queue_ticket& ticket, std::string_view owner, duration ttl, std::error_code& ec)
{
    using detail::queue_action, detail::waiting_ticket;
    waiting_ticket& place = *ticket.place_;
    reporting call{*this, ec, leasehold::detail::refusal_of(place.name(), owner)};
    if (ec) return {};
    const detail::store_operations::acquire_request request{place.name(), owner, ttl, operations_->deadline()};
    switch (place.next()) {
    case queue_action::attempt_at_head: return operations_->attempt_at_head(place, request, call.failed);
    case queue_action::look: return operations_->look_past_queue(place, request, call.failed);
    case queue_action::queue_up:
        if (!config_->session_locks()) break;
        if (const auto look_after = place.queue_up()) return {.status = acquire_status::queued, .retry_after = *look_after};
        break;
    case queue_action::attempt: break;
    }
    acquire_result busy = operations_->attempt(request, call.failed);  // it may have shown what database this is
    if (!call.failed && !busy.granted() && config_->session_locks() && place.queue_up())
        busy.retry_after = place.seen(busy.token, busy.remaining);
    return busy;
}

LEASEHOLD_DECL turn_answer store_base::turn(queue_ticket& ticket, std::error_code& ec)
{
    reporting call{*this, ec, leasehold::detail::refusal_of(ticket.place_->name())};
    if (ec) return {};
    if (!config_->catalog()) operations_->connect(call.failed);
    if (ticket.place_->is_to_confirm()) operations_->confirm_head(*ticket.place_);
    return call.failed || !config_->session_locks() ? turn_answer{} : ticket.place_->turn();
}

LEASEHOLD_DECL queue_ticket store_base::enqueue(std::string_view name, waker& to_wake)
{
    return {*this, std::make_shared<detail::waiting_ticket>(operations_->waiting_sessions(), options().table, name, to_wake)};
}

// Takes 30 ms at most.
LEASEHOLD_DECL void store_base::leave(detail::waiting_ticket& place) noexcept
{
    try {
        if (place.leave()) operations_->end_wait(place);
    } catch (...) {
        // Then the session goes when its wait ends by itself.
    }
}

LEASEHOLD_DECL bool store_base::renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, std::error_code& ec)
{
    reporting call{*this, ec, leasehold::detail::refusal_of(name, owner)};
    const bool renewed = call.carry_out({.name = name, .owner = owner}, [token = token.value(), ttl](detail::session& on, bool) {
        return detail::renew_term(on, token, ttl);
    });
    if (!renewed && !ec && !call.failed) operations_->release_locks(name, token.value());
    return renewed;
}

LEASEHOLD_DECL bool store_base::release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left,
                                        std::error_code& ec)
{
    reporting call{*this, ec, leasehold::detail::refusal_of(name, owner)};
    if (ec) return false;
    return operations_->release({name, owner, token, min_hold_left}, operations_->deadline(), call.failed);
}

LEASEHOLD_DECL void store_base::renew_many(std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within,
                                           std::error_code& ec)
{
    reporting call{*this, ec};
    operations_->call_for_many(detail::batch_kind::renewals, renewals, detail::all_items(renewals.size()), &term_renewal::ttl, answers,
                               operations_->deadline(within), call.failed, [&](detail::item_number i) {
                                   if (answers[i] == batch_answer::no)
                                       operations_->release_locks(renewals[i].name, renewals[i].token.value());
                               });
}

// Sends as many of one ttl as go into one statement in one call of a session.
LEASEHOLD_DECL void store_base::acquire_many(std::span<const term_request> requests, std::size_t most,
                                             std::span<std::optional<acquire_result>> answers, std::error_code& ec)
{
    std::error_code refusal;
    for (const term_request& request : requests)
        if (!refusal) refusal = leasehold::detail::refusal_of(request.name, request.owner);
    reporting call{*this, ec, refusal};
    if (ec) return;
    const auto until = operations_->deadline();
    for (std::size_t i = 0; i < requests.size() && !call.failed;) {
        const std::size_t size = most == 0 ? 1 : batch_size();  // known only once there was a connection
        std::size_t end = i + 1;
        while (end < requests.size() && end - i < size && requests[end].ttl == requests[i].ttl) ++end;
        if (end - i > 1) {
            operations_->attempt_together(requests.subspan(i, end - i), most, answers.subspan(i, end - i), until, call.failed);
        } else {
            const term_request& one = requests[i];
            acquire_result answered;
            if (most > 0) answered = operations_->attempt({one.name, one.owner, one.ttl, until, one.wakes}, call.failed);
            if (!call.failed) answers[i] = answered;
        }
        for (; i < end; ++i)
            if (answers[i] && answers[i]->granted()) --most;
    }
}

// Releases that leave no name closed go first: one call takes many of them.
LEASEHOLD_DECL void store_base::release_many(std::span<const term_release> releases, std::span<batch_answer> answers, std::error_code& ec)
{
    reporting call{*this, ec};
    const auto until = operations_->deadline();
    const auto all = detail::all_items(releases.size());
    const auto is_plain = [&](detail::item_number i) { return releases[i].min_hold_left <= duration::zero(); };
    std::vector<detail::item_number> plain;
    std::ranges::copy_if(all, std::back_inserter(plain), is_plain);
    const auto release_locks = [&](detail::item_number i) { operations_->release_locks(releases[i].name, releases[i].token.value()); };
    try {
        operations_->call_for_many(detail::batch_kind::releases, releases, plain, &term_release::min_hold_left, answers, until, call.failed,
                                   [&](detail::item_number i) {
                                       release_locks(i);
                                       operations_->after_release(releases[i], answers[i] == batch_answer::yes);
                                   });
    } catch (...) {  // as in a single release
        std::ranges::for_each(all, release_locks);
        throw;
    }
    detail::failure of_one;  // then the others are not tried
    for (const detail::item_number i : all) {
        if (is_plain(i) || of_one) continue;
        if (std::chrono::steady_clock::now() < until) {
            const bool released = operations_->release(releases[i], until, of_one);
            if (!of_one) answers[i] = released ? batch_answer::yes : batch_answer::no;
        } else {
            of_one = detail::store_operations::not_tried();
        }
    }
    if (!call.failed) call.failed = std::move(of_one);
}

LEASEHOLD_DECL std::optional<lease_record> store_base::inspect(std::string_view name, std::error_code& ec)
{
    reporting call{*this, ec, leasehold::detail::refusal_of(name)};
    return call.carry_out({.name = name}, [](detail::session& on, bool) -> detail::outcome<std::optional<lease_record>> {
        if (!on.database().observes()) return detail::inspect_flow(on.database(), on.name());
        const detail::outcome<duration> left = on.observed_left();
        return left.ok() ? detail::observed_record_flow(on.database(), on.name(), *left) : left.failed();
    });
}

LEASEHOLD_DECL bool store_base::publish(std::string_view name, std::string_view owner, fencing_token token, std::string_view data,
                                        std::error_code& ec)
{
    const std::error_code refusal = leasehold::detail::refusal_of(name, owner);
    reporting call{*this, ec, refusal ? refusal : leasehold::detail::refusal_of_data(data)};
    return call.carry_out({.name = name, .owner = owner, .data = data},
                          [token = token.value()](detail::session& on, bool) -> detail::outcome<bool> {
                              if (on.has_run_out(token)) return false;
                              return detail::publish_flow(on.database(), token, on.database().in().data.view());
                          });
}

// Under expiry by observation, the row alone does not tell whether its term is over.
LEASEHOLD_DECL bool store_base::request_handover(std::string_view name, std::string_view reason, std::error_code& ec)
{
    const std::error_code refusal = leasehold::detail::refusal_of(name);
    reporting call{*this, ec, refusal ? refusal : leasehold::detail::refusal_of_data(reason)};
    return call.carry_out({.name = name, .data = reason}, [](detail::session& on, bool) -> detail::outcome<bool> {
        if (on.database().observes())
            if (const detail::outcome<duration> left = on.observed_left(); *left <= duration::zero()) return left.failed();
        return detail::request_flow(on.database(), on.database().in().data.view());
    });
}

LEASEHOLD_DECL std::optional<std::string> store_base::handover_requested(std::string_view name, std::string_view owner, fencing_token token,
                                                                         std::error_code& ec)
{
    reporting call{*this, ec, leasehold::detail::refusal_of(name, owner)};
    return call.carry_out({.name = name, .owner = owner},
                          [token = token.value()](detail::session& on, bool) -> detail::outcome<std::optional<std::string>> {
                              if (on.has_run_out(token)) return detail::fault::none;
                              return detail::requested_flow(on.database(), token);
                          });
}

LEASEHOLD_DECL bool store_base::save_checkpoint(std::string_view name, std::string_view owner, fencing_token token, std::string_view text,
                                                std::error_code& ec)
{
    const std::error_code refusal = leasehold::detail::refusal_of(name, owner);
    reporting call{*this, ec, refusal ? refusal : leasehold::detail::refusal_of_checkpoint(text)};
    return call.carry_out({.name = name, .owner = owner, .checkpoint = text}, [token = token.value()](detail::session& on, bool repeated) {
        const std::string_view saved = on.database().in().checkpoint.view();
        return detail::save_checkpoint_flow(on.database(), token, saved, nullptr, repeated, on.has_run_out(token));
    });
}

LEASEHOLD_DECL bool store_base::replace_checkpoint(std::string_view name, std::string_view owner, fencing_token token,
                                                   std::string_view replaced, std::string_view text, std::error_code& ec)
{
    std::error_code refusal = leasehold::detail::refusal_of(name, owner);
    if (!refusal) refusal = leasehold::detail::refusal_of_checkpoint(text);
    reporting call{*this, ec, refusal};
    if (replaced.size() > max_checkpoint_bytes) return false;  // no checkpoint is as long
    return call.carry_out({.name = name, .owner = owner, .checkpoint = text, .replaced = replaced},
                          [token = token.value()](detail::session& on, bool repeated) {
                              const std::string_view saved = on.database().in().checkpoint.view();
                              const std::string_view expected = on.database().in().replaced.view();
                              return detail::save_checkpoint_flow(on.database(), token, saved, &expected, repeated, on.has_run_out(token));
                          });
}

LEASEHOLD_DECL std::optional<checkpoint_record> store_base::checkpoint(std::string_view name, std::error_code& ec)
{
    reporting call{*this, ec, leasehold::detail::refusal_of(name)};
    return call.carry_out({.name = name}, [](detail::session& on, bool) { return detail::checkpoint_flow(on.database()); });
}

LEASEHOLD_DECL std::vector<std::pair<std::string, checkpoint_record>> store_base::checkpoints(std::string_view prefix, std::error_code& ec)
{
    reporting call{*this, ec};
    if (prefix.size() > max_name_bytes) return {};
    return call.carry_out({.name = prefix}, [](detail::session& on, bool) {
        std::vector<std::pair<std::string, checkpoint_record>> found;
        const detail::fault failed = detail::list_checkpoints_flow(on.database(), on.name(), found);
        return detail::unless(failed, [&] { return std::move(found); });
    });
}

LEASEHOLD_DECL store_time store_base::ask_clock(std::error_code& ec)
{
    reporting call{*this, ec};
    const auto ask = [](detail::session& on, bool) { return detail::clock_flow(on.database()); };
    return store_time{std::chrono::microseconds{call.carry_out({}, ask, {.uses_table = false})}};
}

LEASEHOLD_DECL checkpoint_look store_base::ask_all_of_checkpoint(std::string_view name, std::error_code& ec)
{
    reporting call{*this, ec, leasehold::detail::refusal_of(name)};
    return call.carry_out({.name = name}, [](detail::session& on, bool) { return detail::look_at_checkpoint_flow(on.database()); });
}

LEASEHOLD_DECL std::vector<lease_record> store_base::list(std::string_view prefix, std::error_code& ec)
{
    reporting call{*this, ec};
    if (prefix.size() > max_name_bytes) return {};
    return call.carry_out({.name = prefix}, [](detail::session& on, bool) {
        detail::connection& db = on.database();
        std::vector<lease_record> records;
        const detail::fault failed =
            db.observes() ? detail::observing_list_flow(db, db.config()->seen(), on.name(), records, &detail::observations::now)
                          : detail::list_flow(db, on.name(), records);
        return detail::unless(failed, [&] { return std::move(records); });
    });
}

// `token`: which term it is that this call ends, from try to try.
LEASEHOLD_DECL bool store_base::force_release(std::string_view name, std::error_code& ec)
{
    reporting call{*this, ec, leasehold::detail::refusal_of(name)};
    return call.carry_out({.name = name}, [token = std::int64_t{0}](detail::session& on, bool repeated) mutable {
        return on.database().observes() ? detail::observing_force_release_flow(on.database(), on.version(), token, repeated)
                                        : detail::force_release_flow(on.database(), token, repeated);
    });
}

// Step by step, each a call of its own. Counts what went before a failure, too.
LEASEHOLD_DECL std::size_t store_base::purge(duration unused_for, std::int64_t below, std::error_code& ec)
{
    if (!is_purgeable(unused_for)) {
        ec = std::make_error_code(std::errc::invalid_argument);
        return 0;
    }
    reporting call{*this, ec};
    std::size_t gone = 0;
    std::string after;
    do {
        detail::purge_step step = call.carry_out(
            {.name = after},
            [=](detail::session& on, bool) -> detail::outcome<detail::purge_step> {
                detail::connection& db = on.database();
                if (!db.purges()) return db.fail(detail::fault::failure, detail::advice::no_purge);
                db.set_time_to_live(unused_for);
                db.set_seen(below);
                return detail::purge_flow(db);
            },
            {.repeats_if_locked = false});
        gone += static_cast<std::size_t>(step.removed);
        after = std::move(step.last);
    } while (!call.failed && !after.empty());
    return gone;
}

LEASEHOLD_DECL void store_base::create_schema(std::error_code& ec)
{
    reporting call{*this, ec};
    const auto create = [](detail::session& on, bool) -> detail::outcome<bool> { return detail::schema_flow(on.database()); };
    call.carry_out({}, create, {.uses_table = false});
}

LEASEHOLD_DECL std::vector<std::string> store_base::schema_sql(std::error_code& ec)
{
    reporting call{*this, ec};
    operations_->connect(call.failed);
    if (call.failed) return {};
    return config_->catalog_for({}, {})->schema();
}

LEASEHOLD_DECL store_health store_base::health()
{
    store_health found;
    {
        reporting call{*this, found.error};
        const auto begun = std::chrono::steady_clock::now();
        const auto look = [](detail::session& on, bool) -> detail::outcome<detail::health_answer> {
            const auto wall_now = [] { return std::chrono::duration_cast<duration>(std::chrono::system_clock::now().time_since_epoch()); };
            detail::health_answer seen;
            const detail::fault failed = detail::health_flow(on.database(), wall_now, seen);
            return detail::unless(failed, [&] { return seen; });
        };
        const detail::health_answer seen = call.carry_out({}, look, {.uses_table = false});
        found.took = std::chrono::duration_cast<duration>(std::chrono::steady_clock::now() - begun);
        const errc error = detail::errc_of(call.failed.kind);
        found.reachable = !call.failed || (error != errc::store_unavailable && error != errc::store_timeout);
        found.schema_version = seen.schema_version;
        found.clock_ahead = seen.clock_ahead;
    }
    found.wakes = config_->session_locks();
    found.one_call_at_a_time = config_->driver_manager().one_call_at_a_time;
    found.pooled = config_->pooled();
    found.session_locks = operations_->session_locks();
    found.sessions = sessions();
    found.hanging_calls = hanging_calls();
    if (found.error) found.diagnostics = diagnostics();
    return found;
}

LEASEHOLD_DECL store_diagnostics store_base::diagnostics() const
{
    return last_failure::of(this);
}

LEASEHOLD_DECL poll_pauses store_base::pauses() const noexcept
{
    if (!in_process_ && !config_->likely_in_process()) return {};
    return {std::chrono::milliseconds{1}, std::chrono::milliseconds{4}};
}

LEASEHOLD_DECL const odbc_options& store_base::options() const noexcept { return config_->options(); }
LEASEHOLD_DECL std::size_t store_base::batch_size() const noexcept { return config_->batch_size(); }
LEASEHOLD_DECL std::uint64_t store_base::abandoned_calls() const { return operations_->sessions().count().abandoned_calls; }
LEASEHOLD_DECL std::size_t store_base::hanging_calls() const { return operations_->sessions().count().hanging; }
LEASEHOLD_DECL std::size_t store_base::sessions() const { return operations_->sessions().count().sessions; }

LEASEHOLD_DECL queue_ticket::queue_ticket(store_base& store, std::shared_ptr<detail::waiting_ticket> place)
    : store_{store}, place_{std::move(place)}
{
}

LEASEHOLD_DECL queue_ticket::~queue_ticket() { store_.leave(*place_); }

LEASEHOLD_DECL std::string_view queue_ticket::name() const noexcept { return place_->name(); }
LEASEHOLD_DECL void queue_ticket::passed() noexcept { place_->passed(); }

}  // namespace odbc

namespace dialect {

LEASEHOLD_DECL spec detected::describe(const server_info& at)
{
    const auto is = [&at](std::string_view name) { return at.dbms_name.find(name) != std::string_view::npos; };
    if (is("PostgreSQL")) return postgresql::describe(at);
    if (is("MariaDB") || is("MySQL")) return mariadb::describe(at);
    if (is("SQLite")) return sqlite::describe(at);
    return generic::describe(at);
}

}  // namespace dialect

#ifdef LEASEHOLD_SEPARATE_COMPILATION
template class renewal::engine<steady_clock>;
template class renewal::term_keeper<odbc_store, steady_clock, renew_at_fraction>;
template class detail::guard_base<lease_guard<basic_lease<odbc_store>>, lease_guard<basic_lease<odbc_store>>::body_type>;
template class detail::lease_attempts<odbc_store, steady_clock, random_owner_id, renew_at_fraction>;
template class detail::acquire_forms<detail::lease_attempts<odbc_store, steady_clock, random_owner_id, renew_at_fraction>>;
template class basic_lease<odbc_store>;
#endif

}  // namespace leasehold::inline v0

#endif
