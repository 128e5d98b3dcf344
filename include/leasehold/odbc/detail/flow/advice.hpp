// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_ADVICE_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_ADVICE_HPP

// What a user can do about a failure: store_diagnostics::advice.
namespace leasehold::inline v0::odbc::detail::advice {

inline constexpr const char* table =
    "the table is not there: call create_schema() once, or check odbc_options::table and the connection's default schema";
inline constexpr const char* column =
    "a column is not there: check odbc_options::columns; a table taken over needs columns for the token, the data, the requests and the"
    " checkpoint, which the statements in docs/migrating.md add";
inline constexpr const char* later_table =
    "a later version of leasehold has made this table, in a form that this one does not know: upgrade the library";
inline constexpr const char* log_in = "the database refuses the log-in: check user and password in the connection string";
inline constexpr const char* database =
    "the database of that name is not there, or not for this user: check Database in the connection string";
inline constexpr const char* driver = "the ODBC driver or data source is not there";  // what is there follows: driver_advice()
inline constexpr const char* no_server =
    "no server answers there: check Server and Port in the connection string, and that it runs";
inline constexpr const char* no_connection =
    "no connection: check Server, Port, Database, user and password in the connection string, and that the server runs and"
    " has connections left";
inline constexpr const char* tls = "the connection was lost, or the two sides do not agree on TLS";
inline constexpr const char* no_tls = "the server takes connections with TLS only: have the connection string ask for it";
inline constexpr const char* file =
    "the file can't be opened: check the path in Database, its folder, and the rights to both";
inline constexpr const char* no_file =
    "the connection string names no file, so that this database is not the one that others use: give the full path of a file as"
    " Database=; for the threads of one process there is memory_store";
inline constexpr const char* another_name =
    "the file has another name (a hard link, or a mount of this file alone), by which others would not see this one's leases: remove the"
    " link, or mount the folder";
inline constexpr const char* not_a_database = "the file is not an SQLite database, or is encrypted";
inline constexpr const char* set_up = "a statement that sets up a new connection failed: check odbc_options::on_connect";
inline constexpr const char* pooled_by_driver_manager =
    "unixODBC keeps this driver's connections for others (Pooling in odbcinst.ini, and CPTimeout of the driver), so a session would"
    " outlive its store: take one of the two away, or have ODBCSYSINI name a folder with another odbcinst.ini";
inline constexpr const char* words_of_on_connect = "not shown, since the statement may hold a secret";
inline constexpr const char* on_connect_with_pooler =
    "a pooler gives each transaction another session, so statements of odbc_options::on_connect would not last, and would be left to"
    " other clients: set what they set with ALTER ROLE ... SET";
inline constexpr const char* driver_only_reads =
    "the driver keeps this connection from writing: take ReadOnly=1, or what else says so, out of the connection string or the data source";
inline constexpr const char* line_feeds =
    "the driver changes line feeds: take LFConversion=1 out of the connection string or the data source";
inline constexpr const char* unfit_session = "a setting of the session can't be used: ";
inline constexpr const char* leave_session_alone =
    "; take what sets it out of the connection string, the data source and odbc_options::on_connect";
inline constexpr const char* lost = "the connection was lost";
inline constexpr const char* starting = "the server is starting up or shutting down";
inline constexpr const char* too_many = "the server has no connection left: lower pool_size, or raise the server's limit";
inline constexpr const char* read_only = "the database is read-only: connect to the primary, or make it writable";
inline constexpr const char* full = "the database's disk is full";
inline constexpr const char* permission =
    "the user may not do this: grant SELECT, INSERT and UPDATE on the table, DELETE for purge(), and the right to create it for"
    " create_schema()";
inline constexpr const char* conflict = "concurrent transactions kept getting in the way";
inline constexpr const char* not_written =
    "the row never was as it should be after a write: others changed it each time, or a trigger or a rule of the table undoes what is"
    " written";
inline constexpr const char* overtaken =
    "the connection was lost before the answer to the release came, and somebody else has been granted the name since, or has opened it:"
    " whether the release ended the term, or it was over before, is unknown";
inline constexpr const char* checkpoint_overtaken =
    "whether the checkpoint was saved is unknown: the term is over, and a later one has saved another checkpoint since";
inline constexpr const char* no_clock =
    "this database's clock can't be asked: the generic dialect knows no SQL for it that all databases understand";
inline constexpr const char* no_purge =
    "names can't be purged here: the generic dialect and stores that expire by observation keep no time of last use";
inline constexpr const char* locked = "another transaction has the row or the table locked";
inline constexpr const char* encoding = "the database can't store this text: its encoding, or the column's, must be UTF-8";
inline constexpr const char* declare_fetch =
    "psqlODBC's UseDeclareFetch can't be used here: take it out of the connection string";
inline constexpr const char* no_majority = "this node of the cluster is cut off from the majority, or still joining";
inline constexpr const char* fence_index =
    "a fence needs the index leasehold_fence on name and token: create it, as schema_sql() shows";
inline constexpr const char* no_integers =
    "the driver answers with success, but gives no 64-bit integers (SQL_C_SBIGINT): it can't be used";
inline constexpr const char* no_count =
    "the driver does not count the rows that a statement changes (SQLRowCount): use dialect::generic, which reads them back";
inline constexpr const char* numbers_not_kept =
    "what was written is not what is read: the columns of token, version and ttl must be 64-bit integers, and the driver must"
    " pass such (SQL_C_SBIGINT)";
inline constexpr const char* texts_not_kept =
    "what was written is not what is read: names and owners must come back byte by byte, so no CHAR, no padding, no change of"
    " case or encoding";
inline constexpr const char* row_not_kept = "what was written can't be read back";
inline constexpr const char* not_committed =
    "what one connection has written another one does not see: the driver does not commit (SQL_ATTR_AUTOCOMMIT)";
inline constexpr const char* other_columns =
    "the table has another column that must have a value: give it a default, or let it be NULL";
inline constexpr const char* constraint =
    "a constraint or a trigger of the table refuses the row: it must let any name, owner, token and time pass";
inline constexpr const char* another_unique_index =
    "another unique constraint of the table than that of its name refuses the row: drop it, since an owner may hold any number of names";
inline constexpr const char* no_key =
    "the column of the name has no key, or a deferrable one: make it the table's primary key, or create a unique index on it alone";
inline constexpr const char* until_there_is_a_key =
    ". Until then a name can have two rows, and so two holders. Stop what uses the table, keep the row with the greatest token of each"
    " name, and run: ";
inline constexpr const char* types =
    "a column has a type that can't be used: compare the table with what schema_sql() shows";
inline constexpr const char* expiry_is_text =
    "the expiry is kept as text, which can't be compared with a time: see odbc_options::columns, and docs/migrating.md for how"
    " to take such a table over";
inline constexpr const char* unconfirmed =
    "the wait for the synchronous standby was cancelled: this server has committed the change, but a fail-over may lose it";
inline constexpr const char* slow_connecting =
    "no connection within call_timeout (frozen server or network, or an overloaded one): if it still comes, later calls use it";
inline constexpr const char* slow = "the server ended the statement because it took too long";

}  // namespace leasehold::inline v0::odbc::detail::advice

#endif
