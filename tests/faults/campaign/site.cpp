// SPDX-License-Identifier: BSL-1.0
#include "site.hpp"

#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/galera_cluster.hpp>
#include <support/group_replication_cluster.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace campaign {

using leasehold_test::database_server;

site::site(const std::string& kind, const circumstances& around)
    : kind_{kind}, around_{around}, surroundings_{is_postgresql() ? leasehold_test::server_family::postgresql
                                                                  : leasehold_test::server_family::mysql,
                                                  around.tls, around.language}
{
    if (kind != "postgresql" && kind != "mariadb" && kind != "galera" && kind != "group_replication" && kind != "patroni")
        throw std::invalid_argument{"no such database here: " + kind};
    if (is_patroni())
        server_ = std::make_unique<leasehold_test::patroni_cluster>(leasehold_test::replication::synchronous, server_arguments());
    else if (is_postgresql())
        server_ = std::make_unique<leasehold_test::postgresql_server>(server_arguments());
    else if (kind == "mariadb")
        server_ = std::make_unique<leasehold_test::mariadb_server>(server_arguments());
    else if (is_galera())
        cluster_ = std::make_unique<leasehold_test::galera_cluster>(server_arguments());
    else
        cluster_ = std::make_unique<leasehold_test::group_replication_cluster>(leasehold_test::primaries::all, server_arguments());
    surroundings_.check(server(0));
    if (is_cluster()) prepare_for_lag();
}

std::vector<std::string> site::server_arguments() const
{
    std::vector<std::string> arguments;
    if (is_postgresql()) {
        arguments = {"-c", "log_error_verbosity=verbose"};
        // For twice the connections of a server as it comes, room for as many locks as that has.
        if (around_.crowd) arguments.insert(arguments.end(), {"-c", "max_locks_per_transaction=32"});
        return surroundings_.server_arguments(std::move(arguments));
    }
    // A server that is killed must have what it acknowledged: the tests' default writes the log once a second.
    arguments.emplace_back("--innodb-flush-log-at-trx-commit=2");
    // Without it Group Replication finds its own key unusable.
    if (surroundings_.tls() && kind_ == "group_replication") arguments.push_back("--ssl-ca=" + surroundings_.certificate());
    // Of each store the calls that were given up keep their connections until they come back.
    if (around_.crowd) arguments.emplace_back("--max-connections=1500");
    return surroundings_.server_arguments(std::move(arguments));
}

database_server& site::server(std::size_t number)
{
    if (is_cluster()) return cluster_->node(number);
    return *server_;
}

leasehold_test::patroni_cluster& site::patroni() { return dynamic_cast<leasehold_test::patroni_cluster&>(*server_); }

std::string site::connection_string(std::size_t number, int port)
{
    std::string text = server(number).connection_string();
    const std::string own = "Port=" + std::to_string(server(number).port());
    text.replace(text.find(own), own.size(), "Port=" + std::to_string(port));
    return text + surroundings_.connection_attributes();
}

int site::end_sessions(std::size_t number, std::size_t every)
{
    database_server& at = server(number);
    const std::string of_ours = std::string{" = '"} + database_server::user + "'";
    std::istringstream sessions{at.execute_sql(is_postgresql()
                                                   ? "select pid from pg_stat_activity where usename" + of_ours
                                                   : "select id from " + list_of_sessions() + " where user" + of_ours)};
    int ended = 0;
    std::size_t position = 0;
    std::string one_go;
    for (std::string session; std::getline(sessions, session); ++position) {
        if (session.empty() || position % every != 0) continue;
        one_go +=
            is_postgresql() ? "select pg_terminate_backend(" + session + ");" : "kill connection " + session + ";";
        ++ended;
    }
    try {
        if (ended > 0) at.execute_sql(one_go);
    } catch (const std::runtime_error&) {
        // MariaDB: one of them had gone by itself, and the rest stays.
    }
    return ended;
}

