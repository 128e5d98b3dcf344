// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_PGBOUNCER_HPP
#define LEASEHOLD_TESTS_SUPPORT_PGBOUNCER_HPP

#include <support/database_server.hpp>

#include <cstdint>
#include <string>

namespace leasehold_test {

class postgresql_server;

/// When the pooler gives a session of the server to another client: when the client goes, or after each transaction.
enum class pool_mode : std::uint8_t { session, transaction };

/// A private PgBouncer in front of a private PostgreSQL, which must outlive it. Its clients log in as those of the server do.
class pgbouncer final : public database_server {
public:
    static constexpr int default_sessions = 20;

    /// `sessions`: most sessions it opens on the server for its clients. Throws missing_requirement where there is no PgBouncer.
    pgbouncer(postgresql_server& behind, pool_mode mode, int sessions = default_sessions);

    using database_server::connection_string;
    [[nodiscard]] std::string connection_string(const std::string& user, const std::string& password,
                                                const std::string& database) const override;

    /// While clients are connected; returns when it has read its configuration again.
    void set_mode(pool_mode mode);

private:
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool ready() const override;
    std::string run_client(const std::string& database, const std::string& sql) override;
    void write_configuration() const;

    postgresql_server& behind_;
    pool_mode mode_;
    int sessions_;
};

}  // namespace leasehold_test

#endif
