// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_GENERIC_HPP
#define LEASEHOLD_ODBC_DIALECT_GENERIC_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/odbc/dialect/concept.hpp>
#include <leasehold/odbc/dialect/mariadb.hpp>
#include <leasehold/odbc/dialect/spec.hpp>
#include <leasehold/odbc/expiry/expiry_by_observation.hpp>

#include <string>
#include <utility>

namespace leasehold::inline v0::dialect {

/// Any other database with SELECT, a conditional UPDATE and 64-bit integers.
///
/// Terms expire by observation, whatever the store's Expiry: see expiry_by_observation. So nothing is asked of a database's
/// clock, of its arithmetic of dates, or of what its columns keep of a time. Integers go as digits. Nothing is
/// believed either: what was written is read back, and on a store's first grant over a second connection. A database or
/// driver that doesn't keep it is an errc::store_failure, with words on what was lost. The statements use nothing that SQL-92 hasn't got.
struct generic {
    /// See odbc_dialect.
    static constexpr bool in_process = false;

    /// See odbc_dialect.
    [[nodiscard]] static spec describe(const server_info& at)
    {
        spec d{};
        d.name = "generic";
        d.reads_back = true;
        // MySQL's family has names in backquotes unless told otherwise.
        if (at.dbms_name.find("MySQL") != at.dbms_name.npos || at.dbms_name.find("MariaDB") != at.dbms_name.npos) {
            d.quote = '`';
            d.on_connect = {mariadb::set_characters};
            d.session_check = mariadb::session_check_with({});
        }
        // Virtuoso's other texts are shorter than a checkpoint, as all that is in a row; this one it can't compare.
        const bool is_virtuoso = at.dbms_name.find("Virtuoso") != at.dbms_name.npos;
        const std::string checkpoint_type = is_virtuoso ? "long varchar" : "varchar(4096)";
        d.fragments = {{"{this live term}", "{this term} and {live}"},
                       {"{this term}", "{name} = :name and {owner} = :owner and {token} = :token"}};
        d.schema = {"create table {table} ({name} varchar(190) not null primary key, {owner} varchar(190) not null,"
                    " {token} bigint not null, {expiry columns}, {data} varchar(1024), {data_token} bigint, {request} varchar(1024),"
                    " {request_token} bigint, {checkpoint} " + checkpoint_type + ", {checkpoint_token} bigint)",
                    "insert into {table} ({name}, {owner}, {token}, {expiry names})"
                    " values ('', 'leasehold schema 1', 1, {expiry of no lease})"};
        d.handover = plain_handover();
        // Locks the whole row, as every database does; also against renewals.
        d.fence.lock = "update {table} set {version} = :version where {this live term}";
        d.fence.written = "select {token}, {version} from {table} where {name} = :name and {version} = :version";
        d = observing(std::move(d));
        if (is_virtuoso) d.checkpoint.replace.clear();  // then what is replaced is read before the save
        return d;
    }
};

static_assert(odbc_dialect<generic>);

}  // namespace leasehold::inline v0::dialect

#endif
