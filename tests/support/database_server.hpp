// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_DATABASE_SERVER_HPP
#define LEASEHOLD_TESTS_SUPPORT_DATABASE_SERVER_HPP

#include <support/child_process.hpp>
#include <support/temporary_directory.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace leasehold_test {

/// A private server of the test's own: in a temporary folder, on a free port of 127.0.0.1, gone with the object.
///
/// It has the database `leasehold`, owned by the user `leasehold` with a password, who is not an administrator.
/// What a test does to the server is done to its process and all that descend from it, by number.
/// It takes about half a second to start.
class database_server {
public:
    static constexpr const char* user = "leasehold";
    static constexpr const char* password = "correct-horse-battery";  // easily found in a message that should not have it
    static constexpr const char* database = "leasehold";

    database_server(const database_server&) = delete;
    database_server& operator=(const database_server&) = delete;
    virtual ~database_server();

    [[nodiscard]] int port() const noexcept { return port_; }
    [[nodiscard]] pid_t pid() const { return process_.value().pid(); }
    [[nodiscard]] bool running() { return process_ && process_->running(); }

    [[nodiscard]] std::string connection_string() const { return connection_string(user, password, database); }
    [[nodiscard]] virtual std::string connection_string(const std::string& user, const std::string& password,
                                                        const std::string& database) const = 0;

    /// As administrator, in the database `leasehold`, through the client program; returns rows as lines, columns apart by
    /// tabs. Throws std::runtime_error with the server's words when a statement fails.
    std::string execute_sql(const std::string& sql) { return run_client(database, sql); }

    /// Stops all its processes (SIGSTOP) and returns when they have: connections stay open, nothing is answered. thaw() before
    /// anything else but kill().
    void freeze();
    void thaw();
    /// SIGKILL to all its processes: as if the host had lost its power.
    void kill();
    /// Politely: sessions are ended, data is kept.
    void stop();
    /// After stop() or kill(), with the same data and the same port.
    void start();
    void restart();

    /// What it wrote since it was last started.
    [[nodiscard]] std::string log() const;

protected:
    /// `account` is who runs it when we are root; `root` is servers_root() for it.
    database_server(std::string account, std::vector<std::string> extra_arguments, int polite_signal, int death_signal,
                    std::filesystem::path root);

    [[nodiscard]] virtual std::vector<std::string> command() const = 0;
    [[nodiscard]] virtual bool ready() const = 0;
    virtual std::string run_client(const std::string& database, const std::string& sql) = 0;

    /// Runs a helper program to its end; returns its output, or throws std::runtime_error with it.
    std::string run(const std::vector<std::string>& arguments, bool as_account) const;

    [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }
    [[nodiscard]] const std::filesystem::path& root() const noexcept { return root_; }
    /// See find_program_in.
    [[nodiscard]] std::string program(const std::vector<std::string>& names) const;
    [[nodiscard]] const std::vector<std::string>& extra_arguments() const noexcept { return extra_arguments_; }

private:
    void end_guardian();

    std::string account_;
    std::vector<std::string> extra_arguments_;
    int polite_signal_;
    int death_signal_;
    std::filesystem::path root_;
    temporary_directory folder_;
    int port_ = 0;
    bool port_is_promised_ = false;
    std::optional<child_process> process_;
    std::vector<pid_t> frozen_;
    pid_t guardian_ = -1;
    int guardian_pipe_ = -1;
};

/// The first of `names` that is a user here; empty: none, or we are not root and need none.
[[nodiscard]] std::string account_for_server(const std::vector<std::string>& names);

}  // namespace leasehold_test

#endif
