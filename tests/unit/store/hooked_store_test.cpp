// SPDX-License-Identifier: BSL-1.0
#include <leasehold/error.hpp>
#include <leasehold/store/faulty_store.hpp>
#include <leasehold/store/hooked_store.hpp>
#include <leasehold/store/memory_store.hpp>
#include <support/printing.hpp>
#include <support/scripted_batching_store.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

BOOST_AUTO_TEST_SUITE(hooked_store_test)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

struct told {
    lh::store_operation operation;
    std::string name, owner;
    lh::fencing_token token;
    lh::duration time;
    lh::store_call_report report;
};

struct ignore_all {
    void operator()(const lh::store_call&, const lh::store_call_report&) const noexcept {}
};
struct no_fault {
    lh::store_fault operator()(const lh::store_call&) const noexcept { return lh::store_fault::none; }
};

static_assert(lh::batching_store<lh::hooked_store<scripted_batching_store, ignore_all>>);
static_assert(!lh::batching_store<lh::hooked_store<lh::memory_store, ignore_all>>);
static_assert(!lh::batching_store<lh::faulty_store<scripted_batching_store, no_fault>>);

// A store with a hook that notes what it is told.
struct scene {
    lh::manual_clock clock;
    scripted_batching_store below{clock};
    std::vector<told> calls;
    std::error_code ec;

    auto hooked()
    {
        return lh::hooked_store{
            below, [this](const lh::store_call& call, const lh::store_call_report& report) {
                calls.push_back({call.operation, std::string{call.name}, std::string{call.owner}, call.token, call.time, report});
            }};
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(hook_is_told_of_each_call_and_what_it_came_to)
{
    scene s;
    auto store = s.hooked();
    const auto got = store.try_acquire("n", "me", 10s, s.ec);
    BOOST_TEST(store.inspect("n", s.ec).has_value());
    BOOST_TEST(!store.renew("n", "another", got.token, 10s, s.ec));
    s.below.next(operation::release, fate::loses_reply);
    store.release("n", "me", got.token, 2s, s.ec);
    BOOST_TEST(s.ec == lh::errc::store_timeout);

    BOOST_REQUIRE(s.calls.size() == 4U);
    BOOST_TEST((s.calls[0].operation == lh::store_operation::try_acquire && s.calls[0].report.succeeded));
    BOOST_TEST((s.calls[1].operation == lh::store_operation::inspect && s.calls[1].report.succeeded));
    BOOST_TEST((s.calls[2].operation == lh::store_operation::renew && !s.calls[2].report.succeeded && !s.calls[2].report.error));
    BOOST_TEST((s.calls[3].operation == lh::store_operation::release && s.calls[3].report.error == lh::errc::store_timeout));
    BOOST_TEST((s.calls[3].time == 2s));
    BOOST_TEST(s.calls[3].report.batch_size == 1U);
}

BOOST_AUTO_TEST_CASE(hook_is_told_of_a_list_by_its_prefix_and_of_one_that_fails)
{
    lh::memory_store memory;
    bool outage = false;
    lh::faulty_store faulty{memory,
                            [&](const lh::store_call&) { return outage ? lh::store_fault::lose_request : lh::store_fault::none; }};
    std::vector<told> calls;
    const auto note = [&](const lh::store_call& call, const lh::store_call_report& report) {
        calls.push_back({call.operation, std::string{call.name}, std::string{call.owner}, call.token, call.time, report});
    };
    lh::hooked_store store{faulty, note};
    std::error_code ec;
    memory.try_acquire("jobs/a", "me", 10s, ec);
    BOOST_TEST(store.list("jobs/", ec).size() == 1U);
    BOOST_TEST(store.list("other/", ec).empty());
    outage = true;
    BOOST_TEST(store.list("jobs/", ec).empty());
    BOOST_TEST(ec == lh::errc::store_unavailable);

    BOOST_REQUIRE(calls.size() == 3U);
    BOOST_TEST((calls[0].operation == lh::store_operation::list && calls[0].name == "jobs/" && calls[0].owner.empty()));
    BOOST_TEST((calls[0].report.succeeded && !calls[0].report.error));
    BOOST_TEST((calls[1].report.succeeded && !calls[1].report.error), "that there is nothing is an answer");
    BOOST_TEST((!calls[2].report.succeeded && calls[2].report.error == lh::errc::store_unavailable));
}

BOOST_AUTO_TEST_CASE(many_go_together_and_the_hook_is_told_of_each)
{
    scene s;
    auto store = s.hooked();
    BOOST_TEST(store.batch_size() == 1000U);
    const auto a = store.try_acquire("a", "me", 10s, s.ec), b = store.try_acquire("b", "me", 10s, s.ec);
    s.calls.clear();

    const std::array renewals{lh::term_renewal{"a", "me", a.token, 20s}, lh::term_renewal{"b", "another", b.token, 30s}};
    std::array<lh::batch_answer, 2> answers{};
    store.renew_many(renewals, answers, 5s, s.ec);
    BOOST_TEST(!s.ec);
    BOOST_TEST((s.below.sizes() == std::vector<std::size_t>{2}));
    BOOST_TEST((s.below.last_within() == 5s));
    BOOST_TEST((answers == std::array{lh::batch_answer::yes, lh::batch_answer::no}));
    BOOST_REQUIRE(s.calls.size() == 2U);
    BOOST_TEST((s.calls[0].operation == lh::store_operation::renew && s.calls[0].name == "a" && s.calls[0].report.succeeded));
    BOOST_TEST((s.calls[1].name == "b" && s.calls[1].owner == "another" && !s.calls[1].report.succeeded && s.calls[1].time == 30s));
    BOOST_TEST(s.calls[1].report.batch_size == 2U);

    const std::array releases{lh::term_release{"a", "me", a.token, 0s}, lh::term_release{"b", "me", b.token, 0s}};
    answers = {};
    store.release_many(releases, answers, s.ec);
    BOOST_REQUIRE(s.calls.size() == 4U);
    BOOST_TEST((s.calls[3].operation == lh::store_operation::release && s.calls[3].report.succeeded));
    BOOST_TEST(s.below.sizes().size() == 2U);
}

BOOST_AUTO_TEST_CASE(of_many_those_without_an_answer_are_told_as_failed)
{
    scene s;
    auto store = s.hooked();
    const auto a = store.try_acquire("a", "me", 10s, s.ec);
    s.calls.clear();
    s.below.next(operation::renew_many, fate::fails);
    const std::array renewals{lh::term_renewal{"a", "me", a.token, 20s}};
    std::array<lh::batch_answer, 1> answers{};
    store.renew_many(renewals, answers, 5s, s.ec);
    BOOST_TEST(s.ec == lh::errc::store_unavailable);
    BOOST_REQUIRE(s.calls.size() == 1U);
    BOOST_TEST(s.calls[0].report.error == lh::errc::store_unavailable);
    BOOST_TEST(!s.calls[0].report.succeeded);
}

BOOST_AUTO_TEST_SUITE_END()
