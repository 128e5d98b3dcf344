// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_VIRTUOSO_SERVER_HPP
#define LEASEHOLD_TESTS_SUPPORT_VIRTUOSO_SERVER_HPP

#include <support/database_server.hpp>

namespace leasehold_test {

class virtuoso_server final : public database_server {
public:
    /// Throws missing_requirement where there is no Virtuoso.
    virtuoso_server();

    using database_server::connection_string;
    [[nodiscard]] std::string connection_string(const std::string& user, const std::string& password,
                                                const std::string& database) const override;

private:
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool ready() const override;
    std::string run_client(const std::string& database, const std::string& sql) override;

    void write_settings() const;
};

}  // namespace leasehold_test

#endif
