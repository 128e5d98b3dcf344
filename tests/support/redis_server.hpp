// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_REDIS_SERVER_HPP
#define LEASEHOLD_TESTS_SUPPORT_REDIS_SERVER_HPP

#include <support/database_server.hpp>

#include <string>
#include <vector>

namespace leasehold_test {

/// A Redis that keeps nothing on disk unless told to. The user `leasehold` has a password, and the rights that docs/redis.md
/// lists and no others.
class redis_server final : public database_server {
public:
    /// Arguments of the program redis-server, as in {"--appendonly", "yes"}. Throws missing_requirement where there is none.
    explicit redis_server(std::vector<std::string> extra_arguments = {});

    using database_server::connection_string;
    /// host port user password, for programs of the tests; `database` is a number, 0 if it is none.
    [[nodiscard]] std::string connection_string(const std::string& user, const std::string& password,
                                                const std::string& database) const override;

    /// As administrator, through redis-cli; returns what it printed, without the end of the last line. Throws
    /// std::runtime_error where Redis says no.
    std::string command(const std::vector<std::string>& words);

    [[nodiscard]] std::string unix_socket() const { return (folder() / "socket").string(); }

private:
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool ready() const override;
    std::string run_client(const std::string& database, const std::string& words) override;
};

}  // namespace leasehold_test

#endif
