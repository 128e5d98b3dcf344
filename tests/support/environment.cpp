// SPDX-License-Identifier: BSL-1.0
#include <support/environment.hpp>

#include <support/child_process.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string_view>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace leasehold_test {

namespace {

std::string joined(const std::vector<std::string>& names)
{
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

// As the system in `root` calls it.
std::filesystem::path first_of(const std::vector<std::string>& names, const std::vector<std::filesystem::path>& folders,
                               const std::filesystem::path& root)
{
    for (const std::string& name : names)
        for (const auto& folder : folders)
            if (::access((root.string() + (folder / name).string()).c_str(), X_OK) == 0) return folder / name;
    return {};
}

std::vector<std::filesystem::path> folders_of_system(std::vector<std::filesystem::path> first_in)
{
    for (const char* folder : {"/usr/bin", "/usr/sbin", "/bin", "/sbin"}) first_in.emplace_back(folder);
    return first_in;
}

std::istringstream odbcinst_says(const std::vector<std::string>& asked)
{
    std::vector<std::string> words{find_program({"odbcinst"}).string(), "-q", "-d"};
    words.insert(words.end(), asked.begin(), asked.end());
    child_process odbcinst{words, {.capture = true}};
    std::istringstream lines{odbcinst.read_all()};
    odbcinst.wait();
    return lines;
}

}  // namespace

bool servers_required()
{
    const char* value = std::getenv("LEASEHOLD_REQUIRE_SERVERS");
    return value && *value && std::string_view{value} != "0";
}

std::filesystem::path find_program(const std::vector<std::string>& names, const std::vector<std::filesystem::path>& first_in)
{
    std::vector<std::filesystem::path> folders = first_in;
    const char* path = std::getenv("PATH");
    std::istringstream entries{path ? path : ""};
    for (std::string entry; std::getline(entries, entry, ':');)
        if (!entry.empty()) folders.emplace_back(entry);
    for (const char* folder : {"/usr/local/sbin", "/usr/sbin", "/sbin"}) folders.emplace_back(folder);
    if (const auto found = first_of(names, folders, {}); !found.empty()) return found;
    throw missing_requirement{"no program named " + joined(names)};
}

std::filesystem::path find_program_in(const std::filesystem::path& root, const std::vector<std::string>& names,
                                      const std::vector<std::filesystem::path>& first_in)
{
    if (root.empty()) return find_program(names, first_in);
    if (const auto found = first_of(names, folders_of_system(first_in), root); !found.empty()) return found;
    throw missing_requirement{"no program named " + joined(names) + " in the system in " + root.string()};
}

std::filesystem::path servers_root(const std::vector<std::string>& programs,
                                   const std::vector<std::filesystem::path>& first_in)
{
    const char* root = std::getenv("LEASEHOLD_SERVERS_ROOT");
    if (!root || !*root || first_of(programs, folders_of_system(first_in), root).empty()) return {};
    if (::geteuid() != 0) throw missing_requirement{std::string{"only root can run the servers in "} + root};
    return root;
}

std::vector<std::string> installed_odbc_drivers()
{
    std::istringstream lines = odbcinst_says({});
    std::vector<std::string> drivers;
    for (std::string line; std::getline(lines, line);)
        if (line.size() > 2 && line.front() == '[' && line.back() == ']') drivers.push_back(line.substr(1, line.size() - 2));
    return drivers;
}

std::string find_odbc_driver(const std::vector<std::string>& names)
{
    static const std::vector<std::string> installed = installed_odbc_drivers();
    for (const std::string& name : names)
        if (std::find(installed.begin(), installed.end(), name) != installed.end()) return name;
    throw missing_requirement{"no ODBC driver named " + joined(names) + "; odbcinst -q -d lists: " + joined(installed)};
}

std::filesystem::path find_odbc_driver_file(const std::vector<std::string>& names)
{
    const std::string name = find_odbc_driver(names);
    std::istringstream lines = odbcinst_says({"-n", name});
    std::string file;
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("Driver=")) file = line.substr(line.find('=') + 1);
    std::vector<std::filesystem::path> folders{"/", "/usr/lib", "/usr/lib64", "/usr/lib/odbc", "/usr/local/lib"};
    for (const auto& entry : std::filesystem::directory_iterator{"/usr/lib"})
        if (entry.is_directory()) folders.push_back(entry.path() / "odbc");
    for (const auto& folder : folders)
        if (!file.empty() && std::filesystem::is_regular_file(folder / file)) return folder / file;
    throw missing_requirement{"the ODBC driver " + name + " is no file that could be found: " + file};
}

std::string sqlite_connection_string(const std::filesystem::path& database)
{
    return "Driver=" + find_odbc_driver({"SQLite3", "SQLITE3"}) + ";Database=" + database.string();
}

std::map<std::string, std::string> faketime_environment(const std::string& offset)
{
    std::vector<std::filesystem::path> folders{"/usr/lib", "/usr/lib64", "/usr/local/lib"};
    for (const auto& entry : std::filesystem::directory_iterator{"/usr/lib"})
        if (entry.is_directory() && entry.path().filename().string().find("-linux-gnu") != std::string::npos)
            folders.push_back(entry.path());
    for (const auto& folder : folders) {
        const auto library = folder / "faketime" / "libfaketime.so.1";
        if (std::filesystem::exists(library))
            return {{"LD_PRELOAD", library.string()}, {"FAKETIME", offset}, {"FAKETIME_DONT_FAKE_MONOTONIC", "1"}};
    }
    throw missing_requirement{"no libfaketime.so.1"};
}

namespace {

/// `port` if it is free on 127.0.0.1, and for 0 a free one that the system chooses.
std::optional<int> bindable_port(int port)
{
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    const bool bound = listener >= 0 && ::bind(listener, generic, size) == 0 && ::getsockname(listener, generic, &size) == 0;
    const int error = errno;
    if (listener >= 0) ::close(listener);
    if (bound) return ntohs(address.sin_port);
    if (error == EADDRINUSE) return std::nullopt;
    throw std::system_error{error, std::generic_category(), "looking for a free port"};
}

}  // namespace

int free_port()
{
    // Not one that the system gives to outgoing connections: a connection could have it while the server is down.
    constexpr int first = 12000, enough = 1000;
    int first_outgoing = 32768;
    std::ifstream{"/proc/sys/net/ipv4/ip_local_port_range"} >> first_outgoing;
    if (first_outgoing - first < enough) return bindable_port(0).value();
    thread_local std::mt19937 random{std::random_device{}()};
    std::uniform_int_distribution<int> any{first, first_outgoing - 1};
    for (;;)
        if (const auto port = bindable_port(any(random))) return *port;
}

}  // namespace leasehold_test
