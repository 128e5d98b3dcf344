// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_SRC_HPP
#define LEASEHOLD_ODBC_SRC_HPP

/// The definitions behind <leasehold/odbc/odbc_store.hpp>. It includes them itself, unless LEASEHOLD_SEPARATE_COMPILATION is defined:
/// then one file of the program includes this one.

#include <leasehold/detail/config.hpp>
#include <leasehold/odbc/detail/queue/waiting_ticket.hpp>
#include <leasehold/odbc/detail/session/call.hpp>
#include <leasehold/odbc/detail/session/configuration.hpp>
#include <leasehold/odbc/detail/store_impl.hpp>
#include <leasehold/odbc/detail/store_operations.hpp>
#include <leasehold/odbc/dialect/detected.hpp>
#include <leasehold/odbc/dialect/generic.hpp>
#include <leasehold/odbc/dialect/mariadb.hpp>
#include <leasehold/odbc/dialect/postgresql.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>
#include <leasehold/odbc/queue_ticket.hpp>

#ifdef LEASEHOLD_SEPARATE_COMPILATION
#include <leasehold/odbc/detail/compiled_once.hpp>
#include <leasehold/odbc/detail/fence/fence_src.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#endif

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

namespace odbc::detail {

LEASEHOLD_DECL store_impl::store_impl(std::string connection_string, odbc_options options, describe_function describe, bool in_process)
    : config_{std::make_shared<const configuration>(std::move(connection_string), std::move(options), describe)},
      operations_{std::make_unique<store_operations>(config_, in_process)}
{
}

LEASEHOLD_DECL store_impl::~store_impl() = default;

LEASEHOLD_DECL acquire_result store_impl::try_acquire(std::string_view name, std::string_view owner, duration ttl, failure& why)
{
    return operations_->try_acquire(name, owner, ttl, why);
}

LEASEHOLD_DECL acquire_result store_impl::try_acquire(queue_ticket& ticket, std::string_view owner, duration ttl, failure& why)
{
    return operations_->try_acquire(*ticket.place_, owner, ttl, why);
}

LEASEHOLD_DECL queue_ticket store_impl::enqueue(std::string_view name, waker& to_wake) { return {*this, operations_->enqueue(name, to_wake)}; }

LEASEHOLD_DECL void store_impl::leave(waiting_ticket& place) noexcept { operations_->leave(place); }

LEASEHOLD_DECL bool store_impl::renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, failure& why)
{
    return operations_->renew(name, owner, token, ttl, why);
}

LEASEHOLD_DECL bool store_impl::release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, failure& why)
{
    return operations_->release(name, owner, token, min_hold_left, why);
}

LEASEHOLD_DECL std::optional<lease_record> store_impl::inspect(std::string_view name, failure& why)
{
    return operations_->call({operation::inspect, name, {}, 0, {}}, why).record;
}

LEASEHOLD_DECL void store_impl::renew_many(std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within, failure& why)
{
    operations_->renew_many(renewals, answers, within, why);
}

LEASEHOLD_DECL void store_impl::acquire_many(std::span<const term_request> requests, std::size_t most,
                                             std::span<std::optional<acquire_result>> answers, failure& why)
{
    operations_->acquire_many(requests, most, answers, why);
}

LEASEHOLD_DECL void store_impl::release_many(std::span<const term_release> releases, std::span<batch_answer> answers, failure& why)
{
    operations_->release_many(releases, answers, why);
}

LEASEHOLD_DECL bool store_impl::publish(std::string_view name, std::string_view owner, fencing_token token, std::string_view data, failure& why)
{
    return operations_->call({.what = operation::publish, .name = name, .owner = owner, .token = token.value(), .data = data}, why).yes && !why;
}

LEASEHOLD_DECL bool store_impl::request_handover(std::string_view name, std::string_view reason, failure& why)
{
    return operations_->call({.what = operation::request_handover, .name = name, .data = reason}, why).yes && !why;
}

LEASEHOLD_DECL std::optional<std::string> store_impl::handover_requested(std::string_view name, std::string_view owner, fencing_token token, failure& why)
{
    return operations_->call({.what = operation::handover_requested, .name = name, .owner = owner, .token = token.value()}, why).reason;
}

LEASEHOLD_DECL std::vector<lease_record> store_impl::list(std::string_view prefix, failure& why)
{
    return operations_->call({operation::list, prefix, {}, 0, {}}, why).records;
}

LEASEHOLD_DECL bool store_impl::force_release(std::string_view name, failure& why)
{
    return operations_->call({operation::force_release, name, {}, 0, {}}, why).yes && !why;
}

LEASEHOLD_DECL std::size_t store_impl::purge(duration unused_for, failure& why) { return operations_->purge(unused_for, why); }

LEASEHOLD_DECL void store_impl::create_schema(failure& why) { operations_->call({operation::create_schema, {}, {}, 0, {}}, why); }

LEASEHOLD_DECL std::vector<std::string> store_impl::schema_sql(failure& why)
{
    operations_->call({operation::connect, {}, {}, 0, {}}, why);
    if (why) return {};
    const auto catalog = config_->catalog_for({}, {});
    std::vector<std::string> all = catalog->schema();
    all.insert(all.end(), catalog->added_columns().begin(), catalog->added_columns().end());
    return all;
}

LEASEHOLD_DECL const configuration& store_impl::config() const noexcept { return *config_; }
LEASEHOLD_DECL const odbc_options& store_impl::options() const noexcept { return config_->options(); }
LEASEHOLD_DECL void store_impl::health(store_health& found, failure& why)
{
    operations_->health(found, why);
    found.sessions = sessions();
    found.hanging_calls = hanging_calls();
}

LEASEHOLD_DECL std::size_t store_impl::batch_size() const noexcept { return config_->batch_size(); }
LEASEHOLD_DECL bool store_impl::likely_in_process() const noexcept { return config_->likely_in_process(); }
LEASEHOLD_DECL std::uint64_t store_impl::abandoned_calls() const { return operations_->sessions().abandoned_calls(); }
LEASEHOLD_DECL std::size_t store_impl::hanging_calls() const { return operations_->sessions().hanging(); }
LEASEHOLD_DECL std::size_t store_impl::sessions() const { return operations_->sessions().sessions(); }

}  // namespace odbc::detail

namespace odbc {

LEASEHOLD_DECL queue_ticket::queue_ticket(detail::store_impl& store, std::shared_ptr<detail::waiting_ticket> place)
    : store_{store}, place_{std::move(place)}
{
}

LEASEHOLD_DECL queue_ticket::~queue_ticket() { store_.leave(*place_); }

LEASEHOLD_DECL std::string_view queue_ticket::name() const noexcept { return place_->name(); }

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
template class renewal::term_renewals<renewal::term_keeper<odbc_store, steady_clock, renew_at_fraction>>;
template class renewal::lost_terms<renewal::term_keeper<odbc_store, steady_clock, renew_at_fraction>>;
template class renewal::handover_requests<renewal::term_keeper<odbc_store, steady_clock, renew_at_fraction>>;
template class lease_guard<basic_lease<odbc_store>>;
template class detail::lease_attempts<basic_lease<odbc_store>>;
template class basic_lease<odbc_store>;
#endif

}  // namespace leasehold::inline v0

#endif
