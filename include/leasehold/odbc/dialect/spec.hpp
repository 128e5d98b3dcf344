// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DIALECT_SPEC_HPP
#define LEASEHOLD_ODBC_DIALECT_SPEC_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::dialect {

/// The statements for many terms at once, of distinct names.
///
/// Each does to every term what the statement for one does, and counts the rows it has changed; a row that is not counted
/// though its term is live costs time at most, for then they are taken a few at a time, and in the end one by one.
///
/// The terms come either as arrays in PostgreSQL's notation (:all_names, :all_owners, :all_tokens, each a text), or in lists of
/// parameters that are written for one and repeated: :each_name, and :each_term, which is the token, a blank, the bytes of the
/// name, a blank, the name and the owner, so that it is the same for no two terms. Where there are fewer terms, the rest of a
/// list is empty texts.
struct batch_sql {
    std::string renew{};    ///< extends the terms
    std::string release{};  ///< ends the terms
    std::size_t most = 0;   ///< terms in one statement; 0: there are none

    /// Whether the dialect has them.
    [[nodiscard]] bool available() const noexcept { return most > 1; }
};

/// The statements for many attempts at once, at distinct names, for one ttl: `grant` where spec::single_statement_grant, and
/// `read`, `take` and `insert` everywhere else. `read` is needed in any case. `grant_free` may be empty.
///
/// Each decides by the row as it is while it is written, as the statements for one attempt do, and locks rows in the order of
/// the list it is given, or of the names. One that fails has changed nothing.
///
/// Besides what batch_sql has: :most; and what stands between "{each " and "}" is written once for each place of a list, with
/// :nth_name, :nth_owner and :nth_token, which are empty texts and 0 where there are fewer names. The row with the empty name is
/// no lease. :each_term and :nth_token are those of the row as `read` showed it. In `take` and `insert` the places are in the order
/// of their names, as bytes. What stands between "{group " and "}" is written once for each names_per_group places, and an "{each "
/// in it for the places of that group; :last_name is the greatest name up to the end of the group, so that a search for a name can
/// be limited to one group.
struct many_attempts_sql {
    /// Places in a group.
    static constexpr std::size_t names_per_group = 64;

    /// Grants the first :most of the names that are free or :all_owners' own. For each name: its place, from 1; 1 granted, 0 busy,
    /// 2 neither, although it was free; the token; remaining us if busy; fresh, as in spec::grant.
    std::string grant{};
    /// As `grant`, without :most, for a long list of names that may all be granted and are likely to be free: only rows that are there
    /// and not live. All that it grants is fresh. It shows 2 for the owner's own live terms and for names without a row.
    std::string grant_free{};
    std::string read{};     ///< token, live (-1: released, where that is told), remaining us, owner and name of those that have a row
    std::string take{};     ///< new terms for :nth_owner, of those rows that are as `read` showed them, and not live; counts them
    std::string insert{};   ///< first terms with :token, for all or for none; as spec::insert
    std::size_t most = 0;   ///< names in one statement; 0: there are none

    /// Whether the dialect has them.
    [[nodiscard]] bool available() const noexcept { return most > 1; }
};

/// The statements of odbc::fence, run on the caller's connection and in its transaction, whatever its isolation level.
///
/// Parameters as in spec. None may commit, nor change anything about the session.
struct fence_sql {
    /// A row if a take-over can be held off by `lock`, which on PostgreSQL needs an index; empty: nothing is needed, or `lock`
    /// fails without it. Run once per store.
    std::string possible{};
    /// A row if the session is in a transaction although the driver says that it is in autocommit mode: there are drivers that set
    /// it with the next statement. Empty: there are none.
    std::string transaction{};
    /// A row if other nodes of a cluster don't see the locks of this one, so that `write` is needed besides; empty: there are
    /// no such clusters. Run once per store.
    std::string cluster{};
    /// Keeps the token of the row with :name and :token from being changed until the transaction ends, and lets what changes
    /// nothing but its expiry pass if it can. An UPDATE: counts the row if it is live and :owner's. A SELECT: no row, or 0: that
    /// term is over; 1: it is live and :owner's; 2: the transaction may see an old version, so the row has to be read
    /// outside of it; 3: it sees the rows as they were before the term began.
    std::string lock{};
    /// For a cluster, after `lock`: an UPDATE as above, which changes the row, so that the nodes find the conflict.
    std::string write{};
    /// For a database whose count of rows is not believed: a row if `lock`, an UPDATE that set the version to :version, found its row.
    std::string written{};
    /// Undoes what `write` has done to the row; may be empty.
    std::string write_back{};
    /// The whole fence in one statement, for odbc::fence_sql: :name, :owner and :token once each, in this order. A SELECT: one row if
    /// that term is live; an UPDATE: counts its row then. Empty: a term can't be judged by one statement.
    std::string by_itself{};
    /// The same for a cluster whose nodes don't see each other's locks: an UPDATE that changes the row. Empty: there are none.
    std::string by_itself_on_cluster{};
    /// The database's own interfaces mark parameters by $1, $2, $3, and not by question marks.
    bool numbers_parameters = false;
};

