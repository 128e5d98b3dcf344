// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_ENVIRONMENT_HPP
#define LEASEHOLD_TESTS_SUPPORT_ENVIRONMENT_HPP

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace leasehold_test {

/// A server, driver or tool that a test needs is not on this machine.
///
/// Not to be caught: thrown out of a test case or its fixture it makes the program end with 77, which CTest shows as
/// skipped; with LEASEHOLD_REQUIRE_SERVERS=1 in the environment it makes the test case fail.
class missing_requirement : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

[[nodiscard]] bool servers_required();

/// Where the program is: `first_in`, then PATH, then the sbin folders, which users often lack. Throws missing_requirement.
[[nodiscard]] std::filesystem::path find_program(const std::vector<std::string>& names,
                                                 const std::vector<std::filesystem::path>& first_in = {});

/// Likewise in the system in that folder, as it is called there; of this machine where `root` is empty.
[[nodiscard]] std::filesystem::path find_program_in(const std::filesystem::path& root, const std::vector<std::string>& names,
                                                    const std::vector<std::filesystem::path>& first_in = {});

/// The folder with a system (made by debootstrap) whose servers are to be tested, from LEASEHOLD_SERVERS_ROOT: if it has one of
/// these programs. Empty: those of this machine are. Throws missing_requirement where only root could run them.
[[nodiscard]] std::filesystem::path servers_root(const std::vector<std::string>& programs,
                                                 const std::vector<std::filesystem::path>& first_in = {});

/// What odbcinst lists.
[[nodiscard]] std::vector<std::string> installed_odbc_drivers();

/// The first of `names` that the driver manager knows. Throws missing_requirement.
[[nodiscard]] std::string find_odbc_driver(const std::vector<std::string>& names);

/// The file of the first of these drivers that the driver manager knows. Throws missing_requirement.
[[nodiscard]] std::filesystem::path find_odbc_driver_file(const std::vector<std::string>& names);

[[nodiscard]] std::string sqlite_connection_string(const std::filesystem::path& database);

/// For a child process whose wall clock is wrong by `offset` ("+5h"); its monotonic clock stays right.
/// Throws missing_requirement.
[[nodiscard]] std::map<std::string, std::string> faketime_environment(const std::string& offset);

/// A TCP port of 127.0.0.1 that was free a moment ago.
[[nodiscard]] int free_port();

}  // namespace leasehold_test

#endif
