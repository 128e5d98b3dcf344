// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_CHECKPOINT_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_CHECKPOINT_HPP

#include "lanes.hpp"
#include "svg.hpp"

#include <string>
#include <vector>

namespace pictures {

/// A holder saves how far it is, and is paused through the end of its term. The next one goes on from there; the first saves too late.
struct checkpoint_story {
    struct save {
        lh::duration at;
        std::string text;
        bool saved;
        bool by_first;
    };
    static constexpr lh::duration first_saves = 4s, second_saves = 17s, paused = 22s, third_saves = 50s, woken = 70s, end = 82s;
    std::vector<save> saves;
    lh::duration taken_over{};
    std::string loaded;
};

inline checkpoint_story play_checkpoint()
{
    constexpr lh::lease_terms terms{.ttl = 30s};
    checkpoint_story story;
    lh::manual_clock of_store, of_first;  // the first is paused: its clock, as it sees it, stands still
    const lh::time_point begun = of_store.now();
    lh::basic_memory_store store{of_store};
    const auto until = [&](lh::duration at) { of_store.advance(at - (of_store.now() - begun)); };
    const auto save = [&](auto& guard, const std::string& text, bool by_first) {
        story.saves.push_back({of_store.now() - begun, text, guard.save_checkpoint(text), by_first});
    };

    lh::basic_lease first{store, "orders", terms, of_first, lh::random_owner_id{}, lh::no_renewal{}};
    lh::basic_lease second{store, "orders", terms, of_store, lh::random_owner_id{}, lh::no_renewal{}};
    auto sleeper = first.try_acquire();
    until(checkpoint_story::first_saves);
    save(sleeper, "order 100", true);
    until(checkpoint_story::second_saves);
    save(sleeper, "order 200", true);
    until(checkpoint_story::paused);
    of_store.advance(store.list().front().remaining);
    auto other = second.try_acquire();
    story.taken_over = of_store.now() - begun;
    story.loaded = other.load_checkpoint().value_or("");
    until(checkpoint_story::third_saves);
    other.renew();
    save(other, "order 300", false);
    until(checkpoint_story::woken);
    save(sleeper, "order 300", true);
    return story;
}

inline std::string checkpoint()
{
    const checkpoint_story story = play_checkpoint();
    const time_axis axis{.left = 98, .whole = checkpoint_story::end};
    const auto x = [&axis](lh::duration at) { return axis.x(at); };
    svg out{picture_width, 230, "The next holder goes on where the last one saved"};
    const double first = 40, second = 92, kept = 160, bar = 30;

    out.text("", 14, first + 20, "first");
    out.rectangle("holds", x(0s), first, x(checkpoint_story::paused) - x(0s), bar);
    out.text("on", x(0s) + 8, first + 20, "holds");
    out.rectangle("paused", x(checkpoint_story::paused), first, x(checkpoint_story::woken) - x(checkpoint_story::paused), bar);
    out.text("", x(checkpoint_story::paused) + 10, first + 20, "paused");
    out.text("small", x(checkpoint_story::woken) + 4, first - 8, "saves too late", "middle");

    out.text("", 14, second + 20, "second");
    out.rectangle("next", x(story.taken_over), second, x(axis.whole) - x(story.taken_over), bar);
    out.text("on", x(story.taken_over) + 8, second + 20, "begins at " + story.loaded);
    out.line("edge", x(story.taken_over), kept, x(story.taken_over), second + bar);

    out.text("", 14, kept + 20, "checkpoint");
    out.rectangle("store", x(story.saves.front().at), kept, x(axis.whole) - x(story.saves.front().at), bar);
    for (const auto& save : story.saves)
        out.arrival(x(save.at), (save.by_first ? first : second) + bar, kept, save.saved, save.saved ? save.text : "false");
    return out.str();
}

}  // namespace pictures

#endif
