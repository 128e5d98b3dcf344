// SPDX-License-Identifier: BSL-1.0
#include <support/galera_cluster.hpp>

#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/mysql_programs.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace leasehold_test {

namespace {

std::string local(int port) { return "127.0.0.1:" + std::to_string(port); }

std::string provider()
{
    for (const char* path :
         {"/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so"})
        if (std::filesystem::exists(path)) return path;
    throw missing_requirement{"no Galera (libgalera_smm.so)"};
}

std::string seconds(std::chrono::milliseconds time)
{
    return "PT" + std::to_string(time.count() / 1000) + "." + std::to_string(time.count() % 1000 / 100) + "S";
}

}  // namespace

galera_node::galera_node(const ports& own, std::string addresses, bool founder, std::vector<std::string> extra_arguments)
    : cluster_node{account_for_server({"mysql", "nobody"}), std::move(extra_arguments), SIGTERM, SIGKILL, {}},
      own_{own},
      addresses_{std::move(addresses)}, founder_{founder}, founds_{founder}
{
    static_cast<void>(find_program({"mariadbd", "mysqld"}));
    static_cast<void>(find_program({"rsync"}));
    static_cast<void>(provider());
    // The others get their data, users and all, from the founder.
    if (founder_)
        run({find_program({"mariadb-install-db", "mysql_install_db"}).string(), "--no-defaults",
             "--auth-root-authentication-method=normal", "--skip-test-db", "--datadir=" + (folder() / "data").string(),
             "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M"},
            true);
    else
        run({"mkdir", (folder() / "data").string()}, true);
    start();
    founds_ = false;
    if (founder_)
        run_client("mysql", mysql_first_statements());
}

std::string galera_node::connection_string(const std::string& as, const std::string& with, const std::string& to) const
{
    return mysql_connection_string(port(), as, with, to);
}

std::vector<std::string> galera_node::command() const
{
    const std::string group = local(own_.group);
    // gcache.size: what a frozen node has missed must fit, at thousands of terms a second. If it does not, the node ends when it thaws,
    // for rsync can't copy everything to a server that runs.
    const std::string options = "base_host=127.0.0.1;base_port=" + std::to_string(own_.group) +
                                ";gmcast.listen_addr=tcp://" + group + ";ist.recv_addr=" + local(own_.increments) +
                                ";gcache.size=64M;pc.recovery=false;evs.keepalive_period=PT0.3S;"
                                "evs.inactive_check_period=PT0.3S;evs.join_retrans_period=PT0.3S;evs.suspect_timeout=" +
                                seconds(galera_cluster::suspicion) +
                                ";evs.inactive_timeout=" + seconds(2 * galera_cluster::suspicion) +
                                ";evs.install_timeout=" + seconds(2 * galera_cluster::suspicion);
    std::vector<std::string> arguments{
        find_program({"mariadbd", "mysqld"}).string(), "--no-defaults", "--datadir=" + (folder() / "data").string(),
        "--port=" + std::to_string(port()), "--bind-address=127.0.0.1", "--socket=" + (folder() / "socket").string(),
        "--pid-file=" + (folder() / "pid").string(), "--skip-name-resolve", "--character-set-server=utf8mb4",
        "--max-connections=200",
        // A commit reaches the operating system, and so outlives SIGKILL.
        "--innodb-flush-log-at-trx-commit=2", "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M",
        "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON", "--wsrep-provider=" + provider(),
        "--wsrep-cluster-name=leasehold", "--wsrep-node-address=127.0.0.1", "--wsrep-node-incoming-address=" + local(port()),
        "--wsrep-sst-receive-address=" + local(own_.whole_copy), "--wsrep-sst-method=rsync", "--wsrep-slave-threads=2",
        // MariaDB 11 has a plugin with a variable for each option, but none for gmcast.isolate.
        "--loose-plugin-wsrep-provider=OFF", "--wsrep-provider-options=" + options, "--wsrep-cluster-address=gcomm://" + addresses_};
    arguments.insert(arguments.end(), extra_arguments().begin(), extra_arguments().end());
    if (founds_) arguments.emplace_back("--wsrep-new-cluster");
    return arguments;
}

bool galera_node::ready() const { return log().find("Synchronized with group, ready for connections") != std::string::npos; }

std::string galera_node::run_client(const std::string& to, const std::string& sql)
{
    std::vector<std::string> words = mysql_client_arguments(folder(), to, sql);
    words.insert(words.begin(), find_program({"mariadb", "mysql"}).string());
    return run(words, false);
}

std::string galera_node::status(const std::string& variable)
{
    // SHOW STATUS, since it is answered also by a node that does no work.
    const std::string answer = run_client("", "show status like '" + variable + "'");
    const std::size_t tab = answer.find('\t');
    return tab == std::string::npos ? "" : answer.substr(tab + 1, answer.find('\n') - tab - 1);
}

void galera_node::isolate() { run_client("", "set global wsrep_provider_options = 'gmcast.isolate=1'"); }
void galera_node::rejoin() { run_client("", "set global wsrep_provider_options = 'gmcast.isolate=0'"); }

bool galera_node::works() { return status("wsrep_ready") == "ON" && status("wsrep_local_state_comment") == "Synced"; }

int galera_node::group_size()
{
    const std::string size = status("wsrep_cluster_size");
    return size.empty() ? 0 : std::stoi(size);
}

void galera_node::go_on_alone() { run_client("", "set global wsrep_provider_options = 'pc.bootstrap=1'"); }

galera_cluster::galera_cluster(const std::vector<std::string>& extra_arguments)
{
    std::array<galera_node::ports, size> ports{};
    std::vector<int> taken;
    const auto another_port = [&taken] {
        int port = free_port();
        while (std::find(taken.begin(), taken.end(), port) != taken.end()) port = free_port();
        taken.push_back(port);
        return port;
    };
    std::string addresses;
    for (galera_node::ports& each : ports) {
        each = {another_port(), another_port(), another_port()};
        addresses += (addresses.empty() ? "" : ",") + local(each.group);
    }
    for (std::size_t i = 0; i < size; ++i)
        nodes_[i] = std::make_unique<galera_node>(ports[i], addresses, i == 0, extra_arguments);
    if (!wait_until_whole()) throw std::runtime_error{"the cluster's nodes don't find each other:\n" + nodes_[0]->log()};
}

}  // namespace leasehold_test
