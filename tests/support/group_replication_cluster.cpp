// SPDX-License-Identifier: BSL-1.0
#include <support/group_replication_cluster.hpp>

#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/mysql_programs.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace leasehold_test {

namespace {

constexpr const char* plugin = "/usr/lib/mysql/plugin/group_replication.so";
constexpr const char* channel = " for channel 'group_replication_recovery'";

std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& rest)
{
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
}

}  // namespace

group_replication_node::group_replication_node(int number, int group_port, std::string addresses, primaries mode,
                                               std::vector<std::string> extra_arguments, const group_replication_node* like)
    : cluster_node{account_for_server({"mysql", "nobody"}), std::move(extra_arguments), SIGTERM, SIGKILL, mysql_root()},
      number_{number}, group_port_{group_port}, addresses_{std::move(addresses)}, mode_{mode}
{
    if (!is_mysql(root())) throw missing_requirement{"no MySQL (mysqld)"};
    if (!std::filesystem::exists(root().string() + plugin)) throw missing_requirement{"no group_replication.so"};
    if (like) {
        run({"cp", "-R", (like->folder() / "data").string(), (folder() / "data").string()}, true);
    } else {
        // What all nodes have from the beginning is in nobody's log, and so nobody has to catch up with it.
        const auto first = folder() / "first.sql";
        std::ofstream{first} << mysql_first_statements() << ";\ncreate user catching_up@'%' identified by 'catching up';\n"
                             << "grant replication slave, backup_admin, connection_admin, group_replication_stream on *.*"
                                " to catching_up@'%';\n";
        std::filesystem::permissions(first, std::filesystem::perms{0644});
        run(joined({program({"mysqld"})},
                   joined(mysql_installing_arguments(folder()), {"--init-file=" + first.string()})),
            true);
    }
    // The number of a server is made by its first start.
    std::filesystem::remove(folder() / "data" / "auto.cnf");
}

std::string group_replication_node::connection_string(const std::string& as, const std::string& with, const std::string& to) const
{
    return mysql_connection_string(port(), as, with, to);
}

std::vector<std::string> group_replication_node::command() const
{
    const bool all = mode_ == primaries::all;
    return joined(
        {program({"mysqld"})},
        joined(joined(mysql_server_arguments(folder(), port()),
                      {"--innodb-flush-log-at-trx-commit=2", "--server-id=" + std::to_string(number_), "--log-bin=binlog",
                       "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--report-host=127.0.0.1",
                       "--report-port=" + std::to_string(port()), "--plugin-load-add=group_replication.so",
                       "--loose-group-replication-group-name=00000000-0000-4000-8000-000000000001",
                       "--loose-group-replication-local-address=127.0.0.1:" + std::to_string(group_port_),
                       "--loose-group-replication-group-seeds=" + addresses_,
                       std::string{"--loose-group-replication-start-on-boot="} + (member_ ? "ON" : "OFF"),
                       std::string{"--loose-group-replication-single-primary-mode="} + (all ? "OFF" : "ON"),
                       std::string{"--loose-group-replication-enforce-update-everywhere-checks="} + (all ? "ON" : "OFF"),
                       "--loose-group-replication-member-expel-timeout=0",
                       "--loose-group-replication-recovery-get-public-key=ON", "--loose-group-replication-recovery-use-ssl=ON",
                       "--loose-group-replication-recovery-reconnect-interval=1"}),
               extra_arguments()));
}

bool group_replication_node::ready() const { return log().find("ready for connections") != std::string::npos; }

std::string group_replication_node::run_client(const std::string& to, const std::string& sql)
{
    return run(joined({program({"mysql"})}, mysql_client_arguments(folder(), to, sql)), false);
}

bool group_replication_node::answers(const std::string& sql, const std::string& with)
{
    try {
        return run_client("", sql) == with + "\n";
    } catch (const std::runtime_error&) {
        return false;  // it starts, or ends
    }
}

void group_replication_node::found_group()
{
    run_client("", std::string{"change replication source to source_user = 'catching_up', source_password = 'catching up'"} +
                       channel + "; set global group_replication_bootstrap_group = on; start group_replication;"
                                 " set global group_replication_bootstrap_group = off");
    member_ = true;
}

void group_replication_node::join_group()
{
    if (!member_)
        run_client("", std::string{"change replication source to source_user = 'catching_up', source_password = 'catching up'"} +
                           channel);
    run_client("", "start group_replication");
    member_ = true;
}

void group_replication_node::leave_group() { run_client("", "stop group_replication"); }

bool group_replication_node::works()
{
    // In a group with one primary the others are read-only, as they should be.
    return answers("select member_state from performance_schema.replication_group_members where member_id = @@server_uuid",
                   "ONLINE") &&
           group_size() * 2 > static_cast<int>(database_cluster::size) &&
           (mode_ == primaries::one || answers("select @@super_read_only", "0"));
}

int group_replication_node::group_size()
{
    for (int members = static_cast<int>(database_cluster::size); members > 0; --members)
        if (answers("select count(*) from performance_schema.replication_group_members where member_state = 'ONLINE'",
                    std::to_string(members)))
            return members;
    return 0;
}

bool group_replication_node::is_primary()
{
    return answers("select member_role from performance_schema.replication_group_members where member_id = @@server_uuid"
                   " and member_state = 'ONLINE'",
                   "PRIMARY");
}

void group_replication_node::go_on_alone()
{
    run_client("", "stop group_replication");
    found_group();
}

group_replication_cluster::group_replication_cluster(primaries mode, const std::vector<std::string>& extra_arguments)
{
    std::array<int, size> ports{};
    std::string addresses;
    for (int& each : ports) {
        do each = free_port();
        while (std::count(ports.begin(), ports.end(), each) > 1);
        addresses += (addresses.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(each);
    }
    for (std::size_t i = 0; i < size; ++i)
        nodes_[i] = std::make_unique<group_replication_node>(static_cast<int>(i) + 1, ports[i], addresses, mode, extra_arguments,
                                                             i == 0 ? nullptr : nodes_[0].get());
    for (auto& each : nodes_) each->start();
    for (std::size_t i = 0; i < size; ++i) {
        try {
            if (i == 0)
                nodes_[i]->found_group();
            else
                nodes_[i]->join_group();
        } catch (const std::runtime_error& error) {
            throw std::runtime_error{error.what() + nodes_[i]->log()};
        }
    }
    if (!wait_until_whole()) throw std::runtime_error{"the cluster's nodes don't find each other:\n" + nodes_[1]->log()};
}

std::size_t group_replication_cluster::primary()
{
    std::size_t found = size;
    for (std::size_t i = 0; i < size; ++i) {
        if (!nodes_[i]->running() || !nodes_[i]->is_primary()) continue;
        if (found != size) return size;
        found = i;
    }
    return found;
}

}  // namespace leasehold_test
