// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_GENERIC_HPP
#define LEASEHOLD_ODBC_DIALECT_GENERIC_HPP

#include <leasehold/odbc/dialect/description.hpp>

#include <string>

namespace leasehold::inline v0::dialect {

/// Any other database with SELECT and a conditional UPDATE.
///
/// The statements use nothing that SQL-92 hasn't got. The client adds the ttl to the clock the database has just shown; the
/// database compares with the same clock, odbc_options::now. Let that be in UTC: where it is local time, the hour that
/// comes twice in autumn is ambiguous. A clock or a column without fractions is made up for with one unit more of ttl.
struct generic {
    /// See odbc_dialect.
    static constexpr bool in_process = false;

    /// See odbc_dialect.
    [[nodiscard]] static description describe(const circumstances& at)
    {
        description d{};
        d.name = "generic";
        d.client_arithmetic = true;
        // MySQL's family has names in backquotes unless told otherwise.
        if (at.dbms_name.find("MySQL") != at.dbms_name.npos || at.dbms_name.find("MariaDB") != at.dbms_name.npos)
            d.quote = '`';
        d.pieces = {
            {"{this live term}", "{name} = :name and {owner} = :owner and {token} = :token and {live}"},
            {"{expiry columns}", "{expires_at} timestamp not null"},
            {"{expiry names}", "{expires_at}"},
            {"{expiry of no lease}", "{now}"},
            {"{live}", "{expires_at} > {now}"},
            {"{now}", std::string{at.now}},
        };
        d.schema = {"create table {table} ({name} varchar(190) not null primary key, {owner} varchar(190) not null,"
                    " {token} bigint not null, {expiry columns})",
                    "insert into {table} ({name}, {owner}, {token}, {expiry names})"
                    " values ('', 'leasehold schema', 1, {expiry of no lease})"};
        d.probe = "select {expires_at}, {name}, {owner}, {token} from {table} where 1 = 0";
        // Aggregates give one row, and so the clock, also where the name is new.
        d.read = "select count(*), max({token}), max(case when {live} then 1 else 0 end),"
                 " max(case when {expires_at} = :released then 1 else 0 end), max({expires_at}), {now}, max({owner})"
                 " from {table} where {name} = :name";
        d.insert = "insert into {table} ({name}, {owner}, {token}, {expires_at}) values (:name, :owner, 1, :expiry)";
        // Whose it is has been compared byte by byte when the row with this token was read.
        d.take = "update {table} set {expires_at} = case when {expires_at} > :expiry then {expires_at} else :expiry end,"
                 " {owner} = :owner, {token} = {token} + 1 where {name} = :name and {token} = :token"
                 " and ({owner} = :owner or {expires_at} <= {now} or {expires_at} is null)";
        // :expiry is later than what has just been read, so that the row changes.
        d.renew = "update {table} set {expires_at} = :expiry where {this live term} and {expires_at} < :expiry";
        d.release = "update {table} set {expires_at} = :released where {this live term}";
        d.close = "update {table} set {owner} = '', {expires_at} = :expiry where {this live term}";
        d.inspect = "select {token}, {expires_at}, {now}, {owner} from {table} where {name} = :name and {live}";
        d.list = "select {token}, {expires_at}, {now}, {owner}, {name} from {table} where {name} <> '' and {live}";
        d.force_release = "update {table} set {expires_at} = :released where {name} = :name and {live}";
        // Locks the whole row, as every database does; also against renewals.
        d.fence.lock = "update {table} set {token} = {token} where {this live term}";
        return d;
    }
};

}  // namespace leasehold::inline v0::dialect

#endif
