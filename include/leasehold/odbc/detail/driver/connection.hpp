// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_CONNECTION_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_CONNECTION_HPP

#include <leasehold/odbc/detail/driver/batch_statements.hpp>
#include <leasehold/odbc/detail/driver/bindings.hpp>
#include <leasehold/odbc/detail/driver/configuration.hpp>
#include <leasehold/odbc/detail/driver/errors.hpp>
#include <leasehold/odbc/detail/driver/handle.hpp>
#include <leasehold/odbc/detail/flow/attempts.hpp>
#include <leasehold/odbc/detail/flow/batch_flow.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// One connection and its prepared statements. All ODBC calls of the store are made here; any of them may block for as long
// as the driver likes. Not thread-safe, not movable (drivers hold the addresses of the blocks).
class connection {
public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit connection(std::shared_ptr<const configuration> config) : config_{std::move(config)} {}
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() { disconnect(); }

    [[nodiscard]] const std::shared_ptr<const configuration>& config() const noexcept { return config_; }
    [[nodiscard]] bool is_open() const noexcept { return connected_; }
    // True if the connection is open and, as far as is known, its prepared statements are still the right ones.
    [[nodiscard]] bool connected() const { return connected_ && config_->is_current(catalog_.get()); }
    // Null before the first connection.
    [[nodiscard]] const statement_catalog* sql() const noexcept { return catalog_.get(); }
    [[nodiscard]] bool single_statement_grant() const noexcept { return catalog_->spec().single_statement_grant; }
    [[nodiscard]] bool observes() const noexcept { return catalog_->spec().observes; }
    [[nodiscard]] bool reads_back() const noexcept { return catalog_->spec().reads_back; }
    [[nodiscard]] bool purges() const noexcept { return catalog_->spec().purge.available(); }
    [[nodiscard]] bool tells_time() const noexcept { return !catalog_->spec().clock.empty(); }
    [[nodiscard]] bool looks_at_checkpoint() const noexcept { return !catalog_->spec().checkpoint.look.empty(); }
    // True if the database's own clock judges terms, and it is not this host's clock.
    [[nodiscard]] bool judges_by_its_clock() const noexcept { return tells_time() && !catalog_->spec().in_process && !observes(); }
    // Its SQL for session locks, or null where there are none, or they have turned out not to work.
    [[nodiscard]] const dialect::session_lock_sql* locks() const noexcept
    {
        return catalog_ && catalog_->spec().locks.available() && !config_->session_locks_disabled()
                   ? &catalog_->spec().locks
                   : nullptr;
    }
    void disable_locks() const noexcept { config_->disable_session_locks(); }
    // A pooler gives each transaction another session: the last statement was prepared on another one. Then connected() is false.
    bool met_pooler() const;
    // The report of the last statement, or of what had to run before it. Kind `none`: nothing failed.
    [[nodiscard]] const report& last_report() const noexcept { return report_; }
    void set_last_report(report last) { report_ = std::move(last); }
    // The words of the last row that was refused since begin_call(), because of a unique index or another constraint.
    [[nodiscard]] const store_diagnostics& last_refusal() const noexcept { return refusal_; }

    // No statement is begun after this instant.
    void begin_call(time_point deadline)
    {
        deadline_ = deadline;
        commit_failed_ = false;
        lock_waited_ = {};
        if (!refusal_.sqlstate.empty()) refusal_ = {};
    }

    fault connect();
    void disconnect() noexcept;

    // Values that the next statements read.
    parameter_block& in() noexcept { return in_; }
    const parameter_block& in() const noexcept { return in_; }
    void set_token(std::int64_t token) noexcept { in_.token = token; }
    void set_version(std::int64_t version) noexcept { in_.version = version; }
    void set_seen(std::int64_t version) noexcept { in_.seen = version; }
    void set_upper(std::string_view name) noexcept { in_.upper.assign(name); }
    // Sets the time to live that they write, rounded up to microseconds.
    void set_time_to_live(duration ttl) noexcept { ttl_us_ = std::chrono::ceil<std::chrono::microseconds>(ttl).count(); }

    [[nodiscard]] std::int64_t time_to_live_us() const noexcept { return ttl_us_; }

