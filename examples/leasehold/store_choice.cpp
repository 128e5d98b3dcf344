// SPDX-License-Identifier: BSL-1.0
#include "store_choice.hpp"

#include "exit_code.hpp"
#include "failure.hpp"
#include "message.hpp"

#include <leasehold/odbc/detail/driver/keywords.hpp>
#include <leasehold/odbc/detail/driver/known_names.hpp>
#include <leasehold/odbc/detail/driver/secrets.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tool {

namespace {

namespace fs = std::filesystem;

std::optional<std::string> variable(const char* name)
{
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>{value} : std::nullopt;
}

std::string trimmed(std::string_view text)
{
    const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return std::string{text};
}

std::string lower_case(std::string_view text)
{
    std::string result;
    for (const char c : text) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

/// A file that is read as a whole. Also of a pipe, as a shell's <(...) makes one.
class readable_file {
public:
    explicit readable_file(const std::string& path) noexcept : descriptor_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)}
    {
        error_ = descriptor_ < 0 || ::fstat(descriptor_, &status_) != 0 ? errno : 0;
    }
    readable_file(const readable_file&) = delete;
    readable_file& operator=(const readable_file&) = delete;
    ~readable_file()
    {
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    /// errno, or 0.
    [[nodiscard]] int error() const noexcept { return error_; }
    /// Whether any of these may do that with it; false for what is no file on a disk.
    [[nodiscard]] bool allows(mode_t permissions) const noexcept
    {
        return S_ISREG(status_.st_mode) && (status_.st_mode & permissions) != 0;
    }
    [[nodiscard]] uid_t owner() const noexcept { return status_.st_uid; }

    std::string text()
    {
        std::string all;
        std::array<char, 4096> part{};
        for (ssize_t got = 0; (got = ::read(descriptor_, part.data(), part.size())) != 0;) {
            if (got < 0 && errno == EINTR) continue;
            if (got < 0 || all.size() > longest) {
                error_ = got < 0 ? errno : EFBIG;
                return {};
            }
            all.append(part.data(), static_cast<std::size_t>(got));
        }
        return all;
    }

private:
    static constexpr std::size_t longest = 1U << 20U;

    int descriptor_ = -1;
    int error_ = 0;
    struct stat status_ {};
};

std::string read_store(readable_file& file, const std::string& path)
{
    const std::string all = file.error() == 0 ? file.text() : "";
    if (file.error() != 0)
        throw failure{exit_code::usage, "can't read the store's file " + path + ": " + std::strerror(file.error())};
    std::string text;
    try {
        text = connection_string_in(all);
    } catch (const failure& refused) {
        throw failure{refused.status(), "the store's file " + path + " can't be used: " + refused.what()};
    }
    if (text.empty()) throw failure{exit_code::usage, "there is no connection string in " + path};
    if (file.allows(S_IROTH) && !leasehold::odbc::detail::passwords_in(text).empty())
        complain("everybody on this host can read " + path +
                 ", which contains a password: chmod it to 600, or to 640 for a group");
    return text;
}

std::string from_file(const std::string& path)
{
    readable_file file{path};
    return read_store(file, path);
}

// Who can write the connection string chooses the driver, which is code that runs with the rights of the user.
void refuse_if_others_can_write(const readable_file& file, const std::string& path)
{
    if (file.allows(S_IWGRP | S_IWOTH))
        throw failure{exit_code::usage,
                      path + " is not used, because users other than its owner can write to it: chmod go-w it"};
    if (file.owner() != 0 && file.owner() != ::geteuid())
        throw failure{exit_code::usage, path + " is not used, because it belongs neither to root nor to you"};
}

// Nothing: the host has none.
std::optional<std::string> from_default_file(const std::string& path)
{
    readable_file file{path};
    if (file.error() == ENOENT || file.error() == ENOTDIR) return std::nullopt;
    if (file.error() == 0) refuse_if_others_can_write(file, path);
    return read_store(file, path);
}

fs::path state_folder()
{
    const std::string state = variable("XDG_STATE_HOME").value_or("");
    if (state.starts_with('/')) return fs::path{state} / "leasehold";
    const std::string home = variable("HOME").value_or("");
    if (home.empty()) throw failure{exit_code::usage, "--local needs HOME for its file, but HOME is not set"};
    return fs::path{home} / ".local" / "state" / "leasehold";
}

std::string sqlite_file_of_user()
{
    const fs::path folder = state_folder();
    const std::string file = (folder / "leases.db").string();
    if (file.find_first_of(";{}") != std::string::npos)
        throw failure{exit_code::usage, "a connection string can't contain this file name, because of ; { or }: " + file};
    std::error_code ec;
    fs::create_directories(folder.parent_path(), ec);
    if (::mkdir(folder.c_str(), 0700) != 0 && !fs::is_directory(folder, ec))
        throw failure{exit_code::store, "can't create the folder " + folder.string()};
    for (const std::string& driver : leasehold::odbc::detail::known_names(::SQLDrivers))
        if (lower_case(driver) == "sqlite3") return "Driver=" + driver + ";Database=" + file;
    throw failure{exit_code::store, "--local needs an ODBC driver for SQLite, but none is installed (Debian: libsqliteodbc)"};
}

std::string not_empty(const std::string& text, const std::string& origin)
{
    std::string result = trimmed(text);
    if (result.empty()) throw failure{exit_code::usage, origin + " is empty: set it, or leave it out"};
    return result;
}

[[noreturn]] void refuse_without_store(const std::string& default_file)
{
    throw failure{
        exit_code::usage,
        "no store is named, and hosts that don't share one don't exclude each other: write its connection string into " +
            default_file +
            ", or use --store, --store-file, LEASEHOLD_STORE or LEASEHOLD_STORE_FILE;"
            " --local is only for your processes on this host"};
}

chosen_store find_store(const asked_store& asked)
{
    if (asked.store) return {.connection_string = not_empty(*asked.store, "--store"), .origin = "--store"};
    if (asked.file) {
        const std::string file = not_empty(*asked.file, "--store-file");
        return {.connection_string = from_file(file), .origin = "--store-file " + file};
    }
    if (asked.local) return {.connection_string = sqlite_file_of_user(), .is_local = true, .origin = "--local"};
    if (const auto store = variable("LEASEHOLD_STORE"))
        return {.connection_string = not_empty(*store, "LEASEHOLD_STORE"), .origin = "LEASEHOLD_STORE"};
    if (const auto named = variable("LEASEHOLD_STORE_FILE")) {
        const std::string file = not_empty(*named, "LEASEHOLD_STORE_FILE");
        return {.connection_string = from_file(file), .origin = "LEASEHOLD_STORE_FILE, which is " + file};
    }
    const std::string file = default_store_file();
    auto text = from_default_file(file);
    if (!text) refuse_without_store(file);
    return {.connection_string = std::move(*text), .origin = file};
}

bool is_no_secret(const std::string& keyword)
{
    constexpr std::array<std::string_view, 9> known{"driver", "dsn", "server", "servername", "database",
                                                    "port",   "uid", "user",   "socket"};
    return std::find(known.begin(), known.end(), lower_case(trimmed(keyword))) != known.end();
}

// A forgotten semicolon or brace, as in "UID=me PWD=secret" and "Driver={x;PWD=secret", makes a password part of another's value.
bool may_be_shown(const std::string& keyword, std::string_view value)
{
    return is_no_secret(keyword) && value.find('=') == value.npos;
}

// Takes the value at the front off `text`, and the semicolon behind it. In braces it may have semicolons in it, and braces twice.
std::string_view take_value(std::string_view& text)
{
    std::size_t end = 0;
    for (bool braces = text.starts_with('{'); end < text.size() && (braces || text[end] != ';'); ++end)
        if (braces && text[end] == '}') braces = text.substr(end).starts_with("}}") && ++end > 0;
    const std::string_view value = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return value;
}

}  // namespace

