// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_TOOL_TOOL_FIXTURE_HPP
#define LEASEHOLD_TESTS_TOOL_TOOL_FIXTURE_HPP

#include <support/child_process.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#if defined(__linux__)
#include <sys/resource.h>
#endif

namespace leasehold_test {

using namespace std::chrono_literals;

/// The tool that has run to its end.
struct tool_result {
    exit_status status;
    std::string out;
    std::string err;
};

/// The tool on a store, by default an SQLite file of the test's own, which is the store of a host that names no other.
class tool_fixture {
public:
    /// Empty: the SQLite file leases.db in the test's folder, with its table. Of variables for the tool only
    /// LEASEHOLD_DEFAULT_STORE_FILE is set, to a file with the store in it.
    explicit tool_fixture(const std::string& store = {});

    /// `arguments` after the tool's name; a command's after "--".
    [[nodiscard]] child_process start(const std::vector<std::string>& arguments,
                                      const std::map<std::string, std::string>& environment = {});
    [[nodiscard]] tool_result run(const std::vector<std::string>& arguments,
                                  const std::map<std::string, std::string>& environment = {});
    /// The same with the words apart by blanks.
    [[nodiscard]] tool_result run_words(const std::string& words);

    /// What tools that were start()ed have said on standard error.
    [[nodiscard]] std::string errors() const;

    [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }
    /// A file of that folder, as it is now; empty if it isn't there.
    [[nodiscard]] std::string file(const std::string& name) const;
    /// Whether the file comes to have that in it.
    [[nodiscard]] bool file_gets(const std::string& name, const std::string& text, std::chrono::seconds within = 60s) const;
    [[nodiscard]] std::string path(const std::string& name) const { return (folder() / name).string(); }

    /// Of the default store.
    [[nodiscard]] std::string store_file() const { return path("host.store"); }

    [[nodiscard]] bool held(const std::string& name);

private:
    [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& arguments, const std::string& errors,
                                                   const std::map<std::string, std::string>& environment) const;
    [[nodiscard]] process_options options(const std::map<std::string, std::string>& environment) const;

    temporary_directory folder_;
};

#if defined(__linux__)
/// Another process can open only so many descriptors `more` than it has, until lift().
class limited_descriptors {
public:
    limited_descriptors(pid_t process, rlim_t more);
    void lift();

private:
    pid_t process_;
    rlimit before_{};
};
#endif

/// What is in a file; empty if it isn't there.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

/// Whether there is such a process; one that has ended and waits to be reaped is none.
[[nodiscard]] bool alive(pid_t process);

}  // namespace leasehold_test

#endif
