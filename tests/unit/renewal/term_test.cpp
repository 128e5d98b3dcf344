// SPDX-License-Identifier: BSL-1.0
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renewal/term_keeper.hpp>

#include <support/printing.hpp>
#include <support/scripted_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

BOOST_AUTO_TEST_SUITE(term_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::fate;
using leasehold_test::gate;
using leasehold_test::operation;
using leasehold_test::scripted_store;
using lh::release_outcome;

namespace {

// The newest term of a lease without an engine: the test is the watchdog, the worker and the signaller.
template <class Clock>
struct kept_term {
    using keeper_type = lh::renewal::term_keeper<scripted_store, Clock, lh::renew_at_fraction>;

    kept_term(scripted_store& store, lh::lease_terms terms, Clock clock)
        : keeper{std::make_shared<keeper_type>(store, "n", "o", terms, clock, lh::renew_at_fraction{})}
    {
    }

    [[nodiscard]] lh::duration remaining() const { return newest ? newest->remaining(keeper->clock()) : lh::duration::zero(); }
    [[nodiscard]] bool held() const { return remaining() > 0s; }
    [[nodiscard]] std::error_code renewal_error() const { return keeper->renewal_error(newest); }
    [[nodiscard]] std::stop_token stop_token() const { return keeper->stop_token(newest); }

    bool grant(lh::fencing_token token, lh::time_point sent)
    {
        BOOST_TEST_REQUIRE(keeper->begin_attempt());
        auto granted = keeper->grant(token, sent);
        if (!granted)
            keeper->attempt_failed();
        else
            newest = std::move(granted);
        return newest != nullptr;
    }

    bool step() { return told(keeper->step()); }
    void renew() { keeper->renew(), told(true); }
    bool extend(std::optional<lh::duration> ttl, std::error_code& ec) { return told(keeper->extend(newest, ttl, ec)); }
    release_outcome end(std::error_code& ec)
    {
        const auto ended = std::move(newest);
        return told(keeper->end(ended, ec));
    }

    template <class T>
    T told(T answer)
    {
        keeper->signal();
        return answer;
    }

    std::shared_ptr<keeper_type> keeper;
    std::shared_ptr<lh::renewal::term> newest;
};

struct alone {
    explicit alone(lh::lease_terms with = {.ttl = 30s}) : terms{with}, kept{store, with, clock} {}

    lh::fencing_token grant()
    {
        const lh::time_point sent = clock.now();
        const lh::acquire_result result = store.try_acquire("n", "o", terms.ttl, ec);
        BOOST_TEST_REQUIRE((!ec && result.granted()));
        BOOST_TEST_REQUIRE(term->grant(result.token, sent));
        return result.token;
    }

    void renew_when_due()
    {
        clock.advance(10s);
        BOOST_TEST_REQUIRE(term->step());
        term->renew();
    }

    lh::manual_clock clock;
    scripted_store store{clock};
    std::error_code ec;
    lh::lease_terms terms;
    kept_term<lh::manual_clock> kept;
    kept_term<lh::manual_clock>* const term = &kept;
};

// Lets something happen between a thread's look at the clock and what it does next.
struct interrupted_clock {
    struct state {
        lh::time_point now{1h};
        std::function<void()> after_next_look;
    };
    std::shared_ptr<state> at = std::make_shared<state>();

    lh::time_point now() const
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

BOOST_AUTO_TEST_CASE(failed_renewal_is_tried_again_after_a_pause)
{
    alone a;
    a.grant();
    a.store.next(operation::renew, fate::fails);
    a.renew_when_due();
    BOOST_TEST(a.term->held());
    BOOST_TEST(!a.term->step(), "tried again at once");
    a.clock.advance(500ms);  // ttl/60
    BOOST_TEST(a.term->step());
    a.term->renew();
    BOOST_TEST(a.term->remaining() == 27s);
}

BOOST_AUTO_TEST_CASE(store_that_fails_at_once_is_asked_with_growing_pauses_up_to_the_deadline)
{
    alone a;
    a.grant();
    a.store.always(operation::renew, fate::fails);
    for (int i = 0; i < 2700; ++i) {
        BOOST_TEST_REQUIRE(a.term->held());
        if (a.term->step()) a.term->renew();
        a.clock.advance(10ms);
    }
    BOOST_TEST(!a.term->held());
    BOOST_TEST(a.store.sent(operation::renew) >= 8);
    BOOST_TEST(a.store.sent(operation::renew) <= 16);
}

BOOST_AUTO_TEST_CASE(renewal_whose_reply_was_lost_is_not_believed)
{
    alone a;
    a.grant();
    a.store.next(operation::renew, fate::loses_reply);
    a.renew_when_due();
    BOOST_TEST(a.term->remaining() == 17s);
}

BOOST_AUTO_TEST_CASE(failed_renewal_of_the_holder_leaves_the_background_as_it_was)
{
    alone a;
    a.grant();
    a.store.next(operation::renew, fate::fails);
    BOOST_TEST(!a.term->extend(std::nullopt, a.ec));
    BOOST_TEST(a.ec == lh::errc::store_unavailable);
    BOOST_TEST(a.term->remaining() == 27s);
    a.clock.advance(10s);
    BOOST_TEST(a.term->step());
}

BOOST_AUTO_TEST_CASE(background_renewal_does_not_wait_for_one_that_hangs)
{
    alone a;
    a.grant();
    gate hang{a.clock};
    a.store.before(operation::renew, [&](auto) { hang.pass(); });
    std::thread holder{[&] {
        std::error_code ec;
        a.term->extend(std::nullopt, ec);
    }};
    BOOST_TEST(hang.reached_by());
    a.clock.advance(10s);
    BOOST_TEST(a.term->step());
    std::jthread opens_at_last{[&](const std::stop_token& s) {
        // Only where it waits after all, so that the test fails and doesn't hang.
        for (int i = 0; i < 10'000 && !s.stop_requested(); ++i) std::this_thread::sleep_for(1ms);
        hang.open();
    }};
    a.term->renew();
    BOOST_TEST(hang.waiting() == 1, "a worker waited for the holder's call");
    BOOST_TEST(!a.term->step(), "tried again at once");
    opens_at_last.request_stop();
    holder.join();
    BOOST_TEST(a.term->held());
    BOOST_TEST(a.store.sent(operation::renew) == 1);
    a.clock.advance(10s);
    BOOST_TEST(a.term->step());
    a.term->renew();
    BOOST_TEST(a.store.sent(operation::renew) == 2);
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

BOOST_AUTO_TEST_CASE(who_was_told_of_the_loss_is_not_told_otherwise_by_an_answer_that_was_in_time)
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
