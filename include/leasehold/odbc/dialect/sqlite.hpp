// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_SQLITE_HPP
#define LEASEHOLD_ODBC_DIALECT_SQLITE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/odbc/dialect/concept.hpp>
#include <leasehold/odbc/dialect/spec.hpp>

#include <string>

namespace leasehold::inline v0::dialect {

/// SQLite 3.23 and later.
///
/// Compare and set, since the driver shows no result of a RETURNING. The expiry is in milliseconds of the Unix epoch: the
/// clock of SQLite has no finer unit, so a ttl is rounded up and one millisecond is added for the part of one that the
/// clock has cut off. Statements see the clock after they have the write lock.
struct sqlite {
    /// See odbc_dialect.
    static constexpr bool in_process = true;

    /// See odbc_dialect.
    [[nodiscard]] static spec describe(const server_info&)
    {
        spec d{};
        d.name = "sqlite";
        d.quote = '`';  // SQLite takes "x" for a text where there is no column x, and so would hide a missing one
        d.in_process = true;
        // The driver prepares a statement again for each execution, so a short one is a fast one. Hence :now_ms, by the clock that
        // julianday('now') reads, wherever a time from before the wait for the write lock will do: a new expiry counts from the call.
        // Whether a term is over is judged under the lock.
        // The driver waits briefly (its Timeout is SQLite's busy_timeout, 100 s by default); then the store retries, with jitter. A
        // Timeout of the user's could outlast call_timeout. With NoTXN a batch would not be rolled back, and with StepAPI a statement
        // would keep its lock until it is closed.
        d.connection_prefix = "Timeout=10;NoTXN=0;StepAPI=0;";
        // The driver sets synchronous to NORMAL, with which a power loss can take back the last tokens: FULL, unless the user's
        // on_connect says otherwise.
        d.on_connect = {"pragma synchronous = full"};
        // If the connection string names no file, SQLite has a temporary database, or the driver makes a file in the working folder.
        d.file = "select file from pragma_database_list where name = 'main'";
        d.fragments = {
            {"{this live term}", "{this term} and {live}"},
            {"{this term}", "{name} = :name and {owner} = :owner and {token} = :token"},
            // Also where a table that was there before has a collation that ignores case or spaces.
            {"{ours}", "{owner} collate binary = :owner"},
            {"{expiry columns}", "{expires_at} integer not null"},
            {"{expiry names}", "{expires_at}"},
            {"{expiry of no lease}", "0"},
            {"{seen live}", "{live}"},
            {"{unreleased}", "{expires_at} >= {recent}"},
            {"{live}", "{expires_at} > {now}"},
            // 100 years are as good as more. Text is greater than any number, and so would be held for ever.
            {"{remaining}", "case when typeof({expires_at}) = 'text' then {not a time} else"
                            " max(1000, min({expires_at} - :now_ms, 3155760000000) * 1000 - 1000) end"},
            {"{not a time}", std::to_string(remaining_is_no_time)},
            // A released row keeps the time in what is long ago, a thousandth of it; see purge_sql.
            {"{unused}", "{expires_at} < case when {expires_at} < {recent} then (:now_ms - (:us + 999) / 1000) / 1000"
                         " else :now_ms - (:us + 999) / 1000 end"},
            {"{released now}", ":now_ms / 1000"},
            {"{recent}", "31536000000"},  // 1971
            {"{name bytes}", "length(cast({name} as blob))"},
            {"{now}", "cast(round((julianday('now') - 2440587.5) * 86400000) as integer)"},
        };
        d.numeric_expiry = true;
        d.schema = {"pragma journal_mode = wal",
                    "create table if not exists {table} ({name} text not null primary key, {owner} text not null,"
                    " {token} integer not null, {expiry columns}, {data} text, {data_token} integer, {request} text,"
                    " {request_token} integer, {checkpoint} text, {checkpoint_token} integer) without rowid",
                    "insert or ignore into {table} ({name}, {owner}, {token}, {expiry names})"
                    " values ('', 'leasehold schema 1', 1, {expiry of no lease})"};
        d.insert = "insert into {table} ({name}, {owner}, {token}, {expires_at}) select :name, :owner, :token, :later_ms"
                   " where not exists (select 1 from {table} where {name} = '' and {token} > :token)";
        // A new term of the owner of the unexpired one is not over before that would have been.
        d.take = "update {table} set {owner} = :owner, {token} = {token} + 1,"
                 " {expires_at} = max(ifnull({expires_at}, 0), :later_ms)"
                 " where {name} = :name and {token} = :token and ({ours} or ({live}) is not true)";
        d.renew = "update {table} set {expires_at} = max({expires_at}, :later_ms) where {this live term}";
        d.release = "update {table} set {owner} = case :us when 0 then {owner} else '' end,"
                    " {expires_at} = case :us when 0 then {released now} else :later_ms end where {this live term}";
        d.clock = "select {now} * 1000";
        d.batches = batches();
        d.many_attempts = many_attempts();
        // The write lock of the whole database.
        d.fence.lock = "update {table} set {token} = {token} where {this live term}";
        d.fence.by_itself = d.fence.lock;
        add_plain_statements(d, "{name} >= :name and {name} <= :upper");
        d.name_key = name_key();
        d.purge = purge_with(d.schema.back());
        return d;
    }

private:
    // An expression of an index has no name, and is counted.
    static name_key_sql name_key()
    {
        const std::string in_schema = ", nullif('{schema}', ''))";
        name_key_sql k;
        k.present = "select exists (select 1 from pragma_index_list('{bare table}'" + in_schema + " as i where i.`unique` and not i.partial"
                    " and (select count(*) = 1 and max('`' || name || '`') = '{name}' collate nocase"
                    " from pragma_index_info(i.name" + in_schema + "))"
                    " where exists (select 1 from pragma_table_info('{bare table}'" + in_schema + ")";
        k.add = "create unique index {schema}.{bare table}_name on `{bare table}` ({name})";
        return k;
    }

