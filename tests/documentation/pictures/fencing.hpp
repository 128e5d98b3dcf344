// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_FENCING_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_FENCING_HPP

#include "lanes.hpp"
#include "svg.hpp"

#include <string>
#include <vector>

namespace pictures {

/// A holder that is paused through the end of its term, and writes when it wakes up.
struct fencing_story {
    struct write {
        lh::duration at;
        lh::fencing_token token;
        bool taken;
    };
    static constexpr lh::duration paused = 9s, second_writes = 34s, woken = 51s, end = 62s;
    std::vector<write> writes;
    lh::duration taken_over{};
    bool believed = false;  // the first, when it writes late
};

inline fencing_story play_fencing()
{
    constexpr lh::lease_terms terms{.ttl = 30s};
    fencing_story story;
    lh::manual_clock of_store, of_first;  // the first is paused: its clock, as it sees it, stands still
    const lh::time_point begun = of_store.now();
    lh::basic_memory_store store{of_store};
    lh::fencing_token last_token;
    const auto write = [&](lh::fencing_token token) {
        const bool taken = last_token <= token;
        if (taken) last_token = token;
        story.writes.push_back({of_store.now() - begun, token, taken});
    };
    const auto until = [&](lh::duration at) { of_store.advance(at - (of_store.now() - begun)); };

    lh::basic_lease first{store, "document", terms, of_first, lh::random_owner_id{}, lh::no_renewal{}};
    lh::basic_lease second{store, "document", terms, of_store};
    const auto sleeper = first.try_acquire();
    of_first.advance(4s);
    until(4s);
    write(sleeper.token());
    until(fencing_story::paused);
    of_store.advance(store.list().front().remaining);
    const auto other = second.try_acquire();
    story.taken_over = of_store.now() - begun;
    until(fencing_story::second_writes);
    write(other.token());
    until(fencing_story::woken);
    story.believed = sleeper.held();
    write(sleeper.token());
    return story;
}

inline std::string fencing()
{
    const fencing_story story = play_fencing();
    const time_axis axis{.left = 98, .whole = fencing_story::end};
    const auto x = [&axis](lh::duration at) { return axis.x(at); };
    svg out{picture_width, 250, "A late write is refused because of its token"};
    const double first = 40, second = 92, document = 160, bar = 30;

    out.text("", 14, first + 20, "first");
    out.rectangle("holds", x(0s), first, x(fencing_story::paused) - x(0s), bar);
    out.text("on", x(0s) + 8, first + 20, "token " + std::to_string(story.writes.front().token.value()));
    out.rectangle("paused", x(fencing_story::paused), first, x(fencing_story::woken) - x(fencing_story::paused), bar);
    out.text("", x(fencing_story::paused) + 10, first + 20, "paused: it doesn't see time pass");
    out.text("small", x(fencing_story::woken) + 4, first - 8, story.believed ? "believes, writes" : "stops", "middle");

    out.text("", 14, second + 20, "second");
    out.rectangle("next", x(story.taken_over), second, x(axis.whole) - x(story.taken_over), bar);
    out.text("on", x(story.taken_over) + 8, second + 20, "token " + std::to_string(story.writes[1].token.value()));
    out.line("edge", x(story.taken_over), second - 18, x(story.taken_over), second);
    out.text("small", x(story.taken_over) - 6, second - 2, "its time is over", "end");

    out.text("", 14, document + 20, "document");
    out.rectangle("store", x(0s), document, x(axis.whole) - x(0s), bar);
    for (const auto& write : story.writes) {
        const std::string token = std::to_string(write.token.value());
        out.arrival(x(write.at), (write.token == story.writes[1].token ? second : first) + bar, document, write.taken,
                    write.taken ? "last_token = " + token : "refused: " + token + " is smaller");
    }
    out.text("small", x(0s), document + bar + 46, "update document set text = ?, last_token = ? where last_token &lt;= ?");
    return out.str();
}

}  // namespace pictures

#endif