    // Runs a prepared statement, preparing it if need be, and reads the first row, if any.
    fault run(statement id);
    // Runs it and calls on_row(*this) for every row.
    template <class OnRow>
    fault run_each(statement id, OnRow on_row);
    // Whether the column of the expiry can hold one, in a table that is there.
    fault check_expiry_column();
    // Whether a name can have one row only. Asks the database each time.
    fault check_name_key();
    // Runs a statement once.
    fault run_text(const std::string& sql);

    // Ends the wait of the session with this number.
    fault end_wait(std::int64_t backend);

    // Whether there are statements for many terms at once; run_batch() runs one.
    [[nodiscard]] bool batches() const noexcept;
    void disable_batches() const noexcept { config_->disable_batches(); }
    fault run_batch(batch_kind kind, const batch& terms, std::span<const item_number> items);
    // Whether the call has time to wait for a row, and then for the table. Brief: for a statement that waits as long as the last one did
    // that met a lock.
    [[nodiscard]] bool has_time_for(lock_wait wait) const
    {
        const duration longest = wait == lock_wait::full ? 2 * config_->lock_timeout() : lock_waited_ + time_to_answer;
        return deadline_ - std::chrono::steady_clock::now() > longest;
    }
    // How many attempts go into one statement; 0: there are no such statements.
    [[nodiscard]] std::size_t attempts_together() const noexcept;
    // Whether the statement for free rows had better ask for this many names: most were free the last time.
    [[nodiscard]] bool expects_free(std::size_t names) const noexcept
    {
        return mostly_free_ && catalog_->batches().grants_free && names > compiled_batches::few;
    }
    fault run_attempts(batch_kind kind, attempts& attempted, std::span<const item_number> items);
    fault begin_transaction();
    fault end_transaction(bool commit);
    // Since begin_call(): what was in a transaction may have been done, or not.
    [[nodiscard]] bool commit_failed() const noexcept { return commit_failed_; }

    // These describe the last run: the rows that an UPDATE or INSERT counted (-1: the driver doesn't count), whether there was a row,
    // and its values.
    [[nodiscard]] SQLLEN rows() const noexcept { return rows_; }
    [[nodiscard]] bool found() const noexcept { return found_; }
    [[nodiscard]] bool warned() const noexcept { return warned_; }
    [[nodiscard]] std::int64_t number(column id) const noexcept { return out_.numbers[static_cast<std::size_t>(id)]; }
    [[nodiscard]] std::string_view text(column id) const noexcept
    {
        return id == column::checkpoint ? out_.checkpoint.view() : out_.text_of(id).view();
    }
    [[nodiscard]] bool has_text(column id) const noexcept { return out_.text_of(id).length != SQL_NULL_DATA; }
    // Whether the last failure was a constraint's: of a key, or of a column that must not be NULL.
    [[nodiscard]] bool met_constraint() const noexcept { return report_.details.sqlstate.starts_with("23"); }
    [[nodiscard]] bool shows_name() const noexcept { return text(column::name) == in_.name.view(); }

    fault fail(fault kind, const char* advice)
    {
        report_ = own_report(kind, advice);
        return kind;
    }

private:
    static constexpr std::int64_t longest_remaining_us = std::int64_t{100} * 31'557'600 * 1'000'000;  // as good as for ever
    static constexpr std::chrono::milliseconds time_to_answer{100};  // after a wait for a lock
    static constexpr int whole_second = 0;                // digits of a column without fractions
    static constexpr SQLUSMALLINT expiry_in_probe = 2;    // which column it is
    static constexpr std::int64_t released_scale = 1000;  // of the time in a released row, see dialect::purge_sql

