// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_TLS_FILES_HPP
#define LEASEHOLD_TESTS_SUPPORT_TLS_FILES_HPP

#include <support/child_process.hpp>
#include <support/database_server.hpp>
#include <support/environment.hpp>
#include <support/temporary_directory.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace leasehold_test {

/// A key and a certificate that it signed itself, for a server that is run by the first of `accounts`. It is valid for those, too, whose
/// clocks are off by a year or two: MariaDB's newer clients refuse any other.
class tls_files {
public:
    explicit tls_files(const std::vector<std::string>& accounts) : account_{account_for_server(accounts)}, folder_{account_}
    {
        child_process openssl{{find_program({"openssl"}).string(), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
                               key(), "-out", certificate(), "-days", "1461", "-subj", "/CN=localhost"},
                              {.environment = faketime_environment("-730d"), .user = account_, .output_file = folder_.path() / "log"}};
        if (!openssl.wait().success()) throw std::runtime_error{"openssl makes no certificate"};
    }

    [[nodiscard]] std::string key() const { return (folder_.path() / "key.pem").string(); }
    [[nodiscard]] std::string certificate() const { return (folder_.path() / "certificate.pem").string(); }

private:
    std::string account_;
    temporary_directory folder_;
};

}  // namespace leasehold_test

#endif
