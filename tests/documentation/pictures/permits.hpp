// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_PERMITS_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_PERMITS_HPP

#include "lanes.hpp"
#include "svg.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace pictures {

/// A process that wants a permit, and what became of it.
struct permit_seeker {
    using semaphore_type =
        lh::lease_semaphore<lh::basic_memory_store<lh::manual_clock>, lh::manual_clock, lh::random_owner_id, lh::no_renewal>;

    const char* name;
    lh::duration arrives;
    lh::duration works;  // how long, once it has a permit
    bool dies = false;   // instead of giving it back

    std::optional<semaphore_type> semaphore{};
    semaphore_type::guard_type permit{};
    std::optional<lh::duration> granted{};
    std::optional<lh::duration> ended{};
    lh::duration gone{};  // in the store
};

inline std::string permits()
{
    constexpr lh::lease_terms terms{.ttl = 10s};
    constexpr lh::duration whole = 24s;
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    std::array<permit_seeker, 5> all{{{"A", 0s, 8s}, {"B", 1s, 30s}, {"C", 2s, 4s, true}, {"D", 3s, 30s}, {"E", 4s, 30s}}};
    for (permit_seeker& each : all) each.semaphore.emplace(store, "licences", 3, terms, clock, lh::no_renewal{});
    for (lh::duration now = 0s; now <= whole; now += 1s) {
        for (permit_seeker& each : all) {
            if (!each.granted || each.ended || now < *each.granted + each.works) continue;
            each.ended = now;
            each.gone = now;
            if (each.dies)
                each.gone = now + store.list(each.permit.name()).front().remaining;
            else
                each.permit.release();
        }
        for (permit_seeker& each : all) {
            if (each.granted || now < each.arrives) continue;
            each.permit = each.semaphore->try_acquire();
            if (each.permit) each.granted = now;
        }
        // Every three seconds, as the default policy would.
        for (permit_seeker& each : all)
            if (each.granted && !each.ended && (now - *each.granted) % 3s == 0s) each.permit.renew();
        clock.advance(1s);
    }

    const time_axis axis{.left = 50, .whole = whole};
    svg out{picture_width, 300, "Three permits and five processes, of which one dies"};
    double y = 40;
    out.text("small", axis.x(0s), 26, "lease_semaphore{store, \"licences\", 3, ttl " + seconds(terms.ttl) + "}");
    for (const permit_seeker& each : all) {
        const lh::duration start = each.granted.value_or(whole), end = each.ended.value_or(whole);
        out.text("", 20, y + 20, each.name);
        if (start > each.arrives) {
            out.rectangle("waits", axis.x(each.arrives), y, axis.x(start) - axis.x(each.arrives), 30);
            out.text("", axis.x(each.arrives) + 8, y + 20, "waits");
        }
        out.rectangle(start > each.arrives ? "next" : "holds", axis.x(start), y, axis.x(end) - axis.x(start), 30);
        out.text("on", axis.x(start) + 8, y + 20, "holds");
        if (each.dies) {
            out.rectangle("store", axis.x(end), y, axis.x(each.gone) - axis.x(end), 30);
            out.text("", axis.x(end) + 8, y + 20, "died");
            out.line("edge", axis.x(each.gone), y, axis.x(each.gone), 260);
            out.text("small", axis.x(each.gone) + 6, 275, "its ttl is over at " + seconds(each.gone));
        } else if (each.ended && start == each.arrives) {
            out.line("edge", axis.x(end), y, axis.x(end), 260);
            out.text("small", axis.x(end) - 6, 275, "released at " + seconds(end), "end");
        }
        y += 44;
    }
    return out.str();
}

}  // namespace pictures

#endif