    fault fail(SQLSMALLINT type, SQLHANDLE handle)
    {
        report_ = driver_report(type, handle, connection_.get(), config_->secrets());
        if (report_.kind == fault::duplicate_key) refusal_ = report_.details;
        if (report_.kind == fault::lock_timeout) lock_waited_ = std::chrono::steady_clock::now() - statement_begun_;
        if (report_.details.native_error == no_such_index && config_->forget_name_key()) report_.kind = fault::conflict;
        return report_.kind;
    }
    // Called before a statement: the report of an earlier one does not explain this one's failure.
    void forget_report()
    {
        if (report_.kind != fault::none) report_ = {};
    }
    // Reports a conflict if the prepared statement ran before and no longer does.
    fault conflict_if_stale(bool ran_before, fault failed)
    {
        return ran_before && report_.details.sqlstate == stale_plan ? fail(fault::conflict, advice::conflict) : failed;
    }
    fault fail_connecting(SQLSMALLINT type, SQLHANDLE handle);
    fault open();
    fault set_up();
    fault ask_product(std::string& name);
    fault look_for_pooler();
    fault look_for_file();
    fault check_session();
    fault run_on_connect();
    fault told_of_set_up(fault failed);
    bool roll_back();
    fault execute_once(const std::string& sql, std::string* answer = nullptr);
    SQLRETURN pass_prologue(SQLHANDLE handle, SQLRETURN done) const noexcept;
    static bool reads_released(statement id) noexcept { return id == statement::look || id == statement::remove; }
    fault prepare(statement_handle& handle, const compiled_statement& sql, std::size_t places = 0);
    template <class Fill>
    fault execute(statement_handle& handle, const compiled_statement& sql, std::size_t places, Fill fill);
    fault execute(statement id);
    template <class Many>
    fault execute(batch_kind kind, const Many& terms, std::span<const item_number> items);
    void forget_statements() noexcept;
    fault forget(statement_handle& handle);
    fault forget(statement_handle& handle, const char* advice);
    fault confirm(const compiled_statement& warned);
    fault learn_granularity(const compiled_statement& before);
    fault widen_granularity(statement_handle& probe);
    void count_rows(SQLHANDLE handle) noexcept;
    fault fetch(statement_handle& from, std::span<const column> columns);
    bool finish_row(std::span<const column> columns) noexcept;
    bool has_time() noexcept;
    [[nodiscard]] statement_handle& prepared_for(batch_kind kind, std::size_t items) noexcept
    {
        return batches_.prepared(catalog_->batches().index_of(kind, items));
    }
    fault read_answers(batch_kind kind, attempts& attempted, std::span<const item_number> items);
    SQLRETURN set_autocommit(std::uintptr_t mode) noexcept
    {
        return ::SQLSetConnectAttr(connection_.get(), SQL_ATTR_AUTOCOMMIT, odbc_number(mode), SQL_IS_UINTEGER);
    }
    [[nodiscard]] SQLBIGINT& number_of(column id) noexcept { return out_.numbers[static_cast<std::size_t>(id)]; }
    [[nodiscard]] statement_handle& prepared(statement id) noexcept { return statements_[static_cast<std::size_t>(id)]; }

    std::shared_ptr<const configuration> config_;
    std::shared_ptr<const statement_catalog> catalog_;
    environment_handle environment_;  // one each: freeing a shared one blocks while another connection hangs in it
    connection_handle connection_;
    std::array<statement_handle, statement_count> statements_;
    batch_statements batches_;
    std::string dialed_;  // the address, as the driver says it; empty: it doesn't
    bool connected_ = false;
    time_point deadline_ = time_point::max();
    time_point statement_begun_{};
    duration lock_waited_{};  // by the last statement of this call that met a lock
    std::int64_t ttl_us_ = 0;
    std::int64_t granularity_us_ = -1;  // what is lost of an expiry without fractions; -1: not known yet
    SQLLEN rows_ = 0;
    bool found_ = false;
    bool warned_ = false;
    bool commit_failed_ = false;
    bool mostly_free_ = false;  // the rows of the last long list of attempts
    parameter_block in_;
    result_block out_;
    report report_;
    store_diagnostics refusal_;
};

// Skips the prologue's results, up to those of the statement.
inline SQLRETURN connection::pass_prologue(SQLHANDLE handle, SQLRETURN done) const noexcept
{
    for (int i = 0; i < catalog_->spec().prologue_results && SQL_SUCCEEDED(done); ++i) {
        done = ::SQLMoreResults(handle);
        if (done == SQL_NO_DATA) return SQL_ERROR;  // a driver that shows the last result alone
    }
    return done;
}

