// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_POSTGRESQL_HPP
#define LEASEHOLD_ODBC_DIALECT_POSTGRESQL_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/odbc/dialect/concept.hpp>
#include <leasehold/odbc/dialect/spec.hpp>

#include <algorithm>
#include <chrono>
#include <string>

namespace leasehold::inline v0::dialect {

/// PostgreSQL 10 and later.
///
/// What is written is judged by clock_timestamp(), since the start of the transaction lies before a wait for a lock. What is only read is
/// judged by now(), which lies before the snapshot: a row that was renewed after the snapshot can't be seen with a later clock, and so be
/// taken for a term that is over.
struct postgresql {
    /// See odbc_dialect.
    static constexpr bool in_process = false;

    /// See odbc_dialect.
    [[nodiscard]] static spec describe(const server_info& at)
    {
        spec d{};
        d.name = "postgresql";
        d.single_statement_grant = true;
        d.session = "select pg_backend_pid()";
        d.address = "select host(inet_server_addr()) || ':' || inet_server_port()";
        if (at.pooled)
            leave_nothing_behind(d, at);
        else
            d.on_connect = {std::string{"select "} + isolation + ", " + encoding + ", " + mark + ", " + settings(at, "false") + ", " +
                            plan + ", " + session_life(at)};
        d.session_check = session_check(at);
        d.fragments = {
            {"{this live term}", "{this term} and {live}"},
            {"{this term}", "{name} = :name and {owner} = :owner and {token} = :token"},
            // Also where a table that was there before has a type or a collation that ignores case.
            {"{ours}", "cast({owner} as text) collate \"C\" = :owner"},
            {"{same owner}", "cast(t.{owner} as text) collate \"C\" = cast(excluded.{owner} as text)"},
            {"{expiry columns}", "{expires_at} timestamptz not null"},
            {"{expiry names}", "{expires_at}"},
            {"{expiry of no lease}", "{long ago}"},
            {"{expiry}", "{expires_at}"},
            // date_part() counts in floating point, extract() in numeric from PostgreSQL 14 on, which takes longer.
            // Nothing can be subtracted from an infinite one, and 100 years are as good as more.
            {"{remaining}", "case when isfinite({expires_at}) then cast(least(date_part('epoch', {expires_at} - now()),"
                            " 3155760000) * 1000000 as bigint)"
                            " when {seen live} then 3155760000000000 else 0 end"},
            {"{live}", "{expires_at} > clock_timestamp()"},
            {"{seen live}", "{expires_at} > now()"},
            {"{unreleased}", "{expires_at} >= {recent}"},
            {"{later}", "clock_timestamp() + cast(:us as bigint) * interval '1 microsecond'"},
            {"{long ago}", "'1970-01-02 00:00:00+00'"},
            // A released row keeps the time in what is long ago, a thousandth of it; see purge_sql.
            {"{unused}", "{expires_at} < case when {expires_at} < {recent} then to_timestamp(86400"
                         " + (extract(epoch from clock_timestamp()) - cast(:us as bigint) / 1000000.0) / 1000)"
                         " else clock_timestamp() - cast(:us as bigint) * interval '1 microsecond' end"},
            {"{released now}", "to_timestamp(86400 + date_part('epoch', clock_timestamp()) / 1000)"},
            {"{recent}", "'1971-01-01 00:00:00+00'"},
            {"{name bytes}", "octet_length({name})"},
            // The second part is never true. It is looked at once, before any row, and writes to the write-ahead log, so that a synchronous
            // standby has to confirm the commit.
            {"{no row}", "{name} = '' and (select pg_logical_emit_message(true, 'leasehold', '')) is null"},
            {"{key}", "cast(:lock_number as bigint)"},
        };
        d.schema = schema();
        d.grant = grant();
        d.take = take;
        // An UPDATE that has waited for a row judges it again only if it was changed. So it is locked first, and judged then.
        d.renew = "with \"locked row\" as (select {expires_at} from {table} where {this term} for no key update)"
                  " update {table} set {expires_at} = greatest({expires_at}, {later}) where {this term}"
                  " and (select {live} from \"locked row\")";
        // Not locked first, which would cost a third of the statement. After a wait it may end a term that has expired meanwhile, and keep
        // its min_hold, unless somebody else has had the name.
        d.release = "update {table} set {owner} = case when cast(:us as bigint) > 0 then '' else {owner} end, {expires_at} ="
                    " case when cast(:us as bigint) > 0 then {later} else {released now} end where {this live term}";
        // A wait for the synchronous standby that somebody cancels ends in success with a warning, in any language. Few other statements
        // warn.
        d.unconfirmed = "select case when current_setting('synchronous_standby_names') <> '' then 1 else 0 end";
        d.clock = "select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)";
        d.batches = batches();
        d.many_attempts = many_attempts();
        if (!at.pooled) d.locks = locks(at);
        d.fence = fence();
        // Its save of a checkpoint takes no lock first, unlike renew: if the term ends while the statement waits for its row, nobody else
        // has had the name, and a save extends nothing. The lock would cost a third of the statement.
        add_plain_statements(d, "{name} collate \"C\" >= :name and {name} collate \"C\" <= :upper");
        d.name_key = name_key();
        d.purge = purge_with(d.schema.back());
        return d;
    }

private:
    // One round trip. A read-committed statement judges the row as it is once it has the lock, whatever default the server
    // or the role has; statement_timeout ends on the server what the caller has stopped waiting for.
    static std::string ms(duration d) { return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(d).count()); }

