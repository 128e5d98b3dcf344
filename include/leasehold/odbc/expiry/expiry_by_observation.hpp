// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_EXPIRY_EXPIRY_BY_OBSERVATION_HPP
#define LEASEHOLD_ODBC_EXPIRY_EXPIRY_BY_OBSERVATION_HPP

#include <leasehold/odbc/expiry/concept.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace leasehold::inline v0 {

/// Whoever wants the lease judges: it is over when its row has not changed for the holder's whole ttl, on the challenger's
/// own monotonic clock. No clock of a database takes part, so none can end a term by a jump, of whatever size.
///
/// The price: a challenger must have been looking for a ttl, counted from its first look at the row as it is. So a dead
/// holder's lease, and a name that min_hold keeps closed, are only ever had by stores that live longer than that and try
/// again; a program that starts, tries once and ends never gets them. A released lease is free at once, as ever, and so
/// is an owner's own term to that owner, as a new one.
///
/// The table has a version and a ttl instead of the expiry. The SQL is the same for all databases; what differs comes from
/// the dialect: quotes, types, and how owners are compared.
struct expiry_by_observation {
    /// See odbc_expiry.
    [[nodiscard]] static dialect::description applied_to(dialect::description d)
    {
        d.observes = true;
        d.single_statement_grant = false;
        d.client_arithmetic = false;
        d.locks = {};
        d.batches = {};  // each row has to be read to be judged
        d.purge = {};    // no clock has written down when it was used
        set_piece(d, "{ours}", "{owner} = :owner", false);
        set_piece(d, "{live}", "{ttl} > 0");
        set_piece(d, "{remaining}", "{ttl}");
        set_piece(d, "{expiry}", "{ttl}");
        set_piece(d, "{expiry columns}", "{version} bigint not null, {ttl} bigint not null");
        set_piece(d, "{expiry names}", "{version}, {ttl}");
        set_piece(d, "{expiry of no lease}", "0, 0");

        d.probe = "select {version}, {ttl}, {name}, {owner}, {token} from {table} where 1 = 0";
        d.read = row("");
        d.observe = row(", {version}, {owner}");
        d.grant.clear();
        d.insert = "insert into {table} ({name}, {owner}, {token}, {version}, {ttl})"
                   " values (:name, :owner, 1, :version, :us)";
        d.take = "update {table} set {owner} = :owner, {token} = {token} + 1, {version} = {version} + 1, {ttl} = :us"
                 " where {name} = :name and {token} = :token and {version} = :version";
        // The longer ttl stays: a renewal that was late must not let the term end sooner than its successor said.
        d.renew = "update {table} set {version} = {version} + 1, {ttl} = case when {ttl} > :us then {ttl} else :us end"
                  " where {this live term}";
        d.release = "update {table} set {version} = {version} + 1, {ttl} = 0 where {this live term}";
        d.close = "update {table} set {owner} = '', {version} = {version} + 1, {ttl} = :us where {this live term}";
        d.force_release = "update {table} set {version} = {version} + 1, {ttl} = 0 where {name} = :name and {live}";
        d.inspect = "select {token}, {ttl}, {owner} from {table} where {name} = :name and {live}";
        d.list = "select {token}, {ttl}, {owner}, {name} from {table} where {name} <> '' and {live}";
        return d;
    }

private:
    static std::string row(std::string_view more)
    {
        std::string sql = "select {token}, case when {ours} then 1 when {owner} = '' then 2 else 0 end,"
                          " case when {live} then 1 else 0 end, {ttl}, case when {live} then 0 else 1 end";
        return sql.append(more).append(" from {table} where {name} = :name");
    }

    // Pieces stand in the order in which they are replaced.
    static void set_piece(dialect::description& d, std::string_view name, std::string text, bool replace = true)
    {
        for (auto& [piece, value] : d.pieces) {
            if (piece != name) continue;
            if (replace) value = std::move(text);
            return;
        }
        d.pieces.emplace_back(name, std::move(text));
    }
};

static_assert(odbc_expiry<expiry_by_observation>);

}  // namespace leasehold::inline v0

#endif
