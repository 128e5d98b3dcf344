// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_EXPIRY_EXPIRY_BY_OBSERVATION_HPP
#define LEASEHOLD_ODBC_EXPIRY_EXPIRY_BY_OBSERVATION_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/odbc/dialect/spec.hpp>
#include <leasehold/odbc/expiry/concept.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace leasehold::inline v0::dialect {

/// A dialect's statements, changed to those of expiry by observation. They are the same for all databases: a SELECT, and
/// UPDATEs that compare what was read. What differs comes from the dialect: quotes, types, and how owners are compared.
/// No statement reads a clock, and none computes with what a client doesn't send but for `{token} + 1`.
[[nodiscard]] inline spec observing(spec d)
{
    // Fragments stand in the order in which they are replaced.
    const auto set_piece = [&d](std::string_view name, std::string_view text) {
        const auto found = std::ranges::find(d.fragments, name, &std::pair<std::string_view, std::string>::first);
        if (found != d.fragments.end())
            found->second = text;
        else
            d.fragments.emplace_back(name, text);
    };
    for (const std::string_view live : {"{live}", "{seen live}", "{unreleased}"}) set_piece(live, "{ttl} > 0");
    set_piece("{expiry columns}", "{version} bigint not null, {ttl} bigint not null");
    set_piece("{expiry names}", "{version}, {ttl}");
    set_piece("{expiry of no lease}", "0, 0");
    set_piece("{expiry}", "{ttl}");
    set_piece("{keep expiry}", "");

    d.observes = true;
    d.single_statement_grant = false;
    d.locks = {};
    d.many_attempts = {};
    d.batches = {};  // each row has to be read to be judged
    d.purge = {};    // no clock has written down when it was used
    d.grant.clear();
    d.read.clear();
    d.inspect.clear();
    d.probe = "select {owner}, {version}, {ttl}, {name}, {token}, {data}, {data_token}, {request}, {request_token}, {checkpoint},"
              " {checkpoint_token} from {table} where {name} = ''";
    d.observe = "select {token}, {version}, {ttl}, {owner}, {name} from {table} where {name} = :name";
    d.insert = "insert into {table} ({name}, {owner}, {token}, {version}, {ttl}) values (:name, :owner, 1, :version, :us)";
    d.take = "update {table by name} set {owner} = :owner, {token} = {token} + 1, {version} = :version, {ttl} = :us"
             " where {name} = :name and {token} = :token and {version} = :seen";
    // The longer ttl stays: a renewal that was late must not let the term end sooner than its successor said.
    d.renew = "update {table by name} set {version} = :version, {ttl} = case when {ttl} > :us then {ttl} else :us end"
              " where {this live term}";
    d.release = "update {table by name} set {owner} = case when :us > 0 then '' else {owner} end, {version} = :version, {ttl} = :us"
                " where {this live term}";
    d.force_release = "update {table by name} set {version} = :version, {ttl} = 0"
                      " where {name} = :name and {token} = :token and {live}";
    checkpoint_sql judged_by_clock = std::exchange(d.checkpoint, plain_checkpoint());
    d.checkpoint.look = std::move(judged_by_clock.look);
    d.checkpoint.saved_fenced = std::move(judged_by_clock.saved_fenced);  // the fence has judged the term
    d.list = "select {token}, {version}, {ttl}, {owner}, {name}, {data and request} from {table} where {name} <> '' and {live}";
    return d;
}

}  // namespace leasehold::inline v0::dialect

namespace leasehold::inline v0 {

/// The challenger judges: a term is over when its row has not changed for the holder's whole ttl, on the challenger's
/// own monotonic clock. No clock of a database takes part, so none can end a term by a jump, of whatever size.
///
/// The price: a challenger must have been looking for a ttl, counted from its first look at the row as it is. So a dead
/// holder's lease, and a name that min_hold keeps closed, are only ever had by stores that live longer than that and try
/// again; a program that starts, tries once and ends never gets them. A released lease is free at once, as ever, and so
/// is an owner's own term to that owner, as a new one.
///
/// The table has a version and a ttl instead of the expiry. Every write gives the row a version of its own, drawn at random,
/// so that a write whose reply was lost is known by it.
struct expiry_by_observation {
    /// See odbc_expiry.
    [[nodiscard]] static dialect::spec applied_to(dialect::spec d)
    {
        return d.observes ? d : dialect::observing(std::move(d));
    }
};

static_assert(odbc_expiry<expiry_by_observation>);

}  // namespace leasehold::inline v0

#endif
