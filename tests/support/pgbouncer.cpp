// SPDX-License-Identifier: BSL-1.0
#include <support/pgbouncer.hpp>

#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/postgresql_server.hpp>

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace leasehold_test {

namespace {

constexpr std::string_view reads_again = "got SIGHUP, re-reading config";

std::size_t times_in(const std::string& text, std::string_view words)
{
    std::size_t times = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + words.size())) ++times;
    return times;
}

}  // namespace

// It refuses to run as root.
pgbouncer::pgbouncer(postgresql_server& behind, pool_mode mode, int sessions)
    : database_server{account_for_server({"postgres"}), {}, SIGINT, SIGKILL, {}}, behind_{behind}, mode_{mode}, sessions_{sessions}
{
    start();
}

std::string pgbouncer::connection_string(const std::string& as, const std::string& with, const std::string& to) const
{
    std::string text = behind_.connection_string(as, with, to);
    const std::string ports = std::to_string(behind_.port());
    return text.replace(text.find("Port=" + ports) + 5, ports.size(), std::to_string(port()));
}

void pgbouncer::write_configuration() const
{
    std::ofstream{folder() / "users"} << '"' << user << "\" \"" << password << "\"\n";
    std::ofstream{folder() / "pgbouncer.ini"} << "[databases]\n* = host=127.0.0.1 port=" << behind_.port() << "\n[pgbouncer]\n"
                                              << "listen_addr = 127.0.0.1\nlisten_port = " << port()
                                              << "\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = "
                                              << (folder() / "users").string()
                                              << "\npool_mode = " << (mode_ == pool_mode::session ? "session" : "transaction")
                                              << "\ndefault_pool_size = " << sessions_
                                              << "\nmax_client_conn = 500\nserver_login_retry = 1\n";
}

std::vector<std::string> pgbouncer::command() const
{
    write_configuration();
    return {find_program({"pgbouncer"}).string(), (folder() / "pgbouncer.ini").string()};
}

bool pgbouncer::ready() const { return log().find("process up") != std::string::npos; }

void pgbouncer::set_mode(pool_mode mode)
{
    mode_ = mode;
    write_configuration();
    const std::size_t before = times_in(log(), reads_again);
    ::kill(pid(), SIGHUP);
    if (!eventually([&] { return times_in(log(), reads_again) > before; }))
        throw std::runtime_error{"the pooler does not read its configuration again:\n" + log()};
}

std::string pgbouncer::run_client(const std::string&, const std::string& sql) { return behind_.execute_sql(sql); }

}  // namespace leasehold_test