/// How it is found out that a name can't have two rows, and so two holders: a table that was there before may have no key.
///
/// In both, {schema} and {bare table} stand for the parts of the table's name as they are, without quotes; {schema} is empty, and
/// goes with the point behind it, where the name is not qualified.
struct name_key_sql {
    /// 1, or that index in quotes: the table has a unique index over all its rows on {name} alone, or is none whose indexes can be known,
    /// as a view; 0: it has no such index; other words: what else makes the table unfit; no row: there is no such table. Run until it is
    /// 1 or an index, once per store as a rule. Empty: nothing is asked.
    std::string present{};
    /// Creates that index; the user is told to run it.
    std::string add{};
};

/// The statements that remove the rows of names nobody uses any longer.
///
/// The row with the empty name has the floor: the token of the first term of a name without a row. It is raised above the
/// tokens of what is about to be removed, so no token comes twice. A dialect that has these statements uses the floor in
/// `insert` (see there) or `grant`, and writes the time of a release so that it can be read again.
///
/// "Unused" is a row that was released :us ago or longer, or ran out then; never one that is live. :us is never less than
/// min_unused_for. A row with a checkpoint is kept, unless the token that saved it is less than :seen: that is 0, or greater than all.
/// All are run in autocommit.
struct purge_sql {
    /// Rows that one step looks at.
    static constexpr std::size_t rows_per_step = 1000;

    std::string floor{};      ///< token; no row: 1
    std::string add_floor{};  ///< inserts the row with the floor 1; no error, or a duplicate key, if it is there
    std::string raise_floor{};      ///< the floor to :token, if it is less
    /// Over the next rows_per_step names after :name, in the table's own order: how many there are; the first token above
    /// those of the unused, 0 if there are none; the last name. No name that is too long for a lease.
    std::string look{};
    /// The rows after :name up to :upper that are unused and have tokens less than :token. Judged on the row as it is when
    /// it is removed; one that a fence has locked has to be waited for.
    std::string remove{};

    /// Whether the dialect has them.
    [[nodiscard]] bool available() const noexcept { return !remove.empty(); }
};

/// With plain statements about one table each, for a dialect that has the fragments {unused} and {name bytes}.
inline purge_sql purge_with(std::string add_floor)
{
    purge_sql p;
    p.floor = "select {token} from {table} where {name} = ''";
    p.add_floor = std::move(add_floor);
    p.raise_floor = "update {table by name} set {token} = :token where {name} = '' and {token} < :token";
    const std::string removable = "{unused} and ({checkpoint_token} is null or {checkpoint_token} < :seen)";
    p.look = "select count(*), coalesce(max(case when " + removable + " then {token} + 1 end), 0), max({name})"
             " from (select {name}, {token}, {expires_at}, {checkpoint_token} from {table} where {name} > :name and {name} <> ''"
             " and {name bytes} <= 190 order by {name} limit " +
             std::to_string(purge_sql::rows_per_step) + ") as step";
    p.remove = "delete from {table} where {name} > :name and {name} <= :upper and {name} <> '' and " + removable +
               " and {token} < :token";
    return p;
}

/// The statements of handover_store.
///
/// Data and request are valid only where their token is the row's token. So nothing else that is done to the row needs to know of
/// them, and a new term has neither.
struct handover_sql {
    std::string publish{};    ///< :data is the data of the row, if it has :owner, :token and is live
    std::string published{};  ///< the data of that row, if it was published in that term
    std::string request{};    ///< :data is the reason of a request, if :name is live and has an owner
    /// The same for a reason of the form "priority 7", by which candidates ask, or "as shard 3 of ID", by which members of a group do: not
    /// in place of a reason of another form, which nobody would give again. Empty: as `request`.
    std::string request_of_candidate{};
    std::string requested{};  ///< the reason of the request to the row that has :owner, :token and is live, if there is one
    std::string said{};       ///< token, data and request of the live row of :name
};

