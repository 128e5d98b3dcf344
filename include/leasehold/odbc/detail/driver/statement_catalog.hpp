// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_STATEMENT_CATALOG_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_STATEMENT_CATALOG_HPP

#include <leasehold/odbc/detail/driver/identifier.hpp>
#include <leasehold/odbc/detail/flow/batch_flow.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>
#include <leasehold/odbc/dialect/spec.hpp>
#include <leasehold/odbc/odbc_options.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
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

// What a store has learnt about fences on its database.
enum class fence_kind : std::uint8_t { unknown, lock, write };

// See dialect::fence_sql.
struct compiled_fence {
    compiled_statement possible;
    compiled_statement transaction;
    compiled_statement cluster;
    compiled_statement lock;
    compiled_statement write;
    compiled_statement written;
    compiled_statement write_back;
    mutable std::atomic<fence_kind> kind{fence_kind::unknown};  // all find out the same; a thread that does not see it asks again
};

// See dialect::batch_sql and many_attempts_sql.
struct compiled_batches {
    // Each place takes time, whether it is used or not: so there are statements for few and for some, beside those for many.
    static constexpr std::size_t few = 16;
    static constexpr std::size_t some = 128;
    static constexpr std::size_t sizes = 3;
    static constexpr std::size_t count = sizes * batch_kind_count;

    std::array<compiled_statement, count> statements;  // of each kind, for many, some and few
    std::size_t most = 0;
    std::size_t most_attempts = 0;
    bool arrays = false;  // and so room for any number

    [[nodiscard]] bool available() const noexcept { return most > 1; }
    [[nodiscard]] std::size_t which(batch_kind kind, std::size_t terms) const noexcept
    {
        return sizes * static_cast<std::size_t>(kind) + (arrays || terms > some ? 0 : terms > few ? 1 : 2);
    }
    static constexpr batch_kind kind_of(std::size_t which) noexcept { return static_cast<batch_kind>(which / sizes); }
    // Places in its lists.
    [[nodiscard]] std::size_t room(std::size_t which) const noexcept
    {
        const std::size_t many = kind_of(which) < batch_kind::grants ? most : most_attempts;
        const std::size_t size = which % sizes;
        return size == 0 ? many : std::min(size == 1 ? some : few, many);
    }
};

// A dialect's SQL for one table, ready to be prepared. Made once per store; never changed afterwards.
class statement_catalog {
public:
    statement_catalog(dialect::spec described, const odbc_options& options) : spec_{std::move(described)}
    {
        const dialect::spec& d = spec_;
        const dialect::session_lock_sql& l = d.locks;
        const dialect::purge_sql& p = d.purge;
        const auto add = [&](statement which, const std::string& text) {
            statements_[static_cast<std::size_t>(which)] = compile(with_prologue(text), options);
        };
        add(statement::probe, d.probe);
        add(statement::grant, d.grant);
        add(statement::read, d.read);
        add(statement::observe, d.observe);
        add(statement::insert, d.insert);
        add(statement::take, d.take);
        add(statement::renew, d.renew);
        add(statement::release, d.release);
        add(statement::inspect, d.inspect);
        add(statement::list, d.list);
        add(statement::force_release, d.force_release);
        add(statement::clock, d.clock);
        add(statement::lock, l.lock);
        add(statement::try_lock, l.try_lock);
        add(statement::unlock, l.unlock);
        add(statement::backend, l.backend);
        add(statement::floor, p.floor);
        add(statement::add_floor, p.add_floor);
        add(statement::raise_floor, p.raise_floor);
        add(statement::look, p.look);
        add(statement::remove, p.remove);
        const dialect::handover_sql& h = d.handover;
        add(statement::probe_said, h.probe);
        add(statement::publish, h.publish);
        add(statement::published, h.published);
        add(statement::request, h.request);
        add(statement::requested, h.requested);
        add(statement::said, h.said);
        add(statement::inspect_all, h.inspect);
        add(statement::list_all, h.list);
        for (const std::string& text : h.add_columns) added_columns_.push_back(compile(text, options).sql);
        for (const std::string& text : d.schema) schema_.push_back(compile(text, options).sql);
        fence_.possible = compile(d.fence.possible, options);
        fence_.cluster = compile(d.fence.cluster, options);
        fence_.lock = compile(d.fence.lock, options);
        fence_.write = compile(d.fence.write, options);
        fence_.written = compile(d.fence.written, options);
        fence_.write_back = compile(d.fence.write_back, options);
        fence_.transaction = compile(d.fence.transaction, options);
        compile_batches(options);
    }

    // Reads no more of the dialect than its fragments and its quote.
    static compiled_statement compile(std::string text, const dialect::spec& of, const odbc_options& options)
    {
        const char quote = of.quote;
        for (const auto& [marker, fragment] : of.fragments) replace_all(text, marker, fragment);
        replace_all(text, "{table}", quoted_identifier(options.table, quote));
        replace_all(text, "{name}", quoted_identifier(options.columns.name, quote));
        replace_all(text, "{owner}", quoted_identifier(options.columns.owner, quote));
        replace_all(text, "{token}", quoted_identifier(options.columns.token, quote));
        replace_all(text, "{version}", quoted_identifier(options.columns.version, quote));
        replace_all(text, "{data}", quoted_identifier(options.columns.data, quote));
        replace_all(text, "{data_token}", quoted_identifier(options.columns.data_token, quote));
        replace_all(text, "{request}", quoted_identifier(options.columns.request, quote));
        replace_all(text, "{request_token}", quoted_identifier(options.columns.request_token, quote));
        replace_all(text, "{ttl}", quoted_identifier(options.columns.ttl, quote));
        replace_all(text, "{expires_at}", quoted_identifier(options.columns.expires_at, quote));
        return with_question_marks(text);
    }

