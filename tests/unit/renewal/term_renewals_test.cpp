// SPDX-License-Identifier: BSL-1.0
// One renewal of a term: whether it is sent, and what each answer does to the term. No engine runs here.
#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>
#include <unit/renewal/kept_term.hpp>

#include <leasehold/clock/waker.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

BOOST_AUTO_TEST_SUITE(term_renewals_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::alone;
using leasehold_test::eventually;
using leasehold_test::fate;
using leasehold_test::kept_term;
using leasehold_test::operation;
using leasehold_test::scripted_store;
using leasehold_test::throughout;
using lh::batch_answer;
using lh::release_outcome;

namespace {

struct scene : alone {
    scene() { ec = lh::errc::store_failure; }  // from a call before

    auto& keeper() { return *kept.keeper; }
    [[nodiscard]] bool extend(std::optional<lh::duration> ttl = std::nullopt) { return kept.extend(ttl, ec); }
    [[nodiscard]] std::error_code renewal_error() { return keeper().renewal_error(kept.newest); }

    // As a worker that sends many renewals in one call.
    std::optional<lh::duration> begin_due() { return keeper().begin_renewal(clock.now(), what, out); }
    void begin_when_due()
    {
        grant();
        clock.advance(10s);
        BOOST_TEST_REQUIRE(kept.step());
        BOOST_TEST_REQUIRE(begin_due().has_value());
    }
    void end(batch_answer said, std::error_code why = {}) { keeper().end_renewal(out, said, why), kept.told(true); }

    lh::term_renewal what;
    lh::renewal::sent_renewal out;
};

enum class outcome { none, yes, no, failed };

// What a thread has been answered.
struct answered {
    [[nodiscard]] bool within(lh::duration time) const
    {
        return eventually([this] { return said != outcome::none; }, time);
    }
    std::atomic<outcome> said = outcome::none;
};

std::jthread extending(scene& s, answered& to, std::optional<lh::duration> ttl = std::nullopt)
{
    return std::jthread{[&s, &to, ttl, of = s.kept.newest] {
        std::error_code ec;
        const bool extended = s.keeper().extend(of, ttl, ec);
        to.said = ec ? outcome::failed : extended ? outcome::yes : outcome::no;
    }};
}

// At the next look, somebody who asks at the deadline sees the term end.
struct interrupted_clock {
    struct state {
        lh::time_point now{1h};
        std::function<void()> after_next_look;
    };

    lh::time_point now() const noexcept
    {
        const lh::time_point seen = at->now;
        if (const auto interruption = std::exchange(at->after_next_look, nullptr)) interruption();
        return seen;
    }
    static bool wait_until(lh::waker&, lh::time_point) { return false; }

    std::shared_ptr<state> at = std::make_shared<state>();
};

}  // namespace

BOOST_AUTO_TEST_CASE(extension_that_is_not_sent_reports_no_error_of_a_call_before)
{
    scene s;
    s.grant();
    s.clock.advance(27s);
    s.ec = lh::errc::store_failure;
    BOOST_TEST(!s.extend());
    BOOST_TEST(!s.ec);
    BOOST_TEST(s.store.sent(operation::renew) == 0);
}

BOOST_AUTO_TEST_CASE(ttl_that_breaks_a_rule_is_refused_before_the_store_is_asked)
{
    scene s;
    s.grant();
    BOOST_TEST(!s.extend(3s));
    BOOST_TEST((s.ec == lh::errc::invalid_terms));
    BOOST_TEST(s.store.sent(operation::renew) == 0);
    BOOST_TEST(s.term->remaining() == 27s);
}

BOOST_AUTO_TEST_CASE(extension_waits_for_the_renewal_that_is_at_the_store)
{
    scene s;
    s.begin_when_due();
    answered holder;
    {
        const auto thread = extending(s, holder, 60s);
        BOOST_TEST(!holder.within(30ms));
        BOOST_TEST(s.store.sent(operation::renew) == 0);
        s.end(batch_answer::yes);
    }
    BOOST_TEST((holder.said == outcome::yes));
    BOOST_TEST(s.store.sent(operation::renew) == 1);
    BOOST_TEST(s.term->remaining() == 57s);
}

BOOST_AUTO_TEST_CASE(extension_in_parts_waits_for_the_renewal_that_is_at_the_store)
{
    scene s;
    s.begin_when_due();
    std::atomic<bool> begun = false;
    {
        const std::jthread holder{[&, of = s.kept.newest] {
            lh::renewal::sent_renewal sent;
            if (!s.keeper().begin_extension(of, std::nullopt, sent)) return;
            begun = true;
            s.keeper().end_renewal(sent, batch_answer::yes, {});
        }};
        BOOST_TEST(throughout([&] { return !begun; }, 30ms));
        s.end(batch_answer::yes);
    }
    BOOST_TEST(begun);
}

BOOST_AUTO_TEST_CASE(extension_that_waits_for_a_renewal_that_hangs_is_told_of_the_loss)
{
    scene s;
    s.begin_when_due();
    answered holder;
    const auto thread = extending(s, holder);
    BOOST_TEST(!holder.within(30ms));
    s.clock.advance(17s);
    BOOST_TEST(!s.term->step());
    BOOST_TEST(holder.within(10s));
    BOOST_TEST((holder.said == outcome::no));
    s.end(batch_answer::yes);  // also lets a holder go that still waits
    BOOST_TEST(s.store.sent(operation::renew) == 0);
}

BOOST_AUTO_TEST_CASE(only_an_extension_that_the_store_carried_out_is_followed_by_a_look_for_requests)
{
    scene s;
    s.grant();
    BOOST_TEST(!s.kept.keeper->handover_requested(s.kept.newest));
    BOOST_TEST(s.store.sent(operation::handover_requested) == 1);
    s.store.next(operation::renew, fate::fails);
    BOOST_TEST(!s.extend());
    BOOST_TEST(s.store.sent(operation::handover_requested) == 1);
    BOOST_TEST(s.extend());
    BOOST_TEST(s.store.sent(operation::handover_requested) == 2);
}

BOOST_AUTO_TEST_CASE(extension_in_parts_says_what_to_send_until_the_deadline)
{
    scene s;
    const lh::fencing_token token = s.grant();
    const auto what = s.keeper().begin_extension(s.kept.newest, std::nullopt, s.out);
    BOOST_TEST_REQUIRE(what.has_value());
    BOOST_TEST(what->name == "n");
    BOOST_TEST(what->owner == "o");
    BOOST_TEST(what->token == token);
    BOOST_TEST((what->ttl == 30s));
    s.clock.advance(2s);
    lh::renewal::sent_renewal other;
    BOOST_TEST(!s.keeper().begin_extension(s.kept.newest, std::nullopt, other, false).has_value(), "one is at the store");
    s.end(batch_answer::yes);
    BOOST_TEST(s.term->remaining() == 25s, "from when it was sent");
    s.clock.advance(25s);
    BOOST_TEST(!s.keeper().begin_extension(s.kept.newest, std::nullopt, s.out).has_value());
}

BOOST_AUTO_TEST_CASE(renewal_of_many_says_what_to_send_where_the_engine_asked_for_it)
{
    scene s;
    s.term->renew();
    BOOST_TEST(!s.begin_due().has_value(), "no term");
    const lh::fencing_token token = s.grant();
    s.clock.advance(10s);
    BOOST_TEST(!s.begin_due().has_value(), "not asked for");
    BOOST_TEST_REQUIRE(s.term->step());
    const auto left = s.begin_due();
    BOOST_TEST_REQUIRE(left.has_value());
    BOOST_TEST((*left == 17s));
    BOOST_TEST(s.what.name == "n");
    BOOST_TEST(s.what.owner == "o");
    BOOST_TEST(s.what.token == token);
    BOOST_TEST((s.what.ttl == 30s));
    lh::term_renewal what;
    lh::renewal::sent_renewal other;
    BOOST_TEST(!s.keeper().begin_renewal(s.clock.now(), what, other).has_value(), "it is at the store");
    s.end(batch_answer::yes);
    BOOST_TEST(s.term->remaining() == 27s);
    s.clock.advance(10s);
    BOOST_TEST_REQUIRE(s.term->step());
    s.clock.advance(17s);
    BOOST_TEST(!s.begin_due().has_value(), "too late");
}

BOOST_AUTO_TEST_CASE(answer_that_is_known_counts_whatever_became_of_the_call)
{
    scene s;
    s.begin_when_due();
    s.end(batch_answer::yes, lh::errc::store_timeout);
    BOOST_TEST(!s.renewal_error());
    BOOST_TEST(s.term->remaining() == 27s);
    s.clock.advance(10s);
    BOOST_TEST_REQUIRE(s.term->step());
    BOOST_TEST_REQUIRE(s.begin_due().has_value());
    s.end(batch_answer::no, lh::errc::store_timeout);
    BOOST_TEST(!s.renewal_error());
    BOOST_TEST(!s.term->held());
    BOOST_TEST(s.term->end(s.ec) == release_outcome::lost);
}

BOOST_AUTO_TEST_CASE(answer_that_is_unknown_is_a_failure_and_tried_again)
{
    for (const std::error_code why : {make_error_code(lh::errc::store_timeout), std::error_code{}}) {
        scene s;
        s.begin_when_due();
        s.end(batch_answer::unknown, why);
        BOOST_TEST((s.renewal_error() == (why ? lh::errc::store_timeout : lh::errc::store_failure)));
        BOOST_TEST(s.term->remaining() == 17s);
        BOOST_TEST(!s.term->step());
        s.clock.advance(500ms);
        BOOST_TEST(s.term->step());
    }
}

BOOST_AUTO_TEST_CASE(failure_of_the_holders_call_is_tried_again_in_the_background_where_that_met_it)
{
    scene s;
    s.grant();
    s.store.next(operation::renew, fate::fails);
    s.store.before(operation::renew, [&](auto) {
        s.store.before(operation::renew, {});
        s.clock.advance(10s);
        BOOST_TEST(s.term->step());
        s.term->renew();
        BOOST_TEST(!s.term->step());
        s.clock.advance(1s);
        BOOST_TEST(!s.term->step(), "it still waits for the holder's call");
    });
    BOOST_TEST(!s.extend());
    BOOST_TEST(s.store.sent(operation::renew) == 1);
    BOOST_TEST(!s.term->step(), "tried again at once");
    s.clock.advance(lh::duration{30s} / 128);
    BOOST_TEST_REQUIRE(s.term->step());
    s.term->renew();
    BOOST_TEST(s.term->remaining() == 27s);
}

BOOST_AUTO_TEST_CASE(last_error_is_that_of_the_last_renewal)
{
    scene s;
    s.grant();
    BOOST_TEST(!s.renewal_error());
    s.store.next(operation::renew, fate::fails);
    BOOST_TEST(!s.extend());
    BOOST_TEST((s.renewal_error() == lh::errc::store_unavailable));
    BOOST_TEST(s.extend());
    BOOST_TEST(!s.renewal_error());
    s.store.next(operation::renew, fate::fails);
    s.store.after(operation::renew, [&](auto) { s.clock.advance(27s); });
    BOOST_TEST(!s.extend());
    BOOST_TEST((s.renewal_error() == lh::errc::store_unavailable), "a failure that comes late, too");
}

BOOST_AUTO_TEST_CASE(success_at_the_deadline_is_an_outage)
{
    for (const bool late : {true, false}) {
        scene s;
        s.grant();
        s.store.after(operation::renew, [&](auto) { s.clock.advance(late ? 27s : 27s - 1ns); });
        BOOST_TEST(s.extend() == !late);
        BOOST_TEST(!s.ec);
        BOOST_TEST((s.renewal_error() == (late ? make_error_code(lh::errc::store_timeout) : std::error_code{})));
    }
}

BOOST_AUTO_TEST_CASE(extension_of_a_term_that_ended_meanwhile_is_false)
{
    scene s;
    s.grant();
    const auto of = s.kept.newest;
    s.store.after(operation::renew, [&](auto) {
        std::error_code ec;
        s.term->end(ec);
    });
    BOOST_TEST(!s.keeper().extend(of, std::nullopt, s.ec));
    BOOST_TEST(!s.ec);
}

BOOST_AUTO_TEST_CASE(extension_of_a_refused_term_is_false_and_the_store_is_asked_no_more)
{
    scene s;
    s.grant();
    const std::stop_token stop = s.term->stop_token();
    s.store.leases.force_release("n");
    BOOST_TEST(!s.extend());
    BOOST_TEST(!s.ec);
    BOOST_TEST(stop.stop_requested());
    BOOST_TEST(!s.extend());
    BOOST_TEST(s.store.sent(operation::renew) == 1);
}

BOOST_AUTO_TEST_CASE(refusal_that_comes_after_the_loss_leaves_the_release_to_be_sent)
{
    scene s;
    s.grant();
    s.store.next(operation::renew, fate::refused);
    s.store.after(operation::renew, [&](auto) {
        s.clock.advance(27s);
        BOOST_TEST(!s.term->step());
    });
    BOOST_TEST(!s.extend());
    BOOST_TEST(s.term->end(s.ec) == release_outcome::released);
    BOOST_TEST(s.store.sent(operation::release) == 1);
}

BOOST_AUTO_TEST_CASE(extension_whose_loss_was_seen_before_it_took_effect_is_a_loss)
{
    scripted_store store{lh::manual_clock{}};
    const interrupted_clock clock;
    kept_term<interrupted_clock> kept{store, lh::lease_terms{.ttl = 30s}, clock};
    std::error_code ec;
    const auto result = store.try_acquire("n", "o", 30s, ec);
    BOOST_TEST_REQUIRE(kept.grant(result.token, clock.now()));
    const std::stop_token stop = kept.stop_token();
    store.after(operation::renew, [&](auto) {
        clock.at->now += 27s - 1ns;
        clock.at->after_next_look = [&] {
            clock.at->now += 1ns;
            BOOST_TEST(!kept.held());
        };
    });
    BOOST_TEST(!kept.extend(std::nullopt, ec));
    BOOST_TEST(!ec);
    BOOST_TEST(!kept.held());
    BOOST_TEST(stop.stop_requested());
}

BOOST_AUTO_TEST_SUITE_END()
