// SPDX-License-Identifier: BSL-1.0
#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <leasehold/leasehold.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr lh::lease_terms terms{.ttl = 600ms};

// What one candidate was told, by any thread.
class diary {
public:
    lh::leader_election_options hooks()
    {
        return {.on_elected = [this](lh::fencing_token) { note("elected"); },
                .on_stepped_down = [this](lh::step_down_reason why) { note("down " + std::to_string(static_cast<int>(why))); },
                .on_leader_observed = [this](const lh::lease_record& leader) { note("sees " + leader.owner); },
                .on_error = [this](std::error_code) { note("error"); },
                .retry_min = 5ms,
                .retry_max = 20ms,
                .cooldown = 20ms};
    }
    bool has(const std::string& line) const
    {
        const std::lock_guard lock{mutex_};
        return std::ranges::find(lines_, line) != lines_.end();
    }
    static std::string down(lh::step_down_reason why) { return "down " + std::to_string(static_cast<int>(why)); }

private:
    void note(std::string line)
    {
        const std::lock_guard lock{mutex_};
        lines_.push_back(std::move(line));
    }

    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

struct breakable {
    std::atomic<bool>& broken;
    lh::store_fault operator()(const lh::store_call&) const { return broken ? lh::store_fault::lose_request : lh::store_fault::none; }
};

using store_type = lh::faulty_store<lh::memory_store, breakable>;
using lease_type = lh::basic_lease<store_type, lh::steady_clock, lh::fixed_owner_id>;

struct candidate {
    candidate(store_type& store, const std::string& owner, const lh::lease_terms& with = terms)
        : lease{store, "leader", with, {}, lh::fixed_owner_id{owner}}
    {
    }

    void start()
    {
        thread = std::jthread{[this](const std::stop_token& stop) {
            election.run(stop, [this](auto& term) { lead(term); });
        }};
    }

    diary told;
    lease_type lease;
    lh::leader_election<lease_type> election{lease, told.hooks()};
    std::function<void(lh::leader_term<lease_type>&)> lead = [](auto& term) {
        while (term.held()) std::this_thread::yield();
    };
    std::jthread thread;
};

struct scene {
    lh::memory_store memory;
    std::atomic<bool> outage = false;
    store_type store{memory, breakable{outage}};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(leader_election_test, scene)

BOOST_AUTO_TEST_CASE(one_of_two_candidates_leads_and_the_other_learns_who)
{
    candidate a{store, "a"};
    candidate b{store, "b"};
    a.start();
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    b.start();
    BOOST_TEST(eventually([&] { return b.told.has("sees a"); }));
    BOOST_TEST(!b.election.is_leader());
}

BOOST_AUTO_TEST_CASE(stopping_ends_leading_hands_over_and_run_returns)
{
    candidate a{store, "a"};
    candidate b{store, "b"};
    a.start();
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    b.start();
    a.thread.request_stop();
    a.thread.join();
    BOOST_TEST(a.told.has(diary::down(lh::step_down_reason::stopped)));
    BOOST_TEST(eventually([&] { return b.election.is_leader(); }));
}

BOOST_AUTO_TEST_CASE(resigning_hands_over_at_once_and_the_candidate_stays_in_the_running)
{
    candidate a{store, "a", lh::lease_terms{.ttl = 1h}};
    candidate b{store, "b", lh::lease_terms{.ttl = 1h}};
    a.start();
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    b.start();
    BOOST_REQUIRE(eventually([&] { return b.told.has("sees a"); }));
    a.election.resign();
    BOOST_TEST(eventually([&] { return b.election.is_leader(); }));
    BOOST_TEST(eventually([&] { return a.told.has(diary::down(lh::step_down_reason::resigned)); }));
    BOOST_TEST(eventually([&] { return a.told.has("sees b"); }));  // or b could be back before it campaigns again
    b.election.resign();
    BOOST_TEST(eventually([&] { return a.election.is_leader(); }));
}

BOOST_AUTO_TEST_CASE(resigning_without_leading_does_nothing)
{
    candidate a{store, "a"};
    a.election.resign();
    a.start();
    BOOST_TEST(eventually([&] { return a.election.is_leader(); }));
}

BOOST_AUTO_TEST_CASE(a_function_that_returns_steps_down_and_leads_again_later)
{
    candidate a{store, "a"};
    std::atomic<int> terms_led = 0;
    a.lead = [&](auto&) { ++terms_led; };
    a.start();
    BOOST_TEST(eventually([&] { return terms_led >= 3; }));
    BOOST_TEST(a.told.has(diary::down(lh::step_down_reason::returned)));
}

BOOST_AUTO_TEST_CASE(what_the_function_throws_reaches_the_caller_after_the_release)
{
    candidate a{store, "a"};
    std::stop_source stop;
    BOOST_CHECK_THROW(a.election.run(stop.get_token(), [](auto&) { throw std::runtime_error{"work"}; }), std::runtime_error);
    BOOST_TEST(a.told.has(diary::down(lh::step_down_reason::threw)));
    BOOST_TEST(memory.list().empty());
    BOOST_TEST(!a.election.is_leader());
}

BOOST_AUTO_TEST_CASE(a_lease_taken_away_is_lost)
{
    candidate a{store, "a"};
    a.start();
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    memory.force_release("leader");
    BOOST_TEST(eventually([&] { return a.told.has(diary::down(lh::step_down_reason::lost)); }));
    BOOST_TEST(eventually([&] { return a.election.is_leader(); }));
}

BOOST_AUTO_TEST_CASE(an_outage_shorter_than_the_ttl_costs_no_leadership)
{
    candidate a{store, "a", lh::lease_terms{.ttl = 1500ms}};
    a.start();
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    outage = true;
    BOOST_TEST(throughout([&] { return a.election.is_leader(); }, 800ms));  // a renewal was due after 500 ms
    outage = false;
    BOOST_TEST(throughout([&] { return a.election.is_leader(); }, 1s));  // beyond the first term's ttl
}

BOOST_AUTO_TEST_CASE(an_outage_longer_than_the_ttl_is_told_apart_from_a_lost_lease_and_is_survived)
{
    candidate a{store, "a"};
    a.start();
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    outage = true;
    BOOST_TEST(eventually([&] { return a.told.has(diary::down(lh::step_down_reason::store_error)); }));
    BOOST_TEST(eventually([&] { return a.told.has("error"); }));
    outage = false;
    BOOST_TEST(eventually([&] { return a.election.is_leader(); }));
}

BOOST_AUTO_TEST_CASE(the_terms_stop_token_is_stopped_by_a_loss_a_stop_and_a_resignation)
{
    candidate a{store, "a"};
    std::atomic<int> stopped = 0;
    a.lead = [&](auto& term) {
        std::atomic<bool> asked = false;
        const std::stop_callback note{term.stop_token(), [&] { asked = true; }};
        while (!asked) std::this_thread::yield();
        if (!term.held()) ++stopped;
    };
    a.start();
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    a.election.resign();
    BOOST_TEST(eventually([&] { return stopped == 1; }));
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    memory.force_release("leader");
    BOOST_TEST(eventually([&] { return stopped == 2; }));
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    a.thread.request_stop();
    BOOST_TEST(eventually([&] { return stopped == 3; }));
}

BOOST_AUTO_TEST_SUITE_END()
