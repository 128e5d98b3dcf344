// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_CHECKUP_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_CHECKUP_HPP

#include "odbc_connection.hpp"

#include <leasehold/duration.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tool {

/// What was measured of a database.
struct checkup {
    connection_facts facts;
    std::map<std::string, std::string> settings{};  ///< those of settings_to_ask() that were answered
    leasehold::duration round_trip{};               ///< median
    std::optional<leasehold::duration>
        clock_ahead{};  ///< of the database before the host; nothing: not known, or the same clock
    std::optional<leasehold::duration> hand_over{};  ///< from a release to the next holder
    bool woken = false;                              ///< waiters are woken, rather than polling
    bool one_call_at_a_time = false;                 ///< unixODBC lets one call of a process in at a time
    bool pooled = false;                             ///< a pooler gives each transaction another session
};

/// What became of a lease that was tried, step by step; each is true where leases can be relied on.
struct trial {
    bool held = false;            ///< granted, and the guard says so
    bool shown = false;           ///< by inspect: with its owner and token, for about its ttl
    bool excludes = false;        ///< a second owner's attempt meanwhile was busy
    bool renewed = false;         ///< that very term could be extended
    bool still_excludes = false;  ///< and a second owner's attempt after that was busy too
    bool released = false;        ///< that very term was ended, by the release's own account
    bool handed_over = false;     ///< the second owner has it then
    bool token_grew = false;      ///< with a higher token than the first's
    bool late_refused = false;    ///< the first owner's token can renew nothing any longer
};

struct finding {
    enum class kind : std::uint8_t { good, note, warning };
    kind how;
    std::string text;
};

/// The products that more is known of.
enum class product : std::uint8_t { postgresql, mariadb, sqlite, other };
[[nodiscard]] product product_of(const connection_facts& facts);

/// Name and query of the settings that matter for leases.
[[nodiscard]] const std::map<std::string, std::string>& settings_to_ask(product of);

/// Asks for the version of the product itself, where the driver tells another one; empty: the driver is right.
[[nodiscard]] std::string version_query(product of);

/// What to tell of a lease that was tried: one good finding, or a warning for each step that went wrong. Pure.
[[nodiscard]] std::vector<finding> judge(const trial& tried);
/// What to tell of the rest. Pure.
[[nodiscard]] std::vector<finding> judge(const checkup& found);

}  // namespace tool

#endif
