// SPDX-License-Identifier: BSL-1.0
#include <support/eventually.hpp>
#include <support/explaining_store.hpp>
#include <support/printing.hpp>

#include <leasehold/leasehold.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace leader_election_test {

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

// Long enough for a busy machine, where a thread can be kept waiting for some hundred milliseconds.
constexpr lh::lease_terms terms{.ttl = 1500ms};
constexpr lh::lease_terms never_lost{.ttl = 1h};

// What one candidate was told, by any thread.
class diary {
public:
    lh::leader_election_options hooks()
    {
        return {.on_elected = [this](lh::fencing_token) { note("elected"); },
                .on_stepped_down = [this](lh::step_down_reason why) { note("down " + std::string{to_string(why)}); },
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
    static std::string down(lh::step_down_reason why) { return "down " + std::string{to_string(why)}; }

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
}  // namespace leader_election_test

BOOST_FIXTURE_TEST_SUITE(leader_election_test, scene)

BOOST_AUTO_TEST_CASE(one_of_two_candidates_leads_and_the_other_learns_who)
{
    candidate a{store, "a", never_lost};
    candidate b{store, "b", never_lost};
    a.start();
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    b.start();
    BOOST_TEST(eventually([&] { return b.told.has("sees a"); }));
    BOOST_TEST(!b.election.is_leader());
}

BOOST_AUTO_TEST_CASE(stopping_ends_leading_hands_over_and_run_returns)
{
    candidate a{store, "a", never_lost};
    candidate b{store, "b", never_lost};
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
    candidate a{store, "a", never_lost};
    candidate b{store, "b", never_lost};
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

BOOST_AUTO_TEST_CASE(exception_of_the_function_reaches_the_caller_after_the_release)
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
    candidate a{store, "a", lh::lease_terms{.ttl = 3s}};
    a.start();
    BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
    outage = true;
    BOOST_TEST(throughout([&] { return a.election.is_leader(); }, 1200ms));  // a renewal was due after 1 s
    outage = false;
    BOOST_TEST(throughout([&] { return a.election.is_leader(); }, 2s));  // beyond the first term's ttl
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

// The release may hang as the renewal did, and others lead meanwhile.
BOOST_AUTO_TEST_CASE(loss_is_told_before_the_release)
{
    std::atomic<bool> broken = false, told = false, told_at_release = false;
    lh::faulty_store hanging{memory, [&](const lh::store_call& call) {
                                 if (call.operation == lh::store_operation::release) told_at_release = told.load();
                                 return broken ? lh::store_fault::lose_request : lh::store_fault::none;
                             }};
    lh::basic_lease lease{hanging, "leader", terms};
    std::stop_source stop;
    lh::step_down_reason reason{};
    const auto stepped_down = [&](lh::step_down_reason why) {
        reason = why;
        told = true;
        stop.request_stop();
    };
    lh::leader_election election{lease, {.on_stepped_down = stepped_down}};
    election.run(stop.get_token(), [&](auto& term) {
        broken = true;
        while (term.held()) std::this_thread::yield();
    });
    BOOST_TEST((reason == lh::step_down_reason::store_error));
    BOOST_TEST(told_at_release.load());
}

BOOST_AUTO_TEST_CASE(an_outage_is_told_with_all_that_the_exception_would_say)
{
    explaining_store explains;
    explains.outage = true;
    lh::basic_lease lease{explains, "leader", terms};
    std::stop_source stop;
    std::string what, sqlstate;
    lh::leader_election election{lease, {.on_error = [&](const lh::store_error& e) {
                                     what = e.what();
                                     sqlstate = e.sqlstate();
                                     BOOST_TEST((e.code() == lh::errc::store_unavailable));
                                     stop.request_stop();
                                 }}};
    election.run(stop.get_token(), [](auto&) {});
    BOOST_TEST(what == "leasehold: campaign 'leader': the store can't be reached: start the server "
                       "[SQLSTATE 08S01, native 7: connection refused]");
    BOOST_TEST(sqlstate == "08S01");
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

// Helpers go on believing otherwise, when somebody else leads already.
BOOST_AUTO_TEST_CASE(the_terms_stop_token_is_stopped_before_the_lease_is_handed_over_however_leading_ends)
{
    using term_type = lh::leader_term<lease_type>;
    const std::vector<std::pair<const char*, std::function<void(term_type&)>>> ends{
        {"return", [](term_type&) {}},
        {"throw", [](term_type&) { throw std::runtime_error{"work"}; }},
        {"release", [](term_type& term) { term.release(); }}};
    for (const auto& [how, end] : ends) {
        candidate a{store, "a"};
        std::stop_source stop;
        std::stop_token given;
        std::optional<std::stop_callback<std::function<void()>>> helper;
        std::optional<bool> held_when_told;
        bool led_before = false;
        const auto lead = [&, &end = end](term_type& term) {
            if (std::exchange(led_before, true)) return static_cast<void>(stop.request_stop());  // nobody was told
            given = term.stop_token();
            helper.emplace(given, [&] {
                held_when_told = !memory.list().empty();
                stop.request_stop();
            });
            end(term);
        };
        try {
            a.election.run(stop.get_token(), lead);
        }
        catch (const std::runtime_error&) {
        }
        BOOST_TEST(given.stop_requested(), how);
        BOOST_TEST(held_when_told.value_or(false), how);
        BOOST_TEST(memory.list().empty(), how);
    }
}

BOOST_AUTO_TEST_CASE(a_term_released_early_is_nobodys_and_the_function_may_go_on)
{
    std::atomic<bool> released = false, finish = false;
    bool ended = false, over = false, same_term = false, extended = true;
    std::error_code ec;
    candidate a{store, "a"};
    a.lead = [&](auto& term) {
        const lh::fencing_token token = term.token();
        ended = term.release() == lh::release_outcome::released;
        over = !term.held() && term.remaining() == 0s && term.stop_token().stop_requested();
        same_term = term.token() == token && term.name() == "leader" && term.owner() == "a";
        extended = term.renew(ec);
        released = true;
        while (!finish) std::this_thread::yield();
    };
    a.start();
    BOOST_REQUIRE(eventually([&] { return released.load(); }));
    BOOST_TEST(ended);
    BOOST_TEST(over);
    BOOST_TEST(same_term);
    BOOST_TEST(!extended);
    BOOST_TEST(ec == lh::errc::not_held);
    BOOST_TEST(!a.election.is_leader());
    BOOST_TEST(memory.list().empty());
    finish = true;
    BOOST_TEST(eventually([&] { return a.told.has(diary::down(lh::step_down_reason::returned)); }));
}

// A helper's callback notifies under a mutex, which somebody holds who asks is_leader(): as usual with condition variables.
BOOST_AUTO_TEST_CASE(stop_callbacks_of_a_resignation_may_take_locks_and_ask_who_leads)
{
    std::mutex mutex;
    std::atomic<int> callbacks = 0;
    std::atomic<bool> led_when_told = false;
    candidate a{store, "a", never_lost};
    a.lead = [&](auto& term) {
        const std::stop_callback helper{term.stop_token(), [&] {
                                            if (a.election.is_leader()) led_when_told = true;
                                            const std::lock_guard lock{mutex};
                                            ++callbacks;
                                        }};
        while (term.held()) std::this_thread::yield();
    };
    std::jthread asks{[&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            const std::lock_guard lock{mutex};
            for (int i = 0; i < 100; ++i) (void)a.election.is_leader();
        }
    }};
    a.start();
    for (int round = 1; round <= 5; ++round) {
        BOOST_REQUIRE(eventually([&] { return a.election.is_leader(); }));
        a.election.resign();
        BOOST_TEST(eventually([&] { return callbacks == round; }));
    }
    BOOST_TEST(!led_when_told);
}

// For ThreadSanitizer.
BOOST_AUTO_TEST_CASE(is_leader_may_be_asked_while_the_leader_renews_and_releases)
{
    candidate a{store, "a"};
    std::atomic<const lh::leader_term<lease_type>*> leading = nullptr;
    std::atomic<int> terms_asked = 0;
    a.lead = [&](auto& term) {
        const int before = terms_asked;
        leading = &term;
        term.renew();
        term.release();
        while (terms_asked == before) std::this_thread::yield();  // it must live until then
    };
    std::jthread asks{[&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            (void)a.election.is_leader();
            if (const auto* term = leading.exchange(nullptr)) {
                for (int i = 0; i < 1000; ++i) (void)(term->held() || term->remaining() > 0s || a.election.is_leader());
                ++terms_asked;
            }
        }
    }};
    a.start();
    BOOST_TEST(eventually([&] { return terms_asked >= 5; }));
    a.thread.request_stop();
    a.thread.join();
}

BOOST_AUTO_TEST_CASE(durations_that_can_not_work_are_refused_with_the_reason)
{
    const auto refused = [&](lh::duration min, lh::duration max, std::optional<lh::duration> cooldown, const std::string& reason) {
        lease_type lease{store, "leader", terms, {}, lh::fixed_owner_id{"a"}};
        lh::leader_election_options options;
        options.retry_min = min;
        options.retry_max = max;
        options.cooldown = cooldown;
        BOOST_CHECK_EXCEPTION((lh::leader_election{lease, options}), std::system_error, [&](const std::system_error& e) {
            return e.code() == lh::errc::invalid_terms && std::string{e.what()}.find(reason) != std::string::npos;
        });
    };
    refused(0ms, 5s, {}, "retry_min must be at least 1 ms");
    refused(-1s, 5s, {}, "retry_min must be at least 1 ms");
    refused(999us, 5s, {}, "retry_min must be at least 1 ms");
    refused(100ms, 99ms, {}, "retry_max must not be less than retry_min");
    refused(100ms, 0ms, {}, "retry_max must not be less than retry_min");
    refused(100ms, 5s, -1ns, "cooldown must not be negative");
    lease_type lease{store, "leader", terms, {}, lh::fixed_owner_id{"a"}};
    BOOST_CHECK_NO_THROW((lh::leader_election{lease, {.retry_min = 1ms, .retry_max = 1ms, .cooldown = 0ms}}));
}

BOOST_AUTO_TEST_SUITE_END()
