// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_HOLD_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_HOLD_HPP

#include "lanes.hpp"
#include "svg.hpp"

#include <string>
#include <system_error>

namespace pictures {

/// A name is held closed: its holder is asked to hand over, nobody is granted it for a while, and who waits has it after that.
inline std::string hold()
{
    constexpr lh::duration whole = 26s, asks = 4s, to_end_work = 2s, waits_from = 13s, held_for = 12s;
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    const lh::lease_terms terms{.ttl = 9s};
    lh::basic_lease ours{store, "report", terms, clock, lh::no_renewal{}};
    lh::basic_lease theirs{store, "report", terms, clock, lh::no_renewal{}};
    auto guard = ours.try_acquire();
    static_cast<void>(guard.handover_requested());
    auto next = theirs.try_acquire();
    lh::duration learnt{}, closed{}, granted{};
    for (lh::duration now = 0s; now <= whole; now += 1s) {
        if (guard && now > 0s && now % 3s == 0s) guard.renew();
        if (guard && learnt == 0s && guard.handover_requested()) learnt = now;
        if (guard && learnt != 0s && now == learnt + to_end_work) guard.release();
        std::error_code busy;
        // Asks who has it, and waits no longer: this operator comes again.
        if (now >= asks && closed == 0s && store.hold("report", held_for, "migration", lh::hold_options{.wait_at_most = 0s}, busy))
            closed = now;
        if (next.empty() && now >= waits_from) next = theirs.try_acquire();
        if (next && granted == 0s) granted = now;
        clock.advance(1s);
    }

    const time_axis axis{.left = 90, .whole = whole};
    const double first = 50, operators = 100, second = 150, bar = 30;
    svg out{picture_width, 230, "A name that is held closed for a while"};
    out.text("small", axis.x(0s), 26, "store.hold(\"report\", " + seconds(held_for) + ", \"migration\")");
    out.text("", 14, first + 20, "A");
    out.rectangle("holds", axis.x(0s), first, axis.x(learnt + to_end_work) - axis.x(0s), bar);
    out.text("on", axis.x(0s) + 8, first + 20, "holds");
    out.text("", 14, operators + 20, "operator");
    out.rectangle("waits", axis.x(asks), operators, axis.x(closed) - axis.x(asks), bar);
    out.rectangle("paused", axis.x(closed), operators, axis.x(granted) - axis.x(closed), bar);
    out.text("", axis.x(closed) + 8, operators + 20, "held closed: migration");
    out.text("", 14, second + 20, "B");
    out.rectangle("waits", axis.x(waits_from), second, axis.x(granted) - axis.x(waits_from), bar);
    out.text("", axis.x(waits_from) + 8, second + 20, "waits");
    out.rectangle("next", axis.x(granted), second, axis.x(whole) - axis.x(granted), bar);
    out.text("on", axis.x(granted) + 8, second + 20, "holds");
    out.line("edge", axis.x(asks), first + bar, axis.x(asks), operators);
    out.text("small", axis.x(asks) - 6, operators - 4, "asks", "end");
    out.line("edge", axis.x(closed), first + bar, axis.x(closed), operators);
    out.text("small", axis.x(closed) + 6, operators - 4, "A hands over at " + seconds(closed));
    out.line("edge", axis.x(granted), operators + bar, axis.x(granted), 205);
    out.text("small", axis.x(granted) - 6, 205, "the hold ends at " + seconds(granted), "end");
    return out.str();
}

}  // namespace pictures

#endif
