// SPDX-License-Identifier: BSL-1.0
// Metrics are text that Prometheus reads, whatever the names of leases and files are. Input: how many names have numbers of their
// own (choice), the file's name, then names of leases, a line each.
#include "fuzz.hpp"
#include "targets.hpp"

#include <leasehold/error.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/metrics.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;

using labels = std::map<std::string, std::string>;

struct sample {
    std::string name;
    labels with;
    std::string value;
};

bool is_name(std::string_view text)
{
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:";
    return !text.empty() && letters.find(text.front()) != letters.npos &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:0123456789") == text.npos;
}

// A line as Prometheus' documentation of the text format has it.
sample parsed(std::string_view line)
{
    sample result;
    const std::string_view whole = line;
    const auto until = [&](std::string_view marks) {
        const std::size_t end = std::min(line.find_first_of(marks), line.size());
        std::string text{line.substr(0, end)};
        line.remove_prefix(end);
        return text;
    };
    const auto take = [&](char c) {
        const bool there = line.starts_with(c);
        if (there) line.remove_prefix(1);
        return there;
    };
    result.name = until("{ ");
    fuzz::require(is_name(result.name), "a sample has a name", whole);
    if (take('{')) {
        do {
            const std::string name = until("=");
            fuzz::require(is_name(name) && take('=') && take('"'), "a label has a name and a value", whole);
            std::string value;
            while (!line.empty() && line.front() != '"') {
                char c = line.front();
                line.remove_prefix(1);
                if (c == '\\') {
                    c = line.empty() ? '\0' : line.front();
                    fuzz::require(c == 'n' || c == '"' || c == '\\', "only three characters are escaped", whole);
                    line.remove_prefix(1);
                    if (c == 'n') c = '\n';
                }
                value += c;
            }
            fuzz::require(take('"'), "a label ends", whole);
            fuzz::require(result.with.emplace(name, value).second, "no label is there twice", whole);
        } while (take(','));
        fuzz::require(take('}'), "the labels end", whole);
    }
    fuzz::require(take(' '), "a value follows", whole);
    result.value = line;
    fuzz::require(!result.value.empty() && result.value.find_first_not_of("-0123456789.") == std::string::npos,
                  "a value is a number", whole);
    return result;
}

void count(lh::metrics& m, std::string_view name)
{
    m(lh::store_call{.operation = lh::store_operation::try_acquire, .name = name},
      {.error = {}, .succeeded = true, .elapsed = 1ms});
    m(lh::store_call{.operation = lh::store_operation::renew, .name = name},
      {.error = make_error_code(lh::errc::store_timeout), .succeeded = false, .elapsed = 1s});
    m(lh::lease_event{.kind = lh::lease_event_kind::acquired, .name = name, .token = lh::fencing_token{7}, .waited = 1ms});
}

}  // namespace

void fuzz::metrics(std::string_view input)
{
    reader in{input};
    const std::size_t most = 1 + in.choice(4);
    const std::string_view file = in.line();
    lh::metrics counted{most};
    std::vector<std::string_view> given;
    while (!in.empty() && given.size() < 6) {
        given.push_back(in.line());
        count(counted, given.back());
    }
    const bool file_fits = is_utf8(file);
    std::ostringstream out;
    counted.write_prometheus(out, file_fits ? file : "");
    const std::string text = out.str();
    require(is_utf8(text), "Prometheus reads UTF-8 only", text);
    require(text.ends_with('\n'), "the last line ends");

    std::set<std::pair<std::string, labels>> seen;
    std::set<std::string> names;
    std::size_t attempts = 0;
    for (reader lines{text}; !lines.empty();) {
        const std::string_view line = lines.line();
        if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) continue;
        // One bucket of a histogram has the labels of all, and there are many.
        if (contains(line.substr(0, line.find('{')), "_bucket") && !contains(line, "le=\"+Inf\"")) continue;
        const sample one = parsed(line);
        require(seen.emplace(one.name, one.with).second, "Prometheus refuses a file with a sample that is there twice",
                line);
        if (file_fits && !file.empty())
            require(one.with.count("file") == 1 && one.with.at("file") == file, "the file's name is read back", line, file);
        if (!one.with.contains("lease")) continue;
        names.insert(one.with.at("lease"));
        if (one.name == "leasehold_attempts_total") attempts += std::stoul(one.value);
    }
    require(attempts == given.size(), "each call is counted once", text);
    require(names.size() <= most + 1, "only so many names have numbers of their own", text);
    for (const std::string& name : names)
        require(name == "(others)" || std::find(given.begin(), given.end(), name) != given.end(), "a name is read back",
                name);
}
