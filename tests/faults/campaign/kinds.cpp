// SPDX-License-Identifier: BSL-1.0
#include "kinds.hpp"

#include <support/eventually.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

namespace campaign {

using namespace std::chrono_literals;
using leasehold_test::direction;
using leasehold_test::tcp_gate;

namespace {

void note_outage(const scene& on, const std::string& process, instant from, instant until)
{
    on.notes.write({event::outage, process, 0, from, until});
}

void note_refusal(const scene& on, const std::string& process, instant from, instant until, const std::string& why)
{
    on.notes.write({event::refusal, process, 0, from, until, why});
}

// Every incarnation that there was of it in that time: the records name processes, an outage hits whoever is behind the gate.
std::string any_of(std::size_t contender) { return "c" + std::to_string(contender) + ".*"; }

template <class Note>
void for_clients_of_server(const scene& on, std::size_t server, Note note)
{
    for (std::size_t i = 0; i < contenders::count; ++i)
        if (on.processes.server_of(i) == server) note(any_of(i));
    for (std::size_t i = 0; on.beside && i < crowd::count; ++i)
        if (on.beside->server_of(i) == server) note("m" + std::to_string(i) + ".*");
}

void note_outage_of_server(const scene& on, std::size_t server, instant from, instant until)
{
    for_clients_of_server(on, server, [&](const std::string& client) { note_outage(on, client, from, until); });
}

void note_refusal_of_server(const scene& on, std::size_t server, instant from, instant until, const std::string& why)
{
    for_clients_of_server(on, server, [&](const std::string& client) { note_refusal(on, client, from, until, why); });
}

void do_nothing(const scene&, const drawn_fault&, instant) {}

// processes

bool kill_contender(const scene& on, drawn_fault& fault)
{
    if (!on.processes.runs(fault.target)) return false;
    on.processes.kill(fault.target);
    return true;
}

void start_contender(const scene& on, const drawn_fault& fault, instant)
{
    on.processes.start(fault.target);
}

bool freeze_contender(const scene& on, drawn_fault& fault)
{
    if (!on.processes.runs(fault.target)) return false;
    on.processes.freeze(fault.target);
    return true;
}

void thaw_contender(const scene& on, const drawn_fault& fault, instant) { on.processes.thaw(fault.target); }

bool ask_contender_to_leave(const scene& on, drawn_fault& fault)
{
    if (!on.processes.runs(fault.target)) return false;
    on.processes.ask_to_leave(fault.target);
    return true;
}

void reap_and_start_contender(const scene& on, const drawn_fault& fault, instant)
{
    on.processes.reap(fault.target);
    start_contender(on, fault, 0);
}

// network

direction one_way(std::uint32_t variant)
{
    constexpr std::array ways{direction::both, direction::to_server, direction::to_client};
    return ways[variant % ways.size()];
}

std::chrono::milliseconds drawn_delay(std::uint32_t variant) { return std::chrono::milliseconds{5 + variant % 300}; }

template <class Do>
void at_all_gates(const scene& on, Do what)
{
    for (std::size_t i = 0; i < contenders::count; ++i) what(on.processes.gate(i));
    for (std::size_t i = 0; on.beside && i < on.database.size(); ++i) what(on.beside->gate(i));
}

bool cut_one(const scene& on, drawn_fault& fault)
{
    on.processes.gate(fault.target).cut();
    return true;
}
bool cut_all(const scene& on, drawn_fault&)
{
    at_all_gates(on, [](tcp_gate& gate) { gate.cut(); });
    return true;
}

bool half_close_one(const scene& on, drawn_fault& fault)
{
    on.processes.gate(fault.target).half_close(one_way(fault.variant));
    return true;
}

bool delay_one(const scene& on, drawn_fault& fault)
{
    on.processes.gate(fault.target).delay(drawn_delay(fault.variant), one_way(fault.variant >> 16U));
    return true;
}
bool delay_all(const scene& on, drawn_fault& fault)
{
    at_all_gates(on, [&](tcp_gate& gate) { gate.delay(drawn_delay(fault.variant), one_way(fault.variant >> 16U)); });
    return true;
}

bool stall_one(const scene& on, drawn_fault& fault)
{
    on.processes.gate(fault.target).stall(one_way(fault.variant));
    return true;
}
bool stall_all(const scene& on, drawn_fault& fault)
{
    at_all_gates(on, [&](tcp_gate& gate) { gate.stall(one_way(fault.variant)); });
    return true;
}

bool refuse_one(const scene& on, drawn_fault& fault)
{
    on.processes.gate(fault.target).refuse();
    return true;
}
bool refuse_all(const scene& on, drawn_fault&)
{
    at_all_gates(on, [](tcp_gate& gate) { gate.refuse(); });
    return true;
}

// What was dropped is either sent again and arrives, or the connection is given up.
void heal(tcp_gate& gate, const drawn_fault& fault)
{
    if (fault.variant % 5 == 0) gate.cut();
    gate.pass();
}

void heal_one(const scene& on, const drawn_fault& fault, instant) { heal(on.processes.gate(fault.target), fault); }
void heal_all(const scene& on, const drawn_fault& fault, instant)
{
    at_all_gates(on, [&](tcp_gate& gate) { heal(gate, fault); });
}

void heal_outage_of_one(const scene& on, const drawn_fault& fault, instant ending)
{
    note_outage(on, any_of(fault.target), fault.in_force, ending);
    heal_one(on, fault, ending);
}
void heal_outage_of_all(const scene& on, const drawn_fault& fault, instant ending)
{
    note_outage(on, "*", fault.in_force, ending);
    heal_all(on, fault, ending);
}

// The reply of a renewal comes late, and it is the last thing that gets through: whoever counts from the reply, not from
// the request, now believes for too long.
bool hold_replies_back(const scene& on, drawn_fault& fault)
{
    on.processes.gate(fault.target).stall(direction::to_client);
    return true;
}
void let_replies_through_and_cut_off(const scene& on, const drawn_fault& fault, instant)
{
    tcp_gate& gate = on.processes.gate(fault.target);
    gate.pass();
    std::this_thread::sleep_for(20ms);
    gate.stall();
    const instant silent = now();
    std::this_thread::sleep_for(2500ms);
    note_outage(on, any_of(fault.target), silent, now());
    gate.pass();
}

// servers and nodes

bool end_all_sessions(const scene& on, drawn_fault& fault) { return on.database.end_sessions(fault.target, 1) > 0; }
bool end_some_sessions(const scene& on, drawn_fault& fault) { return on.database.end_sessions(fault.target, 3) > 0; }

bool kill_server(const scene& on, drawn_fault& fault)
{
    on.database.server(fault.target).kill();
    return true;
}

bool stop_server(const scene& on, drawn_fault& fault)
{
    on.database.server(fault.target).stop();
    return true;
}

bool freeze_server(const scene& on, drawn_fault& fault)
{
    on.database.server(fault.target).freeze();
    return true;
}

// What an operator would do about nodes that don't come back by themselves. Their logs go to the records.
void repair(const scene& on)
{
    leasehold_test::database_cluster& cluster = on.database.cluster();
    const auto works = [&](std::size_t i) { return cluster.node(i).running() && cluster.node(i).works(); };
    const instant began = now();
    bool majority = false;
    for (std::size_t i = 0; i < on.database.size(); ++i) majority = majority || works(i);
    for (std::size_t i = 0; i < on.database.size(); ++i) {
        if (works(i)) continue;
        std::ofstream{on.records / ("node" + std::to_string(i) + ".log")} << cluster.node(i).log();
        if (!majority && cluster.node(i).running()) {
            cluster.node(i).go_on_alone();
            majority = true;
            continue;
        }
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
    on.database.server(fault.target).start();
    wait_until_whole(on);
}

void thaw_server(const scene& on, const drawn_fault& fault, instant ending)
{
    note_outage_of_server(on, fault.target, fault.in_force, ending);
    on.database.server(fault.target).thaw();
    wait_until_whole(on);
}

bool isolate_node(const scene& on, drawn_fault& fault)
{
    on.database.take_out(fault.target);
    return true;
}

void rejoin_node(const scene& on, const drawn_fault& fault, instant)
{
    leasehold_test::cluster_node& node = on.database.cluster().node(fault.target);
    const bool given_up = leasehold_test::eventually([&] { return !node.works(); }, 6s, 50ms);
    const instant alone = now();
    std::ignore = leasehold_test::throughout([&] { return !node.works(); }, 500ms, 50ms);
    if (given_up) note_outage_of_server(on, fault.target, alone, now());
    on.database.put_back(fault.target);
    wait_until_whole(on);
}

// servers that work, but not for us

bool make_read_only(const scene& on, drawn_fault& fault)
{
    on.database.make_read_only(fault.target);
    return true;
}

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
    const auto holds = [&] { return on.processes.holder(); };
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

constexpr auto of_processes = fault_lane::sort::processes;
constexpr auto around = fault_lane::sort::surroundings;

constexpr auto kinds = std::to_array<fault_kind>({
    {"holder_killed", of_processes, place::anywhere, target::holder, 4, 50 * millisecond, 800 * millisecond,
     excused::nothing, &kill_contender, &start_contender},
    {"waiter_killed", of_processes, place::anywhere, target::waiter, 2, 50 * millisecond, 800 * millisecond,
     excused::nothing, &kill_contender, &start_contender},
    {"holder_frozen", of_processes, place::anywhere, target::holder, 3, 100 * millisecond, 4 * second, excused::nothing,
     &freeze_contender, &thaw_contender},
    {"waiter_frozen", of_processes, place::anywhere, target::waiter, 2, 100 * millisecond, 4 * second, excused::nothing,
     &freeze_contender, &thaw_contender},
    {"contender_leaves", of_processes, place::anywhere, target::anybody, 1, 100 * millisecond, 500 * millisecond,
     excused::nothing, &ask_contender_to_leave, &reap_and_start_contender},

    {"connections_cut", around, place::anywhere, target::anybody, 2, 1, 50 * millisecond, excused::nothing, &cut_one,
     &do_nothing},
    {"all_connections_cut", around, place::anywhere, target::all, 1, 1, 50 * millisecond, excused::nothing, &cut_all,
     &do_nothing},
    {"connections_half_closed", around, place::anywhere, target::anybody, 2, 1, 500 * millisecond, excused::nothing,
     &half_close_one, &heal_one},
    {"network_slow", around, place::anywhere, target::anybody, 1, 500 * millisecond, 3 * second, excused::nothing,
     &delay_one, &heal_one},
    {"network_slow_for_all", around, place::anywhere, target::all, 1, 500 * millisecond, 2 * second, excused::all_of_it,
     &delay_all, &heal_all},
    {"packets_dropped", around, place::anywhere, target::holder, 3, 100 * millisecond, 4 * second, excused::nothing,
     &stall_one, &heal_outage_of_one},
    {"packets_dropped_for_all", around, place::anywhere, target::all, 1, 100 * millisecond, 3 * second, excused::all_of_it,
     &stall_all, &heal_outage_of_all},
    {"late_reply_then_silence", around, place::anywhere, target::holder, 2, 300 * millisecond, 950 * millisecond,
     excused::nothing, &hold_replies_back, &let_replies_through_and_cut_off},
    {"connections_refused", around, place::anywhere, target::holder, 2, 100 * millisecond, 4 * second, excused::nothing,
     &refuse_one, &heal_outage_of_one},
    {"connections_refused_for_all", around, place::anywhere, target::all, 1, 100 * millisecond, 2 * second,
     excused::all_of_it, &refuse_all, &heal_outage_of_all},

    {"all_sessions_ended", around, place::anywhere, target::server, 2, 1, 50 * millisecond, excused::nothing,
     &end_all_sessions, &do_nothing},
    {"some_sessions_ended", around, place::anywhere, target::server, 2, 1, 50 * millisecond, excused::nothing,
     &end_some_sessions, &do_nothing},
    {"server_killed", around, place::single_server, target::server, 2, 1, 2500 * millisecond, excused::all_of_it,
     &kill_server, &start_server},
    {"server_restarted", around, place::single_server, target::server, 2, 1, 800 * millisecond, excused::all_of_it,
     &stop_server, &start_server},
    {"server_frozen", around, place::single_server, target::server, 2, 100 * millisecond, 4 * second, excused::all_of_it,
     &freeze_server, &thaw_server},

    {"server_read_only", around, place::single_server, target::server, 2, 100 * millisecond, 3 * second, excused::all_of_it,
     &make_read_only, &make_writable},
    {"table_locked", around, place::single_server, target::server, 2, 100 * millisecond, 4 * second, excused::all_of_it,
     &lock_table, &unlock_table},
    {"table_locked_for_writing", around, place::single_server, target::server, 2, 100 * millisecond, 3 * second,
     excused::all_of_it, &lock_table_against_writing, &unlock_table_against_writing},
    {"rows_refused", around, place::anywhere, target::all, 2, 100 * millisecond, 2 * second, excused::all_of_it,
     &refuse_rows, &accept_rows},

    {"node_read_only", around, place::cluster, target::server, 2, 100 * millisecond, 3 * second, excused::nothing,
     &make_read_only, &make_writable},
    {"node_locked", around, place::cluster, target::server, 2, 100 * millisecond, 3 * second, excused::nothing,
     &lock_table_against_writing, &unlock_table_against_writing},
    {"node_lags", around, place::cluster, target::server, 5, 500 * millisecond, 5 * second, excused::nothing, &lag,
     &catch_up},
    {"node_killed", around, place::cluster, target::server, 3, 1, 3 * second, excused::group_changes, &kill_server,
     &start_server},
    {"node_restarted", around, place::cluster, target::server, 2, 1, 2 * second, excused::group_changes, &stop_server,
     &start_server},
    {"node_frozen", around, place::cluster, target::server, 3, 200 * millisecond, 5 * second, excused::group_changes,
     &freeze_server, &thaw_server},
    {"node_partitioned", around, place::galera, target::server, 4, 500 * millisecond, 4 * second, excused::group_changes,
     &isolate_node, &rejoin_node},
    {"node_leaves_group", around, place::group_replication, target::server, 2, 500 * millisecond, 4 * second,
     excused::group_changes, &isolate_node, &rejoin_node},
});

}  // namespace

std::span<const fault_kind> fault_kinds() noexcept { return kinds; }

}  // namespace campaign
