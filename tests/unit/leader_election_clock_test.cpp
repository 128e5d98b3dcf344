// SPDX-License-Identifier: BSL-1.0
// What elections do with time, on a clock that is turned.
#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <leasehold/leasehold.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace leader_election_clock_test {

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

using memory_type = lh::basic_memory_store<lh::manual_clock>;

// The store as one process reaches it: it wakes nobody, and may be down, or not say whose term makes it busy.
class remote_store {
public:
    explicit remote_store(memory_type& of) : memory_{of} {}

    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        ++attempts;
        if (on_attempt) on_attempt();
        if (down) return fail<lh::acquire_result>(ec);
        lh::acquire_result result = memory_.try_acquire(name, owner, ttl, ec);
        if (anonymous && !result.granted()) result.token = {};
        return result;
    }
    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration ttl, std::error_code& ec)
    {
        return down ? fail<bool>(ec) : memory_.renew(name, owner, token, ttl, ec);
    }
    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration closed,
                 std::error_code& ec)
    {
        return down ? fail<bool>(ec) : memory_.release(name, owner, token, closed, ec);
    }
    std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        ++looks;
        return down ? fail<std::optional<lh::lease_record>>(ec) : memory_.inspect(name, ec);
    }

    std::atomic<bool> down = false;
    std::atomic<bool> anonymous = false;
    std::atomic<int> attempts = 0;
    std::atomic<int> looks = 0;
    std::function<void()> on_attempt;

private:
    template <class Result>
    static Result fail(std::error_code& ec)
    {
        ec = lh::errc::store_unavailable;
        return {};
    }

    memory_type& memory_;
};

using lease_type = lh::basic_lease<remote_store, lh::manual_clock, lh::fixed_owner_id>;

// Until it is destroyed.
class candidate {
public:
    candidate(remote_store& store, const lh::manual_clock& clock, const std::string& owner,
              std::optional<lh::duration> cooldown = {})
        : lease{store, "leader", {.ttl = 1h}, clock, lh::fixed_owner_id{owner}}, election{lease, options(cooldown)},
          clock_{clock}
    {
        thread_ = std::jthread{[this](const std::stop_token& stop) {
            election.run(stop, [](auto& term) {
                while (term.held()) std::this_thread::yield();
            });
        }};
    }

    std::ptrdiff_t times_told_of(const std::string& leader) const
    {
        const std::lock_guard lock{mutex_};
        return std::ranges::count(leaders_, leader);
    }

    // When campaigns failed.
    std::vector<lh::time_point> failures() const
    {
        const std::lock_guard lock{mutex_};
        return failures_;
    }

    std::atomic<int> stepped_down = 0;
    lease_type lease;
    lh::leader_election<lease_type> election;

private:
    lh::leader_election_options options(std::optional<lh::duration> cooldown)
    {
        lh::leader_election_options all;
        all.on_stepped_down = [this](lh::step_down_reason) { ++stepped_down; };
        all.on_leader_observed = [this](const lh::lease_record& leader) {
            const std::lock_guard lock{mutex_};
            leaders_.push_back(leader.owner);
        };
        all.on_error = [this](std::error_code) {
            const std::lock_guard lock{mutex_};
            failures_.push_back(clock_.now());
        };
        all.cooldown = cooldown;
        return all;
    }

    mutable std::mutex mutex_;
    std::vector<std::string> leaders_;
    std::vector<lh::time_point> failures_;
    lh::manual_clock clock_;
    std::jthread thread_;
};

struct scene {
    lh::manual_clock clock;
    memory_type memory{clock};

    std::string leader() const
    {
        const auto held = memory.list();
        return held.empty() ? std::string{} : held.front().owner;
    }

    void grant_to(const char* owner)
    {
        std::error_code ec;
        BOOST_REQUIRE(memory.try_acquire("leader", owner, 1h, ec).granted());
    }

    // advance() waits for those only that have waited on the clock before: one that has not would be left behind.
    void wait_until_asleep(std::size_t threads) const
    {
        BOOST_REQUIRE(eventually([&] { return clock.sleepers() >= threads; }));
    }

    // Turns the clock in small steps: a candidate takes some, since its thread has to come to its next wait each time.
    void pass(lh::duration by, lh::duration step = 20ms)
    {
        for (; by > 0s; by -= step) clock.advance(step);
    }
};

}  // namespace
}  // namespace leader_election_clock_test

BOOST_FIXTURE_TEST_SUITE(leader_election_clock_test, scene)

// Its sleep ends at its next look, the release wakes it, and it runs only after both.
BOOST_AUTO_TEST_CASE(candidate_that_looks_around_follows_a_release_just_before_its_look)
{
    for (int round = 0; round < 20; ++round) {
        grant_to("x");
        lh::basic_lease lease{memory, "leader", {.ttl = 1h}, clock, lh::fixed_owner_id{"a"}};
        lh::leader_election election{lease, {.on_leader_observed = [](const lh::lease_record&) {}}};
        std::atomic<bool> elected = false;
        const std::jthread candidate{
            [&](const std::stop_token& stop) { election.run(stop, [&](auto&) { elected = true; }); }};
        wait_until_asleep(1);
        memory.force_release("leader");
        clock.advance(20min);
        BOOST_TEST_REQUIRE(eventually([&] { return elected.load(); }), "round " << round);
    }
}

