// SPDX-License-Identifier: BSL-1.0
// Which attempts and waiters a lease object lets through, and how its terms end. No engine runs here.
#include <leasehold/clock/waker.hpp>
#include <leasehold/renewal/own_place.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>
#include <unit/renewal/kept_term.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>

BOOST_AUTO_TEST_SUITE(term_keeper_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::alone;
using leasehold_test::eventually;
using leasehold_test::fate;
using leasehold_test::operation;
using leasehold_test::throughout;
using lh::release_outcome;

namespace {

using keeper_type = decltype(alone::kept)::keeper_type;

struct scene : alone {
    using alone::alone;

    [[nodiscard]] bool attempt_begins()
    {
        const bool begins = keeper.begin_attempt();
        if (begins) keeper.attempt_failed();
        return begins;
    }

    keeper_type& keeper = *kept.keeper;
};

}  // namespace

BOOST_AUTO_TEST_CASE(one_attempt_at_a_time_and_none_while_a_term_is_held)
{
    scene s;
    BOOST_TEST_REQUIRE(s.keeper.begin_attempt());
    BOOST_TEST(!s.keeper.begin_attempt());
    s.keeper.attempt_failed();
    s.grant();
    BOOST_TEST(!s.keeper.begin_attempt());
    s.clock.advance(27s - 1ns);
    BOOST_TEST(!s.keeper.begin_attempt());
    s.clock.advance(1ns);
    BOOST_TEST(s.attempt_begins());
}

BOOST_AUTO_TEST_CASE(attempt_that_finds_the_deadline_passed_tells_of_the_loss)
{
    scene s;
    s.grant();
    const std::stop_token stop = s.term->stop_token();
    s.clock.advance(10s);
    BOOST_TEST_REQUIRE(s.term->step());
    lh::term_renewal what;
    lh::renewal::sent_renewal out;
    BOOST_TEST_REQUIRE(s.keeper.begin_renewal(s.clock.now(), what, out).has_value());
    std::atomic<bool> answered = false;
    const std::jthread holder{[&, of = s.kept.newest] {
        std::error_code ec;
        s.keeper.extend(of, std::nullopt, ec);
        answered = true;
    }};
    BOOST_TEST(throughout([&] { return !answered; }, 30ms));
    s.clock.advance(17s);
    BOOST_TEST(s.attempt_begins());
    BOOST_TEST(eventually([&] { return answered.load(); }), "it waits for the renewal that hangs");
    s.keeper.signal();
    BOOST_TEST(stop.stop_requested());
    s.keeper.end_renewal(out, lh::batch_answer::yes, {});
}

BOOST_AUTO_TEST_CASE(attempt_while_the_holder_releases_makes_that_no_loss)
{
    scene s;
    s.grant();
    const std::stop_token stop = s.term->stop_token();
    const auto ended = s.kept.newest;
    BOOST_TEST_REQUIRE(s.keeper.end_here(ended).has_value());
    BOOST_TEST(ended->remaining(s.clock) == 0s);
    BOOST_TEST(s.attempt_begins());
    BOOST_TEST(s.keeper.has_ended(ended, release_outcome::released) == release_outcome::released);
    s.keeper.signal();
    BOOST_TEST(!stop.stop_requested());
}

BOOST_AUTO_TEST_CASE(renewal_that_is_answered_after_the_release_makes_that_no_loss)
{
    scene s;
    s.grant();
    const std::stop_token stop = s.term->stop_token();
    const auto ended = s.kept.newest;
    s.store.after(operation::renew, [&](auto) {
        std::error_code ec;
        BOOST_TEST(s.keeper.end(ended, ec) == release_outcome::released);
    });
    BOOST_TEST(!s.keeper.extend(ended, std::nullopt, s.ec));
    s.keeper.signal();
    BOOST_TEST(!stop.stop_requested());
}

BOOST_AUTO_TEST_CASE(memory_of_a_term_that_nobody_refers_to_is_kept_for_the_next)
{
    scene s;
    s.grant();
    const std::weak_ptr first = s.kept.newest;
    s.term->end(s.ec);
    BOOST_TEST(!first.expired());
    BOOST_TEST_REQUIRE(s.attempt_begins());
    s.grant();
    BOOST_TEST((s.kept.newest == first.lock()));

    const auto referred_to = s.kept.newest;
    s.term->end(s.ec);
    BOOST_TEST((referred_to->token == lh::fencing_token{2}));
    s.grant();
    BOOST_TEST((s.kept.newest != referred_to));
}

BOOST_AUTO_TEST_CASE(grant_that_came_too_late_leaves_nothing_behind)
{
    scene s;
    const lh::time_point sent = s.clock.now();
    s.clock.advance(27s);
    BOOST_TEST(!s.term->grant(lh::fencing_token{7}, sent));
    s.clock.advance(10s);
    s.grant();
    BOOST_TEST(s.term->remaining() == 27s);
}

BOOST_AUTO_TEST_CASE(release_says_what_the_store_said)
{
    scene s;
    s.grant();
    std::stop_token stop = s.term->stop_token();
    s.ec = lh::errc::store_timeout;
    BOOST_TEST(s.term->end(s.ec) == release_outcome::released);
    BOOST_TEST(!s.ec);
    BOOST_TEST(!stop.stop_requested());

    s.grant();
    stop = s.term->stop_token();
    s.store.next(operation::release, fate::fails);
    BOOST_TEST(s.term->end(s.ec) == release_outcome::unknown);
    BOOST_TEST((s.ec == lh::errc::store_unavailable));
    BOOST_TEST(!stop.stop_requested());

    s.grant();
    stop = s.term->stop_token();
    s.store.leases.force_release("n");
    BOOST_TEST(s.term->end(s.ec) == release_outcome::lost);
    BOOST_TEST(stop.stop_requested());
}

BOOST_AUTO_TEST_CASE(release_of_unknown_outcome_after_the_deadline_is_a_loss)
{
    scene s;
    s.grant();
    const std::stop_token stop = s.term->stop_token();
    s.clock.advance(27s);
    s.store.next(operation::release, fate::fails);
    BOOST_TEST(s.term->end(s.ec) == release_outcome::unknown);
    BOOST_TEST(stop.stop_requested());
}

BOOST_AUTO_TEST_CASE(release_of_a_refused_term_reports_no_error_of_a_call_before)
{
    scene s;
    s.grant();
    s.store.leases.force_release("n");
    BOOST_TEST(!s.term->extend(std::nullopt, s.ec));
    s.ec = lh::errc::store_timeout;
    BOOST_TEST(s.term->end(s.ec) == release_outcome::lost);
    BOOST_TEST(!s.ec);
    BOOST_TEST(s.store.sent(operation::release) == 0);
}

BOOST_AUTO_TEST_CASE(term_that_another_attempt_of_the_object_took_over_while_it_was_released_counts_as_released)
{
    for (const bool granted : {true, false}) {
        scene s;
        s.grant();
        const auto ended = s.kept.newest;
        s.store.before(operation::release, [&](auto) {
            if (granted)
                s.grant();
            else
                BOOST_TEST(s.attempt_begins());
        });
        s.store.next(operation::release, fate::refused);
        const release_outcome outcome = s.keeper.end(ended, s.ec);
        BOOST_TEST(outcome == (granted ? release_outcome::released : release_outcome::lost));
        BOOST_TEST(!s.ec);
        if (!granted) continue;
        BOOST_TEST(s.term->held());
        BOOST_TEST(!s.keeper.begin_attempt(), "the new term is forgotten");
        BOOST_TEST(s.term->extend(std::nullopt, s.ec));
    }
}

BOOST_AUTO_TEST_CASE(release_of_unknown_outcome_stays_so_though_another_attempt_of_the_object_took_over)
{
    scene s;
    s.grant();
    const auto ended = s.kept.newest;
    s.store.before(operation::release, [&](auto) { s.grant(); });
    s.store.next(operation::release, fate::fails);
    BOOST_TEST(s.keeper.end(ended, s.ec) == release_outcome::unknown);
    BOOST_TEST((s.ec == lh::errc::store_unavailable));
}

BOOST_AUTO_TEST_CASE(term_that_was_lost_before_the_next_attempt_of_the_object_stays_lost)
{
    for (const bool refused : {true, false}) {
        scene s;
        s.grant();
        const auto ended = s.kept.newest;
        if (refused) {
            s.store.leases.force_release("n");
            BOOST_TEST(!s.term->extend(std::nullopt, s.ec));
        }
        else {
            s.clock.advance(27s);
        }
        s.grant();
        BOOST_TEST(s.keeper.end(ended, s.ec) == release_outcome::lost);
        BOOST_TEST(s.term->held());
        BOOST_TEST(!s.keeper.begin_attempt(), "the new term is forgotten");
    }
}

BOOST_AUTO_TEST_CASE(min_hold_that_is_forgotten_keeps_nothing_closed)
{
    scene s{lh::lease_terms{.ttl = 30s, .min_hold = 20s}};
    s.grant();
    s.keeper.forget_min_hold(s.kept.newest);
    s.term->end(s.ec);
    BOOST_TEST(s.store.last_keep_closed() == 0s);
}

BOOST_AUTO_TEST_CASE(renewal_that_is_due_says_how_urgent_it_is)
{
    scene s;
    s.grant();
    const lh::time_point deadline = s.clock.now() + 27s;
    BOOST_TEST((s.keeper.renew_before() == lh::time_point::max()));
    s.clock.advance(10s);
    BOOST_TEST(s.keeper.step());
    BOOST_TEST((s.keeper.renew_before() == deadline));
    BOOST_TEST((s.keeper.tier() == lh::renewal::batch_tier::many));
    BOOST_TEST(!s.keeper.step());
    BOOST_TEST(s.keeper.batch_size() == 1U);
    BOOST_TEST(s.keeper.batch_kind() == nullptr);
}

BOOST_AUTO_TEST_CASE(first_waiter_goes_when_nothing_holds_and_is_woken_for_it)
{
    scene s;
    lh::waker first_wakes, second_wakes;
    std::optional<keeper_type::own_place> first{std::in_place, s.keeper, first_wakes};
    keeper_type::own_place second{s.keeper, second_wakes};
    BOOST_TEST(!first->closed_until().has_value());
    BOOST_TEST((second.closed_until() == lh::time_point::max()));

    BOOST_TEST_REQUIRE(s.keeper.begin_attempt());
    BOOST_TEST((first->closed_until() == lh::time_point::max()));
    BOOST_TEST(!first_wakes.take());
    s.keeper.attempt_failed();
    BOOST_TEST(first_wakes.take());

    s.grant();
    BOOST_TEST((first->closed_until() == s.clock.now() + 27s));
    BOOST_TEST(!first_wakes.take());
    s.term->end(s.ec);
    BOOST_TEST(first_wakes.take());

    s.grant();
    BOOST_TEST(first->closed_until().has_value());
    s.store.leases.force_release("n");
    BOOST_TEST(!s.term->extend(std::nullopt, s.ec));
    BOOST_TEST(first_wakes.take(), "by the loss");
    BOOST_TEST((second.closed_until() == lh::time_point::max()), "not until the end of a term that is lost: nobody would wake it then");
    BOOST_TEST(!first->closed_until().has_value());
    BOOST_TEST(!second_wakes.take());
    first.reset();
    BOOST_TEST(second_wakes.take());
}

BOOST_AUTO_TEST_SUITE_END()
