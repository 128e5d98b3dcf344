// SPDX-License-Identifier: BSL-1.0
#include <tool/tool_fixture.hpp>

#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace leasehold_test {

tool_fixture::tool_fixture(const std::string& store)
{
    std::ofstream{store_file()} << (store.empty() ? sqlite_connection_string(path("leases.db")) : store) << '\n';
    std::filesystem::permissions(store_file(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    if (store.empty() && !run({"init"}).status.success()) throw std::runtime_error{"no table: " + file("errors-of-run")};
}

std::vector<std::string> tool_fixture::command(const std::vector<std::string>& arguments, const std::string& errors,
                                               const std::map<std::string, std::string>& environment) const
{
    std::string script{"unset -v"};
    for (const char* each : {"LEASEHOLD_STORE", "LEASEHOLD_STORE_FILE", "LEASEHOLD_TABLE"})
        if (!environment.contains(each)) script.append(" ").append(each);
    // exec, so that the tool has the number that child_process knows.
    std::vector<std::string> all{"sh", "-c", script + "; exec \"$0\" \"$@\" 2>>'" + path(errors) + "'", LEASEHOLD_TOOL};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
}

process_options tool_fixture::options(const std::map<std::string, std::string>& environment) const
{
    std::map<std::string, std::string> all{{"XDG_STATE_HOME", path("state")},
                                           {"LEASEHOLD_DEFAULT_STORE_FILE", store_file()}};
    for (const auto& [name, value] : environment) all[name] = value;
    // SIGTERM when the test ends before its time, so that the tool ends its command.
    return {.environment = all, .capture = true, .death_signal = SIGTERM};
}

child_process tool_fixture::start(const std::vector<std::string>& arguments,
                                  const std::map<std::string, std::string>& environment)
{
    return child_process{command(arguments, "errors", environment), options(environment)};
}

tool_result tool_fixture::run(const std::vector<std::string>& arguments,
                              const std::map<std::string, std::string>& environment)
{
    std::filesystem::remove(path("errors-of-run"));
    child_process tool{command(arguments, "errors-of-run", environment), options(environment)};
    std::string out = tool.read_all();
    const exit_status status = tool.wait();
    return {status, std::move(out), file("errors-of-run")};
}

tool_result tool_fixture::run_words(const std::string& words)
{
    std::istringstream stream{words};
    return run({std::istream_iterator<std::string>{stream}, {}});
}

std::string tool_fixture::errors() const { return file("errors"); }

std::string tool_fixture::file(const std::string& name) const { return read_file(path(name)); }

bool tool_fixture::file_gets(const std::string& name, const std::string& text, std::chrono::seconds within) const
{
    return eventually([&] { return file(name).find(text) != std::string::npos; }, within);
}

bool tool_fixture::held(const std::string& name) { return run({"show", name}).status == exit_status{}; }

namespace {

// As in /proc/PID/stat; X: there is no such process.
char state_of(pid_t process)
{
    const std::string stat = read_file("/proc/" + std::to_string(process) + "/stat");
    const std::size_t bracket = stat.rfind(')');
    return bracket != std::string::npos && bracket + 2 < stat.size() ? stat[bracket + 2] : 'X';
}

}  // namespace

#if defined(__linux__)
limited_descriptors::limited_descriptors(pid_t process, rlim_t more) : process_{process}
{
    // While it runs, it may have descriptors that it is about to close.
    if (!eventually([process] { return state_of(process) == 'S'; })) throw std::runtime_error{"it does not come to rest"};
    const std::string open = "/proc/" + std::to_string(process) + "/fd/";
    if (::prlimit(process, RLIMIT_NOFILE, nullptr, &before_) != 0) throw std::runtime_error{"its limit can't be read"};
    rlimit limited = before_;
    for (limited.rlim_cur = 0; std::filesystem::is_symlink(open + std::to_string(limited.rlim_cur)); ++limited.rlim_cur) {}
    limited.rlim_cur += more;
    if (::prlimit(process, RLIMIT_NOFILE, &limited, nullptr) != 0) throw std::runtime_error{"its limit can't be set"};
}

void limited_descriptors::lift()
{
    if (::prlimit(process_, RLIMIT_NOFILE, &before_, nullptr) != 0) throw std::runtime_error{"its limit can't be lifted"};
}
#endif

std::string read_file(const std::filesystem::path& file)
{
    std::ostringstream
        text;  // its << takes a process that ends while it is read for the end of the file, and throws nothing
    text << std::ifstream{file}.rdbuf();
    return text.str();
}

bool alive(pid_t process)
{
    const char state = state_of(process);
    return state != 'Z' && state != 'X';
}

}  // namespace leasehold_test
