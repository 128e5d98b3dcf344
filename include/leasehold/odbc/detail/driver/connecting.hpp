// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_CONNECTING_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_CONNECTING_HPP

#include <leasehold/odbc/detail/driver/connection.hpp>
#include <leasehold/odbc/detail/driver/driver_manager.hpp>
#include <leasehold/odbc/detail/flow/advice.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/stat.h>
#endif

// The part of a connection that makes it, and that runs statements once.
namespace leasehold::inline v0::odbc::detail {

// How often two connections are compared. A pooler that nobody else uses shows at the first look. With more clients than sessions the
// same two have come up four times in a row, once in some 300 stores.
inline constexpr int max_looks_for_pooler = 8;

// Connecting may take this many times call_timeout.
inline constexpr int connecting_takes_at_most = 4;

// A statement that was prepared on another session: it isn't there, or its name is taken.
inline constexpr std::string_view no_such_statement = "26000";
inline constexpr std::string_view duplicate_statement = "42P05";

inline fault connection::run_text(const std::string& sql) { return execute_once(catalog_->spec().prologue + sql); }

// Executes `sql` without the prologue. `answer`: the first column of the first row; empty if there is none.
inline fault connection::execute_once(const std::string& sql, std::string* answer)
{
    forget_report();
    const statement_handle once{connection_.get()};
    if (!once) return fail(SQL_HANDLE_DBC, connection_.get());
    const SQLRETURN done = ::SQLExecDirect(once.get(), odbc_text(sql.c_str()), SQL_NTS);
    if (!SQL_SUCCEEDED(done) && done != SQL_NO_DATA) return fail(SQL_HANDLE_STMT, once.get());
    if (answer == nullptr) return fault::none;
    std::array<char, 1024> text{};
    SQLLEN length = 0;
    const SQLRETURN fetched = ::SQLFetch(once.get());
    if (fetched == SQL_NO_DATA) {
        answer->clear();
        return fault::none;
    }
    if (!SQL_SUCCEEDED(fetched) ||
        !SQL_SUCCEEDED(::SQLGetData(once.get(), 1, SQL_C_CHAR, text.data(), static_cast<SQLLEN>(text.size()), &length)))
        return fail(SQL_HANDLE_STMT, once.get());
    *answer = text.data();
    return fault::none;
}

inline fault connection::end_wait(std::int64_t backend)
{
    // After its deadline the session may be at something else.
    if (std::chrono::steady_clock::now() >= deadline_) return fail(fault::timeout, "the time of the call ran out");
    const dialect::session_lock_sql& locks = catalog_->spec().locks;
    const auto about = [&](std::string sql) {
        constexpr std::string_view marker = ":session";
        return sql.replace(sql.find(marker), marker.size(), std::to_string(backend));
    };
    if (!locks.waits.empty()) {
        std::string row;
        if (const fault failed = execute_once(about(locks.waits), &row); failed != fault::none || row.empty()) return failed;
    }
    return run_text(about(locks.end_wait));
}

inline fault connection::fail_connecting(SQLSMALLINT type, SQLHANDLE handle)
{
    report_ = driver_report(type, handle, SQL_NULL_HANDLE, config_->secrets());
    if (report_.kind != fault::starting && report_.kind != fault::conflict) {
        report_.kind = fault::unavailable;
        if (report_.details.advice.empty()) report_.details.advice = "check the connection string";
    }
    disconnect();
    return report_.kind;
}

// A connection and nothing else.
inline fault connection::open()
{
    disconnect();
    if (config_->driver_manager().pools) return fail(fault::failure, advice::pooled_by_driver_manager);
    environment_ = environment_handle{SQL_NULL_HANDLE};
    if (!environment_) return fail(fault::unavailable, "the ODBC driver manager gives no environment handle");
    ::SQLSetEnvAttr(environment_.get(), SQL_ATTR_ODBC_VERSION, odbc_number(SQL_OV_ODBC3), 0);
    connection_ = connection_handle{environment_.get()};
    if (!connection_) return fail_connecting(SQL_HANDLE_ENV, environment_.get());
    // Only helps a thread that was given up to end; drivers that refuse it are as good. Until then the connection can still come, for later
    // calls.
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(connecting_takes_at_most * config_->options().call_timeout).count();
    ::SQLSetConnectAttr(connection_.get(), SQL_ATTR_LOGIN_TIMEOUT, odbc_number(static_cast<std::uintptr_t>(seconds)), SQL_IS_UINTEGER);
    const std::string text = catalog_ ? config_->connection_string(catalog_->spec()) : config_->connection_string();
    std::array<SQLCHAR, 1024> completed{};
    SQLSMALLINT length = 0;
    const SQLRETURN done =
        ::SQLDriverConnect(connection_.get(), nullptr, odbc_text(text.c_str()), SQL_NTS, completed.data(),
                           static_cast<SQLSMALLINT>(completed.size()), &length, SQL_DRIVER_NOPROMPT);
    if (!SQL_SUCCEEDED(done)) return fail_connecting(SQL_HANDLE_DBC, connection_.get());
    connected_ = true;
    const std::string_view as{reinterpret_cast<const char*>(completed.data())};
    dialed_ = keyword_value(as, "SERVER");
    dialed_.append(":").append(keyword_value(as, "PORT"));
    set_autocommit(SQL_AUTOCOMMIT_ON);
    return fault::none;
}

inline fault connection::connect()
{
    if (auto known = config_->catalog()) catalog_ = std::move(known);
    const fault failed = open();
    return failed == fault::none ? set_up() : failed;
}

inline fault connection::set_up()
{
    if (!catalog_) {
        std::string product = driver_info(connection_.get(), SQL_DBMS_NAME);
        if (const fault failed = ask_product(product); failed != fault::none) {
            disconnect();
            return failed;
        }
        catalog_ = config_->catalog_for(product, driver_info(connection_.get(), SQL_DBMS_VER));
        // Now that the database is known, so is what its connection string lacks.
        if (config_->connection_string(catalog_->spec()) != config_->connection_string()) return connect();
    }
    fault failed = look_for_pooler();
    if (failed == fault::none && !connected()) return connect();  // with the statements for a pooler
    granularity_us_ = catalog_->spec().in_process || observes() ? 0 : -1;
    if (failed == fault::none) failed = look_for_file();
    if (failed == fault::none) failed = run_on_connect();
    if (failed == fault::none) failed = check_session();
    if (failed != fault::none) disconnect();
    return failed;
}

// A server of PostgreSQL that is out of something, is stopped, or broken. So says the class of the error.
inline bool is_trouble_of_postgresql(std::string_view sqlstate) noexcept
{
    for (const std::string_view trouble : {"53", "57", "58", "XX"})
        if (sqlstate.starts_with(trouble)) return true;
    return false;
}

// psqlODBC takes every server that answers for PostgreSQL; one without version() isn't.
inline fault connection::ask_product(std::string& name)
{
    if (name != "PostgreSQL") return fault::none;
    const fault failed = execute_once("select version()", &name);
    if (failed != fault::failure && failed != fault::schema_missing) return failed;
    if (is_trouble_of_postgresql(report_.details.sqlstate)) return failed;
    name.clear();
    forget_report();
    return fault::none;
}

inline fault connection::run_on_connect()
{
    for (const std::string& text : catalog_->spec().on_connect)
        if (const fault failed = execute_once(text); failed != fault::none) return told_of_set_up(failed);
    const auto& of_user = config_->options().on_connect;
    if (config_->pooled() && !of_user.empty()) return fail(fault::failure, advice::on_connect_with_pooler);
    for (const std::string& text : of_user)
        if (const fault failed = execute_once(text); failed != fault::none) {
            report_.details.server_message = advice::words_of_on_connect;
            return told_of_set_up(failed);
        }
    return fault::none;
}

// A table that is missing here is not ours.
inline fault connection::told_of_set_up(fault failed)
{
    if (failed == fault::schema_missing) failed = report_.kind = fault::failure;
    if (failed == fault::failure) report_.details.advice = advice::set_up;
    return failed;
}

// The session is as the statements need it, whatever has set it up.
inline fault connection::check_session()
{
    if (driver_info(connection_.get(), SQL_DATA_SOURCE_READ_ONLY) == "Y") return fail(fault::failure, advice::driver_only_reads);
    const std::string& question = catalog_->spec().session_check;
    std::string answer = "\n";
    if (const fault failed = question.empty() ? fault::none : execute_once(question, &answer); failed != fault::none)
        return told_of_set_up(failed);
    if (answer == "\n") return fault::none;
    if (!answer.starts_with('\n')) return fail(fault::failure, advice::line_feeds);
    return fail(fault::failure, (advice::unfit_session + answer.substr(1) + advice::leave_session_alone).c_str());
}

// SQLite keeps a file's log beside the name by which it was opened: users of another name read and write something else.
inline bool has_another_name(const std::string& path)
{
    std::error_code ignored;
    if (std::filesystem::hard_link_count(path, ignored) > 1 && !ignored) return true;
#if defined(STATX_ATTR_MOUNT_ROOT)
    struct statx found {};
    return ::statx(AT_FDCWD, path.c_str(), 0, STATX_TYPE, &found) == 0 && (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#else
    return false;
#endif
}

// No other connection sees what one connection to a database without a file grants. And libsqliteodbc takes the whole connection string
// for the file if it finds no Database= in it.
inline fault connection::look_for_file()
{
    const std::string& question = catalog_->spec().file;
    if (question.empty() || config_->file_is_shared()) return fault::none;
    std::string path;
    if (const fault failed = execute_once(question, &path); failed != fault::none) return failed;
    const bool shared = !path.empty() && !path.ends_with(config_->connection_string());
    if (!shared) return fail(fault::unavailable, advice::no_file);
    if (has_another_name(path)) return fail(fault::unavailable, advice::another_name);
    config_->note_shared_file();
    return fault::none;
}

// Two rows of one name can have two holders. A product that has no such catalogue, or doesn't show it to this user, is let pass.
inline fault connection::check_name_key()
{
    const dialect::name_key_sql& sql = catalog_->spec().name_key;
    std::string answer = "1";
    const fault failed = sql.present.empty() ? fault::none : execute_once(sql.present, &answer);
    if (failed == fault::failure || failed == fault::schema_missing)
        forget_report();
    else if (failed != fault::none)
        return failed;
    if (answer == "0") return fail(fault::failure, (std::string{advice::no_key} + advice::until_there_is_a_key + sql.add).c_str());
    if (answer.size() > 1 && answer.front() != catalog_->spec().quote) return fail(fault::failure, answer.c_str());
    if (answer.empty() || !config_->note_name_key(answer)) return fault::none;
    forget_statements();
    catalog_ = config_->catalog();
    return fault::none;
}

// Two connections with one backend, or one connection whose backend changes, mean a transaction pooler. The question changes nothing on a
// session. A connection keeps no session while it waits for one, so stores that look at once don't block each other.
inline fault connection::look_for_pooler()
{
    const dialect::spec& known = catalog_->spec();
    if (known.session.empty() || !config_->looks_for_pooler()) return fault::none;
    std::string first, others_first, now;
    if (!known.address.empty()) {
        if (const fault failed = execute_once(known.address, &now); failed != fault::none) return failed;
        if (now == dialed_) {
            config_->note_no_pooler();
            return fault::none;
        }
    }
    connection other{config_};
    other.catalog_ = catalog_;
    if (other.open() != fault::none) return fault::none;  // the next connection will look
    for (int look = 0; look < max_looks_for_pooler; ++look) {
        std::string others_now;
        if (const fault failed = execute_once(known.session, &now); failed != fault::none) return failed;
        if (other.execute_once(known.session, &others_now) != fault::none) return fault::none;
        const bool changed = look > 0 && (now != first || others_now != others_first);
        if (now == others_now || changed) {
            config_->note_pooler();
            return fault::none;
        }
        first = now;
        others_first = others_now;
    }
    config_->note_no_pooler();
    return fault::none;
}

inline bool connection::met_pooler() const
{
    const std::string& sqlstate = report_.details.sqlstate;
    if (!catalog_ || catalog_->spec().session.empty() || config_->pooled()) return false;
    if (sqlstate != no_such_statement && sqlstate != duplicate_statement) return false;
    config_->note_pooler();
    return true;
}

// Whether a statement that came back with a warning is sure to last. Session locks have warnings of their own.
inline fault connection::confirm(const compiled_statement& warned)
{
    const std::string& question = catalog_->spec().unconfirmed;
    if (question.empty() || std::ranges::count(warned.parameters, parameter::lock_number) != 0) return fault::none;
    std::string answer;
    if (const fault failed = execute_once(question, &answer); failed != fault::none) return failed;
    return answer == "1" ? fail(fault::timeout, advice::unconfirmed) : fault::none;
}

inline void connection::forget_statements() noexcept
{
    for (statement_handle& handle : statements_) handle.reset();
    batches_.reset();
}

inline void connection::disconnect() noexcept
{
    forget_statements();
    // Some drivers close no connection in a transaction, in which an exception may have left it.
    if (std::exchange(connected_, false) && !SQL_SUCCEEDED(::SQLDisconnect(connection_.get()))) {
        ::SQLEndTran(SQL_HANDLE_DBC, connection_.get(), SQL_ROLLBACK);
        ::SQLDisconnect(connection_.get());
    }
    connection_.reset();
    environment_.reset();
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
