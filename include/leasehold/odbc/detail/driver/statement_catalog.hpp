// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_STATEMENT_CATALOG_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_STATEMENT_CATALOG_HPP

#include <leasehold/odbc/detail/flow/batch_flow.hpp>
#include <leasehold/odbc/detail/flow/identifier.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>
#include <leasehold/odbc/dialect/spec.hpp>
#include <leasehold/odbc/odbc_options.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// SQL as ODBC wants it: question marks, and what to bind to them.
struct compiled_statement {
    std::string sql;
    std::vector<parameter> parameters;
    std::span<const column> columns{};  // of its result, in order
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
    compiled_statement save_checkpoint;  // these two: see dialect::checkpoint_sql
    compiled_statement saved_checkpoint;
    mutable std::atomic<fence_kind> kind{fence_kind::unknown};  // all find out the same; a thread that does not see it asks again
};

// See dialect::batch_sql and many_attempts_sql.
struct compiled_batches {
    // Each place takes time, whether it is used or not. So there are statements for few, for some and for many.
    static constexpr std::size_t few = 16;
    static constexpr std::size_t some = 128;
    static constexpr std::size_t sizes = 3;
    static constexpr std::size_t count = sizes * batch_kind_count;

    std::array<compiled_statement, count> statements;  // of each kind, for many, some and few
    std::size_t most = 0;
    std::size_t most_attempts = 0;
    bool arrays = false;  // and so room for any number
    bool grants_free = false;

    [[nodiscard]] bool available() const noexcept { return most > 1; }
    [[nodiscard]] std::size_t index_of(batch_kind kind, std::size_t terms) const noexcept
    {
        return sizes * static_cast<std::size_t>(kind) + (arrays || terms > some ? 0 : terms > few ? 1 : 2);
    }
    static constexpr batch_kind kind_of(std::size_t index) noexcept { return static_cast<batch_kind>(index / sizes); }
    // How many places its lists have.
    [[nodiscard]] std::size_t room(std::size_t index) const noexcept
    {
        const std::size_t many = kind_of(index) < batch_kind::grants ? most : most_attempts;
        const std::size_t size = index % sizes;
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
        const dialect::handover_sql& h = d.handover;
        const dialect::checkpoint_sql& c = d.checkpoint;
        const std::span<const column> list = d.observes ? std::span<const column>{columns::observed_list} : columns::list;
        const std::string write_nothing = d.without_waiting + "update {table} set {owner} = {owner} where {no row}";
        const struct {
            statement id;
            const std::string& text;
            std::span<const column> shows{};
        } all[]{{statement::probe, d.probe, columns::probe}, {statement::insert, d.insert}, {statement::take, d.take},
                {statement::renew, d.renew}, {statement::release, d.release}, {statement::force_release, d.force_release},
                {statement::grant, d.grant, columns::grant}, {statement::read, d.read, columns::read},
                {statement::observe, d.observe, columns::observe}, {statement::inspect, d.inspect, columns::inspect},
                {statement::list, d.list, list}, {statement::clock, d.clock, columns::clock},
                {statement::write_nothing, write_nothing},
                {statement::lock, l.lock, columns::lock}, {statement::try_lock, l.try_lock, columns::lock},
                {statement::backend, l.backend, columns::token}, {statement::unlock, l.unlock},
                {statement::floor, p.floor, columns::token}, {statement::look, p.look, columns::look},
                {statement::add_floor, p.add_floor}, {statement::raise_floor, p.raise_floor}, {statement::remove, p.remove},
                {statement::publish, h.publish}, {statement::request, h.request},
                {statement::request_of_candidate, h.request_of_candidate.empty() ? h.request : h.request_of_candidate},
                {statement::published, h.published, columns::published}, {statement::requested, h.requested, columns::requested},
                {statement::said, h.said, columns::said},
                {statement::save_checkpoint, c.save},
                {statement::replace_checkpoint, c.replace.empty() ? c.save : c.replace},
                {statement::saved_checkpoint, c.saved, columns::checkpoint},
                {statement::list_checkpoints, c.list, columns::list_checkpoints},
                {statement::look_at_checkpoint, c.look, columns::look_at_checkpoint}};
        static_assert(std::size(all) == statement_count);
        for (const auto& [id, text, shows] : all) {
            compiled_statement& compiled = statements_[static_cast<std::size_t>(id)];
            compiled = compile(with_prologue(text), options);
            compiled.columns = shows;
        }
        for (const std::string& text : d.schema) schema_.push_back(compile(text, options).sql);
        for (std::string* text : {&spec_.name_key.present, &spec_.name_key.add})
            *text = compile(with_bare_names(*text, options), options).sql;
        const dialect::fence_sql& f = d.fence;
        const std::pair<compiled_statement&, const std::string&> of_fence[]{
            {fence_.possible, f.possible}, {fence_.transaction, f.transaction}, {fence_.cluster, f.cluster}, {fence_.lock, f.lock},
            {fence_.write, f.write},       {fence_.written, f.written},         {fence_.write_back, f.write_back},
            {fence_.save_checkpoint, c.save_fenced}, {fence_.saved_checkpoint, c.saved_fenced}};
        for (const auto& [into, text] : of_fence) into = compile(text, options);
        compile_batches(options);
    }