    [[nodiscard]] const dialect::spec& spec() const noexcept { return spec_; }
    [[nodiscard]] const compiled_statement& operator[](statement which) const noexcept
    {
        return statements_[static_cast<std::size_t>(which)];
    }
    [[nodiscard]] const std::vector<std::string>& schema() const noexcept { return schema_; }
    [[nodiscard]] const std::vector<std::string>& added_columns() const noexcept { return added_columns_; }
    [[nodiscard]] const compiled_fence& fence() const noexcept { return fence_; }
    [[nodiscard]] const compiled_batches& batches() const noexcept { return batches_; }

private:
    static void replace_all(std::string& text, std::string_view what, std::string_view with)
    {
        for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
            text.replace(at, what.size(), with);
    }

    void compile_batches(const odbc_options& options)
    {
        const dialect::batch_sql& b = spec_.batches;
        if (!b.available()) return;
        batches_.most = b.most;
        batches_.arrays = b.renew.find(":all_names") != std::string::npos;
        const dialect::many_attempts_sql& a = spec_.many_attempts;
        batches_.most_attempts = a.available() ? a.most : 0;
        const std::array<const std::string*, batch_kind_count> texts{&b.renew, &b.release, &a.grant, &a.read, &a.take, &a.insert};
        for (std::size_t i = 0; i < compiled_batches::count; ++i) {
            const std::string& text = *texts[static_cast<std::size_t>(compiled_batches::kind_of(i))];
            batches_.statements[i] = compile(with_prologue(with_lists(text, batches_.room(i))), options);
        }
    }

    [[nodiscard]] std::string with_prologue(const std::string& text) const { return text.empty() ? text : spec_.prologue + text; }

    // Replaces what stands between `begin` and the brace that closes it by written(that).
    template <class Written>
    static void replace_each(std::string& text, std::string_view begin, Written written)
    {
        for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
            std::size_t end = at + begin.size();
            for (int open = 1; open != 0 && end < text.size(); ++end) open += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
            const std::string all = written(text.substr(at + begin.size(), end - 1 - at - begin.size()));
            text.replace(at, end - at, all);
            at += all.size();
        }
    }

    static std::string repeated(const std::string& one, std::size_t times)
    {
        std::string all;
        for (std::size_t i = 0; i < times; ++i) all += one;
        return all;
    }

    static std::string with_lists(std::string text, std::size_t terms)
    {
        constexpr std::size_t group = dialect::many_attempts_sql::names_per_group;
        const auto repeat_places = [](std::string& in, std::size_t places) {
            replace_each(in, "{each ", [places](const std::string& one) { return repeated(one, places); });
        };
        replace_each(text, "{group ", [&](const std::string& one) {
            std::string all;
            for (std::size_t at = 0; at < terms; at += group) {
                std::string of_group = one;
                repeat_places(of_group, std::min(group, terms - at));
                all += of_group;
            }
            return all;
        });
        repeat_places(text, terms);
        for (const std::string_view each : {":each_name", ":each_term"}) {
            std::string list{each};
            for (std::size_t i = 1; i < terms; ++i) list.append(", ").append(each);
            replace_all(text, each, list);
        }
        return text;
    }

    compiled_statement compile(const std::string& text, const odbc_options& options) const { return compile(text, spec_, options); }

    static compiled_statement with_question_marks(std::string_view text)
    {
        constexpr std::array<std::pair<std::string_view, parameter>, 23> markers{{{":name", parameter::name},
                                                                                 {":owner", parameter::owner},
                                                                                 {":token", parameter::token},
                                                                                 {":version", parameter::version},
                                                                                 {":seen", parameter::seen},
                                                                                 {":us", parameter::us},
                                                                                 {":now_ms", parameter::now_ms},
                                                                                 {":later_ms", parameter::later_ms},
                                                                                 {":unit", parameter::unit},
                                                                                 {":upper", parameter::upper},
                                                                                 {":lock_number", parameter::lock_number},
                                                                                 {":lock_name", parameter::lock_name},
                                                                                 {":data", parameter::data},
                                                                                 {":all_names", parameter::all_names},
                                                                                 {":all_owners", parameter::all_owners},
                                                                                 {":all_tokens", parameter::all_tokens},
                                                                                 {":each_name", parameter::each_name},
                                                                                 {":each_term", parameter::each_term},
                                                                                 {":most", parameter::most},
                                                                                 {":nth_name", parameter::nth_name},
                                                                                 {":nth_owner", parameter::nth_owner},
                                                                                 {":nth_token", parameter::nth_token},
                                                                                 {":last_name", parameter::last_name}}};
        compiled_statement result;
        while (!text.empty()) {
            const std::string_view before = text.substr(0, text.find(':'));
            result.sql += before;
            text.remove_prefix(before.size());
            if (text.empty()) break;
            const auto found = std::find_if(markers.begin(), markers.end(),
                                            [text](const auto& each) { return text.starts_with(each.first); });
            if (found != markers.end()) {
                result.sql += '?';
                result.parameters.push_back(found->second);
                text.remove_prefix(found->first.size());
            } else {
                result.sql += text.front();
                text.remove_prefix(1);
            }
        }
        return result;
    }

    dialect::spec spec_;
    std::array<compiled_statement, statement_count> statements_;
    std::vector<std::string> schema_;
    std::vector<std::string> added_columns_;
    compiled_fence fence_;
    compiled_batches batches_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