    // `local`: "true", for the transaction only.
    static std::string settings(const server_info& at, const std::string& local)
    {
        const auto set = [&local](const std::string& name, const std::string& value) {
            return "set_config('" + name + "', " + value + ", " + local + ")";
        };
        const auto quoted = [](const std::string& value) { return '\'' + value + '\''; };
        return set("TimeZone", "'UTC'") + ", " + set("client_min_messages", "'warning'") + ", " +
               set("lock_timeout", quoted(ms(at.lock_timeout))) + ", " +
               set("statement_timeout", quoted(ms(at.call_timeout))) + ", " +
               // A process that is frozen between a release of many and its commit keeps their rows locked no longer than a call.
               set("idle_in_transaction_session_timeout", quoted(ms(at.call_timeout))) + ", " +
               // An answer whose commit is not on disk yet could be forgotten in a crash of the server, token and all.
               set("synchronous_commit", "case current_setting('synchronous_commit') when 'off' then 'local'"
                                         " else current_setting('synchronous_commit') end");
    }

    // Each statement finds one row by its key, so other values need no other plan: it would be half of the time the server
    // spends on it. PostgreSQL 11 and older have no such setting.
    static constexpr const char* plan =
        "(select set_config(name, 'force_generic_plan', false) from pg_settings where name = 'plan_cache_mode')";

    // A host that is gone without a word is noticed in about ten seconds, and its locks are given back. But neither an idle session nor a
    // wait for a lock is ended. PostgreSQL 11 and older have no tcp_user_timeout, 13 and older no idle_session_timeout, 16 and older no
    // transaction_timeout; no system lacks a setting, but some can't change it, which is no error.
    static std::string session_life(const server_info& at)
    {
        return "(select count(set_config(name, case name when 'tcp_keepalives_idle' then '5' when 'tcp_keepalives_interval' then '2'"
               " when 'tcp_keepalives_count' then '3' when 'tcp_user_timeout' then '" +
               ms(std::max<duration>(at.call_timeout, std::chrono::seconds{10})) +
               "' else '0' end, false)) from pg_settings where name in ('tcp_keepalives_idle', 'tcp_keepalives_interval',"
               " 'tcp_keepalives_count', 'tcp_user_timeout', 'idle_session_timeout', 'transaction_timeout'))";
    }

    static constexpr const char* isolation = "set_config('default_transaction_isolation', 'read committed', false)";
    static constexpr const char* encoding = "set_config('client_encoding', 'UTF8', false)";

    // A balancer sends what changes a session to the primary, and what only reads perhaps to a standby, which then does not know the mark.
    static constexpr const char* mark = "set_config('leasehold.session', 'marked', false)";

