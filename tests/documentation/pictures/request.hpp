// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_REQUEST_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_REQUEST_HPP

#include "lanes.hpp"
#include "svg.hpp"

#include <string>

namespace pictures {

/// A holder that is asked to hand over, learns of it with its next renewal, and ends its work.
inline std::string request()
{
    constexpr lh::duration whole = 16s;
    constexpr lh::duration asks = 7s;
    constexpr lh::duration to_end_work = 2s;
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    const lh::lease_terms terms{.ttl = 9s};
    lh::basic_lease ours{store, "service", terms, clock, lh::no_renewal{}};
    lh::basic_lease theirs{store, "service", terms, clock, lh::no_renewal{}};
    auto guard = ours.try_acquire();
    static_cast<void>(guard.handover_requested());
    auto next = theirs.try_acquire();
    lh::duration learnt{}, released{};

    const time_axis axis{.left = 50, .whole = whole};
    svg out{picture_width, 210, "A request to hand over"};
    out.text("small", axis.x(0s), 26, "ttl " + seconds(terms.ttl) + ", renewed every third of it");
    for (lh::duration now = 0s; now <= whole; now += 1s) {
        if (now == asks) theirs.request_handover("version 2 is ready");
        if (guard && now > 0s && now % 3s == 0s) guard.renew();
        if (learnt == 0s && guard.handover_requested()) learnt = now;
        if (guard && learnt != 0s && now == learnt + to_end_work) {
            guard.release();
            released = now;
        }
        if (next.empty() && now > asks) next = theirs.try_acquire();
        clock.advance(1s);
    }
    out.text("", 20, 70, "A");
    out.rectangle("holds", axis.x(0s), 50, axis.x(released) - axis.x(0s), 30);
    out.text("on", axis.x(0s) + 8, 70, "holds");
    for (lh::duration at = 3s; at < released; at += 3s) out.line("edge", axis.x(at), 50, axis.x(at), 80);
    out.text("", 20, 150, "B");
    out.rectangle("waits", axis.x(asks), 130, axis.x(released) - axis.x(asks), 30);
    out.text("", axis.x(asks) + 8, 150, "waits");
    if (next.held()) out.rectangle("next", axis.x(released), 130, axis.x(whole) - axis.x(released), 30);
    out.text("on", axis.x(released) + 8, 150, "holds");
    out.line("edge", axis.x(asks), 80, axis.x(asks), 130);
    out.text("small", axis.x(asks) - 6, 110, "asks at " + seconds(asks), "end");
    out.line("edge", axis.x(learnt), 34, axis.x(learnt), 50);
    out.text("small", axis.x(learnt) + 6, 42, "learns of it with its renewal at " + seconds(learnt));
    out.line("edge", axis.x(released), 80, axis.x(released), 185);
    out.text("small", axis.x(released) + 6, 200, "releases at " + seconds(released));
    return out.str();
}

}  // namespace pictures

#endif