// A statement that failed is prepared again: the table may have been made, or changed, in the meantime.
inline fault connection::forget(statement_handle& handle)
{
    const fault kind = fail(SQL_HANDLE_STMT, handle.get());
    handle.reset();
    return kind;
}

inline fault connection::forget(statement_handle& handle, const char* advice)
{
    handle.reset();
    return fail(fault::failure, advice);
}

// `places`: how many its lists have.
inline fault connection::prepare(statement_handle& handle, const compiled_statement& sql, std::size_t places)
{
    handle = statement_handle{connection_.get()};
    if (!handle) return fail(SQL_HANDLE_DBC, connection_.get());
    bool done = SQL_SUCCEEDED(::SQLPrepare(handle.get(), odbc_text(sql.sql.c_str()), SQL_NTS)) &&
                SQL_SUCCEEDED(batches_.bind_parameters(handle.get(), sql, places, in_, reads_back()));
    SQLUSMALLINT number = 0;
    for (const column id : sql.columns) done = done && SQL_SUCCEEDED(bind(handle.get(), ++number, id, out_, reads_back()));
    return done ? fault::none : forget(handle);
}

// A column that keeps d digits of the second cuts off, or rounds, up to one unit of the last digit. One that keeps the day alone would have
// every term be over at once.
inline fault connection::widen_granularity(statement_handle& probe)
{
    SQLSMALLINT ignored = 0, type = 0, digits = whole_second, nullable = 0;
    SQLULEN size = 0;
    std::array<SQLCHAR, 128> name{};
    if (!SQL_SUCCEEDED(::SQLDescribeCol(probe.get(), expiry_in_probe, name.data(), static_cast<SQLSMALLINT>(name.size()), &ignored,
                                        &type, &size, &digits, &nullable)))
        return forget(probe);
    if (type == SQL_TYPE_DATE || type == SQL_TYPE_TIME) return forget(probe, advice::types);
    std::int64_t unit = 1'000'000;
    for (SQLSMALLINT digit = 0; digit < digits && unit > 1; ++digit) unit /= 10;
    granularity_us_ = std::max(granularity_us_, unit == 1 ? 0 : unit);
    return fault::none;
}

inline fault connection::learn_granularity(const compiled_statement& before)
{
    if (granularity_us_ >= 0 || before.parameters.empty()) return fault::none;
    statement_handle& probe = prepared(statement::probe);
    if (const fault failed = prepare(probe, (*catalog_)[statement::probe]); failed != fault::none) return failed;
    // With a prologue, the column is one of what the statement answers, not of what is prepared.
    const bool by_answer = catalog_->spec().prologue_results > 0;
    if (by_answer && !SQL_SUCCEEDED(pass_prologue(probe.get(), ::SQLExecute(probe.get())))) return forget(probe);
    if (const fault failed = widen_granularity(probe); failed != fault::none) return failed;
    probe.reset();
    return fault::none;
}

// Prepares the statement if need be, and leaves it open. `fill` writes its parameters.
template <class Fill>
fault connection::execute(statement_handle& handle, const compiled_statement& sql, std::size_t places, Fill fill)
{
    forget_report();
    statement_begun_ = std::chrono::steady_clock::now();
    if (statement_begun_ >= deadline_)
        return fail(fault::timeout, "the time of the call ran out between two statements");
    if (const fault failed = learn_granularity(sql); failed != fault::none) return failed;
    const bool ran_before = static_cast<bool>(handle);
    if (!ran_before)
        if (const fault failed = prepare(handle, sql, places); failed != fault::none) return failed;
    in_.us = ttl_us_ + granularity_us_;
    in_.unit = std::max<std::int64_t>(granularity_us_, 1);
    if (!SQL_SUCCEEDED(fill(handle.get()))) return forget(handle);
    in_.read_host_clock();
    if (reads_back()) in_.write_digits();
    rows_ = 0;
    found_ = false;
    const SQLRETURN done = pass_prologue(handle.get(), ::SQLExecute(handle.get()));
    if (!SQL_SUCCEEDED(done) && done != SQL_NO_DATA) return conflict_if_stale(ran_before, forget(handle));
    warned_ = done == SQL_SUCCESS_WITH_INFO;
    return warned_ ? confirm(sql) : fault::none;
}