// The first number of the answer, as text.
std::string site::number_of(std::size_t server_number, const std::string& sql)
{
    const std::string answer = server(server_number).execute_sql(sql);
    const std::size_t begin = answer.find_first_of("0123456789");
    if (begin == std::string::npos) return "";
    return answer.substr(begin, answer.find_first_not_of("0123456789", begin) - begin);
}

int site::encrypted_sessions()
{
    if (!is_postgresql()) {
        // The servers let nobody in without.
        int accepted = 0;
        for (std::size_t i = 0; i < size(); ++i)
            accepted += std::stoi(number_of(i, "show global status like 'ssl_finished_accepts'"));
        return accepted;
    }
    const std::string which = " from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'leasehold' and ";
    if (number_of(0, "select count(*)" + which + "not ssl") != "0") throw std::runtime_error{"a session without TLS"};
    return std::stoi(number_of(0, "select count(*)" + which + "ssl"));
}

int site::most_connections()
{
    int most = 0;
    for (std::size_t i = 0; i < size() && !is_postgresql(); ++i)
        most = std::max(most, std::stoi(number_of(i, "show global status like 'max_used_connections'")));
    return most;
}

int site::session_locks()
{
    return is_postgresql() ? std::stoi(number_of(0, "select count(*) from pg_locks where locktype = 'advisory' and granted")) : 0;
}

void site::make_read_only(std::size_t number)
{
    if (!is_postgresql()) {
        server(number).execute_sql("set global read_only = 1");
        return;
    }
    server_->execute_sql("alter system set default_transaction_read_only = on");
    server_->execute_sql("select pg_reload_conf()");
    // The server signals its sessions when it takes the setting up itself; new sessions show that it has. Each session takes it
    // up before its next statement.
    if (!leasehold_test::eventually([&] { return server_->execute_sql("show default_transaction_read_only") == "on\n"; }))
        throw std::runtime_error{"the server does not become read-only"};
}

void site::make_writable(std::size_t number)
{
    if (!is_postgresql()) {
        server(number).execute_sql("set global read_only = 0");
        return;
    }
    server_->execute_sql("alter system reset default_transaction_read_only");
    server_->execute_sql("select pg_reload_conf()");
}

// MySQL's other list has statements in utf8mb3, and fails where one of them has a name that needs more.
std::string site::list_of_sessions() const
{
    return is_cluster() && !is_galera() ? "performance_schema.processlist" : "information_schema.processlist";
}

// In a session that goes on until it is ended.
std::string site::sleeping_session() const
{
    return is_postgresql() ? "select pid from pg_stat_activity where usename = 'postgres' and wait_event = 'PgSleep'"
                           : "select id from " + list_of_sessions() + " where user = 'root' and info like 'do sleep%'";
}

namespace {

std::string locking_sql(bool postgresql, bool cluster, bool against_reading)
{
    if (postgresql)
        return std::string{"begin; "} +
               (against_reading ? "alter table leasehold add column note text default 'x'" : "lock table leasehold in share mode") +
               "; select pg_sleep(60); rollback";
    if (cluster) return "flush tables with read lock; do sleep(60)";
    return std::string{against_reading ? "lock tables leasehold write; alter table leasehold force" : "lock tables leasehold read"} +
           "; do sleep(60)";
}

}  // namespace

void site::lock_table(std::size_t number, bool against_reading)
{
    lock_in_other_session(number, locking_sql(is_postgresql(), is_cluster(), against_reading));
}

void site::lock_in_other_session(std::size_t number, const std::string& sql)
{
    database_server& at = server(number);
    locking_ = std::async(std::launch::async, [&at, sql] {
        try {
            at.execute_sql(sql);
        } catch (const std::runtime_error&) {
            // It is ended from outside.
        }
    });
    if (!leasehold_test::eventually([&] { return !number_of(number, sleeping_session()).empty(); }))
        throw std::runtime_error{"the table can't be locked"};
}

