// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_BATCH_STATEMENTS_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_BATCH_STATEMENTS_HPP

#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/driver/bindings.hpp>
#include <leasehold/odbc/detail/driver/statement_catalog.hpp>
#include <leasehold/odbc/detail/flow/batch_flow.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// The prepared statements of a connection for many terms, and what they read. Must not move once bound.
class batch_statements {
public:
    // Returns a handle that is prepared with its lists bound, or null.
    [[nodiscard]] statement_handle& prepared(std::size_t index) noexcept { return handles_[index]; }

    void reset() noexcept
    {
        for (statement_handle& handle : handles_) handle.reset();
    }

    // Makes room for lists; may throw std::bad_alloc.
    void reserve(std::size_t terms)
    {
        if (names_.size() >= terms) return;
        reset();  // they are bound to what moves now
        last_names_.resize(groups_of(terms));
        terms_.resize(terms);
        owners_.resize(terms);
        tokens_.resize(terms);
        names_.resize(terms);  // last: their size tells that there is room for all
    }

    // Binds what stays where it is; called once, after preparing. A list of `places` places may stand in the statement more than once.
    SQLRETURN bind_parameters(SQLHANDLE to, const compiled_statement& sql, std::size_t places, parameter_block& in, bool in_digits) noexcept
    {
        SQLUSMALLINT number = 0;
        std::size_t name = 0, nth_name = 0, owner = 0, token = 0, term = 0, group = 0;
        SQLRETURN done = SQL_SUCCESS;
        for (const parameter id : sql.parameters) {
            ++number;
            switch (id) {
            case parameter::each_name: done = bind_whole(to, number, names_[name++ % places]); break;
            case parameter::each_term: done = bind_whole(to, number, terms_[term++ % places]); break;
            case parameter::nth_name: done = bind_whole(to, number, names_[nth_name++ % places]); break;
            case parameter::nth_owner: done = bind_whole(to, number, owners_[owner++ % places]); break;
            case parameter::nth_token: done = bind_integer(to, number, tokens_[token++ % places]); break;
            case parameter::last_name: done = bind_whole(to, number, last_names_[group++ % groups_of(places)]); break;
            case parameter::all_names:
            case parameter::all_owners:
            case parameter::all_tokens: break;
            default: done = bind(to, number, id, in, in_digits);
            }
            if (!SQL_SUCCEEDED(done)) return done;
        }
        return SQL_SUCCESS;
    }

    // Binds the arrays before each execution, since they move each time. May throw std::bad_alloc.
    template <class Many>
    SQLRETURN fill_arrays(SQLHANDLE to, const compiled_statement& sql, const Many& terms, std::span<const item_number> items)
    {
        SQLUSMALLINT number = 0;
        for (const parameter id : sql.parameters) {
            ++number;
            if (id != parameter::all_names && id != parameter::all_owners && id != parameter::all_tokens) continue;
            array& into = arrays_[static_cast<std::size_t>(id) - static_cast<std::size_t>(parameter::all_names)];
            into.write(items.size(), [&](std::size_t i, std::string& text) {
                if (id == parameter::all_tokens)
                    text += std::to_string(terms.token(items[i]));
                else
                    append_quoted(text, id == parameter::all_names ? terms.name(items[i]) : terms.owner(items[i]));
            });
            const SQLRETURN done =
                ::SQLBindParameter(to, number, SQL_PARAM_INPUT, SQL_C_CHAR, SQL_LONGVARCHAR, into.text.size(), 0,
                                   into.text.data(), static_cast<SQLLEN>(into.text.size()), &into.length);
            if (!SQL_SUCCEEDED(done)) return done;
        }
        return SQL_SUCCESS;
    }

    // Fills the lists' first parameters before each execution. The rest stays empty, except for the last names.
    template <class Many>
    void fill_lists(std::size_t parameters, const Many& terms, std::span<const item_number> items) noexcept
    {
        for (std::size_t i = 0; i < parameters; ++i) {
            const bool used = i < items.size();
            names_[i].assign(used ? terms.name(items[i]) : std::string_view{});
            owners_[i].assign(used ? terms.owner(items[i]) : std::string_view{});
            tokens_[i] = used ? terms.token(items[i]) : 0;
            terms_[i].length = 0;
            if (used) write_term(terms_[i], terms, items[i]);
        }
        for (std::size_t i = 0; i < groups_of(parameters); ++i)
            last_names_[i].assign(terms.name(items[std::min((i + 1) * per_group, items.size()) - 1]));
    }

private:
    static constexpr std::size_t per_group = dialect::many_attempts_sql::names_per_group;
    static constexpr std::size_t groups_of(std::size_t places) noexcept { return (places + per_group - 1) / per_group; }

    static constexpr std::size_t max_term_bytes = max_name_bytes + max_owner_bytes + 26;

    using name_buffer = text_buffer<max_name_bytes + 1>;
    using term_buffer = text_buffer<max_term_bytes + 1>;

    struct array {
        std::string text;
        SQLLEN length = 0;

        template <class Append>
        void write(std::size_t items, Append append)
        {
            text = '{';
            for (std::size_t i = 0; i < items; ++i) {
                if (i != 0) text += ',';
                append(i, text);
            }
            text += '}';
            length = static_cast<SQLLEN>(text.size());
        }
    };

    static SQLRETURN bind_whole(SQLHANDLE to, SQLUSMALLINT number, auto& buffer) noexcept
    {
        return bind_text(to, number, buffer, buffer.bytes.size() - 1);
    }

    static void append_quoted(std::string& text, std::string_view value)
    {
        text += '"';
        for (const char c : value) {
            if (c == '"' || c == '\\') text += '\\';
            text += c;
        }
        text += '"';
    }

    template <class Many>
    static void write_term(term_buffer& into, const Many& terms, item_number i) noexcept
    {
        char* at = into.bytes.data();
        char* const end = at + into.bytes.size();
        const auto append = [&](std::string_view text) {
            at = std::copy_n(text.data(), std::min(text.size(), static_cast<std::size_t>(end - at)), at);
        };
        at = std::to_chars(at, end, terms.token(i)).ptr;
        append(" ");
        at = std::to_chars(at, end, terms.name(i).size()).ptr;
        append(" ");
        append(terms.name(i));
        append(terms.holder(i));
        into.length = at - into.bytes.data();
    }

    std::array<statement_handle, compiled_batches::count> handles_;
    std::vector<name_buffer> names_;
    std::vector<name_buffer> last_names_;
    std::vector<name_buffer> owners_;
    std::vector<SQLBIGINT> tokens_;
    std::vector<term_buffer> terms_;
    std::array<array, 3> arrays_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
