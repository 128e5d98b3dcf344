// SPDX-License-Identifier: BSL-1.0
#include <support/printing.hpp>
#include <support/scripted_store.hpp>
#include <unit/renewal/kept_term.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>

BOOST_AUTO_TEST_SUITE(term_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::alone;
using leasehold_test::fate;
using leasehold_test::kept_term;
using leasehold_test::operation;
using leasehold_test::scripted_store;
using lh::release_outcome;

namespace {

// Lets something happen between a thread's look at the clock and what it does next.
struct interrupted_clock {
    struct state {
        lh::time_point now{1h};
        std::function<void()> after_next_look;
    };
    std::shared_ptr<state> at = std::make_shared<state>();

    lh::time_point now() const noexcept
    {
        const lh::time_point seen = at->now;
        if (const auto interruption = std::exchange(at->after_next_look, nullptr)) interruption();
        return seen;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(held_from_the_grant_to_the_deadline)
{
    alone a;
    BOOST_TEST(!a.term->held());
    BOOST_TEST(a.term->remaining() == 0s);
    a.grant();
    BOOST_TEST(a.term->held());
    BOOST_TEST(a.term->remaining() == 27s);
    a.clock.advance(27s - 1ns);
    BOOST_TEST(a.term->held());
    BOOST_TEST(a.term->remaining() == 1ns);
    a.clock.advance(1ns);
    BOOST_TEST(!a.term->held());
    BOOST_TEST(a.term->remaining() == 0s);
}

BOOST_AUTO_TEST_CASE(renewal_extends_from_when_it_was_sent)
{
    alone a;
    a.grant();
    a.store.after(operation::renew, [&](auto) { a.clock.advance(4s); });
    a.renew_when_due();
    BOOST_TEST(a.term->remaining() == 23s);
}

BOOST_AUTO_TEST_CASE(engine_sends_nothing_that_step_did_not_ask_for)
{
    alone a;
    a.grant();
    a.clock.advance(10s);
    a.term->renew();
    BOOST_TEST(a.store.sent(operation::renew) == 0);
}

BOOST_AUTO_TEST_CASE(nothing_is_sent_once_the_deadline_has_passed)
{
    alone a;
    a.grant();
    a.clock.advance(10s);
    BOOST_TEST(a.term->step());
    a.clock.advance(17s);
    a.term->renew();
    BOOST_TEST(!a.term->extend(std::nullopt, a.ec));
    BOOST_TEST(!a.ec);
    BOOST_TEST(a.store.sent(operation::renew) == 0);
}

BOOST_AUTO_TEST_CASE(answer_after_the_deadline_does_not_revive)
{
    alone a;
    a.grant();
    const std::stop_token stop = a.term->stop_token();
    a.store.after(operation::renew, [&](auto) { a.clock.advance(17s); });
    a.renew_when_due();
    BOOST_TEST(!a.term->held());
    BOOST_TEST(!a.term->step());
    BOOST_TEST(stop.stop_requested());
    BOOST_TEST(!a.term->held());
}

BOOST_AUTO_TEST_CASE(success_for_an_ended_term_is_not_taken_for_the_next_one)
{
    alone a;
    a.grant();
    a.store.after(operation::renew, [&](auto) {
        a.store.after(operation::renew, {});
        a.term->end(a.ec);
        a.clock.advance(5s);
        a.grant();
        a.clock.advance(5s);
    });
    a.renew_when_due();
    BOOST_TEST(a.term->remaining() == 22s);
}

BOOST_AUTO_TEST_CASE(refusal_of_an_ended_term_is_not_taken_for_the_next_one)
{
    alone a;
    a.grant();
    std::stop_token stop;
    a.store.before(operation::renew, [&](auto) {
        a.store.before(operation::renew, {});
        a.term->end(a.ec);
        a.grant();
        stop = a.term->stop_token();
    });
    a.renew_when_due();
    BOOST_TEST(a.term->held());
    BOOST_TEST(!stop.stop_requested());
    BOOST_TEST(a.term->end(a.ec) == release_outcome::released);
}

BOOST_AUTO_TEST_CASE(failure_of_an_ended_term_is_not_counted_against_the_next_one)
{
    alone a;
    a.grant();
    a.store.next(operation::renew, fate::fails);
    a.store.after(operation::renew, [&](auto) {
        a.store.after(operation::renew, {});
        a.term->end(a.ec);
        a.grant();
    });
    a.renew_when_due();
    a.clock.advance(10s);
    BOOST_TEST(a.term->step(), "the renewal of the new term was put off");
}

BOOST_AUTO_TEST_CASE(refusal_signals_and_is_not_released_again)
{
    alone a;
    a.grant();
    const std::stop_token stop = a.term->stop_token();
    a.store.leases.force_release("n");
    a.renew_when_due();
    BOOST_TEST(!a.term->held());
    BOOST_TEST(stop.stop_requested());
    BOOST_TEST(a.term->end(a.ec) == release_outcome::lost);
    BOOST_TEST(!a.ec);
    BOOST_TEST(a.store.sent(operation::release) == 0);
}

BOOST_AUTO_TEST_CASE(term_after_a_refused_one_is_released)
{
    alone a;
    a.grant();
    a.store.leases.force_release("n");
    a.renew_when_due();
    a.term->end(a.ec);
    a.grant();
    BOOST_TEST(a.term->end(a.ec) == release_outcome::released);
}

BOOST_AUTO_TEST_CASE(grant_that_came_too_late_is_no_term)
{
    alone a{{.ttl = 30s, .min_hold = 1h}};
    const lh::time_point sent = a.clock.now();
    a.clock.advance(27s);
    const auto result = a.store.try_acquire("n", "o", 30s, a.ec);
    BOOST_TEST(!a.term->grant(result.token, sent));
    BOOST_TEST(!a.term->held());
    BOOST_TEST(!a.term->step());
}

BOOST_AUTO_TEST_CASE(min_hold_is_what_is_left_of_it_at_the_end)
{
    alone a{{.ttl = 30s, .min_hold = 20s}};
    a.grant();
    a.clock.advance(5s);
    a.term->end(a.ec);
    BOOST_TEST(a.store.last_keep_closed() == 15s);
    a.clock.advance(15s);
    a.grant();
    a.clock.advance(25s);
    a.term->end(a.ec);
    BOOST_TEST(a.store.last_keep_closed() == 0s);
}

BOOST_AUTO_TEST_CASE(term_that_was_lost_keeps_nothing_closed_whatever_min_hold_is)
{
    alone a{{.ttl = 30s, .min_hold = 1h}};
    a.grant();
    a.clock.advance(28s);  // past the deadline, and before the end in the store
    BOOST_TEST(a.term->end(a.ec) == release_outcome::released);
    BOOST_TEST(a.store.last_keep_closed() == 0s);
}

BOOST_AUTO_TEST_CASE(new_ttl_is_kept_for_the_renewals_to_come)
{
    alone a;
    a.grant();
    BOOST_TEST(a.term->extend(60s, a.ec));
    BOOST_TEST(a.term->remaining() == 57s);
    a.clock.advance(20s);
    BOOST_TEST(a.term->step());
    a.term->renew();
    BOOST_TEST(a.term->remaining() == 57s);
    BOOST_TEST(a.store.leases.inspect("n", a.ec)->remaining == 60s);
}

BOOST_AUTO_TEST_CASE(new_ttl_is_not_kept_for_the_next_term)
{
    alone a;
    a.grant();
    BOOST_TEST(a.term->extend(60s, a.ec));
    a.term->end(a.ec);
    a.grant();
    BOOST_TEST(a.term->remaining() == 27s);
}

BOOST_AUTO_TEST_CASE(token_of_a_term_whose_deadline_nobody_has_seen_is_stopped)
{
    alone a;
    a.grant();
    const std::stop_token early = a.term->stop_token();
    a.clock.advance(27s);
    BOOST_TEST(!early.stop_requested(), "nobody has looked yet");
    BOOST_TEST(a.term->stop_token().stop_requested());
    BOOST_TEST(!early.stop_requested(), "callbacks would run on the caller");
    BOOST_TEST(!a.term->step());
    BOOST_TEST(early.stop_requested());
}

BOOST_AUTO_TEST_CASE(holder_that_was_told_of_the_loss_is_not_told_otherwise_by_an_answer_in_time)
{
    const lh::manual_clock store_clock;
    scripted_store store{store_clock};
    const interrupted_clock clock;
    kept_term<interrupted_clock> kept{store, lh::lease_terms{.ttl = 30s}, clock};
    auto* const term = &kept;
    std::error_code ec;
    const auto result = store.try_acquire("n", "o", 30s, ec);
    BOOST_TEST_REQUIRE(term->grant(result.token, clock.now()));
    clock.at->now += 10s;
    BOOST_TEST_REQUIRE(term->step());
    store.after(operation::renew, [&](std::string_view) {
        // The answer is judged one instant before the deadline; before it takes effect, somebody asks at the deadline.
        clock.at->now += 17s - 1ns;
        clock.at->after_next_look = [&] {
            clock.at->now += 1ns;
            BOOST_TEST(!term->held());
        };
    });
    term->renew();
    BOOST_TEST(!term->held());
    BOOST_TEST(term->remaining() == 0s);
    BOOST_TEST((kept.newest->machine.phase() == lh::renewal::term_phase::lost));
}

BOOST_AUTO_TEST_SUITE_END()
