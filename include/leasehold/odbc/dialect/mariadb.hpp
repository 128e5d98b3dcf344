// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_MARIADB_HPP
#define LEASEHOLD_ODBC_DIALECT_MARIADB_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/odbc/dialect/concept.hpp>
#include <leasehold/odbc/dialect/spec.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace leasehold::inline v0::dialect {

/// MariaDB, MySQL and Galera clusters of them.
///
/// Compare and set on the token: INSERT ... ON DUPLICATE KEY UPDATE that loses certification leaves a prepared statement's
/// client waiting for ever on Galera, and deciding on the new value of a column instead of the old row breaks exclusion.
struct mariadb {
    /// See odbc_dialect.
    static constexpr bool in_process = false;

    /// See odbc_dialect.
    [[nodiscard]] static spec describe(const server_info& at)
    {
        spec d{};
        d.name = "mariadb";
        d.quote = '`';
        d.on_connect = on_connect(at);
        // The optimizer is free to take leasehold_fence, and does from some hundred rows on: then a renewal would wait for the holder's own
        // fence.
        if (at.name_key != "1") d.by_name = " force index (" + std::string{at.name_key.empty() ? "`PRIMARY`" : at.name_key} + ")";
        d.without_waiting = "/*M!100101 set statement lock_wait_timeout = 0 for */ ";
        d.session_check = session_check(at);
        d.fragments = {
            {"{this live term}", "{this term} and {live}"},
            {"{this term}", "{name} = :name and {token} = :token and {ours}"},
            // A new term of the owner of the unexpired one is not over before that would have been.
            {"{mine or free}", "({ours} or ({live}) is not true)"},
            {"{not before}", "coalesce(greatest({expires_at}, {later}), {later})"},
            // A row that is written as it was is not written: no node of a cluster would certify it, and it isn't counted. So a
            // renewal that asks for no more time gets the smallest change that the column keeps.
            {"{changed}", "greatest({expires_at} + interval :unit microsecond, {later})"},
            // Compared as bytes also where a table that was there before has a collation that ignores case or spaces.
            {"{ours}", "cast(convert({owner} using utf8mb4) as binary) = cast(:owner as binary)"},
            {"{term}", "cast(concat({token}, ' ', length(convert({name} using utf8mb4)), ' ', convert({name} using utf8mb4),"
                       " convert({owner} using utf8mb4)) as binary)"},
            {"{expiry columns}", "{expires_at} datetime(6) not null"},
            {"{expiry names}", "{expires_at}"},
            {"{keep expiry}", ", {expires_at} = {expires_at}"},
            {"{expiry of no lease}", "{long ago}"},
            // utc_timestamp() is from before a wait for a lock, and so from before the row was read.
            {"{live}", "{expires_at} > sysdate(6)"},
            {"{seen live}", "{expires_at} > utc_timestamp(6)"},
            {"{unreleased}", "{expires_at} >= {recent}"},
            {"{remaining}", "timestampdiff(microsecond, utc_timestamp(6), {expires_at})"},
            {"{later}", "utc_timestamp(6) + interval :us microsecond"},
            // A released row keeps the time in what is long ago, a thousandth of it; see purge_sql.
            {"{unused}", "{expires_at} < case when {expires_at} < {recent}"
                         " then timestamp'1970-01-02 00:00:00' + interval (({now us} - :us) div 1000) microsecond"
                         " else utc_timestamp(6) - interval :us microsecond end"},
            {"{released now}", "timestamp'1970-01-02 00:00:00' + interval ({now us} div 1000) microsecond"},
            {"{now us}", "timestampdiff(microsecond, '1970-01-01 00:00:00', utc_timestamp(6))"},
            {"{recent}", "'1971-01-01 00:00:00'"},
            {"{name as bytes}", "cast(convert({name} using utf8mb4) as binary)"},
            {"{name bytes}", "length(convert({name} using utf8mb4))"},
            // Its locks are the whole server's, not one database's.
            {"{key}", "concat(:lock_name, '.', crc32(coalesce(database(), '')))"},
            {"{long ago}", "'1970-01-02 00:00:00'"},  // a day late, since a TIMESTAMP can't be 0
        };
        d.schema = schema();
        d.insert = insert(":token");
        d.take = "update {table by name} set {expires_at} = {not before}, {owner} = :owner, {token} = {token} + 1"
                 " where {name} = :name and {token} = :token and {mine or free}";
        d.renew = "update {table by name} set {expires_at} = {changed} where {this live term}";
        d.release = "update {table by name} set {owner} = case when :us > 0 then '' else {owner} end,"
                    " {expires_at} = case when :us > 0 then {later} else {released now} end where {this live term}";
        d.clock = "select {now us}";
        // A row that somebody has locked is not waited for with all the others, where that can be said for one statement.
        const bool mysql = at.dbms_name.find("MariaDB") == std::string_view::npos;
        const std::string patience = mysql ? "" : "set statement innodb_lock_wait_timeout = 0 for ";
        d.batches = batches(patience);
        d.many_attempts = many_attempts(patience);
        d.locks = locks();
        d.fence = fence();
        add_plain_statements(d, "{name} >= :name and {name} <= :upper");
        // The session is the application's, in whatever time zone, so that sysdate() can't be used; and a row that is written as it was
        // is neither counted nor certified.
        d.checkpoint.by_itself = "update {table} set {checkpoint} = :checkpoint, {checkpoint_token} = {token},"
                                 " {expires_at} = {expires_at} + interval 1 microsecond"
                                 " where {name} = :name and {ours} and {token} = :token and {seen live}";
        d.name_key = name_key();
        for (std::string* const update : {&d.handover.publish, &d.handover.request, &d.handover.request_of_candidate, &d.checkpoint.save,
                                          &d.checkpoint.replace, &d.checkpoint.save_fenced, &d.fence.write, &d.fence.write_back})
            keep_expiry(*update);
        // A plain read shows the row as of the transaction's snapshot, but an UPDATE finds it as it is, and counts none if it has that
        // checkpoint by then. It is locked already.
        d.checkpoint.saved_fenced.replace(d.checkpoint.saved_fenced.find("{table}"), 7, "{table by name}");
        d.checkpoint.saved_fenced += " lock in share mode";
        d.purge = purge_with(d.schema.back());
        // Of the two forms of DELETE the one that may name an index; MariaDB takes it for one without a key under sql_safe_updates.
        d.purge.remove.replace(0, d.purge.remove.find(" where "),
                               "/*M!100101 set statement sql_safe_updates = 0 for */ delete {table} from {table by name}");
        return d;
    }

