// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_COST_SYNCHRONOUS_STANDBY_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_COST_SYNCHRONOUS_STANDBY_HPP

#include <support/database_server.hpp>
#include <support/eventually.hpp>
#include <support/postgresql_server.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace cost {

/// A copy of a PostgreSQL server that follows it, on this machine too; as long as it lives the other acknowledges a commit only
/// when it is on both disks.
class synchronous_standby final : public leasehold_test::database_server {
public:
    explicit synchronous_standby(leasehold_test::postgresql_server& primary)
        : database_server{leasehold_test::account_for_server({"postgres"}), {}, SIGINT, SIGQUIT, {}},
          postgres_{std::filesystem::read_symlink("/proc/" + std::to_string(primary.pid()) + "/exe")}
    {
        primary.execute_sql("alter role " + std::string{user} + " replication");
        run({(postgres_.parent_path() / "pg_basebackup").string(), "--pgdata=" + (folder() / "data").string(), "--write-recovery-conf",
             "--checkpoint=fast", "--no-sync",
             "--dbname=host=127.0.0.1 port=" + std::to_string(primary.port()) + " user=" + user + " password=" + password +
                 " application_name=standby"},
            true);
        start();
        primary.execute_sql("alter system set synchronous_standby_names = 'standby'");
        primary.execute_sql("select pg_reload_conf()");
        const auto in_step = [&primary] { return primary.execute_sql("select sync_state from pg_stat_replication").starts_with("sync"); };
        if (!leasehold_test::eventually(in_step, std::chrono::seconds{30}))
            throw std::runtime_error{"the standby does not follow:\n" + log()};
    }

    using database_server::connection_string;
    [[nodiscard]] std::string connection_string(const std::string&, const std::string&, const std::string&) const override
    {
        throw std::logic_error{"nobody asks the standby"};
    }

private:
    [[nodiscard]] std::vector<std::string> command() const override
    {
        return {postgres_.string(), "-D", (folder() / "data").string(), "-c", "port=" + std::to_string(port()),
                "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + folder().string(),
                "-c", "shared_buffers=128MB", "-c", "max_connections=200", "-c", "logging_collector=off"};
    }
    [[nodiscard]] bool ready() const override { return log().find("started streaming") != std::string::npos; }
    std::string run_client(const std::string&, const std::string&) override { throw std::logic_error{"nobody asks the standby"}; }

    std::filesystem::path postgres_;
};

}  // namespace cost

#endif
