// SPDX-License-Identifier: BSL-1.0
// An ODBC driver that hands every call to a real one, and lies about some of them.
//
// LYING_DRIVER_REAL in the environment is the file of the real driver. Which lies a connection tells is in its connection
// string: Lies=no_row_count,padded_text. One lie a word:
//
// | word | lie |
// |---|---|
// | unheard_of | the database is one that nobody knows |
// | untouched_bigint | SQL_C_SBIGINT is answered with success, and the buffer stays as it is |
// | narrow_bigint | of an SQL_C_SBIGINT that is sent, 32 bits arrive |
// | long_numbers | of an integer that comes back as text, the last digits are noughts, as from a column of floating point |
// | padded_text | texts come back with spaces behind, as from a CHAR column |
// | no_row_count | SQLRowCount says -1 |
// | one_row | SQLRowCount says 1 |
// | no_rows | SQLFetch finds nothing |
// | no_commit | SQL_ATTR_AUTOCOMMIT is accepted, and nothing is ever committed |
// | late_autocommit | SQL_ATTR_AUTOCOMMIT is said to be on until a statement is executed, as by MariaDB's driver 3.2 |
// | denied_commit | SQLEndTran commits, and says that it has failed |
// | late_libraries | no lie: connecting takes twice as long, and the libraries are first used in the middle of it |
// | slow_connecting | no lie: statements take no time, only connecting does |
// | lost_replies | every fourth statement is carried out, and answered with "connection lost" |
// | refused_locks | a statement with "get_lock" in it is refused, as on a Galera cluster |
//
// LYING_DRIVER_DELAY in the environment is how many milliseconds each connect and each statement takes. Like the libraries of a real
// driver, this one cleans up at the exit of the process: what is carried out then ends the process with status 3.
//
// Only the functions without W are here, so that the driver manager converts nothing.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sql.h>
#include <sqlext.h>
#include <unistd.h>

namespace {

template <class Function>
Function* real(const char* name)
{
    static void* const library = ::dlopen(std::getenv("LYING_DRIVER_REAL"), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function*>(library ? ::dlsym(library, name) : nullptr);
}

struct excuse {
    const char* state;
    SQLINTEGER native;
    const char* words;
};
constexpr excuse lost_reply{"08S01", 0, "the reply was lost"};
constexpr excuse refused_lock{"42000", 1235, "This version of MariaDB doesn't yet support 'GET_LOCK in cluster'"};

/// What a statement has been given, as far as it is lied about.
struct statement_notes {
    SQLHDBC connection = SQL_NULL_HDBC;
    std::vector<SQLBIGINT*> sent;
    struct text {
        char* bytes;
        SQLLEN size;
        SQLLEN* length;
    };
    std::map<SQLUSMALLINT, text> texts;
    const excuse* failed_with = nullptr;
    bool takes_lock = false;
};

struct connection_notes {
    std::string lies;
    unsigned executed = 0;
};

std::atomic<int> calls_under_way = 0;

struct call_that_takes_time {
    explicit call_that_takes_time(bool really = true)
    {
        ++calls_under_way;
        const char* const delay = std::getenv("LYING_DRIVER_DELAY");
        if (delay && really) std::this_thread::sleep_for(std::chrono::milliseconds{std::atoi(delay)});
    }
    call_that_takes_time(const call_that_takes_time&) = delete;
    call_that_takes_time& operator=(const call_that_takes_time&) = delete;
    ~call_that_takes_time() { --calls_under_way; }
};

void clean_up_at_the_exit()
{
    [[maybe_unused]] static const int registered = std::atexit([] {
        if (calls_under_way != 0) ::_exit(3);
    });
}

std::mutex mutex;
std::map<SQLHDBC, connection_notes> connections;
std::map<SQLHSTMT, statement_notes> statements;

bool lies(SQLHDBC connection, std::string_view how)
{
    const std::lock_guard lock{mutex};
    const auto found = connections.find(connection);
    if (found == connections.end()) return false;
    const std::string all = "," + found->second.lies + ",";
    return all.find("," + std::string{how} + ",") != std::string::npos;
}

bool has_executed(SQLHDBC connection)
{
    const std::lock_guard lock{mutex};
    return connections[connection].executed > 0;
}

SQLHDBC connection_of(SQLHSTMT statement)
{
    const std::lock_guard lock{mutex};
    return statements[statement].connection;
}

bool statement_lies(SQLHSTMT statement, std::string_view how) { return lies(connection_of(statement), how); }

/// The connection string without Driver= and Lies=.
std::string for_the_real_one(std::string_view text, std::string& told)
{
    std::string rest;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(';'));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        const std::string_view key = part.substr(0, part.find('='));
        if (key == "Lies")
            told = part.substr(key.size() + 1);
        else if (key != "Driver" && key != "DRIVER" && !part.empty())
            rest.append(part).append(";");
    }
    return rest;
}