std::string connection_string_in(std::string_view file_text)
{
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // some editors begin UTF-8 with it
    if (file_text.starts_with(byte_order_mark)) file_text.remove_prefix(byte_order_mark.size());
    for (std::size_t number = 1; !file_text.empty(); ++number) {
        const std::size_t end = std::min(file_text.find('\n'), file_text.size());
        std::string line = trimmed(file_text.substr(0, end));
        if (line.find('\0') != line.npos)
            throw failure{exit_code::usage,
                          "line " + std::to_string(number) +
                              " has a NUL in it, where ODBC would cut the connection string: write the file as UTF-8"};
        if (!line.empty() && line.front() != '#') return line;
        file_text.remove_prefix(std::min(end + 1, file_text.size()));
    }
    return {};
}

std::string default_store_file()
{
    const auto named = variable("LEASEHOLD_DEFAULT_STORE_FILE");
    return named ? not_empty(*named, "LEASEHOLD_DEFAULT_STORE_FILE") : "/etc/leasehold.store";
}

chosen_store choose_store(const asked_store& asked)
{
    chosen_store chosen = find_store(asked);
    chosen.session_locks = asked.session_locks;
    if (asked.table)
        chosen.table = not_empty(*asked.table, "--table");
    else if (const auto table = variable("LEASEHOLD_TABLE"))
        chosen.table = not_empty(*table, "LEASEHOLD_TABLE");
    if (chosen.connection_string.find('=') == std::string::npos) chosen.connection_string.insert(0, "DSN=");
    chosen.connection_string = leasehold::odbc::detail::without_blanks_beside_keywords(chosen.connection_string);
    explain("the store is " + shown(chosen.connection_string) + ", table " + chosen.table + "; named by " + chosen.origin);
    return chosen;
}

std::string without_secrets(std::string_view text)
{
    std::string result;
    while (!text.empty()) {
        const std::size_t mark = std::min(text.find_first_of("=;"), text.size());
        const bool is_pair = text.substr(mark).starts_with('=');
        const std::string keyword = trimmed(text.substr(0, mark));
        text.remove_prefix(std::min(mark + 1, text.size()));
        const std::string_view value = is_pair ? take_value(text) : std::string_view{};
        if (keyword.empty()) continue;
        if (!result.empty()) result += ';';
        // What is no pair may be the rest of a password with a semicolon in it.
        if (is_pair) result.append(keyword).append("=");
        result.append(is_pair && may_be_shown(keyword, value) ? value : "***");
    }
    return result;
}

std::string shown(std::string_view connection_string) { return printable(without_secrets(connection_string)); }

}  // namespace tool
