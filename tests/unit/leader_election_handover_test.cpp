// SPDX-License-Identifier: BSL-1.0
#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <leasehold/detail/handover_priority.hpp>
#include <leasehold/leasehold.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace leader_election_handover_test {

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

using lease_type = lh::basic_lease<lh::memory_store, lh::steady_clock, lh::fixed_owner_id>;

struct candidate {
    candidate(lh::memory_store& store, const std::string& owner, lh::leader_election_options options)
        : lease{store, "leader", lh::lease_terms{.ttl = 3s}, {}, lh::fixed_owner_id{owner}}
    {
        options.on_stepped_down = [this](lh::step_down_reason why) { last = why; };
        options.cooldown = 400ms;
        election.emplace(lease, std::move(options));
        thread = std::jthread{[this](const std::stop_token& stop) {
            election->run(stop, [this](auto& term) {
                ++terms;
                while (term.held()) std::this_thread::sleep_for(1ms);
            });
        }};
    }

    bool leads() { return election->is_leader(); }
    bool comes_to_lead() { return eventually([&] { return leads(); }); }

    lease_type lease;
    std::atomic<lh::step_down_reason> last = lh::step_down_reason::lost;
    std::atomic<int> terms = 0;
    std::optional<lh::leader_election<lease_type>> election;
    std::jthread thread;
};

struct scene {
    lh::memory_store store;
    lease_type operators{store, "leader", lh::lease_terms{}, {}, lh::fixed_owner_id{"operator"}};
};

}  // namespace
}  // namespace leader_election_handover_test

BOOST_FIXTURE_TEST_SUITE(leader_election_handover_test, scene)

BOOST_AUTO_TEST_CASE(leader_that_is_asked_steps_down_and_the_next_one_leads)
{
    candidate a{store, "a", {}};
    BOOST_TEST_REQUIRE(a.comes_to_lead());
    candidate b{store, "b", {}};
    BOOST_TEST(operators.request_handover("a new version"));
    BOOST_TEST(b.comes_to_lead());
    BOOST_TEST(eventually([&] { return a.last.load() == lh::step_down_reason::asked; }));
    BOOST_TEST(!a.leads());
}

BOOST_AUTO_TEST_CASE(leader_that_does_not_step_down_if_asked_leads_on)
{
    candidate a{store, "a", {.step_down_if_asked = false}};
    BOOST_TEST_REQUIRE(a.comes_to_lead());
    candidate b{store, "b", {.priority = 7}};
    BOOST_TEST(operators.request_handover("please"));
    BOOST_TEST(throughout([&] { return a.leads() && !b.leads(); }, 1200ms));
}

BOOST_AUTO_TEST_CASE(candidate_of_a_higher_priority_comes_to_lead_by_itself)
{
    candidate a{store, "a", {.priority = 1}};
    BOOST_TEST_REQUIRE(a.comes_to_lead());
    candidate b{store, "b", {.priority = 2}};
    BOOST_TEST(b.comes_to_lead());
    BOOST_TEST(eventually([&] { return a.last.load() == lh::step_down_reason::asked; }));
    BOOST_TEST(throughout([&] { return b.leads(); }, 1200ms));
    BOOST_TEST(b.terms.load() == 1);
}

BOOST_AUTO_TEST_CASE(leader_that_is_asked_by_a_person_does_not_take_the_lease_back_by_its_priority)
{
    candidate first{store, "first", {.priority = 2}};
    BOOST_TEST_REQUIRE(first.comes_to_lead());
    candidate second{store, "second", {.priority = 1}};
    BOOST_TEST(operators.request_handover("the host will be restarted"));
    BOOST_TEST_REQUIRE(second.comes_to_lead());
    BOOST_TEST(throughout([&] { return second.leads(); }, 1500ms));
    BOOST_TEST(second.terms.load() == 1);
    candidate third{store, "third", {}};
    second.election->resign();
    BOOST_TEST(eventually([&] { return !second.leads() && (first.leads() || third.leads()); }));
    BOOST_TEST(first.comes_to_lead(), "that was for one term of another");
}

BOOST_AUTO_TEST_CASE(candidate_of_no_higher_priority_waits)
{
    candidate a{store, "a", {.priority = 5}};
    BOOST_TEST_REQUIRE(a.comes_to_lead());
    candidate same{store, "same", {.priority = 5}};
    candidate lower{store, "lower", {.priority = -3}};
    BOOST_TEST(throughout([&] { return a.leads(); }, 1200ms));
    BOOST_TEST(a.terms.load() == 1);
}

BOOST_AUTO_TEST_CASE(request_of_a_lower_priority_does_not_take_the_place_of_a_higher_one)
{
    auto holder = lh::basic_lease{store, "leader", lh::lease_terms{.ttl = 1h}};
    const auto guard = holder.try_acquire();
    candidate high{store, "high", {.priority = 9}};
    BOOST_TEST(eventually([&] { return operators.inspect()->handover_request == "priority 9"; }));
    candidate low{store, "low", {.priority = 2}};
    BOOST_TEST(throughout([&] { return operators.inspect()->handover_request == "priority 9"; }, 1200ms));
    BOOST_TEST(operators.request_handover("a person's"));
    BOOST_TEST(throughout([&] { return operators.inspect()->handover_request == "a person's"; }, 1200ms));
}

BOOST_AUTO_TEST_CASE(priority_is_read_only_from_a_reason_that_is_nothing_else)
{
    using lh::detail::priority_in;
    BOOST_TEST((priority_in(lh::detail::reason_of_priority(7)) == 7));
    BOOST_TEST((priority_in(lh::detail::reason_of_priority(-7)) == -7));
    for (const std::string_view other :
         {"", "priority", "priority ", "priority x", "priority 7 please", "priority  7", "Priority 7", "priority 99999999999"})
        BOOST_TEST(!priority_in(other).has_value(), other);
    BOOST_TEST(lh::detail::is_declined("priority 3", 3));
    BOOST_TEST(!lh::detail::is_declined("priority 4", 3));
    BOOST_TEST(!lh::detail::is_declined("priority 4", std::nullopt));
    BOOST_TEST(!lh::detail::is_declined("a new version", 3));
}

BOOST_AUTO_TEST_SUITE_END()
