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

constexpr auto sort = fault_lane::sort::surroundings;

constexpr auto kinds = std::to_array<fault_kind>({
    {"connections_cut", sort, place::anywhere, target::anybody, 2, 1, 50 * millisecond, excused::nothing, &cut_one,
     &do_nothing},
    {"all_connections_cut", sort, place::anywhere, target::all, 1, 1, 50 * millisecond, excused::nothing, &cut_all,
     &do_nothing},
    {"connections_half_closed", sort, place::anywhere, target::anybody, 2, 1, 500 * millisecond, excused::nothing,
     &half_close_one, &heal_one},
    {"network_slow", sort, place::anywhere, target::anybody, 1, 500 * millisecond, 3 * second, excused::nothing,
     &delay_one, &heal_one},
    {"network_slow_for_all", sort, place::anywhere, target::all, 1, 500 * millisecond, 2 * second, excused::all_of_it,
     &delay_all, &heal_all},
    {"packets_dropped", sort, place::anywhere, target::holder, 3, 100 * millisecond, 4 * second, excused::nothing,
     &stall_one, &heal_outage_of_one},
    {"packets_dropped_for_all", sort, place::anywhere, target::all, 1, 100 * millisecond, 3 * second, excused::all_of_it,
     &stall_all, &heal_outage_of_all},
    {"late_reply_then_silence", sort, place::anywhere, target::holder, 2, 300 * millisecond, 950 * millisecond,
     excused::nothing, &hold_replies_back, &let_replies_through_and_cut_off},
    {"connections_refused", sort, place::anywhere, target::holder, 2, 100 * millisecond, 4 * second, excused::nothing,
     &refuse_one, &heal_outage_of_one},
    {"connections_refused_for_all", sort, place::anywhere, target::all, 1, 100 * millisecond, 2 * second,
     excused::all_of_it, &refuse_all, &heal_outage_of_all},
});

}  // namespace

std::span<const fault_kind> kinds_of_network() noexcept { return kinds; }

}  // namespace campaign