SQLRETURN text_answer(std::string_view text, SQLPOINTER to, SQLSMALLINT size, SQLSMALLINT* length)
{
    if (length) *length = static_cast<SQLSMALLINT>(text.size());
    if (to && size > 0) {
        const std::size_t copied = std::min(text.size(), static_cast<std::size_t>(size) - 1);
        std::memcpy(to, text.data(), copied);
        static_cast<char*>(to)[copied] = '\0';
    }
    return SQL_SUCCESS;
}

bool fails(SQLHSTMT statement)
{
    const bool refuses = statement_lies(statement, "refused_locks");
    const bool loses = statement_lies(statement, "lost_replies");
    const std::lock_guard lock{mutex};
    statement_notes& notes = statements[statement];
    notes.failed_with = nullptr;
    if (++connections[notes.connection].executed % 4 == 0 && loses) notes.failed_with = &lost_reply;
    if (refuses && notes.takes_lock) notes.failed_with = &refused_lock;
    return notes.failed_with != nullptr;
}

template <class Execute>
SQLRETURN execute(SQLHSTMT statement, Execute run)
{
    std::vector<SQLBIGINT*> narrowed;
    if (statement_lies(statement, "narrow_bigint")) {
        const std::lock_guard lock{mutex};
        narrowed = statements[statement].sent;
    }
    std::vector<SQLBIGINT> whole;
    for (SQLBIGINT* each : narrowed) {
        whole.push_back(*each);
        *each = static_cast<std::int32_t>(*each);
    }
    const SQLRETURN done = run();
    for (std::size_t i = 0; i < narrowed.size(); ++i) *narrowed[i] = whole[i];
    return fails(statement) ? SQL_ERROR : done;
}

/// A double keeps 15 digits.
void round_long_numbers(SQLHSTMT statement)
{
    const std::lock_guard lock{mutex};
    for (const auto& [column, text] : statements[statement].texts)
        for (SQLLEN i = 15; text.length && i < *text.length && text.bytes[0] <= '9'; ++i) text.bytes[i] = '0';
}

void pad(SQLHSTMT statement)
{
    const std::lock_guard lock{mutex};
    for (const auto& [column, text] : statements[statement].texts) {
        if (!text.length || *text.length < 0 || *text.length + 3 > text.size) continue;
        std::memcpy(text.bytes + *text.length, "  ", 3);
        *text.length += 2;
    }
}

}  // namespace