    // A pooler's session has no settings of ours but the encoding. A server, a database or a role may be read-only, as after a fail-over:
    // that is no setting of this session, and its first write is told of it. It names no table or view: pgpool-II sends what reads the
    // catalogue to the primary, where the mark is always found.
    static std::string session_check(const server_info& at)
    {
        const std::string of_session = at.pooled ? ""
                                                 : ", ('leasehold.session', 'marked'), ('TimeZone', 'UTC'),"
                                                   " ('default_transaction_isolation', 'read committed'),"
                                                   " ('default_transaction_read_only', 'off')";
        return "select chr(10) || coalesce(string_agg(case name when 'leasehold.session' then 'reads go to another server than writes,"
               " as with load_balance_mode of pgpool-II, and must go to the primary' else"
               " name || ' is ' || current_setting(name) || ' and must be ' || value end, ', '), '')"
               " from (values ('client_encoding', 'UTF8')" +
               of_session + ") as needed (name, value) where coalesce(current_setting(name, true), '') <> value"
               " and (name <> 'default_transaction_read_only' or exists (select 1 from pg_show_all_settings() as s where"
               " s.name = needed.name and s.source in ('client', 'session')))";
    }

    // What goes in one message goes to one session, as one transaction, and its time-outs hold from the statement after them on.
    // The driver sends one message if it does not prepare; the level has to be set before the first query. The encoding of its
    // messages is what a pooler keeps for each client.
    static void leave_nothing_behind(spec& d, const server_info& at)
    {
        d.on_connect = {std::string{"select "} + encoding};
        d.connection_suffix = "UseServerSidePrepare=0;";
        d.prologue = "set local transaction isolation level read committed; select " + settings(at, "true") + "; ";
        d.prologue_results = 2;
    }

    // The unique (name, token) makes the token a key of the row: `for key share` then holds off what changes the token, a
    // take-over, and lets renewals pass. Free space on each page keeps renewals and releases HOT.
    static std::vector<std::string> schema()
    {
        return {"create table if not exists {table} ({name} text collate \"C\" primary key,"
                " {owner} text collate \"C\" not null, {token} bigint not null, {expiry columns}, {data} text, {data_token} bigint,"
                " {request} text, {request_token} bigint, {checkpoint} text, {checkpoint_token} bigint,"
                " unique ({name}, {token})) with (fillfactor = 50)",
                "insert into {table} ({name}, {owner}, {token}, {expiry names})"
                " values ('', 'leasehold schema 1', 1, {expiry of no lease}) on conflict do nothing"};
    }

    // A new term of the owner of the unexpired one is not over before that would have been. greatest() passes over a NULL.
    static constexpr const char* take =
        "update {table} set {owner} = :owner, {token} = {token} + 1, {expires_at} = greatest({expires_at}, {later})"
        " where {name} = :name and {token} = :token and ({ours} or ({live}) is not true)";

    // The busy test stands in front because ON CONFLICT DO UPDATE locks, and so writes, the row even where its WHERE is
    // false. What it lets through is judged again on the locked row.
    //
    // The names in WITH have a blank, so that no table can have one of them.
    //
    // The token of an INSERT is the floor, or one more than in a row of the snapshot that a purge has removed since. A purge
    // removes only rows unused for longer than a statement lives, so that row was unchanged.
    //
    // Nobody held the name (the fourth column) if the term was free in the snapshot and no other grant came in between, as the token
    // shows.
    static std::string grant()
    {
        return "with \"old row\" as (select {token} as token, ({ours}) is not true as foreign_owner, {seen live} as live,"
               " {remaining} as remaining from {table} where {name} = :name),"
               " \"next token\" as (select coalesce((select token + 1 from \"old row\"),"
               " greatest(1, (select {token} from {table} where {name} = ''))) as token),"
               " \"granted row\" as (insert into {table} as t ({name}, {owner}, {token}, {expires_at}) select :name, :owner,"
               " (select token from \"next token\"), {later} where not exists (select 1 from \"old row\" where live and foreign_owner)"
               " on conflict ({name}) do update set {owner} = excluded.{owner}, {token} = t.{token} + 1,"
               " {expires_at} = greatest(t.{expires_at}, {later})"
               " where {same owner} or (t.{live}) is not true"
               " returning {token} as token)"
               " select 1, token, cast(0 as bigint), case when token = (select token from \"next token\")"
               " and not exists (select 1 from \"old row\" where live) then 1 else 0 end from \"granted row\""
               " union all select 0, token, remaining, 0 from \"old row\" where live and foreign_owner";
    }

