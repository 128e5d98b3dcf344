// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FENCE_FENCE_CONNECTION_HPP
#define LEASEHOLD_ODBC_DETAIL_FENCE_FENCE_CONNECTION_HPP

#include <leasehold/fencing_token.hpp>
#include <leasehold/odbc/detail/driver/bindings.hpp>
#include <leasehold/odbc/detail/driver/errors.hpp>
#include <leasehold/odbc/detail/driver/handle.hpp>
#include <leasehold/odbc/detail/driver/statement_catalog.hpp>
#include <leasehold/odbc/detail/flow/observations.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// The caller's connection, of which nothing is changed: each statement that runs on it has a handle of its own, closed and freed before
// the caller has the connection back.
class fence_connection {
public:
    fence_connection(SQLHDBC connection, const std::vector<std::string>& secrets) noexcept
        : connection_{connection}, secrets_{secrets}
    {
    }

    void set_term(std::string_view name, std::string_view owner, fencing_token token)
    {
        in_.name.assign(name);
        in_.owner.assign(owner);
        in_.token = token.value();
        in_.version = observations::new_version();
        in_.write_digits();
    }

    void set_checkpoint(std::string_view text) { in_.checkpoint.assign(text); }

    fault read_autocommit(bool& on)
    {
        SQLUINTEGER value = SQL_AUTOCOMMIT_DEFAULT;
        const SQLRETURN done = ::SQLGetConnectAttr(connection_, SQL_ATTR_AUTOCOMMIT, &value, SQL_IS_UINTEGER, nullptr);
        on = value == SQL_AUTOCOMMIT_ON;
        if (done == SQL_INVALID_HANDLE) return fail(fault::failure, "that is not the handle of a connection");
        return SQL_SUCCEEDED(done) ? fault::none : fail(SQL_HANDLE_DBC, connection_);
    }

    // `in_digits`: see bind().
    fault run(const compiled_statement& compiled, bool in_digits = false)
    {
        const statement_handle once{connection_};
        if (!once) return fail(SQL_HANDLE_DBC, connection_);
        SQLUSMALLINT number = 0;
        for (const parameter id : compiled.parameters)
            if (!SQL_SUCCEEDED(bind(once.get(), ++number, id, in_, in_digits))) return fail(SQL_HANDLE_STMT, once.get());
        const SQLRETURN done = execute(once.get(), compiled.sql, in_digits);
        if (!SQL_SUCCEEDED(done) && done != SQL_NO_DATA) return fail(SQL_HANDLE_STMT, once.get());
        return read(once.get());
    }

    // Whether the last run gave a result set, and then whether there was a row, and its first column as a number;
    // otherwise how many rows it counted.
    [[nodiscard]] bool has_result() const noexcept { return has_result_; }
    [[nodiscard]] bool found() const noexcept { return found_; }
    [[nodiscard]] SQLBIGINT number() const noexcept { return number_; }
    [[nodiscard]] SQLLEN rows() const noexcept { return rows_; }

    fault fail(fault kind, const char* advice)
    {
        report_ = own_report(kind, advice);
        return kind;
    }
    [[nodiscard]] report& last_report() noexcept { return report_; }

private:
    fault fail(SQLSMALLINT type, SQLHANDLE handle)
    {
        report_ = driver_report(type, handle, connection_, secrets_);
        return report_.kind;
    }

    // psqlODBC casts the numeric parameters of a statement that it has not prepared, as only PostgreSQL does: ?::numeric.
    static SQLRETURN execute(SQLHSTMT statement, const std::string& sql, bool in_digits) noexcept
    {
        if (!in_digits) return ::SQLExecDirect(statement, odbc_text(sql.c_str()), SQL_NTS);
        const SQLRETURN prepared = ::SQLPrepare(statement, odbc_text(sql.c_str()), SQL_NTS);
        return SQL_SUCCEEDED(prepared) ? ::SQLExecute(statement) : prepared;
    }

    // A lock that a SELECT takes is taken when its row is fetched.
    fault read(SQLHANDLE from)
    {
        SQLSMALLINT columns = 0;
        found_ = false;
        number_ = 0;
        rows_ = 0;
        if (!SQL_SUCCEEDED(::SQLNumResultCols(from, &columns))) return fail(SQL_HANDLE_STMT, from);
        has_result_ = columns > 0;
        if (!has_result_) return SQL_SUCCEEDED(::SQLRowCount(from, &rows_)) ? fault::none : fail(SQL_HANDLE_STMT, from);
        const SQLRETURN done = ::SQLFetch(from);
        if (!SQL_SUCCEEDED(done)) return done == SQL_NO_DATA ? fault::none : fail(SQL_HANDLE_STMT, from);
        found_ = true;
        if (columns > 1) return fault::none;  // only its being there counts
        SQLLEN length = 0;
        const SQLRETURN got = ::SQLGetData(from, 1, SQL_C_SBIGINT, &number_, sizeof(number_), &length);
        return SQL_SUCCEEDED(got) ? fault::none : fail(SQL_HANDLE_STMT, from);
    }

    SQLHDBC connection_;
    const std::vector<std::string>& secrets_;
    parameter_block in_;
    bool has_result_ = false;
    bool found_ = false;
    SQLBIGINT number_ = 0;
    SQLLEN rows_ = 0;
    report report_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
