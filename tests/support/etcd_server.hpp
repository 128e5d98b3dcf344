// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_ETCD_SERVER_HPP
#define LEASEHOLD_TESTS_SUPPORT_ETCD_SERVER_HPP

#include <support/database_server.hpp>

#include <string>
#include <vector>

namespace leasehold_test {

/// An etcd of one node. It has neither users nor databases.
class etcd_server final : public database_server {
public:
    /// Arguments of the program etcd, as in {"--unsafe-no-fsync"}. Throws missing_requirement where there is none.
    explicit etcd_server(std::vector<std::string> extra_arguments = {});

    using database_server::connection_string;
    /// host:port
    [[nodiscard]] std::string connection_string(const std::string& user, const std::string& password,
                                                const std::string& database) const override;

private:
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool ready() const override;
    std::string run_client(const std::string& database, const std::string& words) override;
};

}  // namespace leasehold_test

#endif