    // Reads no more of the dialect than its fragments and its quote.
    static compiled_statement compile(std::string text, const dialect::spec& spec, const odbc_options& options)
    {
        for (const auto& [marker, fragment] : spec.fragments) replace_all(text, marker, fragment);
        replace_all(text, "{table by name}", "{table}" + spec.by_name);
        replace_all(text, "{data and request}", data_and_request);
        replace_all(text, "{no row}", "1 = 0");
        replace_all(text, "{table}", quoted_identifier(options.table, spec.quote));
        for (const auto& [marker, column] : column_markers)
            replace_all(text, marker, quoted_identifier(options.columns.*column, spec.quote));
        return with_question_marks(text);
    }

    [[nodiscard]] const dialect::spec& spec() const noexcept { return spec_; }
    [[nodiscard]] const compiled_statement& operator[](statement id) const noexcept
    {
        return statements_[static_cast<std::size_t>(id)];
    }
    [[nodiscard]] const std::vector<std::string>& schema() const noexcept { return schema_; }
    [[nodiscard]] const compiled_fence& fence() const noexcept { return fence_; }
    [[nodiscard]] const compiled_batches& batches() const noexcept { return batches_; }

private:
    static constexpr std::string_view data_and_request = "case when {data_token} = {token} and {owner} <> '' then {data} end,"
                                                         " case when {request_token} = {token} and {owner} <> '' then {request} end";
    static constexpr std::array<std::pair<std::string_view, std::string odbc_columns::*>, 12> column_markers{{
        {"{name}", &odbc_columns::name}, {"{owner}", &odbc_columns::owner}, {"{token}", &odbc_columns::token},
        {"{version}", &odbc_columns::version}, {"{ttl}", &odbc_columns::ttl}, {"{expires_at}", &odbc_columns::expires_at},
        {"{data}", &odbc_columns::data}, {"{data_token}", &odbc_columns::data_token},
        {"{request}", &odbc_columns::request}, {"{request_token}", &odbc_columns::request_token},
        {"{checkpoint}", &odbc_columns::checkpoint}, {"{checkpoint_token}", &odbc_columns::checkpoint_token}}};
    static constexpr std::array<std::pair<std::string_view, parameter>, 25> parameter_markers{{
        {":name", parameter::name}, {":owner", parameter::owner}, {":token", parameter::token}, {":version", parameter::version},
        {":seen", parameter::seen}, {":us", parameter::us}, {":now_ms", parameter::now_ms}, {":later_ms", parameter::later_ms},
        {":unit", parameter::unit}, {":upper", parameter::upper}, {":lock_number", parameter::lock_number},
        {":lock_name", parameter::lock_name}, {":data", parameter::data},
        {":checkpoint", parameter::checkpoint}, {":replaced", parameter::replaced}, {":all_names", parameter::all_names},
        {":all_owners", parameter::all_owners}, {":all_tokens", parameter::all_tokens}, {":each_name", parameter::each_name},
        {":each_term", parameter::each_term}, {":most", parameter::most}, {":nth_name", parameter::nth_name},
        {":nth_owner", parameter::nth_owner}, {":nth_token", parameter::nth_token}, {":last_name", parameter::last_name}}};

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
        batches_.grants_free = !a.grant_free.empty();
        const std::array<const std::string*, batch_kind_count> texts{&b.renew, &b.release, &a.grant,     &a.read,
                                                                 &a.take,  &a.insert,  &a.grant_free};
        for (std::size_t i = 0; i < compiled_batches::count; ++i) {
            const batch_kind kind = compiled_batches::kind_of(i);
            batches_.statements[i] = compile(with_prologue(with_lists(*texts[static_cast<std::size_t>(kind)], batches_.room(i))), options);
            if (kind == batch_kind::grants || kind == batch_kind::free_grants) batches_.statements[i].columns = columns::grants;
            if (kind == batch_kind::reads) batches_.statements[i].columns = columns::reads;
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
        for (const std::string_view marker : {":each_name", ":each_term"}) {
            std::string list{marker};
            for (std::size_t i = 1; i < terms; ++i) list.append(", ").append(marker);
            replace_all(text, marker, list);
        }
        return text;
    }

    // See dialect::name_key_sql.
    static std::string with_bare_names(std::string text, const odbc_options& options)
    {
        const std::size_t point = options.table.find('.');
        const std::string schema = point == std::string::npos ? std::string{} : options.table.substr(0, point);
        replace_all(text, "{schema}.", schema.empty() ? schema : schema + '.');
        replace_all(text, "{schema}", schema);
        replace_all(text, "{bare table}", point == std::string::npos ? options.table : options.table.substr(point + 1));
        return text;
    }

    compiled_statement compile(const std::string& text, const odbc_options& options) const { return compile(text, spec_, options); }

    static compiled_statement with_question_marks(std::string_view text)
    {
        compiled_statement result;
        while (!text.empty()) {
            const std::string_view before = text.substr(0, text.find(':'));
            result.sql += before;
            text.remove_prefix(before.size());
            if (text.empty()) break;
            const auto is_next = [text](const auto& marker) { return text.starts_with(marker.first); };
            const auto found = std::ranges::find_if(parameter_markers, is_next);
            if (found != parameter_markers.end()) {
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
    compiled_fence fence_;
    compiled_batches batches_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