inline fault connection::execute(statement id)
{
    return execute(prepared(id), (*catalog_)[id], 0, [&](SQLHANDLE) -> SQLRETURN {
        if (id == statement::release && ttl_us_ == 0) in_.us = 0;
        if (reads_released(id)) in_.us += granularity_us_ * (released_scale - 1);
        return SQL_SUCCESS;
    });
}

// Sets rows_ to -1 if the driver doesn't count.
inline void connection::count_rows(SQLHANDLE handle) noexcept
{
    if (!SQL_SUCCEEDED(::SQLRowCount(handle, &rows_)) || rows_ < 0) rows_ = -1;
}

inline fault connection::run(statement id)
{
    if (const fault failed = execute(id); failed != fault::none) return failed;
    statement_handle& handle = prepared(id);
    const auto columns = (*catalog_)[id].columns;
    if (columns.empty()) {
        count_rows(handle.get());
        if (rows_ < 0 && is_told_by_rows(id) && !observes()) return fail(fault::failure, advice::no_count);
    } else if (const fault failed = fetch(handle, columns); failed != fault::none) {
        return failed;
    }
    if (id == statement::observe && found_) {
        number_of(column::live) = number(column::remaining) > 0;
        const std::string_view owner = text(column::owner);
        number_of(column::whose) = owner == in_.owner.view() ? owner_is_us : owner.empty() ? owner_is_nobody : 0;
    }
    ::SQLFreeStmt(handle.get(), SQL_CLOSE);
    return fault::none;
}

template <class OnRow>
fault connection::run_each(statement id, OnRow on_row)
{
    fault failed = execute(id);
    while (failed == fault::none) {
        failed = fetch(prepared(id), (*catalog_)[id].columns);
        if (failed != fault::none || !found_) break;
        on_row(*this);
    }
    if (failed == fault::none) ::SQLFreeStmt(prepared(id).get(), SQL_CLOSE);
    return failed;
}

// Reads the next row, if there is one.
inline fault connection::fetch(statement_handle& from, std::span<const column> columns)
{
    out_.clear();
    const SQLRETURN done = ::SQLFetch(from.get());
    found_ = SQL_SUCCEEDED(done);
    if (!found_) return done == SQL_NO_DATA ? fault::none : forget(from);
    if (!finish_row(columns)) return forget(from, advice::no_integers);
    return has_time() ? fault::none : forget(from, advice::expiry_is_text);
}

// False: the expiry that was read is no time.
inline bool connection::has_time() noexcept
{
    SQLBIGINT& remaining = number_of(column::remaining);
    if (remaining == result_block::untouched) return true;
    const bool is_time = remaining != dialect::remaining_is_no_time;
    remaining = is_time ? std::clamp<SQLBIGINT>(remaining, -longest_remaining_us, longest_remaining_us) : 0;
    return is_time;
}

// Called before the first use of a table that is there.
inline fault connection::check_expiry_column()
{
    if (!catalog_->spec().numeric_expiry) return fault::none;
    statement_handle& probe = prepared(statement::probe);
    if (const fault failed = prepare(probe, (*catalog_)[statement::probe]); failed != fault::none) return failed;
    SQLLEN type = SQL_UNKNOWN_TYPE;
    if (!SQL_SUCCEEDED(::SQLColAttribute(probe.get(), expiry_in_probe, SQL_DESC_CONCISE_TYPE, nullptr, 0, nullptr, &type)))
        return forget(probe);
    for (const SQLLEN text : {SQL_CHAR, SQL_VARCHAR, SQL_LONGVARCHAR, SQL_WCHAR, SQL_WVARCHAR, SQL_WLONGVARCHAR})
        if (type == text) return forget(probe, advice::expiry_is_text);
    return fault::none;
}

// Turns NULLs into 0. Returns false if the driver has left out a number.
inline bool connection::finish_row(std::span<const column> columns) noexcept
{
    for (const column id : columns) {
        if (is_text(id)) continue;
        if (reads_back()) out_.read_digits(static_cast<std::size_t>(id));
        if (out_.lengths[static_cast<std::size_t>(id)] == SQL_NULL_DATA) number_of(id) = 0;
        if (number(id) == result_block::untouched) return false;
    }
    return true;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
