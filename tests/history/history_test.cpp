// SPDX-License-Identifier: BSL-1.0
// The checker of histories is put to the test: what broke is rejected, its nearest sibling that is right is accepted, and on small
// histories it agrees with one that tries everything.
#include "checker.hpp"
#include "exhaustive.hpp"
#include "random_history.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace history;

namespace {

constexpr instant ttl = 10;
constexpr const char* name = "job";

call granted(const char* owner, std::int64_t token, instant begin, instant end)
{
    return {operation::acquire, answer::yes, name, owner, token, ttl, begin, end};
}
call busy(const char* owner, std::int64_t token, instant begin, instant end)
{
    return {operation::acquire, answer::no, name, owner, token, ttl, begin, end};
}
call lost_attempt(const char* owner, instant begin, instant end = never)
{
    return {operation::acquire, answer::unknown, name, owner, 0, ttl, begin, end};
}
call asked(operation what, answer said, const char* owner, std::int64_t token, instant begin, instant end)
{
    return {what, said, name, owner, token, ttl, begin, end};
}
call renewed(const char* owner, std::int64_t token, instant begin, instant end)
{
    return asked(operation::renew, answer::yes, owner, token, begin, end);
}
call released(const char* owner, std::int64_t token, instant begin, instant end)
{
    return asked(operation::release, answer::yes, owner, token, begin, end);
}
call shown(const char* owner, std::int64_t token, instant begin, instant end)
{
    return asked(operation::inspect, answer::yes, owner, token, begin, end);
}
call free_at(instant begin, instant end) { return asked(operation::inspect, answer::no, "", 0, begin, end); }
call forced(answer said, instant begin, instant end) { return asked(operation::force_release, said, "", 0, begin, end); }

struct example {
    const char* what_broke;
    std::vector<call> broken;
    std::vector<call> right;  // the nearest
    instant clock_error = 0;
};

const std::vector<example>& examples()
{
    using enum operation;
    constexpr answer no = answer::no, unknown = answer::unknown;
    static const std::vector<example> all{
        {"two unexpired terms",
         {granted("a", 1, 0, 1), granted("b", 2, 5, 6)},
         {granted("a", 1, 0, 1), granted("b", 2, 5, 10)}},
        {"a take-over earlier than the expiry minus the clock's error",
         {granted("a", 1, 0, 1), granted("b", 2, 5, 7)},
         {granted("a", 1, 0, 1), granted("b", 2, 5, 8)}, 2},
        {"a take-over that forgets the renewal",
         {granted("a", 1, 0, 0), renewed("a", 1, 8, 9), granted("b", 2, 16, 17)},
         {granted("a", 1, 0, 0), renewed("a", 1, 8, 9), granted("b", 2, 16, 18)}},
        {"one token of two",
         {granted("a", 1, 0, 0), released("a", 1, 1, 1), granted("b", 1, 2, 2)},
         {granted("a", 1, 0, 0), released("a", 1, 1, 1), granted("b", 2, 2, 2)}},
        {"one token twice to one owner",
         {granted("a", 1, 0, 0), granted("a", 1, 2, 2)},
         {granted("a", 1, 0, 0), granted("a", 2, 2, 2)}},
        {"a smaller token",
         {granted("a", 2, 0, 0), released("a", 2, 1, 1), granted("b", 1, 2, 2)},
         {granted("a", 2, 1, 3), released("a", 2, 4, 4), granted("b", 1, 0, 2), released("b", 1, 2, 2)}},
        {"a release is acknowledged for a term that had been taken over",
         {granted("a", 1, 0, 0), granted("b", 2, 10, 10), released("a", 1, 11, 12)},
         {granted("a", 1, 0, 0), granted("b", 2, 10, 10), asked(release, no, "a", 1, 11, 12)}},
        {"a release is acknowledged twice",
         {granted("a", 1, 0, 0), released("a", 1, 1, 4), released("a", 1, 2, 3)},
         {granted("a", 1, 0, 0), released("a", 1, 1, 4), asked(release, no, "a", 1, 2, 3)}},
        {"somebody else's release is acknowledged",
         {granted("a", 1, 0, 0), released("b", 1, 1, 2)},
         {granted("a", 1, 0, 0), released("a", 1, 1, 2)}},
        {"a release does not end the term",
         {granted("a", 1, 0, 0), released("a", 1, 1, 2), busy("b", 1, 3, 4)},
         {granted("a", 1, 0, 0), released("a", 1, 1, 3), busy("b", 1, 3, 4)}},
        {"a renewal revives an expired term",
         {granted("a", 1, 0, 1), renewed("a", 1, 11, 12)},
         {granted("a", 1, 0, 1), renewed("a", 1, 10, 12)}},
        {"a renewal revives a released term",
         {granted("a", 1, 0, 0), released("a", 1, 1, 2), renewed("a", 1, 3, 4)},
         {granted("a", 1, 0, 0), released("a", 1, 1, 3), renewed("a", 1, 3, 4)}},
        {"a renewal extends a term that had been taken over",
         {granted("a", 1, 0, 0), granted("a", 2, 1, 2), renewed("a", 1, 3, 4)},
         {granted("a", 1, 0, 0), granted("a", 2, 1, 3), renewed("a", 1, 3, 4)}},
        {"a renewal is refused though the term goes on",
         {granted("a", 1, 0, 0), asked(renew, no, "a", 1, 3, 9)},
         {granted("a", 1, 0, 0), asked(renew, no, "a", 1, 3, 10)}},
        {"a renewal is refused before the term that it is about",
         {asked(renew, no, "a", 1, 0, 1), granted("a", 1, 2, 3)},
         {asked(renew, no, "a", 1, 0, 2), granted("a", 1, 2, 3), released("a", 1, 0, 4)}},
        {"data is published after the term",
         {granted("a", 1, 0, 1), asked(publish, answer::yes, "a", 1, 11, 12)},
         {granted("a", 1, 0, 1), asked(publish, answer::yes, "a", 1, 10, 12)}},
        {"busy while nobody can have held",
         {granted("a", 1, 0, 1), busy("b", 1, 11, 12)},
         {granted("a", 1, 0, 1), busy("b", 1, 10, 12)}},
        {"busy with a term that nobody was granted",
         {granted("a", 1, 0, 0), released("a", 1, 1, 1), busy("b", 2, 2, 3)},
         {granted("a", 1, 0, 0), released("a", 1, 1, 1), busy("b", 2, 2, 3), lost_attempt("c", 0)}},
        {"busy with the owner's own term",
         {granted("a", 1, 0, 0), busy("a", 1, 2, 3)},
         {granted("a", 1, 0, 0), busy("b", 1, 2, 3)}},
        {"busy with the term before the current one",
         {granted("a", 1, 0, 0), released("a", 1, 1, 1), granted("b", 2, 2, 3), busy("c", 1, 4, 5)},
         {granted("a", 1, 0, 0), released("a", 1, 1, 4), granted("b", 2, 2, 5), busy("c", 1, 4, 5)}},
        {"inspect shows a term before its grant began",
         {shown("a", 1, 0, 1), granted("a", 1, 2, 3)},
         {shown("a", 1, 0, 2), granted("a", 1, 2, 3)}},
        {"inspect shows another owner",
         {granted("a", 1, 0, 1), shown("b", 1, 2, 3)},
         {granted("a", 1, 0, 1), shown("a", 1, 2, 3)}},
        {"inspect shows nothing in a term",
         {granted("a", 1, 0, 0), free_at(1, 9)},
         {granted("a", 1, 0, 0), free_at(1, 10)}},
        {"two looks see the terms in different orders",
         {granted("a", 1, 0, 0), released("a", 1, 0, 9), granted("b", 2, 0, 9), shown("b", 2, 1, 2), shown("a", 1, 3, 4)},
         {granted("a", 1, 0, 0), released("a", 1, 0, 9), granted("b", 2, 0, 9), shown("b", 2, 3, 4), shown("a", 1, 1, 2)}},
        {"a forced end leaves the term",
         {granted("a", 1, 0, 0), forced(answer::yes, 1, 2), renewed("a", 1, 3, 4)},
         {granted("a", 1, 0, 0), forced(answer::yes, 1, 3), renewed("a", 1, 3, 4)}},
        {"a forced end finds nobody in a term",
         {granted("a", 1, 0, 0), forced(no, 1, 9)},
         {granted("a", 1, 0, 0), forced(no, 1, 10)}},
        {"a lost reply's grant shows up after its session ended",
         {lost_attempt("a", 0, 5), free_at(6, 6), busy("b", 1, 7, 8)},
         {lost_attempt("a", 0, 6), free_at(6, 6), busy("b", 1, 7, 8)}},
        {"a lost attempt's term is shown before the attempt began",
         {busy("b", 1, 0, 1), lost_attempt("a", 2)},
         {busy("b", 1, 0, 2), lost_attempt("a", 2)}},
        {"a lost attempt takes over an unexpired term",
         {granted("a", 1, 0, 0), lost_attempt("b", 1), busy("c", 2, 2, 9)},
         {granted("a", 1, 0, 0), lost_attempt("b", 1), busy("c", 2, 2, 10)}},
        {"an unknown release of another term ends this one",
         {granted("a", 1, 0, 0), asked(release, unknown, "a", 2, 1, never), granted("b", 2, 2, 3)},
         {granted("a", 1, 0, 0), asked(release, unknown, "a", 1, 1, never), granted("b", 2, 2, 3)}},
        {"an unknown release ends a term before it began",
         {granted("a", 1, 0, 0), granted("b", 2, 2, 3), asked(release, unknown, "a", 1, 4, never)},
         {granted("a", 1, 0, 0), granted("b", 2, 2, 4), asked(release, unknown, "a", 1, 4, never)}},
        {"an unknown renewal of another owner extends a term",
         {granted("a", 1, 0, 0), asked(renew, unknown, "b", 1, 5, never), busy("c", 1, 12, 13)},
         {granted("a", 1, 0, 0), asked(renew, unknown, "a", 1, 5, never), busy("c", 1, 12, 13)}},
        {"an unknown renewal revives an expired term",
         {granted("a", 1, 0, 0), asked(renew, unknown, "a", 1, 10, never), busy("c", 1, 12, 13)},
         {granted("a", 1, 0, 0), asked(renew, unknown, "a", 1, 9, never), busy("c", 1, 12, 13)}},
    };
    return all;
}

std::string text_of(const std::vector<call>& calls)
{
    std::string text;
    for (const call& c : calls)
        text += std::to_string(c.begin) + " to " + (c.end >= never ? "?" : std::to_string(c.end)) + "  " + text_of(c) + ", ttl " +
                std::to_string(c.ttl) + '\n';
    return text;
}

std::uint64_t first_seed()
{
    const char* given = std::getenv("LEASEHOLD_TEST_SEED");
    return given ? std::strtoull(given, nullptr, 10) : 20240901;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(histories)

BOOST_AUTO_TEST_CASE(broken_histories_are_rejected_and_their_nearest_correct_siblings_accepted)
{
    for (const example& each : examples()) {
        BOOST_TEST_CONTEXT(each.what_broke)
        {
            BOOST_TEST(!check(each.broken, each.clock_error).linearizable());
            BOOST_TEST(check(each.right, each.clock_error).explanation == "");
            BOOST_TEST(!exhaustive_check(each.broken, each.clock_error).linearizable());
            BOOST_TEST(exhaustive_check(each.right, each.clock_error).linearizable());
        }
    }
}

BOOST_AUTO_TEST_CASE(names_are_independent)
{
    std::vector<call> calls{granted("a", 1, 0, 1), granted("b", 1, 0, 1)};
    BOOST_TEST(!check(calls, 0).linearizable());
    calls[1].name = "another";
    const verdict found = check(calls, 0);
    BOOST_TEST(found.explanation == "");
    BOOST_TEST(found.names == 2U);
}

BOOST_AUTO_TEST_CASE(explanation_has_the_name_what_came_before_and_what_found_no_place)
{
    const instant ms = 1'000'000;
    std::vector<call> calls{granted("a", 1, 0, ms), busy("c", 1, 2 * ms, 3 * ms), granted("b", 2, 4 * ms, 5 * ms),
                            busy("d", 2, 4 * ms, 6 * ms)};
    for (call& c : calls) c.ttl = 10 * ms;
    BOOST_TEST(check(calls, 0).explanation ==
               "not linearizable: 'job', 4 calls; times since the first of them\n"
               "  the last that could be placed, in this order:\n"
               "    0.000000 s to 0.001000 s  a acquire: granted token 1\n"
               "    0.002000 s to 0.003000 s  c acquire: busy, token 1\n"
               "  then the store may know:\n"
               "    token 1 of a ends between 0.010000 s and 0.011000 s\n"
               "  no place for:\n"
               "    0.004000 s to 0.005000 s  b acquire: granted token 2\n"
               "      because the term of token 1, of a, is not over before 0.010000 s\n"
               "  under way, and not placed:\n"
               "    0.004000 s to 0.006000 s  d acquire: busy, token 2\n");
}

BOOST_AUTO_TEST_CASE(answers_of_a_correct_store_are_accepted)
{
    const std::uint64_t seed = first_seed();
    BOOST_TEST_MESSAGE("seeds from " << seed << " on");
    for (std::uint64_t i = 0; i < 300; ++i) {
        std::mt19937_64 shapes{seed + i};
        const auto up_to = [&](int most) { return static_cast<int>(shapes() % static_cast<unsigned>(most)); };
        const random_shape shape{.calls = 300,
                                 .owners = 2 + up_to(6),
                                 .ttl = 1 + up_to(30),
                                 .pause = 1 + up_to(8),
                                 .overlap = up_to(12),
                                 .unknown_of_100 = up_to(30),
                                 .forced_of_100 = up_to(20)};
        const verdict found = check(random_history{shape, seed + i}.make(), 0);
        BOOST_TEST_INFO("LEASEHOLD_TEST_SEED=" << seed + i);
        BOOST_REQUIRE(found.explanation == "");
    }
}

// One member of one call is changed: some of these histories are right still, and most are not.
BOOST_AUTO_TEST_CASE(agrees_with_trying_everything)
{
    const std::uint64_t seed = first_seed();
    BOOST_TEST_MESSAGE("seeds from " << seed << " on");
    int rejected = 0;
    constexpr int count = 6000;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::mt19937_64 random{seed + i};
        const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
        const instant error = up_to(3);
        const random_shape shape{.calls = 3U + static_cast<unsigned>(up_to(5)),
                                 .owners = 2 + up_to(2),
                                 .ttl = 1 + up_to(5),
                                 .pause = 1 + up_to(3),
                                 .overlap = up_to(4),
                                 .unknown_of_100 = up_to(35),
                                 .forced_of_100 = 15};
        std::vector<call> calls = random_history{shape, seed + i}.make();
        for (int changes = up_to(4); changes > 0; --changes) {
            call& c = calls[random() % calls.size()];
            switch (up_to(7)) {
            case 0: c.said = c.said == answer::yes ? answer::no : answer::yes; break;
            case 1: c.token += up_to(2) != 0 ? 1 : -1; break;
            case 2: c.owner = std::string(1, static_cast<char>('a' + up_to(3))); break;
            case 3: c.begin -= up_to(static_cast<int>(c.begin) + 1); break;
            case 4: c.end = c.end >= never ? never : c.end + up_to(4); break;
            case 5:
                if (c.end < never) c.begin = c.end = c.begin + up_to(static_cast<int>(c.end - c.begin) + 1);
                break;
            default: c.ttl = 1 + up_to(6); break;
            }
            if (c.said != answer::unknown && c.end >= never) c.end = c.begin + 3;
            if (c.token < 0 || c.what == operation::force_release) c.token = 0;
            if (grants(c)) c.token = std::max<std::int64_t>(c.token, 1);
        }
        const bool truth = exhaustive_check{calls, error}.linearizable();
        rejected += truth ? 0 : 1;
        const verdict found = check(calls, error);
        BOOST_TEST_INFO("LEASEHOLD_TEST_SEED=" << seed + i << ", clock error " << error << ", history:\n"
                                               << text_of(calls) << found.explanation);
        BOOST_REQUIRE(found.linearizable() == truth);
    }
    BOOST_TEST_MESSAGE(rejected << " of " << count << " are not linearizable");
    BOOST_TEST(rejected > count / 10);
    BOOST_TEST(rejected < count * 9 / 10);
}

BOOST_AUTO_TEST_CASE(hundred_thousand_calls_are_decided_in_time)
{
    const random_shape shape{
        .calls = 100'000, .owners = 12, .ttl = 1500, .pause = 20, .overlap = 100, .unknown_of_100 = 5, .forced_of_100 = 1};
    const std::vector<call> calls = random_history{shape, first_seed()}.make();
    const auto begin = std::chrono::steady_clock::now();
    const verdict found = check(calls, 0);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    BOOST_TEST_MESSAGE(found.calls << " calls, " << found.unknown << " of unknown outcome, in " << took.count() << " s");
    BOOST_TEST(found.explanation == "");
    BOOST_TEST(took.count() < 60);
}

BOOST_AUTO_TEST_SUITE_END()
