// SPDX-License-Identifier: BSL-1.0
#include "checkup.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

namespace tool {

namespace {

using leasehold::duration;
using namespace std::chrono_literals;
using enum finding::kind;

constexpr duration slow_round_trip = 250ms;
constexpr duration notable_clock_difference = 1s;

std::string short_time(duration time)
{
    std::array<char, 32> text{};
    const double count = static_cast<double>(time.count());
    if (time < 100us)
        std::snprintf(text.data(), text.size(), "%.1f us", count / 1e3);
    else
        std::snprintf(text.data(), text.size(), time < 10ms ? "%.2f ms" : "%.0f ms", count / 1e6);
    return text.data();
}

void judge_time(const checkup& found, std::vector<finding>& says)
{
    const std::string took = "a round trip takes " + short_time(found.round_trip) + " (median)";
    if (found.round_trip > slow_round_trip)
        says.push_back({warning, took + ": use a --ttl of at least a minute, or a database that is nearer"});
    else
        says.push_back({good, took});
    if (!found.clock_ahead) {
        if (product_of(found.facts) == product::sqlite)
            says.push_back({note, "this host's clock decides when leases end; if it steps forward, leases can end early"});
        return;
    }
    const bool behind = *found.clock_ahead < 0ns;
    const duration off = behind ? -*found.clock_ahead : *found.clock_ahead;
    if (off < 1ms)
        says.push_back({good, "the database's clock agrees with this host's within 1 ms"});
    else
        says.push_back({off > notable_clock_difference ? note : good,
                        "the database's clock is " + short_time(off) + (behind ? " behind" : " ahead of") +
                            " this host's, which does not affect leases: only the database's clock counts"});
}

void judge_waiting(const checkup& found, std::vector<finding>& says)
{
    const std::string took = found.hand_over ? "; a hand-over took " + short_time(*found.hand_over) : "";
    const product of = product_of(found.facts);
    if (found.woken)
        says.push_back({good, "a release wakes the waiters in order, first come, first served (session locks)" + took});
    else if (found.one_call_at_a_time)
        says.push_back({note, "waiters poll, because Threading = 3 in odbcinst.ini lets one ODBC call of a process in at a time, and a call"
                              " that hangs keeps all others out" + took + "; with Threading = 2 a release would wake them"});
    else if (found.pooled)
        says.push_back({note, "waiters poll, because a pooler gives each transaction another session, as PgBouncer does with"
                              " pool_mode = transaction" + took + "; in session mode a release would wake them"});
    else if (of == product::postgresql || of == product::mariadb)
        says.push_back({note, "waiters have to poll, although this database has session locks" + took +
                                     ": is there a limit on connections or on locks, or has the user no right to them?"});
    else
        says.push_back({good, "waiters poll, because this database can't wake them" + took});
}

// Of PostgreSQL. What a standby lacks when it is promoted is lost: the term is free again, and its token is granted twice.
void judge_replication(const checkup& found, std::vector<finding>& says)
{
    const auto of = [&found](const char* setting) {
        const auto at = found.settings.find(setting);
        return at == found.settings.end() ? std::string{} : at->second;
    };
    const std::string commit = of("synchronous_commit");
    const bool names_standbys = !of("synchronous_standby_names").empty();
    if (names_standbys && (commit == "off" || commit == "local"))
        says.push_back({warning, "synchronous_commit is " + commit + " for this user, so a commit doesn't wait for the synchronous"
                                 " standby: a fail-over can forget the last grants; set it to on"});
    const std::string standbys = of("standbys");
    if (!names_standbys && !standbys.empty() && standbys != "0")
        says.push_back({warning, "standbys follow this server (" + standbys + "), but none is synchronous: a fail-over to one can"
                                 " forget the last grants; set synchronous_standby_names (with Patroni: synchronous_mode)"});
}

void judge_settings(const checkup& found, std::vector<finding>& says)
{
    const auto is = [&found](const char* setting, const char* value) {
        const auto at = found.settings.find(setting);
        return at != found.settings.end() && at->second == value;
    };
    if (is("fsync", "off"))
        says.push_back(
            {warning, "fsync is off: if the server's host crashes, the database can forget who holds what; switch it on"});
    judge_replication(found, says);
    if (is("innodb_flush_log_at_trx_commit", "0") || is("innodb_flush_log_at_trx_commit", "2"))
        says.push_back({warning, "innodb_flush_log_at_trx_commit is " + found.settings.at("innodb_flush_log_at_trx_commit") +
                                     ": in a crash the database can forget the leases of the last second; set it to 1"});
    if (is("binlog_format", "STATEMENT"))
        says.push_back({warning, "binlog_format is STATEMENT, so leases can't be written; set it to MIXED or ROW"});
    // The node works alone when it has lost the others, and so do they.
    if (const auto at = found.settings.find("wsrep_provider_options"); at != found.settings.end())
        for (const char* option : {"pc.ignore_quorum", "pc.ignore_sb"})
            if (at->second.find(std::string{option} + " = true") != std::string::npos)
                says.push_back({warning, std::string{option} + " is true: when the cluster falls apart, both parts grant the same lease;"
                                                               " set it to false in wsrep_provider_options"});
    if (is("wsrep_on", "1")) says.push_back({note, "this is a Galera node: waiters on nodes other than the holder's poll"});
    if (product_of(found.facts) == product::sqlite) {
        says.push_back({note, "an SQLite file is only for processes on one host"});
        if (!is("journal_mode", "wal"))
            says.push_back({warning, "the journal mode is not WAL: 'leasehold init' sets it, on a local file system"});
    }
}

}  // namespace

product product_of(const connection_facts& facts)
{
    const auto is = [&facts](const char* name) { return facts.database.find(name) != std::string::npos; };
    if (is("PostgreSQL")) return product::postgresql;
    if (is("MariaDB") || is("MySQL")) return product::mariadb;
    return is("SQLite") ? product::sqlite : product::other;
}

const std::map<std::string, std::string>& settings_to_ask(product of)
{
    // Who may not see more of pg_stat_replication sees its lines. A copy that is being made is not a standby, nor is a subscription.
    static const std::map<std::string, std::string> none,
        postgresql{{"fsync", "show fsync"},
                   {"synchronous_commit", "show synchronous_commit"},
                   {"synchronous_standby_names", "show synchronous_standby_names"},
                   {"standbys", "select count(*) from pg_stat_replication where application_name not in ('pg_basebackup', 'pg_receivewal')"
                                " and pid not in (select active_pid from pg_replication_slots where slot_type = 'logical'"
                                " and active_pid is not null)"}},
        sqlite{{"journal_mode", "pragma journal_mode"}},
        mariadb{{"innodb_flush_log_at_trx_commit", "select @@innodb_flush_log_at_trx_commit"},
                {"binlog_format", "select @@binlog_format"},
                {"wsrep_on", "select @@wsrep_on"},
                {"wsrep_provider_options", "select @@wsrep_provider_options"}};
    switch (of) {
    case product::postgresql: return postgresql;
    case product::mariadb: return mariadb;
    case product::sqlite: return sqlite;
    case product::other: return none;
    }
    return none;
}

std::string version_query(product of)
{
    switch (of) {
    case product::sqlite: return "select sqlite_version()";  // the driver names the one that it was built with
    case product::postgresql: return "show server_version";
    case product::mariadb: return "select version()";
    case product::other: break;
    }
    return "";
}

std::vector<finding> judge(const trial& tried)
{
    const std::pair<bool, const char*> steps[]{
        {tried.held, "a lease that nobody else held was asked for, but is not held"},
        {tried.shown, "a lease that was granted is not in the table with its owner and its ttl"},
        {tried.excludes, "a second owner was granted the lease while the first one held it"},
        {tried.renewed, "a lease that is held can't be renewed"},
        {tried.still_excludes, "a second owner was granted the lease after the first one had renewed it"},
        {tried.released, "a lease that is held can't be released: the database says that it is lost"},
        {tried.handed_over, "a lease that was released was not granted to the next owner within 10 s"},
        {tried.token_grew, "the next owner's token is not greater than the first one's"},
        {tried.late_refused, "an owner whose term is over can renew it"},
    };
    std::vector<finding> says;
    for (const auto& [right, wrong] : steps)
        if (!right) says.push_back({warning, wrong});
    if (says.empty())
        return {
            {good, "a lease can be acquired, renewed and released; a second owner is kept out meanwhile, and gets it next"}};
    says.push_back({warning,
                    "this database does not keep leases: does a trigger on the table, a default or a type change what is"
                    " written, or is the driver one that this library doesn't know?"});
    return says;
}

std::vector<finding> judge(const checkup& found)
{
    std::vector<finding> says{{good, found.facts.database + " " + found.facts.database_version + ", through " +
                                         found.facts.driver + " " + found.facts.driver_version}};
    judge_time(found, says);
    judge_waiting(found, says);
    judge_settings(found, says);
    return says;
}

}  // namespace tool