extern "C" {

#define FORWARD(name, parameters, arguments)                                                                                \
    SQLRETURN SQL_API name parameters                                                                                       \
    {                                                                                                                       \
        static const auto to = real<decltype(name)>(#name);                                                                 \
        return to ? to arguments : static_cast<SQLRETURN>(SQL_ERROR);                                                       \
    }
#define REAL(name) real<decltype(name)>(#name)

FORWARD(SQLSetEnvAttr, (SQLHENV h, SQLINTEGER a, SQLPOINTER v, SQLINTEGER n), (h, a, v, n))
FORWARD(SQLGetEnvAttr, (SQLHENV h, SQLINTEGER a, SQLPOINTER v, SQLINTEGER n, SQLINTEGER* l), (h, a, v, n, l))
FORWARD(SQLGetFunctions, (SQLHDBC h, SQLUSMALLINT f, SQLUSMALLINT* s), (h, f, s))
FORWARD(SQLNumResultCols, (SQLHSTMT h, SQLSMALLINT* n), (h, n))
FORWARD(SQLNumParams, (SQLHSTMT h, SQLSMALLINT* n), (h, n))
FORWARD(SQLDescribeParam, (SQLHSTMT h, SQLUSMALLINT p, SQLSMALLINT* t, SQLULEN* s, SQLSMALLINT* d, SQLSMALLINT* n),
        (h, p, t, s, d, n))
FORWARD(SQLDescribeCol,
        (SQLHSTMT h, SQLUSMALLINT c, SQLCHAR* n, SQLSMALLINT m, SQLSMALLINT* l, SQLSMALLINT* t, SQLULEN* s, SQLSMALLINT* d,
         SQLSMALLINT* u),
        (h, c, n, m, l, t, s, d, u))
FORWARD(SQLColAttribute,
        (SQLHSTMT h, SQLUSMALLINT c, SQLUSMALLINT f, SQLPOINTER v, SQLSMALLINT n, SQLSMALLINT* l, SQLLEN* i),
        (h, c, f, v, n, l, i))
FORWARD(SQLSetStmtAttr, (SQLHSTMT h, SQLINTEGER a, SQLPOINTER v, SQLINTEGER n), (h, a, v, n))
FORWARD(SQLGetStmtAttr, (SQLHSTMT h, SQLINTEGER a, SQLPOINTER v, SQLINTEGER n, SQLINTEGER* l), (h, a, v, n, l))
FORWARD(SQLMoreResults, (SQLHSTMT h), (h))
FORWARD(SQLCancel, (SQLHSTMT h), (h))
FORWARD(SQLCloseCursor, (SQLHSTMT h), (h))
FORWARD(SQLGetDiagField,
        (SQLSMALLINT k, SQLHANDLE h, SQLSMALLINT r, SQLSMALLINT f, SQLPOINTER v, SQLSMALLINT n, SQLSMALLINT* l),
        (k, h, r, f, v, n, l))

SQLRETURN SQL_API SQLEndTran(SQLSMALLINT kind, SQLHANDLE handle, SQLSMALLINT how)
{
    const SQLRETURN done = REAL(SQLEndTran)(kind, handle, kind == SQL_HANDLE_DBC && lies(handle, "no_commit") ? SQL_ROLLBACK : how);
    return kind == SQL_HANDLE_DBC && how == SQL_COMMIT && lies(handle, "denied_commit") ? SQL_ERROR : done;
}

SQLRETURN SQL_API SQLPrepare(SQLHSTMT statement, SQLCHAR* text, SQLINTEGER size)
{
    {
        const std::lock_guard lock{mutex};
        statements[statement].takes_lock = std::strstr(reinterpret_cast<const char*>(text), "get_lock") != nullptr;
    }
    return REAL(SQLPrepare)(statement, text, size);
}

SQLRETURN SQL_API SQLAllocHandle(SQLSMALLINT kind, SQLHANDLE parent, SQLHANDLE* made)
{
    const auto to = REAL(SQLAllocHandle);
    if (!to) return SQL_ERROR;
    const SQLRETURN done = to(kind, parent, made);
    if (SQL_SUCCEEDED(done) && kind == SQL_HANDLE_STMT) {
        const std::lock_guard lock{mutex};
        statements[*made] = {};
        statements[*made].connection = parent;
    }
    return done;
}

SQLRETURN SQL_API SQLFreeHandle(SQLSMALLINT kind, SQLHANDLE handle)
{
    {
        const std::lock_guard lock{mutex};
        if (kind == SQL_HANDLE_STMT) statements.erase(handle);
        if (kind == SQL_HANDLE_DBC) connections.erase(handle);
    }
    return REAL(SQLFreeHandle)(kind, handle);
}

SQLRETURN SQL_API SQLDriverConnect(SQLHDBC connection, SQLHWND window, SQLCHAR* in, SQLSMALLINT, SQLCHAR* out,
                                   SQLSMALLINT size, SQLSMALLINT* length, SQLUSMALLINT completion)
{
    std::string told;
    std::string text = for_the_real_one(reinterpret_cast<const char*>(in), told);
    if (told.find("late_libraries") != std::string::npos) const call_that_takes_time before_they_are_used;
    clean_up_at_the_exit();
    const call_that_takes_time under_way;
    const SQLRETURN done = REAL(SQLDriverConnect)(connection, window, reinterpret_cast<SQLCHAR*>(text.data()), SQL_NTS, out,
                                                  size, length, completion);
    if (!SQL_SUCCEEDED(done)) return done;
    {
        const std::lock_guard lock{mutex};
        connections[connection].lies = told;
    }
    if (lies(connection, "no_commit"))
        REAL(SQLSetConnectAttr)
        (connection, SQL_ATTR_AUTOCOMMIT, reinterpret_cast<SQLPOINTER>(static_cast<std::uintptr_t>(SQL_AUTOCOMMIT_OFF)),
         SQL_IS_UINTEGER);
    return done;
}

SQLRETURN SQL_API SQLDisconnect(SQLHDBC connection)
{
    if (lies(connection, "no_commit")) REAL(SQLEndTran)(SQL_HANDLE_DBC, connection, SQL_ROLLBACK);
    return REAL(SQLDisconnect)(connection);
}

SQLRETURN SQL_API SQLSetConnectAttr(SQLHDBC connection, SQLINTEGER attribute, SQLPOINTER value, SQLINTEGER size)
{
    if (attribute == SQL_ATTR_AUTOCOMMIT && lies(connection, "no_commit")) return SQL_SUCCESS;
    return REAL(SQLSetConnectAttr)(connection, attribute, value, size);
}

SQLRETURN SQL_API SQLGetConnectAttr(SQLHDBC connection, SQLINTEGER attribute, SQLPOINTER value, SQLINTEGER size,
                                    SQLINTEGER* length)
{
    if (attribute == SQL_ATTR_AUTOCOMMIT && lies(connection, "no_commit")) {
        *static_cast<SQLUINTEGER*>(value) = SQL_AUTOCOMMIT_ON;
        return SQL_SUCCESS;
    }
    if (attribute == SQL_ATTR_AUTOCOMMIT && lies(connection, "late_autocommit") && !has_executed(connection)) {
        *static_cast<SQLUINTEGER*>(value) = SQL_AUTOCOMMIT_ON;
        return SQL_SUCCESS;
    }
    return REAL(SQLGetConnectAttr)(connection, attribute, value, size, length);
}

SQLRETURN SQL_API SQLGetInfo(SQLHDBC connection, SQLUSMALLINT what, SQLPOINTER to, SQLSMALLINT size, SQLSMALLINT* length)
{
    if (what == SQL_DBMS_NAME && lies(connection, "unheard_of")) return text_answer("Unheard-of", to, size, length);
    return REAL(SQLGetInfo)(connection, what, to, size, length);
}

SQLRETURN SQL_API SQLGetDiagRec(SQLSMALLINT kind, SQLHANDLE handle, SQLSMALLINT record, SQLCHAR* state, SQLINTEGER* native,
                                SQLCHAR* text, SQLSMALLINT size, SQLSMALLINT* length)
{
    const excuse* told = nullptr;
    {
        const std::lock_guard lock{mutex};
        const auto found = statements.find(handle);
        if (kind == SQL_HANDLE_STMT && found != statements.end()) told = found->second.failed_with;
    }
    if (!told) return REAL(SQLGetDiagRec)(kind, handle, record, state, native, text, size, length);
    if (record != 1) return SQL_NO_DATA;
    if (state) std::memcpy(state, told->state, 6);
    if (native) *native = told->native;
    return text_answer(told->words, text, size, length);
}

// The driver manager asks one of the two, as it likes.
SQLRETURN SQL_API SQLError(SQLHENV environment, SQLHDBC connection, SQLHSTMT statement, SQLCHAR* state, SQLINTEGER* native,
                           SQLCHAR* text, SQLSMALLINT size, SQLSMALLINT* length)
{
    const excuse* told = nullptr;
    {
        const std::lock_guard lock{mutex};
        const auto found = statements.find(statement);
        if (found != statements.end()) told = std::exchange(found->second.failed_with, nullptr);
    }
    if (!told) return REAL(SQLError)(environment, connection, statement, state, native, text, size, length);
    std::memcpy(state, told->state, 6);
    if (native) *native = told->native;
    return text_answer(told->words, text, size, length);
}

SQLRETURN SQL_API SQLBindParameter(SQLHSTMT statement, SQLUSMALLINT number, SQLSMALLINT direction, SQLSMALLINT from,
                                   SQLSMALLINT to, SQLULEN width, SQLSMALLINT digits, SQLPOINTER value, SQLLEN size,
                                   SQLLEN* length)
{
    if (from == SQL_C_SBIGINT) {
        const std::lock_guard lock{mutex};
        auto& sent = statements[statement].sent;
        auto* const integer = static_cast<SQLBIGINT*>(value);
        if (std::find(sent.begin(), sent.end(), integer) == sent.end()) sent.push_back(integer);
    }
    return REAL(SQLBindParameter)(statement, number, direction, from, to, width, digits, value, size, length);
}

SQLRETURN SQL_API SQLBindCol(SQLHSTMT statement, SQLUSMALLINT number, SQLSMALLINT type, SQLPOINTER value, SQLLEN size,
                             SQLLEN* length)
{
    if (type == SQL_C_SBIGINT && statement_lies(statement, "untouched_bigint")) return SQL_SUCCESS;
    if (type == SQL_C_CHAR && (statement_lies(statement, "padded_text") || statement_lies(statement, "long_numbers"))) {
        const std::lock_guard lock{mutex};
        statements[statement].texts[number] = {static_cast<char*>(value), size, length};
    }
    return REAL(SQLBindCol)(statement, number, type, value, size, length);
}

SQLRETURN SQL_API SQLGetData(SQLHSTMT statement, SQLUSMALLINT number, SQLSMALLINT type, SQLPOINTER value, SQLLEN size,
                             SQLLEN* length)
{
    if (type == SQL_C_SBIGINT && statement_lies(statement, "untouched_bigint")) return SQL_SUCCESS;
    return REAL(SQLGetData)(statement, number, type, value, size, length);
}

SQLRETURN SQL_API SQLExecute(SQLHSTMT statement)
{
    const call_that_takes_time call{!statement_lies(statement, "slow_connecting")};
    return execute(statement, [&] { return REAL(SQLExecute)(statement); });
}

SQLRETURN SQL_API SQLExecDirect(SQLHSTMT statement, SQLCHAR* text, SQLINTEGER size)
{
    return execute(statement, [&] { return REAL(SQLExecDirect)(statement, text, size); });
}

SQLRETURN SQL_API SQLFreeStmt(SQLHSTMT statement, SQLUSMALLINT what)
{
    {
        const std::lock_guard lock{mutex};
        if (what == SQL_UNBIND) statements[statement].texts.clear();
        if (what == SQL_RESET_PARAMS) statements[statement].sent.clear();
    }
    return REAL(SQLFreeStmt)(statement, what);
}

SQLRETURN SQL_API SQLFetch(SQLHSTMT statement)
{
    if (statement_lies(statement, "no_rows")) return SQL_NO_DATA;
    const SQLRETURN done = REAL(SQLFetch)(statement);
    if (SQL_SUCCEEDED(done) && statement_lies(statement, "padded_text")) pad(statement);
    if (SQL_SUCCEEDED(done) && statement_lies(statement, "long_numbers")) round_long_numbers(statement);
    return done;
}

SQLRETURN SQL_API SQLRowCount(SQLHSTMT statement, SQLLEN* rows)
{
    const SQLRETURN done = REAL(SQLRowCount)(statement, rows);
    if (statement_lies(statement, "no_row_count")) *rows = -1;
    if (statement_lies(statement, "one_row")) *rows = 1;
    return done;
}

}  // extern "C"