/// With plain statements, for a dialect that has the fragments {this term}, {this live term}, {live} and {seen live}.
inline handover_sql plain_handover()
{
    handover_sql h;
    h.publish = "update {table by name} set {data} = :data, {data_token} = {token} where {this live term}";
    h.published = "select {data} from {table} where {this term} and {seen live} and {data_token} = {token}";
    h.request = "update {table by name} set {request} = :data, {request_token} = {token} where {name} = :name and {owner} <> '' and {live}";
    // LIKE knows no digits: a number is one word, and that of a shard has at most four of them.
    h.request_of_candidate = h.request + " and ({request_token} is null or {request_token} <> {token}"
                                         " or ({request} like 'priority %' and {request} not like 'priority % %')"
                                         " or {request} like 'as shard _ of %' or {request} like 'as shard __ of %'"
                                         " or {request} like 'as shard ___ of %' or {request} like 'as shard ____ of %')";
    h.requested = "select {request} from {table} where {this term} and {seen live} and {request_token} = {token}";
    h.said = "select {token}, {data and request} from {table} where {name} = :name and {seen live}";
    return h;
}

/// The statements of checkpointing_store.
///
/// What is saved belongs to the name, so nothing else that is done to the row needs to know of it, and it stays until the next save.
struct checkpoint_sql {
    std::string save{};  ///< :checkpoint is the checkpoint of the row that has :owner, :token and is live, and is that term's
    /// The same, if the row's checkpoint is :replaced; no checkpoint counts as an empty one. Empty: a read before
    /// `save` judges it, where spec::reads_back is set, and else nothing does.
    std::string replace{};
    /// Of the row of :name: the token of the term that saved its checkpoint, NULL if it has none; 1 if the row has :owner, :token and is
    /// live; the checkpoint.
    std::string saved{};
    /// One row, whether or not there is one of :name: its token; 1 unless that term was released; the token of the term that saved its
    /// checkpoint; what spec::clock shows; the checkpoint. NULL for what there is not. Empty: it takes several statements.
    std::string look{};
    /// Of the rows whose name is from :name to :upper, or of more, and that have a checkpoint: the token of the term that saved it; the
    /// name; the checkpoint.
    std::string list{};
    /// As `save`, but on the caller's connection and in its transaction, after the fence: so without a look at the clock.
    std::string save_fenced{};
    std::string saved_fenced{};  ///< a row if that has been done
    /// The whole in one statement, for odbc::checkpoint_sql: :checkpoint, :name, :owner and :token once each, in this order. An UPDATE that
    /// counts the row if that term is live, also where it had that checkpoint, and locks it. Empty: a term can't be judged by one
    /// statement.
    std::string by_itself{};
};

/// With plain statements, for a dialect that has the fragments {this term}, {this live term} and {seen live}. `within`: the condition that
/// the name is from :name to :upper.
inline checkpoint_sql plain_checkpoint(std::string_view within = "{name} <> ''")
{
    checkpoint_sql c;
    c.save = "update {table by name} set {checkpoint} = :checkpoint, {checkpoint_token} = {token} where {this live term}";
    c.replace = c.save + " and coalesce({checkpoint}, '') = :replaced";
    c.saved = "select {checkpoint_token}, case when {this term} and {seen live} then 1 else 0 end, {checkpoint} from {table}"
              " where {name} = :name";
    c.list = "select {checkpoint_token}, {name}, {checkpoint} from {table} where {checkpoint_token} > 0 and " + std::string{within};
    c.save_fenced = "update {table by name} set {checkpoint} = :checkpoint, {checkpoint_token} = {token} where {this term}";
    c.saved_fenced = "select 1 from {table} where {this term} and {checkpoint_token} = {token} and {checkpoint} = :checkpoint";
    return c;
}

/// checkpoint_sql::look, for a dialect whose SELECT needs no FROM, with spec::clock and the fragment {unreleased}.
///
/// That a term has expired does not end what it writes: a transaction that saved the checkpoint under it may commit later. A release waits
/// for that transaction.
inline std::string plain_look_at_checkpoint(std::string_view clock)
{
    return "select {token}, case when {unreleased} then 1 else 0 end, {checkpoint_token}, (" + std::string{clock} +
           "), {checkpoint} from (select 1) as here left join {table} on {name} = :name";
}

