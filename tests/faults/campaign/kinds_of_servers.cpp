// SPDX-License-Identifier: BSL-1.0
// Faults of servers, and of the nodes of a cluster.
#include "kinds.hpp"
#include "notes.hpp"

#include <support/eventually.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace campaign {

using namespace std::chrono_literals;
using leasehold_test::database_server;
using leasehold_test::patroni_cluster;
using leasehold_test::patroni_node;
using leasehold_test::tcp_gate;

namespace {

bool end_all_sessions(const scene& on, drawn_fault& fault) { return on.database.end_sessions(fault.target, 1) > 0; }
bool end_some_sessions(const scene& on, drawn_fault& fault) { return on.database.end_sessions(fault.target, 3) > 0; }

template <auto What>
bool at_server(const scene& on, drawn_fault& fault)
{
    (on.database.server(fault.target).*What)();
    return true;
}

template <auto What>
bool at_database(const scene& on, drawn_fault& fault)
{
    (on.database.*What)(fault.target);
    return true;
}

// What an operator would do about nodes that don't come back by themselves. Their logs go to the records.
void repair(const scene& on)
{
    leasehold_test::database_cluster& cluster = on.database.cluster();
    const auto works = [&](std::size_t i) { return cluster.node(i).running() && cluster.node(i).works(); };
    const instant began = now();
    std::vector<std::size_t> idle;
    for (std::size_t i = 0; i < on.database.size(); ++i) {
        if (works(i)) continue;
        std::ofstream{on.records / ("node" + std::to_string(i) + ".log")} << cluster.node(i).log();
        idle.push_back(i);
    }
    if (idle.size() == on.database.size()) {  // no majority is left: the first that runs goes on, and the others join it
        const auto first = std::ranges::find_if(idle, [&](std::size_t i) { return cluster.node(i).running(); });
        if (first == idle.end()) throw std::runtime_error{"no node of the cluster runs"};
        cluster.node(*first).go_on_alone();
        idle.erase(first);
    }
    for (const std::size_t i : idle) {
        cluster.node(i).kill();
        cluster.node(i).start();
    }
    on.notes.write({event::fault, "*", 0, began, now(), "node_repaired"});
    on.notes.write({event::excuse, "*", 0, began, now()});
}

void wait_until_whole(const scene& on)
{
    if (!on.database.is_cluster() || on.database.cluster().wait_until_whole(20s)) return;
    repair(on);
    if (!on.database.cluster().wait_until_whole()) throw std::runtime_error{"the cluster did not get whole again"};
}

void start_server(const scene& on, const drawn_fault& fault, instant ending)
{
    note_outage_of_server(on, fault.target, fault.in_force, ending);
    try {
        on.database.server(fault.target).start();
    } catch (const std::runtime_error&) {
        // On a busy machine the nodes that were left may have lost each other, and it finds no majority to join. They are repaired.
        if (!on.database.is_cluster()) throw;
    }
    wait_until_whole(on);
}

void thaw_server(const scene& on, const drawn_fault& fault, instant ending)
{
    note_outage_of_server(on, fault.target, fault.in_force, ending);
    on.database.server(fault.target).thaw();
    wait_until_whole(on);
}

void rejoin_node(const scene& on, const drawn_fault& fault, instant)
{
    leasehold_test::cluster_node& node = on.database.cluster().node(fault.target);
    const bool given_up = leasehold_test::eventually([&] { return !node.works(); }, 6s, 50ms);
    const instant alone = now();
    std::ignore = leasehold_test::throughout([&] { return !node.works(); }, 500ms, 50ms);
    if (given_up) note_outage_of_server(on, fault.target, alone, now());
    try {
        on.database.put_back(fault.target);
    } catch (const std::runtime_error&) {
        // The group was not ready for it. What doesn't come back is repaired.
    }
    wait_until_whole(on);
}

// Servers that work, but not for us.

void make_writable(const scene& on, const drawn_fault& fault, instant ending)
{
    note_refusal_of_server(on, fault.target, fault.in_force, ending, "read_only");
    on.database.make_writable(fault.target);
}

bool lock_table(const scene& on, drawn_fault& fault)
{
    on.database.lock_table(fault.target, true);
    return true;
}

void unlock_table(const scene& on, const drawn_fault& fault, instant ending)
{
    note_outage_of_server(on, fault.target, fault.in_force, ending);
    on.database.unlock_table(fault.target);
}

bool lock_table_against_writing(const scene& on, drawn_fault& fault)
{
    on.database.lock_table(fault.target, false);
    return true;
}

void unlock_table_against_writing(const scene& on, const drawn_fault& fault, instant ending)
{
    note_refusal_of_server(on, fault.target, fault.in_force, ending, "locked");
    on.database.unlock_table(fault.target);
    wait_until_whole(on);
}

bool refuse_rows(const scene& on, drawn_fault&)
{
    wait_until_whole(on);  // a busy machine may have cost a node its place in the group
    on.database.refuse_rows();
    return true;
}

void accept_rows(const scene& on, const drawn_fault& fault, instant ending)
{
    note_refusal(on, "*", fault.in_force, ending, "by_trigger");
    on.database.accept_rows();
}

void lead_to(const scene& on, std::size_t contender, std::size_t server)
{
    tcp_gate& gate = on.processes.gate(contender);
    gate.lead_to(on.database.server(server).port());
    gate.cut();
}

// And a balancer sends one there who finds in the past what it holds, has released since, and somebody else has taken.
bool lag(const scene& on, drawn_fault& fault)
{
    const std::size_t nodes = on.database.size();
    const auto holds = [&] { return on.processes.holder(fault.variant % contenders::count); };
    if (!leasehold_test::eventually([&] { return holds().has_value(); }, 1s, 1ms)) return false;
    const std::size_t first = holds().value_or(0);
    // A node other than its own, where its release would have to wait.
    if (on.processes.server_of(first) == fault.target) fault.target = (fault.target + 1 + fault.variant % (nodes - 1)) % nodes;
    on.database.lag(fault.target, std::chrono::milliseconds{fault.lasts / millisecond});
    std::ignore = leasehold_test::eventually([&] { return holds().value_or(first) != first; }, 1s, 1ms);
    fault.variant = static_cast<std::uint32_t>(first);
    lead_to(on, first, fault.target);
    return true;
}

void catch_up(const scene& on, const drawn_fault& fault, instant ending)
{
    on.notes.write({event::effect, "*", on.database.transactions_behind(fault.target), fault.in_force, ending,
                    "node_lags:transactions_behind"});
    lead_to(on, fault.variant, on.processes.server_of(fault.variant));
    on.database.catch_up(fault.target);
    wait_until_whole(on);
}

// The primary of a Patroni cluster, by its number in `variant`; it comes back when another leads.

template <auto What>
bool at_primary(const scene& on, drawn_fault& fault)
{
    patroni_cluster& cluster = on.database.patroni();
    const std::size_t primary = cluster.primary();
    if (primary == patroni_cluster::size) return false;
    fault.variant = static_cast<std::uint32_t>(primary);
    (cluster.node(primary).*What)();
    return true;
}

// While all others refuse writes, no write is acknowledged: the lost one can't have it confirmed.
void note_that_none_leads_beside(const scene& on, std::size_t lost, instant from)
{
    patroni_cluster& cluster = on.database.patroni();
    instant none_led_at = from;
    const bool promoted = leasehold_test::eventually(
        [&] {
            const instant looking = now();
            bool all_refuse = true;
            for (std::size_t i = 0; i < patroni_cluster::size; ++i) all_refuse = all_refuse && (i == lost || cluster.node(i).is_standby());
            if (all_refuse) none_led_at = looking;
            return !all_refuse && cluster.primary_beside(lost);
        },
        2min, 100ms);
    if (!promoted) throw std::runtime_error{"no other node leads"};
    note_refusal(on, "*", from, none_led_at, "no_primary");
    on.notes.write({event::effect, "*", (now() - from) / millisecond, from, now(), "fail_over:milliseconds"});
}

template <auto What>
void bring_back(const scene& on, const drawn_fault& fault, instant)
{
    patroni_cluster& cluster = on.database.patroni();
    note_that_none_leads_beside(on, fault.variant, fault.in_force);
    std::this_thread::sleep_for(2s);  // for terms that the new one grants
    (cluster.node(fault.variant).*What)();
    cluster.wait_until_whole();
}

constexpr auto sort = fault_lane::sort::surroundings;

constexpr auto kinds = std::to_array<fault_kind>({
    {"all_sessions_ended", sort, place::anywhere, target::server, 2, 1, 50 * millisecond, excused::nothing,
     &end_all_sessions, &do_nothing},
    {"some_sessions_ended", sort, place::anywhere, target::server, 2, 1, 50 * millisecond, excused::nothing,
     &end_some_sessions, &do_nothing},
    {"server_killed", sort, place::single_server, target::server, 2, 1, 2500 * millisecond, excused::all_of_it,
     &at_server<&database_server::kill>, &start_server},
    {"server_restarted", sort, place::single_server, target::server, 2, 1, 800 * millisecond, excused::all_of_it,
     &at_server<&database_server::stop>, &start_server},
    {"server_frozen", sort, place::single_server, target::server, 2, 100 * millisecond, 4 * second, excused::all_of_it,
     &at_server<&database_server::freeze>, &thaw_server},

    {"server_read_only", sort, place::single_server, target::server, 2, 100 * millisecond, 3 * second, excused::all_of_it,
     &at_database<&site::make_read_only>, &make_writable},
    {"table_locked", sort, place::single_server, target::server, 2, 100 * millisecond, 4 * second, excused::all_of_it,
     &lock_table, &unlock_table},
    {"table_locked_for_writing", sort, place::single_server, target::server, 2, 100 * millisecond, 3 * second,
     excused::all_of_it, &lock_table_against_writing, &unlock_table_against_writing},
    {"rows_refused", sort, place::anywhere, target::all, 2, 100 * millisecond, 2 * second, excused::all_of_it,
     &refuse_rows, &accept_rows},

    {"node_read_only", sort, place::cluster, target::server, 2, 100 * millisecond, 3 * second, excused::nothing,
     &at_database<&site::make_read_only>, &make_writable},
    {"node_locked", sort, place::cluster, target::server, 2, 100 * millisecond, 3 * second, excused::nothing,
     &lock_table_against_writing, &unlock_table_against_writing},
    {"node_lags", sort, place::cluster, target::server, 5, 500 * millisecond, 5 * second, excused::nothing, &lag,
     &catch_up},
    {"node_killed", sort, place::cluster, target::server, 3, 1, 3 * second, excused::group_changes,
     &at_server<&database_server::kill>, &start_server},
    {"node_restarted", sort, place::cluster, target::server, 2, 1, 2 * second, excused::group_changes,
     &at_server<&database_server::stop>, &start_server},
    {"node_frozen", sort, place::cluster, target::server, 3, 200 * millisecond, 5 * second, excused::group_changes,
     &at_server<&database_server::freeze>, &thaw_server},
    {"node_partitioned", sort, place::galera, target::server, 4, 500 * millisecond, 4 * second, excused::group_changes,
     &at_database<&site::take_out>, &rejoin_node},
    {"node_leaves_group", sort, place::group_replication, target::server, 2, 500 * millisecond, 4 * second,
     excused::group_changes, &at_database<&site::take_out>, &rejoin_node},

    {"primary_killed", sort, place::patroni, target::all, 6, 1, 100 * millisecond, excused::all_of_it,
     &at_primary<&patroni_node::kill>, &bring_back<&patroni_node::start>},
    {"primary_frozen", sort, place::patroni, target::all, 6, 1, 100 * millisecond, excused::all_of_it,
     &at_primary<&patroni_node::freeze>, &bring_back<&patroni_node::thaw>},
    {"primary_cut_off", sort, place::patroni, target::all, 6, 1, 100 * millisecond, excused::all_of_it,
     &at_primary<&patroni_node::isolate>, &bring_back<&patroni_node::rejoin>},
});

}  // namespace

std::span<const fault_kind> kinds_of_servers() noexcept { return kinds; }

}  // namespace campaign
