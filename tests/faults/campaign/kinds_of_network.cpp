// SPDX-License-Identifier: BSL-1.0
// Faults of the network between the contenders and the database.
#include "kinds.hpp"
#include "notes.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>

namespace campaign {

using namespace std::chrono_literals;
using leasehold_test::direction;
using leasehold_test::tcp_gate;

namespace {

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

void cut(tcp_gate& gate, const drawn_fault&) { gate.cut(); }
void half_close(tcp_gate& gate, const drawn_fault& fault) { gate.half_close(one_way(fault.variant)); }
void delay(tcp_gate& gate, const drawn_fault& fault) { gate.delay(drawn_delay(fault.variant), one_way(fault.variant >> 16U)); }
void stall(tcp_gate& gate, const drawn_fault& fault) { gate.stall(one_way(fault.variant)); }
void refuse(tcp_gate& gate, const drawn_fault&) { gate.refuse(); }

// A host that has lost its power: its sessions live on in the server, which hears neither an end nor an acknowledgement.
void cut_off(tcp_gate& gate, const drawn_fault&)
{
    gate.forget();
    gate.stall();
}

template <auto What>
bool at_one(const scene& on, drawn_fault& fault)
{
    What(on.processes.gate(fault.target), fault);
    return true;
}

template <auto What>
bool at_all(const scene& on, drawn_fault& fault)
{
    at_all_gates(on, [&](tcp_gate& gate) { What(gate, fault); });
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

// It is back, and its old sessions still live on.
void heal_host_cut_off(const scene& on, const drawn_fault& fault, instant ending)
{
    note_outage(on, any_of(fault.target), fault.in_force, ending);
    on.processes.gate(fault.target).pass();
}

// The reply of a renewal comes late, and it is the last thing that gets through: a holder that counts from the reply, not from
// the request, now believes for too long.
void hold_replies_back(tcp_gate& gate, const drawn_fault&) { gate.stall(direction::to_client); }

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

constexpr auto sort = fault_lane::sort::surroundings;

constexpr auto kinds = std::to_array<fault_kind>({
    {"connections_cut", sort, place::anywhere, target::anybody, 2, 1, 50 * millisecond, excused::nothing, &at_one<cut>,
     &do_nothing},
    {"all_connections_cut", sort, place::anywhere, target::all, 1, 1, 50 * millisecond, excused::nothing, &at_all<cut>,
     &do_nothing},
    {"connections_half_closed", sort, place::anywhere, target::anybody, 2, 1, 500 * millisecond, excused::nothing,
     &at_one<half_close>, &heal_one},
    {"network_slow", sort, place::anywhere, target::anybody, 1, 500 * millisecond, 3 * second, excused::nothing,
     &at_one<delay>, &heal_one},
    {"network_slow_for_all", sort, place::anywhere, target::all, 1, 500 * millisecond, 2 * second, excused::all_of_it,
     &at_all<delay>, &heal_all},
    {"packets_dropped", sort, place::anywhere, target::holder, 3, 100 * millisecond, 4 * second, excused::nothing,
     &at_one<stall>, &heal_outage_of_one},
    {"host_cut_off", sort, place::anywhere, target::holder, 3, 500 * millisecond, 3 * second, excused::nothing, &at_one<cut_off>,
     &heal_host_cut_off},
    {"packets_dropped_for_all", sort, place::anywhere, target::all, 1, 100 * millisecond, 3 * second, excused::all_of_it,
     &at_all<stall>, &heal_outage_of_all},
    {"late_reply_then_silence", sort, place::anywhere, target::holder, 2, 300 * millisecond, 950 * millisecond,
     excused::nothing, &at_one<hold_replies_back>, &let_replies_through_and_cut_off},
    {"connections_refused", sort, place::anywhere, target::holder, 2, 100 * millisecond, 4 * second, excused::nothing,
     &at_one<refuse>, &heal_outage_of_one},
    {"connections_refused_for_all", sort, place::anywhere, target::all, 1, 100 * millisecond, 2 * second,
     excused::all_of_it, &at_all<refuse>, &heal_outage_of_all},
});

}  // namespace

std::span<const fault_kind> kinds_of_network() noexcept { return kinds; }

}  // namespace campaign
