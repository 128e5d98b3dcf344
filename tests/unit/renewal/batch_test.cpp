// SPDX-License-Identifier: BSL-1.0
// Renewals of several terms in one call, without an engine.
#include <leasehold/renewal/batch.hpp>

#include <leasehold/clock/manual_clock.hpp>

#include <support/printing.hpp>
#include <support/scripted_batching_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(batch_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::fate;
using leasehold_test::operation;
using leasehold_test::scripted_batching_store;
using lh::batch_answer;

namespace {

struct a_term : lh::renewal::watched_term {
    a_term(std::string its_name, std::optional<lh::duration> time_left) : name{std::move(its_name)}, left{time_left} {}

    bool step() override { return false; }
    void renew() override {}
    std::optional<lh::duration> begin_renewal(lh::time_point now, lh::term_renewal& what, lh::renewal::sent_renewal& out) override
    {
        ++begun;
        if (!left) return std::nullopt;
        what = {name, "o", token, 30s};
        out = {now, 30s, nullptr};
        return left;
    }
    void end_renewal(const lh::renewal::sent_renewal& out, batch_answer answer, std::error_code ec) override
    {
        ++ended;
        sent = out.sent;
        said = answer;
        error = ec;
    }

    const std::string name;
    const std::optional<lh::duration> left;
    lh::fencing_token token;
    int begun = 0;
    int ended = 0;
    lh::time_point sent{};
    batch_answer said = batch_answer::unknown;
    std::error_code error;
};

struct scene {
    a_term& term(const std::string& name, std::optional<lh::duration> left)
    {
        auto added = std::make_shared<a_term>(name, left);
        std::error_code ec;
        added->token = store.leases.try_acquire(name, "o", 30s, ec).token;
        terms.push_back(added);
        return *added;
    }
    void renew() { lh::renewal::renew_as_batch(store, clock, terms); }

    lh::manual_clock clock;
    scripted_batching_store store{clock};
    std::vector<std::shared_ptr<lh::renewal::watched_term>> terms;
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_term_gets_its_own_answer_and_the_instant_before_the_call)
{
    scene s;
    auto& a = s.term("a", 20s);
    auto& none = s.term("none", std::nullopt);
    auto& b = s.term("b", 10s);
    auto& c = s.term("c", 15s);
    s.store.leases.force_release("b");
    const lh::time_point before = s.clock.now();
    s.store.before(operation::renew_many, [&](auto) { s.clock.advance(1s); });
    s.renew();
    BOOST_TEST(s.store.last_names() == (std::vector<std::string>{"a", "b", "c"}), boost::test_tools::per_element());
    BOOST_TEST(s.store.last_within() == 5s, "half of what the most urgent has left");
    BOOST_TEST((a.said == batch_answer::yes));
    BOOST_TEST((b.said == batch_answer::no));
    BOOST_TEST((c.said == batch_answer::yes));
    for (const a_term* each : {&a, &b, &c}) {
        BOOST_TEST(each->begun == 1);
        BOOST_TEST(each->ended == 1);
        BOOST_TEST((each->sent == before));
        BOOST_TEST(!each->error);
    }
    BOOST_TEST(none.begun == 1);
    BOOST_TEST(none.ended == 0);
}

BOOST_AUTO_TEST_CASE(most_urgent_term_counts_wherever_it_stands)
{
    scene s;
    s.term("a", 8s), s.term("b", 20s);
    s.renew();
    BOOST_TEST(s.store.last_within() == 4s);
}

BOOST_AUTO_TEST_CASE(failure_of_the_call_leaves_every_answer_unknown)
{
    scene s;
    auto &a = s.term("a", 20s), &b = s.term("b", 20s);
    s.store.next(operation::renew_many, fate::throws);
    s.renew();
    for (const a_term* each : {&a, &b}) {
        BOOST_TEST(each->ended == 1);
        BOOST_TEST((each->said == batch_answer::unknown));
        BOOST_TEST((each->error == lh::errc::store_failure));
    }
}

BOOST_AUTO_TEST_CASE(store_is_not_asked_where_no_term_has_anything_to_send)
{
    scene s;
    s.term("a", std::nullopt);
    s.renew();
    BOOST_TEST(s.store.sent(operation::renew_many) == 0);
}

BOOST_AUTO_TEST_CASE(size_of_a_batch_is_one_at_least_and_a_thousand_at_most)
{
    scene s;
    for (const auto& [takes, size] : {std::pair{0U, 1U}, {1U, 1U}, {7U, 7U}, {1000U, 1000U}, {1001U, 1000U}}) {
        s.store.takes = takes;
        BOOST_TEST(lh::renewal::batch_size_of(s.store) == size);
    }
}

BOOST_AUTO_TEST_SUITE_END()
