// SPDX-License-Identifier: BSL-1.0
#include "records.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace campaign {

namespace {

constexpr auto words = std::to_array<std::string_view>(
    {"started", "call",    "won",    "held",        "over",  "signalled", "releasing", "released",
     "empty",   "failed",  "stopped", "asked",      "closed", "opened", "calling", "fire_begun", "fire_completing",
     "fire_completed", "fire_told", "rules", "limits", "began", "ended", "fault",
     "excuse",  "outage",  "frozen",  "killed",     "crashed", "refusal", "effect",    "circumstance"});
static_assert(words.size() == static_cast<std::size_t>(event::circumstance) + 1);

template <class Number>
bool parse(std::string_view text, Number& into)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

// Not a type of the library's: the checker must not share its idea of time.
instant now() noexcept
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string to_line(const record& r)
{
    std::string line{words[static_cast<std::size_t>(r.what)]};
    line.append(" ").append(r.process);
    for (const std::int64_t number : {r.token, r.at, r.until}) line.append(" ").append(std::to_string(number));
    return line.append(" ").append(r.detail).append(" ").append(std::to_string(r.lease)).append(" ").append(r.owner);
}

std::optional<record> from_line(std::string_view line)
{
    std::array<std::string_view, 8> fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::size_t space = line.find(' ');
        if ((space == std::string_view::npos) != (i + 1 == fields.size())) return std::nullopt;
        fields[i] = line.substr(0, space);
        line.remove_prefix(std::min(line.size(), fields[i].size() + 1));
    }
    const auto word = std::find(words.begin(), words.end(), fields[0]);
    record r{.what = static_cast<event>(word - words.begin()), .process = std::string{fields[1]}};
    const bool whole = word != words.end() && !r.process.empty() && parse(fields[2], r.token) && parse(fields[3], r.at) &&
                       parse(fields[4], r.until) && !fields[5].empty() && parse(fields[6], r.lease) && !fields[7].empty();
    r.detail = fields[5];
    r.owner = fields[7];
    return whole ? std::optional{std::move(r)} : std::nullopt;
}

record_file::record_file(const std::filesystem::path& path)
    : file_{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)}
{
    if (file_ < 0) throw std::system_error{errno, std::generic_category(), "can't write " + path.string()};
}

record_file::~record_file() { ::close(file_); }

void record_file::write(const record& r) const
{
    const std::string line = to_line(r) + '\n';
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        throw std::system_error{errno, std::generic_category(), "can't write a record"};
}

std::vector<record> read_records(const std::filesystem::path& folder)
{
    std::vector<record> found;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        if (entry.path().extension() != records_extension) continue;
        std::ifstream file{entry.path()};
        for (std::string line; std::getline(file, line);) {
            if (file.eof()) break;  // its end was lost with the process
            std::optional<record> r = from_line(line);
            if (!r) throw std::runtime_error{entry.path().string() + ": not a record: '" + line + "'"};
            found.push_back(std::move(*r));
        }
    }
    std::ranges::stable_sort(found, {}, &record::at);
    return found;
}

std::optional<record> last_record(const std::filesystem::path& path)
{
    constexpr std::streamoff enough = 512;
    std::ifstream file{path, std::ios::ate};
    if (!file) return std::nullopt;
    file.seekg(std::max<std::streamoff>(0, static_cast<std::streamoff>(file.tellg()) - enough));
    const std::string tail{std::istreambuf_iterator<char>{file}, {}};
    const std::size_t end = tail.rfind('\n');
    if (end == std::string::npos || end == 0) return std::nullopt;
    const std::size_t before = tail.rfind('\n', end - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    return from_line(std::string_view{tail}.substr(begin, end - begin));
}

}  // namespace campaign
