// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_ONE_TERM_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_ONE_TERM_HPP

#include "lanes.hpp"
#include "svg.hpp"

#include <leasehold/renewal/term_machine.hpp>

#include <string>
#include <vector>

namespace pictures {

/// What becomes of a term whose holder is cut off from the store at some instant; calls then fail at once.
struct term_story {
    std::vector<lh::duration> extended;  // starts of the attempts that succeeded, the grant first
    std::vector<lh::duration> failed;
    lh::duration deadline{};
};

inline term_story play(const lh::lease_terms& terms, lh::duration cut_off)
{
    using lh::renewal::term_action;
    constexpr lh::time_point begun{1h};
    const lh::renew_at_fraction policy;
    lh::renewal::term_machine machine;
    term_story story;
    machine.granted(begun, terms.ttl, terms.margin(), policy);
    story.extended.push_back({});
    for (lh::time_point now = begun;;) {
        const lh::renewal::term_step step = machine.step(now);
        if (step.action == term_action::signal_loss) {
            story.deadline = now - begun;
            return story;
        }
        if (step.action == term_action::sleep) {
            now = step.at;
            continue;
        }
        if (now - begun < cut_off) {
            machine.renewed(now, now, terms.ttl, policy);
            story.extended.push_back(now - begun);
        }
        else {
            machine.renewal_failed(now, policy);
            story.failed.push_back(now - begun);
        }
    }
}

inline std::string one_term()
{
    constexpr lh::lease_terms terms{.ttl = 30s};
    const term_story story = play(terms, 25s);
    const lh::duration expiry = story.extended.back() + terms.ttl;
    const time_axis axis{.whole = expiry + 10s};
    const auto x = [&axis](lh::duration at) { return axis.x(at); };

    svg out{picture_width, 300, "One term of a lease with a ttl of " + seconds(terms.ttl) + " whose holder is cut off"};
    const double events = 30, holder = 50, store = 102, next = 154, bar = 30, axis_y = 206;

    out.text("small", x(0s), events, "grant");
    for (std::size_t i = 1; i < story.extended.size(); ++i) out.text("small", x(story.extended[i]), events, "renewed", "middle");
    out.text("bad", x(story.failed.front()), events, "cut off: tries fail", "start");

    out.text("", 14, holder + 20, "holder");
    out.rectangle("holds", x(0s), holder, x(story.deadline) - x(0s), bar);
    out.text("on", x(0s) + 96, holder + 20, "held() is true");
    for (const lh::duration at : story.extended) out.dot("asked", x(at), holder + bar + 2);
    for (const lh::duration at : story.failed) out.cross("failed", x(at), holder + bar + 8);

    out.text("", 14, store + 20, "store");
    out.rectangle("store", x(0s), store, x(expiry) - x(0s), bar);
    out.text("", x(0s) + 96, store + 20, "keeps the term, token 7");

    out.text("", 14, next + 20, "next");
    out.rectangle("waits", x(4s), next, x(expiry) - x(4s), bar);
    out.text("", x(0s) + 96, next + 20, "waits");
    out.rectangle("next", x(expiry), next, x(axis.whole) - x(expiry), bar);
    out.text("on", x(expiry) + 8, next + 20, "token 8");

    out.line("edge", x(story.deadline), holder - 6, x(story.deadline), axis_y + 52);
    out.line("edge", x(expiry), holder - 6, x(expiry), axis_y + 52);

    out.measure(x(0s), x(story.extended[1]), axis_y);
    out.text("small", x(story.extended[1]) / 2 + x(0s) / 2, axis_y + 20, "ttl / 3", "middle");
    out.measure(x(story.extended.back()), x(expiry), axis_y);
    out.text("small", x(story.extended.back()) + 8, axis_y + 20, "ttl " + seconds(terms.ttl) + ", from the last success");
    out.measure(x(story.deadline), x(expiry), axis_y + 52);
    out.text("small", x(expiry) + 6, axis_y + 57, seconds(terms.margin()) + " margin");
    out.text("small", x(story.deadline) - 6, axis_y + 57, "deadline at " + seconds(story.deadline) + ": held() is false, stop token",
             "end");
    out.text("small", x(expiry) + 6, axis_y + 80, "take-over", "start");
    out.text("small", x(expiry) - 6, axis_y + 80, "the store's time is over at " + seconds(expiry), "end");
    return out.str();
}

}  // namespace pictures

#endif
