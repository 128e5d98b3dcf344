// SPDX-License-Identifier: BSL-1.0
#ifndef LEADER_DEMO_ROLES_HPP
#define LEADER_DEMO_ROLES_HPP

#include <leasehold/lease_terms.hpp>

#include <chrono>
#include <filesystem>
#include <string>

namespace demo {

/// The lease of the demo: short, so that a take-over can be watched. A service would take 15 s or more.
inline constexpr leasehold::lease_terms terms{.ttl = std::chrono::milliseconds{1200}};
static_assert(terms.valid());

/// The variable of the environment in which a replica finds its connection string.
inline constexpr const char* store_variable = "LEASEHOLD_DEMO_STORE";

/// One replica of a service: campaigns, leads for a while, steps down, campaigns again, until SIGTERM.
struct serve_options {
    std::string name;
    std::string store;  ///< connection string
    std::string lease;
    std::filesystem::path records;
};
int serve(const serve_options& options);

/// Starts three replicas, shows what happens, kills one, stops one, and has the checker judge.
struct conduct_options {
    std::string store;  ///< connection string; empty: an SQLite file in the demo's own folder
    std::chrono::seconds length{20};
    bool keep = false;  ///< leave the folder with the records behind
};
int conduct(const conduct_options& options);

}  // namespace demo

#endif