// Two processes of a store that nobody can be woken by: the other one sleeps up to half a second.
BOOST_AUTO_TEST_CASE(leader_that_resigns_is_followed_by_another_also_where_the_store_is_polled)
{
    remote_store store_a{memory}, store_b{memory};
    candidate a{store_a, clock, "a"};
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    candidate b{store_b, clock, "b"};
    BOOST_REQUIRE(eventually([&] { return store_b.attempts > 0; }));
    wait_until_asleep(2);
    for (int round = 0; round < 6; ++round) {
        pass(2s);  // until the one who waits asks as seldom as it does
        candidate& resigns = leader() == "a" ? a : b;
        const std::string other = leader() == "a" ? "b" : "a";
        const int before = resigns.stepped_down;
        resigns.election.resign();
        BOOST_REQUIRE(eventually([&] { return resigns.stepped_down > before; }));
        BOOST_REQUIRE(eventually([&] {
            if (leader().empty()) clock.advance(5ms);
            return !leader().empty();
        }));
        BOOST_TEST(leader() == other, "round " << round);
        BOOST_REQUIRE(eventually([&] { return (other == "a" ? a : b).election.is_leader(); }));
    }
}

BOOST_AUTO_TEST_CASE(a_cooldown_that_was_asked_for_is_kept)
{
    remote_store store{memory};
    candidate a{store, clock, "a", 30s};
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    a.election.resign();
    BOOST_REQUIRE(eventually([&] { return a.stepped_down == 1; }));
    wait_until_asleep(2);
    pass(29s, 1s);
    BOOST_TEST(leader().empty());
    clock.advance(1s);
    BOOST_TEST(eventually([&] { return a.election.is_leader(); }));
}

BOOST_AUTO_TEST_CASE(a_leader_is_told_of_once_where_busy_answers_do_not_say_whose_term_it_is)
{
    remote_store store{memory};
    store.anonymous = true;
    grant_to("x");
    candidate a{store, clock, "a"};
    BOOST_REQUIRE(eventually([&] { return a.times_told_of("x") == 1; }));
    wait_until_asleep(1);
    pass(5s);
    BOOST_TEST(store.attempts > 5);
    BOOST_TEST(a.times_told_of("x") == 1);
    memory.force_release("leader");
    grant_to("y");
    pass(1s);
    BOOST_TEST(a.times_told_of("y") == 1);
    BOOST_TEST(a.times_told_of("x") == 1);
    pass(5s);
    BOOST_TEST(a.times_told_of("y") == 1);
}

// Each look may take a call's time-out at a store that hangs.
BOOST_AUTO_TEST_CASE(a_candidate_that_is_asked_to_stop_during_an_attempt_does_not_look_who_leads)
{
    remote_store store{memory};
    grant_to("x");
    lease_type lease{store, "leader", {.ttl = 1h}, clock, lh::fixed_owner_id{"a"}};
    lh::leader_election_options options;
    options.on_leader_observed = [](const lh::lease_record&) {};
    lh::leader_election election{lease, options};
    std::stop_source stop;
    store.on_attempt = [&] { stop.request_stop(); };
    election.run(stop.get_token(), [](auto&) {});
    BOOST_TEST(store.attempts == 1);
    BOOST_TEST(store.looks == 0);
}

// Only the first of them asks the store.
BOOST_AUTO_TEST_CASE(every_candidate_of_a_process_is_told_of_each_leader)
{
    remote_store store{memory};
    grant_to("x");
    candidate a{store, clock, "a"};
    candidate b{store, clock, "b"};
    candidate c{store, clock, "c"};
    const auto all_told_once_of = [&](const char* leader) {
        return a.times_told_of(leader) == 1 && b.times_told_of(leader) == 1 && c.times_told_of(leader) == 1;
    };
    const auto within_the_ttl = [&](const char* leader) {
        for (int i = 0; i < 100 && !all_told_once_of(leader); ++i) pass(30s, 10s);
        return eventually([&] { return all_told_once_of(leader); });
    };
    BOOST_REQUIRE(eventually([&] { return store.attempts > 0; }));
    wait_until_asleep(3);
    BOOST_TEST(within_the_ttl("x"));
    memory.force_release("leader");
    grant_to("y");
    BOOST_TEST(within_the_ttl("y"));
    pass(10min, 10s);
    BOOST_TEST(all_told_once_of("x"));
    BOOST_TEST(all_told_once_of("y"));
}

BOOST_AUTO_TEST_CASE(while_the_store_is_down_it_is_asked_ever_more_rarely_and_not_by_all_at_once)
{
    remote_store store_a{memory}, store_b{memory};
    store_a.down = store_b.down = true;
    candidate a{store_a, clock, "a"}, b{store_b, clock, "b"};
    BOOST_REQUIRE(eventually([&] { return a.failures().size() == 1 && b.failures().size() == 1; }));
    // A candidate that a busy machine holds up for longer than advance() has patience would sleep through the rest.
    for (auto left = 30s; left > 0s; left -= 1s)
        for (int step = 0; step < 20; ++step) {
            wait_until_asleep(2);
            clock.advance(50ms);
        }
    BOOST_TEST(a.failures().size() >= 8U);  // at 100 ms, 200 ms, ... 5 s, each cut by up to a half
    BOOST_TEST(a.failures().size() <= 20U);
    // The first pauses are as short as a step of this clock, so that they often end in the same one.
    const auto of_a = a.failures(), of_b = b.failures();
    const auto together = std::ranges::count_if(
        of_a, [&](lh::time_point at) { return at > of_a.front() + 3s && std::ranges::count(of_b, at) != 0; });
    BOOST_TEST(together < 4);  // without jitter it would be 6
    store_a.down = store_b.down = false;
    pass(6s, 100ms);
    BOOST_TEST(eventually([&] { return a.election.is_leader() || b.election.is_leader(); }));
}

BOOST_AUTO_TEST_SUITE_END()