    /// A SET of what makes a session's texts UTF-8, whatever CHARSET is in the connection string. The driver has no say in it, and refuses
    /// SET NAMES.
    static constexpr const char* set_characters =
        "set character_set_client = utf8mb4, character_set_results = utf8mb4, collation_connection = utf8mb4_general_ci";

    /// See spec::session_check: whether texts are UTF-8, and `more` expressions, each of which is NULL where all is right.
    [[nodiscard]] static std::string session_check_with(const std::string& more)
    {
        return "select concat(char(10 using utf8mb4), concat_ws(', '" + must_be("character_set_client", "utf8mb4") +
               must_be("character_set_connection", "utf8mb4") + must_be("character_set_results", "utf8mb4") + more + "))";
    }

private:
    static std::string must_be(const std::string& setting, const std::string& value)
    {
        return ", if(coalesce(@@" + setting + ", '') = '" + value + "', null, concat('" + setting + " is ', coalesce(@@" + setting +
               ", 'null'), ' and must be " + value + "'))";
    }

    // A server may be read-only, as after a fail-over: that is no setting of this session, and its first write is told of it.
    static std::string must_write(bool mysql)
    {
        const std::string setting = mysql ? "transaction_read_only" : "tx_read_only";
        return ", if(@@session." + setting + " and not @@global." + setting + ", '" + setting + " is on and must be off', null)";
    }

    static std::string session_check(const server_info& at)
    {
        const bool mysql = at.dbms_name.find("MariaDB") == std::string_view::npos;
        return session_check_with(", if(@@autocommit, null, 'autocommit is off and must be on')" + must_be("time_zone", "+00:00") +
                                  must_be(mysql ? "transaction_isolation" : "tx_isolation", "READ-COMMITTED") + must_write(mysql) +
                                  ", if(find_in_set('STRICT_ALL_TABLES', @@sql_mode) > 0, null, 'sql_mode must contain STRICT_ALL_TABLES')"
                                  // It stops the clock of a session.
                                  ", if(abs(timestampdiff(second, now(), sysdate())) < 60, null, 'timestamp is set and must not be')");
    }