void site::unlock_table(std::size_t number) { end_locking_session(number); }

void site::end_locking_session(std::size_t number)
{
    if (is_postgresql())
        server_->execute_sql("select pg_cancel_backend(pid) from (" + sleeping_session() + ") as s");
    else
        server(number).execute_sql("kill connection " + number_of(number, sleeping_session()));
    locking_.get();
}

void site::refuse_rows()
{
    if (is_postgresql()) {
        server_->execute_sql("create or replace function refuse() returns trigger language plpgsql as"
                             " $$begin raise exception using message = new.name; end$$;"
                             " create trigger refuse before insert or update on leasehold for each row execute function refuse()");
        return;
    }
    std::string sql = "delimiter //\n";
    for (const std::string event : {"insert", "update"})
        sql += "create trigger refuse_" + event + " before " + event + " on leasehold for each row begin declare said varchar(128)"
               " default left(new.name, 128); signal sqlstate '45000' set message_text = said; end//\n";
    server(0).execute_sql(sql);
}

void site::accept_rows()
{
    server(0).execute_sql(is_postgresql() ? "drop trigger refuse on leasehold"
                                          : "drop trigger refuse_insert; drop trigger refuse_update");
}

// Galera: what takes a node long to apply, as a large transaction does, and costs no processor: a row whose trigger sleeps, on the
// node that is told to run triggers for what comes from other nodes. What follows is committed in its order, so it waits.
// Group Replication: a change of a table that is locked there; what follows a change of a table is not begun before it.
void site::prepare_for_lag()
{
    server(0).execute_sql("create table ballast (id int auto_increment primary key, seconds double)");
    if (is_galera())
        server(0).execute_sql("create trigger heavy before insert on ballast for each row"
                              " do if(@@global.slave_run_triggers_for_rbr = 'NO', 0, sleep(new.seconds))");
}

void site::lag(std::size_t number, std::chrono::milliseconds length)
{
    // Desynchronised, it does not ask the others to wait for it, as it would after some dozens of transactions.
    if (is_galera())
        server(number).execute_sql("set global slave_run_triggers_for_rbr = ENFORCE; set global wsrep_desync = 1");
    else
        lock_in_other_session(number, "lock tables ballast read; do sleep(60)");
    const std::string row = "insert into ballast (seconds) values (" + std::to_string(length.count() + 1000) + " / 1000.0)";
    server((number + 1) % size()).execute_sql(is_galera() ? row : "alter table ballast comment = 'changed'");
}

std::int64_t site::transactions_behind(std::size_t number)
{
    if (!is_galera())
        return std::stoll(number_of(number, "select coalesce(max(count_transactions_remote_in_applier_queue), 0)"
                                            " from performance_schema.replication_group_member_stats where member_id = @@server_uuid"));
    const auto committed = [&](std::size_t at) { return std::stoll(number_of(at, "show status like 'wsrep_last_committed'")); };
    const std::int64_t here = committed(number);
    return committed((number + 1) % size()) - here;
}

void site::catch_up(std::size_t number)
{
    if (is_galera())
        server(number).execute_sql("set global slave_run_triggers_for_rbr = NO; set global wsrep_desync = 0");
    else
        end_locking_session(number);
}

void site::take_out(std::size_t number)
{
    if (is_galera())
        dynamic_cast<leasehold_test::galera_node&>(cluster_->node(number)).isolate();
    else
        dynamic_cast<leasehold_test::group_replication_node&>(cluster_->node(number)).leave_group();
}

void site::put_back(std::size_t number)
{
    if (is_galera())
        dynamic_cast<leasehold_test::galera_node&>(cluster_->node(number)).rejoin();
    else
        dynamic_cast<leasehold_test::group_replication_node&>(cluster_->node(number)).join_group();
}

}  // namespace campaign
