// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_MESSAGE_HPP
#define LEASEHOLD_TESTS_SIMULATION_MESSAGE_HPP

#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sim {

using leasehold::odbc::detail::column;
using leasehold::odbc::detail::fault;
using leasehold::odbc::detail::statement;

enum class ask : std::uint8_t {
    try_acquire,  // the first four: operations of a store
    renew,
    release,
    inspect,
    sql,           // one statement of the ODBC flows
    write,         // to the resource that checks tokens
    watch,         // tell me when it is released
    force_release,  // by a person
    save_checkpoint,
    look_at_checkpoint,
    publish,
    work,  // this one and the next: statements of a user's transaction, see transactions
    fence,
    save_fenced,
    commit,
    roll_back
};

inline constexpr bool is_in_transaction(ask what) noexcept { return what >= ask::work; }

inline constexpr int nobody = -1;

// The first two are leases; the others are what permits and a shared lease are made of. "doc/r" has no row: a writer queues for it.
inline constexpr std::array<std::string_view, 14> lease_names{"job", "shard",      "pool",   "pool/0", "pool/1", "pool/2", "doc",
                                                              "doc/writer", "doc/r0", "doc/r1", "doc/r", "pool/3", "pool/+", "pool/^"};

inline int number_of_name(std::string_view name)
{
    const auto found = std::ranges::find(lease_names, name);
    assert(found != lease_names.end());
    return static_cast<int>(found - lease_names.begin());
}

inline constexpr int whichever = -2;

struct request {
    ask what{};
    statement which{};
    int name = 0;
    int owner = nobody;
    std::int64_t token = 0;
    std::int64_t time = 0;  // ttl or min_hold_left, ns
    int text = nobody;      // of a checkpoint, or published: a number of world::owner()
    int replaced = whichever;  // the same of the checkpoint in whose place it is saved; nobody: there is none
    int connection = 0;        // a user's; 0: of the store
};

struct reply {
    fault failed = fault::none;
    leasehold::acquire_result acquired{};
    bool yes = false;
    bool found = false;
    std::int64_t rows = 0;
    int owner = nobody;
    int text = nobody;        // of the checkpoint that was saved last, or what the holder publishes
    std::int64_t latest = 0;  // the token of the name's latest term
    std::int64_t at = 0;      // ns, by the server's clock
    std::array<std::int64_t, 13> numbers{};

    [[nodiscard]] std::int64_t& number(column which) { return numbers[static_cast<std::size_t>(which)]; }
    [[nodiscard]] std::int64_t number(column which) const { return numbers[static_cast<std::size_t>(which)]; }
};

// The row of a name, as it is at some instant of the server's clock.
struct row_view {
    bool live = false;
    int owner = nobody;
    std::int64_t token = 0;
    std::int64_t ends = 0;  // ns, by the server's clock

    friend bool operator==(const row_view&, const row_view&) = default;
};

}  // namespace sim

#endif