    // A TIMESTAMP of a table taken over may be one that the server sets to the present time in every UPDATE that does not set it: the
    // first one of a table is, unless explicit_defaults_for_timestamp is on. The term would end, and its holder not know of it.
    static void keep_expiry(std::string& update) { update.insert(update.find(" where "), "{keep expiry}"); }

    // Strict, so that no value is cut in silence.
    static std::vector<std::string> on_connect(const server_info& at)
    {
        const auto whole = [](duration d) { return std::to_string(std::chrono::ceil<std::chrono::seconds>(d).count()); };
        // In whole seconds. For less MariaDB does not wait: a wait may not outlast its call. MySQL waits for a second at least.
        const std::string patience =
            whole(at.lock_timeout) + (at.lock_timeout < std::chrono::seconds{1} ? " /*M!100300 - 1 */" : "");
        return {"set session transaction isolation level read committed",
                std::string{set_characters} +
                    ", time_zone = '+00:00', autocommit = 1, sql_mode = 'STRICT_ALL_TABLES',"
                    " timestamp = default, sql_select_limit = default,"
                // lock_wait_timeout is for a table that somebody has locked, or alters.
                " innodb_lock_wait_timeout = " +
                    patience + ", lock_wait_timeout = " + patience +
                    // A process that is frozen between a release of many and its commit keeps their rows locked no longer
                    // than a call. MySQL has no such setting, and takes this for a comment.
                    " /*M!100300 , idle_write_transaction_timeout = " + whole(at.call_timeout) + " */"};
    }

    // VARBINARY compares bytes and pads nothing. The index on (name, token) alone is what a fence locks: a renewal doesn't
    // touch it, a take-over does. In repeatable read the gap before its entry is locked as well, and so the take-over of the
    // name before it.
    static std::vector<std::string> schema()
    {
        return {"create table if not exists {table} ({name} varbinary(190) not null primary key, {owner} varbinary(190) not null,"
                " {token} bigint not null, {expiry columns}, {data} varbinary(1024), {data_token} bigint, {request} varbinary(1024),"
                " {request_token} bigint, {checkpoint} varbinary(4096), {checkpoint_token} bigint,"
                " unique key leasehold_fence ({name}, {token})) engine = InnoDB",
                "insert ignore into {table} ({name}, {owner}, {token}, {expiry names})"
                " values ('', 'leasehold schema 1', 1, {expiry of no lease})"};
    }

    // The condition is for a statement that comes late, when the name has had a term and been purged since the floor was read.
    static std::string insert(std::string_view token)
    {
        return "insert into {table} ({name}, {owner}, {token}, {expires_at}) select :name, :owner, " + std::string{token} +
               ", {later} from dual where not exists (select 1 from {table} where {name} = '' and {token} > :token)";
    }

    // Nothing but the index is read, and so locked: a renewal doesn't touch it, a take-over does, and waits. Owner and expiry
    // are in the row, which a plain read would show as of the transaction's snapshot, and any other would lock.
    // The inner SELECT locks nothing and shows what the transaction sees: a snapshot from before the term would keep showing what
    // others have overwritten since. Nodes of Galera and Group Replication don't see each other's locks; what both have written is
    // certified, and the token is written in steps that every column keeps, so that the term doesn't grow with each fence. The session is
    // the application's, in whatever time zone, so that sysdate() can't be used.
    static fence_sql fence()
    {
        fence_sql f;
        f.transaction = "show variables where variable_name = 'autocommit' and value = 'OFF'";
        f.cluster = "show variables where (variable_name = 'wsrep_on' and value = 'ON')"
                    " or (variable_name = 'group_replication_group_name' and value <> '')";
        f.lock = "select case when exists (select 1 from {table} as seen force index (leasehold_fence)"
                 " where seen.{name} = :name and seen.{token} = :token) then 2 else 3 end from {table} force index (leasehold_fence)"
                 " where {name} = :name and {token} = :token lock in share mode";
        f.write = "update {table} set {token} = {token} + 1 where {this term} and {seen live}";
        f.write_back = "update {table} set {token} = {token} - 1 where {name} = :name and {token} = :token + 1";
        // Without another connection to look at the row: the inner SELECT does, which locks nothing here either. Where nodes don't see
        // that lock, there is no row. MySQL takes that condition for a comment.
        f.by_itself = "select 1 from {table} as fenced force index (leasehold_fence) where fenced.{name} = :name"
                      " and (select {ours} and {seen live} from {table} as seen"
                      " where seen.{name} = fenced.{name} and seen.{token} = fenced.{token})"
                      " and fenced.{token} = :token"
                      " /*M!100100 and not exists (select 1 from information_schema.session_variables"
                      " where variable_name = 'wsrep_on' and variable_value = 'ON') */ lock in share mode";
        f.by_itself_on_cluster = "update {table} set {expires_at} = {expires_at} + interval 1 microsecond"
                                 " where {name} = :name and {ours} and {token} = :token and {seen live}";
        return f;
    }

