// SPDX-License-Identifier: BSL-1.0

// The subcommands for work on a host or on what a name stands for: close a name, and empty a host.
#include "commands.hpp"
#include "duration_text.hpp"
#include "drain_model.hpp"
#include "failure.hpp"
#include "message.hpp"
#include "opened_store.hpp"
#include "records.hpp"
#include "wording.hpp"

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/store/name_holding.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace tool {

namespace {

using namespace std::chrono_literals;

/// Whether others are in the way, rather than something being wrong.
bool is_busy(std::error_code ec) { return ec == lh::errc::held_closed || ec == std::make_error_code(std::errc::timed_out); }

}  // namespace

int hold(const hold_request& asked, const asked_store& where)
{
    lh::validate_name(asked.name);
    opened_store store{choose_store(where)};
    try {
        store->hold(asked.name, asked.period, asked.reason, {.wait_at_most = asked.wait});
    } catch (const lh::store_error&) {
        std::error_code ec;
        const auto record = store->inspect(asked.name, ec);
        if (!ec && record && record->is_hold() && record->hold_reason() == asked.reason)
            complain("'" + printable(asked.name) + "' may be held closed; leasehold unhold " + printable(asked.name) + " opens it");
        throw;
    } catch (const std::system_error& error) {
        if (!is_busy(error.code())) throw;
        complain(error.what());
        return exit_code::busy;
    }
    std::cout << printable(asked.name) << " is held closed for " << to_text(asked.period)
              << (asked.reason.empty() ? "" : ": " + printable(asked.reason)) << '\n';
    return exit_code::success;
}

int unhold(const std::string& name, const asked_store& where)
{
    lh::validate_name(name);
    opened_store store{choose_store(where)};
    const bool ended = store->unhold(name);
    std::cout << printable(name) << (ended ? " is open again\n" : " was not held closed\n");
    return ended ? exit_code::success : exit_code::no;
}

int drain(const drain_options& options, const asked_store& where)
{
    if (options.host.empty()) throw failure{exit_code::usage, "HOST is empty: name the host to drain"};
    lh::validate_reason(options.reason);
    constexpr lh::duration between_looks = 500ms;
    opened_store store{choose_store(where)};
    const lh::steady_clock clock;
    const lh::time_point end = clock.now() + options.timeout;
    drain_model host{options.host};
    std::set<std::string> complained_of;
    for (;;) {
        host.look(store->list());
        for (const std::string& name : host.to_ask()) {
            // A request goes to the name's holder, and the requests before this one may have taken long.
            std::error_code ec;
            const char* call = "inspect '";
            const auto now = store->inspect(name, ec);
            if (!ec && now && host.asks(*now)) {
                call = "request_handover '";
                store->request_handover(name, options.reason, ec);
            }
            if (!ec) continue;
            const lh::store_error error{ec, call + name + "'", store->diagnostics()};
            if (complained_of.insert(name).second) complain(error.what());
            host.ask_again(name);
            if (clock.now() >= end) break;  // in an outage each call takes its whole time
        }
        if (host.left().empty() || clock.now() >= end) break;
        std::this_thread::sleep_for(std::min(between_looks, end - clock.now()));
    }
    if (options.json) std::cout << to_json(host.left()) << '\n';
    if (host.left().empty()) {
        if (!options.json) std::cout << printable(options.host) << " has nothing" << (host.asked() == 0 ? "" : " any more") << '\n';
        return exit_code::success;
    }
    if (!options.json) std::cout << to_table(host.left());
    complain(std::to_string(host.left().size()) + " of the leases of " + printable(options.host) + " were not handed over in time");
    return exit_code::busy;
}

}  // namespace tool