    // Arrays, so that there is one statement for any number of terms, with three parameters. A row that somebody has locked is
    // not waited for with all the others: lock_timeout is looked at when a wait begins, and set to what it was afterwards.
    static batch_sql batches()
    {
        const std::string terms = " from (select set_config('lock_timeout', '100', true)) as patience,"
                                  " unnest(cast(:all_names as text[]), cast(:all_owners as text[]),"
                                  " cast(:all_tokens as bigint[])) as v (name, owner, token)"
                                  " where t.{name} = v.name and t.{owner} = v.owner and t.{token} = v.token and t.{live}";
        batch_sql b;
        b.most = 1000;
        // One that might run out while it is waited for is left out, and renewed by itself.
        b.renew = "update {table} as t set {expires_at} = greatest(t.{expires_at}, {later})" + terms + " + interval '100 ms'";
        b.release = "update {table} as t set {expires_at} = {released now}" + terms;
        return b;
    }

    // As grant(), for each of a list. The rows are locked in the order of the names, so that nobody waits in a circle; what the first
    // look lets through is judged again on the locked row. A full join, since nothing else is sure to be made by hashing or sorting.
    static many_attempts_sql many_attempts()
    {
        const std::string wanted = "unnest(cast(:all_names as text[]), cast(:all_owners as text[])) with ordinality"
                                   " as v (\"wanted name\", \"wanted owner\", \"wanted place\")";
        many_attempts_sql a;
        a.most = 1000;
        a.grant_free = grant_free();
        a.grant = "with \"old rows\" as (select \"wanted place\" as place, \"wanted name\" as name, \"wanted owner\" as owner,"
                  " {token} as token, {seen live} as live, {remaining} as remaining,"
                  " cast({owner} as text) collate \"C\" is distinct from \"wanted owner\" as foreign_owner"
                  " from " + wanted + " left join {table} on {name} = \"wanted name\"),"
                  " \"first token\" as (select greatest(1, (select {token} from {table} where {name} = '')) as token),"
                  " \"chosen rows\" as (select name, owner, token from \"old rows\" where live is not true or not foreign_owner"
                  " order by place limit cast(:most as bigint)),"
                  " \"granted rows\" as (insert into {table} as t ({name}, {owner}, {token}, {expires_at})"
                  " select name, owner, coalesce(token + 1, (select token from \"first token\")), {later} from \"chosen rows\","
                  " (select set_config('lock_timeout', '100', true)) as patience order by name collate \"C\""
                  " on conflict ({name}) do update set {owner} = excluded.{owner}, {token} = t.{token} + 1,"
                  " {expires_at} = greatest(t.{expires_at}, {later})"
                  " where {same owner} or (t.{live}) is not true"
                  " returning {name} as name, {token} as token)"
                  " select o.place, case when g.token is not null then 1 when o.live and o.foreign_owner then 0 else 2 end,"
                  " coalesce(g.token, o.token, 0), coalesce(o.remaining, 0), case when o.live is not true"
                  " and g.token = coalesce(o.token + 1, (select token from \"first token\")) then 1 else 0 end"
                  " from \"old rows\" as o full join \"granted rows\" as g on g.name = o.name";
        a.read = "select {token}, case when {seen live} then 1 else 0 end, {remaining}, {owner}, {name} from {table}"
                 " where {name} = any (cast(:all_names as text[]))";
        return a;
    }

    // An UPDATE costs the server less than the upsert of grant, which locks each row first, and what it returns needs no look at the old
    // rows. It judges each row again once it has the lock, so what it has written was not live, and the grant is fresh. The rest is
    // read as it was before, by a hashed list of places.
    static std::string grant_free()
    {
        return "with \"wanted rows\" as (select \"wanted place\", \"wanted name\", \"wanted owner\""
               " from unnest(cast(:all_names as text[]), cast(:all_owners as text[])) with ordinality"
               " as v (\"wanted name\", \"wanted owner\", \"wanted place\"),"
               " (select set_config('lock_timeout', '100', true)) as patience order by \"wanted name\" collate \"C\"),"
               " \"granted rows\" as (update {table} as t set {owner} = \"wanted owner\", {token} = t.{token} + 1, {expires_at} = {later}"
               " from \"wanted rows\" where t.{name} = \"wanted name\" and (t.{live}) is not true"
               " returning \"wanted place\" as place, t.{token} as token)"
               " select place, 1, token, cast(0 as bigint), 1 from \"granted rows\""
               " union all select \"wanted place\", case when {seen live} and"
               " cast({owner} as text) collate \"C\" is distinct from \"wanted owner\" then 0 else 2 end, coalesce({token}, 0),"
               " coalesce({remaining}, 0), 0 from \"wanted rows\" left join {table} on {name} = \"wanted name\""
               " where \"wanted place\" not in (select place from \"granted rows\")";
    }