    // Names find the rows by the primary key, whatever its collation; what a term is made of is compared as bytes. A list of
    // constants is searched by halves, where a derived table would have a collation of its own and no index.
    static batch_sql batches(const std::string& patience)
    {
        const std::string terms = " where {name} in (:each_name) and {term} in (:each_term) and {live}";
        batch_sql b;
        b.most = 500;  // MariaDB makes a subquery of a list of 1,000 or more
        b.renew = patience + "update {table by name} set {expires_at} = {changed}" + terms;
        b.release = patience + "update {table by name} set {expires_at} = {released now}" + terms;
        return b;
    }

    // A look, and then compare and set for all that were free: each row is judged as it is, once. The rows that are counted are
    // those that were as :each_term says, so if all are, each is granted. FIELD() compares with one name after the other, so it gets
    // one group of them. A union of casts, since the types of a union of parameters are made up before their values are known.
    static many_attempts_sql many_attempts(const std::string& patience)
    {
        many_attempts_sql a;
        a.most = 500;
        a.read = "select {token}, case when {seen live} then 1 else 0 end, {remaining}, {owner}, {name} from {table}"
                 " where {name} in (:each_name)";
        a.take = patience + "update {table by name} set {owner} = case{group  when {name as bytes} <= :last_name"
                 " then elt(field({name as bytes}{each , :nth_name}){each , :nth_owner})} end, {token} = {token} + 1,"
                 " {expires_at} = {later} where {name} in (:each_name) and {term} in (:each_term) and ({live}) is not true";
        a.insert = "insert into {table} ({name}, {owner}, {token}, {expires_at}) select w.n, w.o, :token, {later} from"
                   " (select cast('' as char(190)) as n, cast('' as char(190)) as o"
                   "{each  union all select cast(:nth_name as char(190)), cast(:nth_owner as char(190))}) as w"
                   " where w.n <> '' and not exists (select 1 from {table} where {name} = '' and {token} > :token)";
        return a;
    }

    // Schema and table are compared with constants, so that the server looks at no other table.
    static name_key_sql name_key()
    {
        const std::string of_table = "table_schema = if('{schema}' = '', database(), '{schema}') and table_name = '{bare table}'";
        name_key_sql k;
        k.present = "select case when table_type <> 'BASE TABLE' then '1'"
                    " when engine not in (select engine from information_schema.engines where transactions = 'YES')"
                    " then concat('the table has the engine ', engine,"
                    " ', which has no transactions: run alter table {table} engine = InnoDB')"
                    " else coalesce((select concat('`', replace(index_name, '`', '``'), '`')"
                    " from information_schema.statistics where " + of_table + " and non_unique = 0 group by index_name"
                    " having count(*) = 1 and concat('`', max(column_name), '`') = '{name}' order by index_name <> 'PRIMARY' limit 1), '0')"
                    " end from information_schema.tables where " + of_table;
        k.add = "alter table {table} add unique key ({name})";
        return k;
    }

    static session_lock_sql locks()
    {
        session_lock_sql l;
        // Without the table: a statement that waits keeps its metadata lock, and so would stop a statement that alters the table, and
        // all who come after that. A few seconds at a time, so that a host that is gone leaves the queue. The server's limits for
        // statements are for others than this one; MySQL takes 0 for its own limit.
        l.lock = "/*M!100101 set statement max_statement_time = 0 for */"
                 " select /*+ max_execution_time(4294967295) */ coalesce(get_lock({key}, 4 + rand()), 2)";
        l.try_lock = "select coalesce(get_lock({key}, 0), 0)";
        l.unlock = "do release_lock({key})";
        l.backend = "select connection_id()";
        // The number may be that of another session by now: behind a proxy, and after a fail-over, on another server.
        l.waits = "select 1 from information_schema.processlist where id = :session and state = 'User lock'";
        l.end_wait = "kill query :session";
        return l;
    }
};

static_assert(odbc_dialect<mariadb>);

}  // namespace leasehold::inline v0::dialect

#endif
