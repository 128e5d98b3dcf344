// SPDX-License-Identifier: BSL-1.0
#include <support/pgpool.hpp>

#include <support/environment.hpp>
#include <support/postgresql_server.hpp>

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

namespace leasehold_test {

pgpool::pgpool(postgresql_server& primary, postgresql_server& standby, reads_go where)
    : database_server{account_for_server({"postgres"}), {}, SIGINT, SIGQUIT, {}}, primary_{primary}, standby_{standby}, reads_{where},
      control_port_{free_port()}
{
    start();
}

std::string pgpool::connection_string(const std::string& as, const std::string& with, const std::string& to) const
{
    return postgresql_connection_string(port(), as, with, to);
}

// For two servers that replicate by streaming, with the settings that pgpool-II comes with. It takes passwords as they are, for it has to
// log in with them itself.
std::vector<std::string> pgpool::command() const
{
    const auto configuration = folder() / "pgpool.conf", control = folder() / "pcp.conf";
    std::ofstream{control}.flush();
    std::ofstream file{configuration};
    file << "backend_clustering_mode = 'streaming_replication'\nlisten_addresses = '127.0.0.1'\nport = " << port()
         << "\npcp_listen_addresses = '127.0.0.1'\npcp_port = " << control_port_ << "\nunix_socket_directories = '" << folder().string()
         << "'\npcp_socket_dir = '" << folder().string() << "'\npid_file_name = '" << (folder() / "pid").string() << "'\nlogdir = '"
         << folder().string() << "'\nenable_pool_hba = off\npool_passwd = ''\nallow_clear_text_frontend_auth = on\n"
         << "num_init_children = 100\n"
         << "sr_check_user = '" << user << "'\nsr_check_password = '" << password << "'\nsr_check_database = '" << database
         << "'\nsr_check_period = 1\nload_balance_mode = " << (reads_ == reads_go::anywhere ? "on" : "off") << '\n';
    int number = 0;
    for (const postgresql_server* server : {&primary_, &standby_}) {
        file << "backend_hostname" << number << " = '127.0.0.1'\nbackend_port" << number << " = " << server->port() << "\nbackend_weight"
             << number << " = 1\nbackend_flag" << number << " = 'ALLOW_TO_FAILOVER'\n";
        ++number;
    }
    return {find_program({"pgpool"}).string(), "-n", "-f", configuration.string(), "-F", control.string()};
}

bool pgpool::ready() const
{
    return log().find("successfully started") != std::string::npos && log().find("primary node is 0") != std::string::npos;
}

std::string pgpool::run_client(const std::string&, const std::string& sql) { return primary_.execute_sql(sql); }

}  // namespace leasehold_test