/// The statements of a lock that belongs to a session, not to a transaction, and for which other sessions queue: it wakes waiters.
///
/// A session has the lock while its store has the term, and gives it back after the release. Only a hint: the row decides, and a
/// lock that is lost, or stuck, costs time at most. Besides the parameters of spec: :lock_number (64 bits) and :lock_name
/// (42 characters), both made of the table's and the lease's name; use either.
struct session_lock_sql {
    std::string before_wait;  ///< run on a session before each wait, so that nothing ends it; may be empty
    std::string lock;         ///< waits for the lock, 5 s at most; 1: has it; 0, or an error: the time ran out; anything else: can't have
                              ///< it. What before_wait has changed is as before then
    std::string try_lock;     ///< does not wait for it; 1: has it
    std::string unlock;       ///< gives it back; no error if it hasn't got it
    std::string unlock_all;   ///< gives back whatever the session has, with no warning if that is nothing, and changes back what
                              ///< before_wait has changed; empty: `unlock` warns of nothing
    std::string backend;      ///< the number by which others can end what this session is at
    std::string end_wait;     ///< ends the wait of the session :session, but not the session; no error where it doesn't wait.
                              ///< :session is the number itself, not a parameter: MySQL takes none there
    std::string waits{};      ///< run before `end_wait`, which no row leaves out: a row if :session, likewise, waits for a lock on this
                              ///< server; empty: `end_wait` itself ends nothing else

    /// Whether the database has such locks.
    [[nodiscard]] bool available() const noexcept { return !lock.empty(); }
};

/// What a statement returns for the time that is left where the expiry is no time at all.
inline constexpr std::int64_t remaining_is_no_time = -std::numeric_limits<std::int64_t>::max();

/// What a dialect may look at.
struct server_info {
    std::string_view dbms_name;     ///< SQL_DBMS_NAME; empty before the first connection
    std::string_view dbms_version;  ///< SQL_DBMS_VER
    duration lock_timeout;  ///< odbc_options::lock_timeout
    duration call_timeout;  ///< odbc_options::call_timeout
    std::string_view name_key{};  ///< what name_key_sql::present has shown; empty: not asked yet
    /// A pooler gives each transaction another session, so the dialect must not leave anything on one: no settings, no prepared
    /// statements, no session locks.
    bool pooled = false;
};

/// All that the store needs to know of one database: its SQL, and how it is to be used.
///
/// In the statements, {table}, {name}, {owner}, {token} and {expires_at} stand for the quoted names, {table by name} for that of the
/// table and spec::by_name; :name, :owner, :token, :us (a duration in microseconds), :now_ms (the host's clock, for a database in
/// this process) and :later_ms (the same :us later, rounded up; both milliseconds since 1970), :unit (the smallest change that the
/// expiry's column keeps, likewise), :upper (end of a range of names), :version and :seen (the version to write, and the one that was
/// read; see expiry_by_observation) for parameters, and {version}, {ttl} for its columns. {data}, {data_token}, {request} and
/// {request_token} stand for the columns of what is said during a term, {checkpoint} and {checkpoint_token} for those of what is said to
/// later ones, which :checkpoint and :replaced are for, and {data and request} for two values: the data of the row's
/// term, and the reason of the last request to it; NULL where there is none. "Live" is a row whose expiry is later than the database's
/// clock in that very statement.
struct spec {
    std::string_view name;  ///< of the dialect
    char quote = '"';  ///< around the names of table and columns
    bool in_process = false;              ///< a call can't hang on a network, and so needs no thread to be given up
    bool single_statement_grant = false;  ///< `grant` decides; otherwise `read`, then `insert`, `take` or `renew`
    bool observes = false;                ///< see expiry_by_observation: `observe`, then `insert`, `take` or `renew`
    bool reads_back = false;  ///< no count of rows is believed, and no write that can't be read; integers go as digits; with `observes`

    /// What follows the table in a statement that locks the rows of names, so that it finds them by the key of the name, and locks no
    /// other index. May be empty.
    std::string by_name{};

    /// What precedes a statement that is not to wait for the table's lock. May be empty: then it waits as others do.
    std::string without_waiting{};

    bool numeric_expiry = false;          ///< a column for text would make text of the expiry

    /// Fragments of SQL that the statements name in braces, as in {live}. A fragment may name those after it.
    std::vector<std::pair<std::string_view, std::string>> fragments;

