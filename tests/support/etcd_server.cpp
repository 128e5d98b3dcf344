// SPDX-License-Identifier: BSL-1.0
#include <support/etcd_server.hpp>

#include <support/environment.hpp>

#include <csignal>
#include <stdexcept>
#include <utility>

namespace leasehold_test {

etcd_server::etcd_server(std::vector<std::string> extra_arguments)
    : database_server{account_for_server({"etcd", "postgres"}), std::move(extra_arguments), SIGTERM, SIGKILL, {}}
{
    start();
}

std::string etcd_server::connection_string(const std::string&, const std::string&, const std::string&) const
{
    return "127.0.0.1:" + std::to_string(port());
}

std::vector<std::string> etcd_server::command() const
{
    const std::string client = "http://" + connection_string();
    const std::string peer = "http://127.0.0.1:" + std::to_string(free_port());
    std::vector<std::string> arguments{find_program({"etcd"}).string(),
                                       "--name",
                                       "etcd",
                                       "--data-dir",
                                       (folder() / "data").string(),
                                       "--listen-client-urls",
                                       client,
                                       "--advertise-client-urls",
                                       client,
                                       "--listen-peer-urls",
                                       peer,
                                       "--initial-advertise-peer-urls",
                                       peer,
                                       "--initial-cluster",
                                       "etcd=" + peer};
    arguments.insert(arguments.end(), extra_arguments().begin(), extra_arguments().end());
    return arguments;
}

bool etcd_server::ready() const { return log().find("ready to serve client requests") != std::string::npos; }

std::string etcd_server::run_client(const std::string&, const std::string&) { throw std::logic_error{"etcd has no SQL"}; }

}  // namespace leasehold_test
