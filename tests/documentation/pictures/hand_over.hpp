// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_HAND_OVER_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_HAND_OVER_HPP

#include "lanes.hpp"
#include "sleepers_clock.hpp"
#include "svg.hpp"

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pictures {

/// Three owners of one name, and every attempt that they make.
struct hand_over_story {
    struct attempt {
        lh::duration at;
        bool granted;
    };
    struct tenure {
        lh::duration from;
        lh::fencing_token token;
    };
    std::map<std::string, std::vector<attempt>> asked;
    std::map<std::string, tenure> held;
    static constexpr lh::duration released = 12s, killed = 20s, end = 56s;
    static constexpr lh::duration second_comes = 4s, third_comes = 14s;
    lh::duration expiry{};
};

/// The first holds and releases; the second, who has waited, holds and dies; the third, who has waited, holds.
inline hand_over_story play_hand_over()
{
    constexpr lh::lease_terms terms{.ttl = 30s};
    hand_over_story story;
    std::mutex mutex;
    sleepers_clock clock;
    const lh::time_point begun = clock.now();
    lh::basic_memory_store real{clock.manual};
    lh::hooked_store store{real, [&](const lh::store_call& call, const lh::store_call_report& report) {
        if (call.operation != lh::store_operation::try_acquire) return;
        const std::lock_guard lock{mutex};
        story.asked[std::string{call.owner}].push_back({clock.now() - begun, report.succeeded});
    }};
    const auto until = [&](lh::duration at) { clock.manual.advance(at - (clock.now() - begun)); };
    const auto held = [&](const char* who, lh::fencing_token token) { story.held[who] = {clock.now() - begun, token}; };
    const auto end_of_the_term = [&] { return clock.now() + real.list().front().remaining; };

    lh::basic_lease first{store, "name", terms, clock, lh::fixed_owner_id{"A"}, lh::no_renewal{}};
    lh::basic_lease second{store, "name", terms, clock, lh::fixed_owner_id{"B"}, lh::no_renewal{}};
    lh::basic_lease third{store, "name", terms, clock, lh::fixed_owner_id{"C"}, lh::no_renewal{}};
    auto of_first = first.try_acquire();
    decltype(of_first) of_second, of_third;
    held("A", of_first.token());

    until(hand_over_story::second_comes);
    std::thread waits{[&] { of_second = second.acquire(); }};
    clock.await_a_sleeper_until(end_of_the_term());
    until(hand_over_story::released);
    of_first.release();
    waits.join();
    held("B", of_second.token());

    until(hand_over_story::third_comes);
    std::thread waits_too{[&] { of_third = third.acquire(); }};
    const lh::time_point expiry = end_of_the_term();
    clock.await_a_sleeper_until(expiry);
    // The second is killed: nothing of it is ever heard again.
    until(expiry - begun);
    waits_too.join();
    held("C", of_third.token());
    story.expiry = expiry - begun;
    return story;
}

inline std::string hand_over()
{
    const hand_over_story story = play_hand_over();
    const time_axis axis{.whole = hand_over_story::end};
    const auto x = [&axis](lh::duration at) { return axis.x(at); };
    const auto token = [&story](const char* who) { return "token " + std::to_string(story.held.at(who).token.value()); };
    svg out{picture_width, 262, "A lease is handed over by a release, and then by the death of its holder"};
    const double a = 46, b = 98, c = 150, bar = 30;

    out.text("", 14, a + 20, "first");
    out.rectangle("holds", x(0s), a, x(hand_over_story::released) - x(0s), bar);
    out.text("on", x(0s) + 8, a + 20, token("A"));
    out.text("small", x(hand_over_story::released) + 6, a - 12, "releases, and that wakes the second");
    out.line("edge", x(hand_over_story::released), a - 22, x(hand_over_story::released), b);

    out.text("", 14, b + 20, "second");
    out.rectangle("waits", x(hand_over_story::second_comes), b, x(story.held.at("B").from) - x(hand_over_story::second_comes), bar);
    out.text("", x(hand_over_story::second_comes) + 8, b + 20, "waits");
    out.rectangle("holds", x(story.held.at("B").from), b, x(hand_over_story::killed) - x(story.held.at("B").from), bar);
    out.text("on", x(story.held.at("B").from) + 5, b + 20, token("B"));
    out.rectangle("store", x(hand_over_story::killed), b, x(story.expiry) - x(hand_over_story::killed), bar);
    out.text("", x(hand_over_story::killed) + 10, b + 20, "killed; its term runs on");
    out.text("small", x(story.expiry) - 6, b - 8, "its time is over", "end");
    out.line("edge", x(story.expiry), b - 18, x(story.expiry), c);

    out.text("", 14, c + 20, "third");
    out.rectangle("waits", x(hand_over_story::third_comes), c, x(story.held.at("C").from) - x(hand_over_story::third_comes), bar);
    out.text("", x(hand_over_story::third_comes) + 10, c + 20, "sleeps until then, or a release");
    out.rectangle("next", x(story.held.at("C").from), c, x(axis.whole) - x(story.held.at("C").from), bar);
    out.text("on", x(story.held.at("C").from) + 8, c + 20, token("C"));

    const std::map<std::string, double> lane{{"A", a}, {"B", b}, {"C", c}};
    std::size_t attempts = 0;
    for (const auto& [who, tries] : story.asked)
        for (const auto& tried : tries) {
            out.dot("asked", x(tried.at), lane.at(who) + bar);
            ++attempts;
        }
    out.dot("asked", x(0s) + 4, 222);
    out.text("small", x(0s) + 16, 227, "an attempt at the store: " + std::to_string(attempts) + " in all, where it can wake");
    out.text("small", x(0s) + 16, 247, "its waiters; elsewhere they ask again from time to time");
    return out.str();
}

}  // namespace pictures

#endif