    std::string_view connection_prefix{};  ///< pairs, each with its semicolon, that go before the connection string
    std::string_view connection_suffix{};  ///< likewise, after it: for drivers that take the last of two
    std::vector<std::string> on_connect;  ///< run on each new connection, before the user's own
    /// One row with one text: a line feed, which must come back as it is, and then, in words, each setting of the session that can't be
    /// used, and what it must be. Run on each new connection, after the user's on_connect; empty: nothing is asked.
    std::string session_check{};
    /// The path of the database, for one in this process. The store refuses an empty path, which means that each connection has
    /// another database, and one that the driver has made of the connection string. May be empty.
    std::string file{};
    /// Which session of the server this is; empty: no pooler is looked for. Two connections are asked, and nothing is changed.
    std::string session{};
    /// Host and port at which the server itself has this connection, with a colon between; NULL: none. May be empty.
    std::string address{};
    /// Statements in front of each other one, in one message and one transaction with it; may be empty. Not before those of a fence.
    std::string prologue{};
    int prologue_results = 0;  ///< how many results of `prologue` come before the statement's own
    std::vector<std::string> schema;      ///< creates table and index if absent, then the row with the version and the floor

    std::string probe;    ///< the row with the version; fails unless the table and all its columns are there: first {owner}, {expires_at}
    std::string grant;    ///< granted (1, 0), token, remaining us, fresh (1: a new term)
    std::string read;     ///< token, whose (0 another's, 1 :owner's, 2 nobody's), live, remaining us, released
    std::string observe;  ///< token, version, the holder's ttl in us (0 when released), owner, name
    std::string insert;   ///< the first term of a name; fails with a duplicate key if the row is there. Its token is 1; where
                          ///< there is `purge` it is :token, and nothing is inserted if the floor is higher by now
    std::string take;     ///< a new term, if the row has :token and is not live
    std::string renew;    ///< if the row has :owner, :token and is live; never to an earlier expiry, and where rows are certified or
                          ///< only changes are counted: always to another one
    std::string release;  ///< the same. :us > 0: no owner, and live for :us. Else the expiry is long ago, so that a clock set back
                          ///< revives nothing: a thousandth of the time since 1970 where there is `purge`, which reads it, so
                          ///< that `released` is before 1971
    std::string inspect;  ///< token, remaining us, owner, data and request of a live row
    std::string list;     ///< token, remaining us, owner, name, data and request of live rows
    std::string force_release;  ///< as release, no matter who holds, and leaves no owner, so that a repeated release knows it from one
    /// 1: a statement that came back with a warning may not be where it has to be; empty: a warning is harmless.
    std::string unconfirmed{};
    std::string clock{};  ///< the database's clock, in us since 1970 in UTC; empty: it can't be asked

    batch_sql batches;       ///< for many terms at once; without them it is one after the other
    many_attempts_sql many_attempts;  ///< likewise
    session_lock_sql locks;  ///< for waking waiters; empty where sessions have no locks
    fence_sql fence;         ///< for odbc::fence; without a `lock` there is none on this database
    handover_sql handover;   ///< for data and requests of a term
    checkpoint_sql checkpoint;  ///< for what later terms must know
    name_key_sql name_key;   ///< for a table that has no key
    purge_sql purge;         ///< for removing names nobody uses; without it there is no such thing
};

/// Adds the statements that look at rows, the forced release, and those of handover_store and of checkpoints. `within`: the condition that
/// a name is from :name to :upper.
///
/// For a dialect whose SELECT needs no FROM. It has spec::clock, {ours}, {remaining}, {recent}, {released now}, and the fragments of the
/// plain statements above.
inline void add_plain_statements(spec& d, std::string within)
{
    d.probe = "select {owner}, {expires_at}, {name}, {token}, {data}, {data_token}, {request}, {request_token}, {checkpoint},"
              " {checkpoint_token} from {table} where {name} = ''";
    d.read = "select {token}, case when {ours} then 1 when {owner} = '' then 2 else 0 end, case when {seen live} then 1 else 0 end,"
             " {remaining}, case when {expires_at} < {recent} then 1 else 0 end from {table} where {name} = :name";
    d.inspect = "select {token}, {remaining}, {owner}, {data and request} from {table} where {name} = :name and {seen live}";
    d.list = "select {token}, {remaining}, {owner}, {name}, {data and request} from {table} where " + within + " and {name} <> ''"
             " and {seen live}";
    d.force_release = "update {table by name} set {owner} = '', {expires_at} = {released now}"
                      " where {name} = :name and {token} = :token and {live}";
    d.handover = plain_handover();
    d.checkpoint = plain_checkpoint(within);
    d.checkpoint.look = plain_look_at_checkpoint(d.clock);
    d.checkpoint.by_itself = d.checkpoint.save;
}

}  // namespace leasehold::inline v0::dialect

#endif