    static batch_sql batches()
    {
        const std::string terms = " where {name} in (:each_name) and {token} || ' ' || length(cast({name} as blob)) || ' ' ||"
                                  " {name} || {owner} in (:each_term) and {live}";
        batch_sql b;
        b.most = 256;
        b.renew = "update {table} set {expires_at} = max({expires_at}, :later_ms)" + terms;
        b.release = "update {table} set {expires_at} = {released now}" + terms;
        return b;
    }

    // A look, and then compare and set for all that were free: by an upsert of rows that are there, since UPDATE would search the
    // list for the owner of each.
    static many_attempts_sql many_attempts()
    {
        many_attempts_sql a;
        a.most = 256;
        // A row without an owner is released, too: its min_hold is over.
        a.read = "select {token}, case when {live} then 1 when {unreleased} and {owner} <> '' then 0 else -1 end, {remaining}, {owner},"
                 " {name} from {table} where {name} in (:each_name)";
        a.take = "insert into {table} ({name}, {owner}, {token}, {expires_at}) select column1, column2, column3, :later_ms"
                 " from (values ('', '', 0){each , (:nth_name, :nth_owner, :nth_token)}) where column1 <> ''"
                 " and exists (select 1 from {table} where {name} = column1)"
                 " on conflict ({name}) do update set {owner} = excluded.{owner}, {token} = {token} + 1,"
                 " {expires_at} = excluded.{expires_at} where {token} = excluded.{token} and ({live}) is not true";
        a.insert = "insert into {table} ({name}, {owner}, {token}, {expires_at}) select column1, column2, :token, :later_ms"
                   " from (values ('', ''){each , (:nth_name, :nth_owner)}) where column1 <> ''"
                   " and not exists (select 1 from {table} where {name} = '' and {token} > :token)";
        return a;
    }
};

static_assert(odbc_dialect<sqlite>);

}  // namespace leasehold::inline v0::dialect

#endif
