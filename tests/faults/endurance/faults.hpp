// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FAULTS_ENDURANCE_FAULTS_HPP
#define LEASEHOLD_TESTS_FAULTS_ENDURANCE_FAULTS_HPP

#include <support/database_server.hpp>
#include <support/tcp_gate.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <random>
#include <string_view>

namespace endurance {

using leasehold_test::database_server;
using leasehold_test::direction;
using leasehold_test::tcp_gate;

/// What breaks, for how long a caller likes, and is mended then.
struct fault {
    std::string_view name;
    std::function<void(database_server&, tcp_gate&)> begin;
    std::function<void(database_server&, tcp_gate&)> end;
};

inline const std::array<fault, 8>& faults()
{
    const auto nothing = [](database_server&, tcp_gate&) {};
    const auto pass = [](database_server&, tcp_gate& gate) { gate.pass(); };
    static const std::array<fault, 8> all{{
        {"connections cut", [](auto&, tcp_gate& gate) { gate.cut(); }, nothing},
        {"connections refused", [](auto&, tcp_gate& gate) { gate.refuse(); }, pass},
        {"packets lost", [](auto&, tcp_gate& gate) { gate.stall(); }, pass},
        {"replies lost", [](auto&, tcp_gate& gate) { gate.stall(direction::to_client); },
         [](auto&, tcp_gate& gate) {
             gate.cut();
             gate.pass();
         }},
        {"packets late", [](auto&, tcp_gate& gate) { gate.delay(std::chrono::milliseconds{50}); }, pass},
        {"server frozen", [](database_server& server, auto&) { server.freeze(); }, [](database_server& server, auto&) { server.thaw(); }},
        {"server killed", [](database_server& server, auto&) { server.kill(); }, [](database_server& server, auto&) { server.start(); }},
        {"server stopped", [](database_server& server, auto&) { server.stop(); }, [](database_server& server, auto&) { server.start(); }},
    }};
    return all;
}

/// Those during which nobody reaches the database, so that a long one ends every term.
inline constexpr std::array outages{std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{6}};

}  // namespace endurance

#endif
