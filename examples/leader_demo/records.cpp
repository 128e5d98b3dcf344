// SPDX-License-Identifier: BSL-1.0
#include "records.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace demo {

namespace {

constexpr std::array<std::string_view, 10> words = {"led",  "extended", "worked", "stepped_down", "stopped",
                                                    "lost", "rules",    "began",  "killed",       "asked"};
static_assert(words.size() == static_cast<std::size_t>(event::asked) + 1);

template <class Number>
bool parse(std::string_view text, Number& into)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string to_line(const record& r)
{
    std::string line{words[static_cast<std::size_t>(r.what)]};
    line.append(" ").append(r.process);
    for (const std::int64_t number : {r.token, r.at, r.until}) line.append(" ").append(std::to_string(number));
    return line;
}

std::optional<record> from_line(std::string_view line)
{
    std::array<std::string_view, 5> fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::size_t space = line.find(' ');
        if ((space == std::string_view::npos) != (i + 1 == fields.size())) return std::nullopt;
        fields[i] = line.substr(0, space);
        line.remove_prefix(std::min(line.size(), fields[i].size() + 1));
    }
    const auto word = std::find(words.begin(), words.end(), fields[0]);
    record r{.what = static_cast<event>(word - words.begin()), .process = std::string{fields[1]}};
    const bool whole = word != words.end() && !r.process.empty() && parse(fields[2], r.token) && parse(fields[3], r.at) &&
                       parse(fields[4], r.until);
    return whole ? std::optional{std::move(r)} : std::nullopt;
}

record_file::record_file(const std::filesystem::path& path)
    : file_{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)}
{
    if (file_ < 0) throw std::system_error{errno, std::generic_category(), "can't write " + path.string()};
}

record_file::~record_file() { ::close(file_); }

void record_file::write(const record& r)
{
    const std::string line = to_line(r) + '\n';
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        throw std::system_error{errno, std::generic_category(), "can't write a record"};
}

std::vector<record> record_reader::read()
{
    look_for_files();
    std::vector<record> found;
    for (source& from : sources_) read_from(from, found);
    std::ranges::stable_sort(found, {}, &record::at);
    return found;
}

void record_reader::look_for_files()
{
    for (const auto& entry : std::filesystem::directory_iterator{folder_}) {
        const std::filesystem::path& path = entry.path();
        if (path.extension() == extension && std::ranges::find(sources_, path, &source::path) == sources_.end())
            sources_.push_back({path});
    }
}

void record_reader::read_from(source& from, std::vector<record>& into)
{
    std::ifstream file{from.path};
    file.seekg(static_cast<std::streamoff>(from.read));
    const std::string added{std::istreambuf_iterator<char>{file}, {}};
    const std::string_view text{added};
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
        std::optional<record> r = from_line(text.substr(begin, end - begin));
        if (!r)
            throw std::runtime_error{from.path.string() + ": not a record: '" +
                                     std::string{text.substr(begin, end - begin)} + "'"};
        into.push_back(std::move(*r));
    }
    from.read += begin;
}

}  // namespace demo
