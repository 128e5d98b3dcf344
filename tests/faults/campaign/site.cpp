// SPDX-License-Identifier: BSL-1.0
#include "site.hpp"

#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>

#include <sstream>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace campaign {

using leasehold_test::database_server;

site::site(const std::string& kind) : kind_{kind}
{
    if (kind == "postgresql")
        server_ = std::make_unique<leasehold_test::postgresql_server>();
    else if (kind == "mariadb")
        // A server that is killed must have what it acknowledged: the tests' default writes the log once a second.
        server_ =
            std::make_unique<leasehold_test::mariadb_server>(std::vector<std::string>{"--innodb-flush-log-at-trx-commit=2"});
    else if (kind == "galera")
        cluster_ = std::make_unique<leasehold_test::galera_cluster>();
    else
        throw std::invalid_argument{"no such database here: " + kind};
}

database_server& site::server(std::size_t number)
{
    if (is_cluster()) return cluster_->node(number);
    return *server_;
}

std::string site::connection_string(std::size_t number, int port)
{
    std::string text = server(number).connection_string();
    const std::string own = "Port=" + std::to_string(server(number).port());
    return text.replace(text.find(own), own.size(), "Port=" + std::to_string(port));
}

int site::end_sessions(std::size_t number, std::size_t every)
{
    database_server& at = server(number);
    const std::string of_ours = std::string{" = '"} + database_server::user + "'";
    std::istringstream sessions{at.execute_sql(kind_ == "postgresql"
                                                   ? "select pid from pg_stat_activity where usename" + of_ours
                                                   : "select id from information_schema.processlist where user" + of_ours)};
    int ended = 0;
    std::size_t position = 0;
    std::string one_go;
    for (std::string session; std::getline(sessions, session); ++position) {
        if (session.empty() || position % every != 0) continue;
        one_go +=
            kind_ == "postgresql" ? "select pg_terminate_backend(" + session + ");" : "kill connection " + session + ";";
        ++ended;
    }
    try {
        if (ended > 0) at.execute_sql(one_go);
    } catch (const std::runtime_error&) {
        // MariaDB: one of them had gone by itself, and the rest stays.
    }
    return ended;
}

}  // namespace campaign
