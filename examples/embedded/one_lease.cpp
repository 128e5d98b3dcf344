// SPDX-License-Identifier: BSL-1.0
// What a lease adds to a program, in bytes: try_acquire, renew and release, and no more.
#include "board.hpp"

#include <leasehold/embedded.hpp>

namespace lh = leasehold;
using namespace std::chrono_literals;

static volatile std::uint32_t ticks = 0;

void board::tick() { ticks = ticks + 1; }

namespace {

struct tick_clock {
    lh::time_point now() const noexcept { return lh::time_point{std::chrono::milliseconds{ticks}}; }
};

constexpr lh::static_text_limits short_texts{.name_bytes = 15, .owner_bytes = 15};
constexpr lh::lease_terms terms{.ttl = 2s};

constinit lh::basic_static_memory_store<4, tick_clock, board::critical_section, short_texts> leases;
constinit lh::basic_static_lease pump{leases, lh::checked_name("pump"), lh::checked_terms(terms), tick_clock{},
                                      lh::static_owner_id{"control"}};

}  // namespace

int board::run()
{
    lh::plain_error ec;
    auto guard = pump.try_acquire(ec);
    if (ec || !guard.held()) return 1;
    if (!guard.renew(ec)) return 2;
    return guard.release(ec) == lh::release_outcome::released ? 0 : 3;
}
