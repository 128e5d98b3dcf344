// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_PLUGIN_PLUGIN_HPP
#define LEASEHOLD_TESTS_PLUGIN_PLUGIN_HPP

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/store/memory_store.hpp>

#include <string_view>
#include <system_error>

using test_store = leasehold::basic_memory_store<leasehold::manual_clock>;
using test_lease = leasehold::basic_lease<test_store, leasehold::manual_clock>;

/// What the plugin does with a store of the program that loads it.
struct plugin_functions {
    /// Waits for the lease. The holder is released with release().
    void* (*acquire)(test_store& store, std::string_view name, const leasehold::manual_clock& clock);
    void (*release)(void* holder);
    /// An error code of the plugin.
    std::error_code (*lost)();
    /// Whether the plugin takes it for errc::lost.
    bool (*is_lost)(const std::error_code& ec);
    /// Throw exceptions of the library.
    void (*throw_store_error)();
    void (*throw_lease_lost)();
    /// Whether the plugin takes the calling thread for the one that locked the lease.
    bool (*has_locked)(const test_lease& lease);
};

/// The name of the plugin's only symbol, a function without arguments that returns its plugin_functions.
inline constexpr const char* plugin_entry = "leasehold_test_plugin";

#endif
