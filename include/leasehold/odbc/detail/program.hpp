// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_PROGRAM_HPP
#define LEASEHOLD_ODBC_DETAIL_PROGRAM_HPP

#include <leasehold/odbc/detail/identifier.hpp>
#include <leasehold/odbc/detail/statement.hpp>
#include <leasehold/odbc/dialect/description.hpp>
#include <leasehold/odbc/odbc_options.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// SQL as ODBC wants it: question marks, and what to bind to them.
struct compiled_statement {
    std::string sql;
    std::vector<parameter> parameters;
};

// A dialect's SQL for one table, ready to be prepared. Made once per store; never changed afterwards.
class program {
public:
    program(dialect::description description, const odbc_options& options) : description_{std::move(description)}
    {
        const dialect::description& d = description_;
        const std::array<const std::string*, statement_count> texts{&d.probe, &d.grant,   &d.read,  &d.insert,  &d.take, &d.renew,
                                                                    &d.release, &d.close, &d.inspect, &d.list, &d.force_release};
        for (std::size_t i = 0; i < statement_count; ++i) statements_[i] = compile(*texts[i], d.quote, options);
        for (const std::string& text : d.schema) schema_.push_back(compile(text, d.quote, options).sql);
    }

    [[nodiscard]] const dialect::description& description() const noexcept { return description_; }
    [[nodiscard]] const compiled_statement& operator[](statement which) const noexcept
    {
        return statements_[static_cast<std::size_t>(which)];
    }
    [[nodiscard]] const std::vector<std::string>& schema() const noexcept { return schema_; }

private:
    static compiled_statement compile(std::string_view text, char quote, const odbc_options& options)
    {
        const std::array<std::pair<std::string_view, const std::string*>, 5> names{{{"{table}", &options.table},
                                                                                    {"{name}", &options.columns.name},
                                                                                    {"{owner}", &options.columns.owner},
                                                                                    {"{token}", &options.columns.token},
                                                                                    {"{expires_at}", &options.columns.expires_at}}};
        static constexpr std::array<std::pair<std::string_view, parameter>, 7> markers{{{":name", parameter::name},
                                                                                        {":owner", parameter::owner},
                                                                                        {":token", parameter::token},
                                                                                        {":us", parameter::us},
                                                                                        {":expiry", parameter::expiry},
                                                                                        {":released", parameter::released},
                                                                                        {":upper", parameter::upper}}};
        compiled_statement result;
        while (!text.empty()) {
            std::size_t used = 1;
            if (text.front() == '{') {
                for (const auto& [marker, name] : names)
                    if (text.starts_with(marker)) result.sql += quoted(*name, quote), used = marker.size();
            } else if (text.front() == ':') {
                for (const auto& [marker, which] : markers)
                    if (text.starts_with(marker)) result.sql += '?', result.parameters.push_back(which), used = marker.size();
            }
            if (used == 1) result.sql += text.front();
            text.remove_prefix(used);
        }
        return result;
    }

    dialect::description description_;
    std::array<compiled_statement, statement_count> statements_;
    std::vector<std::string> schema_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