    // A take-over changes the token, which the unique index makes part of the row's key, and so waits for `for key share`; a
    // renewal or release doesn't. Without that index nothing would wait, hence the look into the catalogue. A transaction
    // with one snapshot may see an expiry from before a renewal, since this lock passes over it. And a session takes an expiry without
    // a time zone, as a table taken over may have it, for one of its own zone.
    static fence_sql fence()
    {
        fence_sql f;
        f.possible = "select 1 from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any"
                     " ((cast(string_to_array(cast(i.indkey as text), ' ') as int2[]))"
                     "[1:coalesce(cast(to_jsonb(i) ->> 'indnkeyatts' as int), i.indnatts)])"
                     " where i.indrelid = cast('{table}' as regclass) and i.indisunique and i.indisvalid"
                     " and i.indpred is null and i.indexprs is null and '\"' || a.attname || '\"' = '{token}'";
        const std::string held_term = "with \"held term\" as (select {expiry} from {table}"
                                      " where {name} = :name and {owner} = :owner and {token} = :token for key share)";
        f.lock = held_term + " select case when current_setting('transaction_isolation') in ('repeatable read', 'serializable')"
                             " or pg_typeof({expiry}) = cast('timestamp without time zone' as regtype)"
                             " then 2 when {live} then 1 else 0 end from \"held term\"";
        f.by_itself = held_term + " select 1 from \"held term\" where {live} and exists (" + f.possible + ")";
        f.numbers_parameters = true;
        return f;
    }

    // A partial index, one of expressions or one that a failed CREATE INDEX CONCURRENTLY has left behind keeps no second row out, and ON
    // CONFLICT takes none of a deferrable constraint.
    // Before PostgreSQL 11 there is no indnkeyatts.
    static name_key_sql name_key()
    {
        name_key_sql k;
        k.present = "select case when c.relkind not in ('r', 'p') or exists (select 1 from pg_index i join pg_attribute a"
                    " on a.attrelid = i.indrelid and a.attnum = i.indkey[0] where i.indrelid = c.oid and i.indisunique and i.indisvalid"
                    " and i.indimmediate and i.indpred is null and coalesce(cast(to_jsonb(i) ->> 'indnkeyatts' as int), i.indnatts) = 1"
                    " and '\"' || a.attname || '\"' = '{name}') then 1 else 0 end from pg_class c where c.oid = to_regclass('{table}')";
        k.add = "create unique index on {table} ({name})";
        return k;
    }

    static session_lock_sql locks(const server_info& at)
    {
        session_lock_sql l;
        // lock_timeout holds for this lock too, and is looked at when the wait begins. A few seconds at a time: a statement that runs keeps
        // its snapshot, so that VACUUM leaves what died since, and CREATE INDEX CONCURRENTLY waits. At random, since a session that
        // queues again queues behind the others.
        const std::string restored = "set_config('statement_timeout', '" + ms(at.call_timeout) + "', false)";
        l.before_wait = "select set_config('statement_timeout', '0', false)";
        l.lock = "select 1 + 0 * length(set_config('lock_timeout', cast(4000 + cast(1000 * random() as int) as text), false)),"
                 " pg_advisory_lock({key}),"
                 " set_config('lock_timeout', '" +
                 ms(at.lock_timeout) + "', false), " + restored;
        l.try_lock = "select case when pg_try_advisory_lock({key}) then 1 else 0 end";
        l.unlock = "select pg_advisory_unlock({key})";
        l.unlock_all = "select pg_advisory_unlock_all(), " + restored;
        l.backend = "select pg_backend_pid()";
        // Only while that session waits: another one may have the same number since.
        l.end_wait = "select pg_cancel_backend(pid) from pg_locks"
                     " where pid = cast(:session as int) and locktype = 'advisory' and not granted";
        return l;
    }
};

static_assert(odbc_dialect<postgresql>);

}  // namespace leasehold::inline v0::dialect

#endif
