// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_ODBC_DETAIL_OPERATORS_DATABASE_HPP
#define LEASEHOLD_TESTS_UNIT_ODBC_DETAIL_OPERATORS_DATABASE_HPP

#include <leasehold/odbc/detail/driver/errors.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>

#include <unit/odbc/detail/flow/scripted_database.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold_test {

inline reply fails(od::fault kind, std::string words)
{
    reply r = fails(kind);
    r.words = std::move(words);
    return r;
}

/// A row with texts. One that is not named is NULL.
inline reply shows_texts(std::vector<std::pair<od::column, std::string>> texts)
{
    return {.found = true, .texts = std::move(texts)};
}

/// A scripted_database for the flows of operators and of what is said during a term: with texts, with statements that aren't
/// prepared, and with a report of the last failure.
class operators_database : public scripted_database {
public:
    using scripted_database::scripted_database;

    /// What the catalogue of statements has.
    struct texts_to_run {
        std::vector<std::string> tables;
        [[nodiscard]] const std::vector<std::string>& schema() const { return tables; }
    };

    std::vector<std::string> ran;  ///< texts
    int columns_checked = 0;
    od::fault column_is = od::fault::none;

    od::fault run(od::statement which) { return reported(scripted_database::run(which)); }
    od::fault run_text(const std::string& text)
    {
        ran.push_back(text);
        return reported(next());
    }
    template <class Each>
    od::fault run_each(od::statement which, Each each)
    {
        const od::fault failed = run(which);
        const std::vector<reply> rows = now().each;
        for (const reply& row : rows) {
            show(row);
            each(*this);
        }
        return failed;
    }
    od::fault check_expiry_column()
    {
        ++columns_checked;
        return column_is;
    }

    [[nodiscard]] std::string_view text(od::column which) const
    {
        const auto found = std::ranges::find(now().texts, which, &std::pair<od::column, std::string>::first);
        return found == now().texts.end() ? std::string_view{} : std::string_view{found->second};
    }
    [[nodiscard]] bool has_text(od::column which) const
    {
        return std::ranges::find(now().texts, which, &std::pair<od::column, std::string>::first) != now().texts.end();
    }
    [[nodiscard]] const texts_to_run* sql() const { return &texts_; }
    [[nodiscard]] const od::report& last_report() const { return report_; }
    void set_last_report(od::report last) { report_ = std::move(last); }
    od::fault fail(od::fault kind, const char* advice)
    {
        report_ = od::own_report(kind, advice);
        return kind;
    }

    /// In the server's words.
    [[nodiscard]] const std::string& told() const { return report_.details.server_message; }
    [[nodiscard]] const std::string& advised() const { return report_.details.advice; }

private:
    od::fault reported(od::fault failed)
    {
        const std::string advice = now().advice.empty() && failed != od::fault::none ? "of the driver" : now().advice;
        report_ = {failed, {{}, 0, advice, now().words}};
        return failed;
    }

    texts_to_run texts_{{"table", "index", "version"}};
    od::report report_;
};

}  // namespace leasehold_test

#endif
