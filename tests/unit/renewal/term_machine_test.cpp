// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>

#include <unit/renewal/term_machines.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(term_machine_test)

using namespace leasehold_test::term_machines;

BOOST_AUTO_TEST_CASE(every_state_answers_every_event)
{
    struct row {
        std::string state;
        std::function<term_machine()> make;
        lh::time_point now;
        term_action action;
        lh::time_point at;
    };
    const lh::time_point never = lh::time_point::max();
    const lh::duration tick = 1ns;
    const std::vector<row> rows{
        {"none", [] { return term_machine{}; }, start, term_action::sleep, never},
        {"held, just granted", [] { return held(); }, start, term_action::sleep, start + 10s},
        {"held, before the renewal", [] { return held(); }, start + 10s - tick, term_action::sleep, start + 10s},
        {"held, at the renewal", [] { return held(); }, start + 10s, term_action::renew, deadline},
        {"held, after the renewal", [] { return held(); }, deadline - tick, term_action::renew, deadline},
        {"held, at the deadline", [] { return held(); }, deadline, term_action::signal_loss, never},
        {"held, after the deadline", [] { return held(); }, deadline + 1h, term_action::signal_loss, never},
        {"renewing", [] { return renewing(); }, start + 20s, term_action::sleep, deadline},
        {"renewing, just before the deadline", [] { return renewing(); }, deadline - tick, term_action::sleep, deadline},
        {"renewing, at the deadline", [] { return renewing(); }, deadline, term_action::signal_loss, never},
        {"lost", [] { return lost(); }, deadline + 1s, term_action::sleep, never},
        {"ended, before the renewal", [] { return ended(); }, start + 1s, term_action::sleep, never},
        {"ended, at the renewal", [] { return ended(); }, start + 10s, term_action::sleep, never},
        {"ended, after the deadline", [] { return ended(); }, deadline + 1s, term_action::sleep, never},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT(r.state)
        {
            term_machine machine = r.make();
            const auto step = machine.step(r.now);
            BOOST_TEST(step.action == r.action);
            BOOST_TEST((step.at == r.at));
        }
    }
}

BOOST_AUTO_TEST_CASE(every_answer_to_a_renewal_in_every_state)
{
    struct row {
        std::string state;
        std::function<term_machine()> make;
        bool renewed;
        bool refused;
        term_phase after_refused;
    };
    const std::vector<row> rows{
        {"none", [] { return term_machine{}; }, false, false, term_phase::none},
        {"held", [] { return held(); }, true, true, term_phase::lost},
        {"renewing", [] { return renewing(); }, true, true, term_phase::lost},
        {"lost", [] { return lost(); }, false, false, term_phase::lost},
        {"ended", [] { return ended(); }, false, false, term_phase::none},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT(r.state)
        {
            term_machine machine = r.make();
            const term_phase before = machine.phase();
            BOOST_TEST(machine.renewing() == (r.state == "renewing"));
            BOOST_TEST(machine.renewed(start + 10s, start + 11s, ttl, at_ten) == r.renewed);
            BOOST_TEST(machine.phase() == before);
            BOOST_TEST(!machine.renewing());

            machine = r.make();
            BOOST_TEST(machine.refused() == r.refused);
            BOOST_TEST(machine.phase() == r.after_refused);
            BOOST_TEST(!machine.renewing());
            BOOST_TEST(!machine.refused(), "told twice");

            machine = r.make();
            machine.renewal_failed(start + 11s, at_ten);
            BOOST_TEST(machine.phase() == before);
            BOOST_TEST(!machine.renewing());
        }
    }
}

BOOST_AUTO_TEST_CASE(deadline_of_a_grant_is_counted_from_the_start_of_the_attempt)
{
    BOOST_TEST((held().deadline() == start + ttl - margin));
}

BOOST_AUTO_TEST_CASE(deadline_of_a_renewal_is_counted_from_the_start_of_the_attempt)
{
    term_machine machine = renewing();
    BOOST_TEST(machine.renewed(start + 10s, start + 25s, ttl, at_ten));
    BOOST_TEST((machine.deadline() == start + 10s + ttl - margin));
    BOOST_TEST((machine.wakes_at() == start + 20s));
}

BOOST_AUTO_TEST_CASE(margin_stays_when_the_ttl_changes)
{
    term_machine machine = held();
    BOOST_TEST(machine.renewed(start + 1s, start + 1s, 60s, at_ten));
    BOOST_TEST((machine.deadline() == start + 1s + 60s - margin));
    BOOST_TEST((machine.ttl() == 60s));
}

BOOST_AUTO_TEST_CASE(answer_at_the_deadline_or_later_does_not_extend)
{
    for (const lh::duration late : {lh::duration{0ns}, lh::duration{1ns}, lh::duration{1h}}) {
        term_machine machine = renewing();
        BOOST_TEST(!machine.renewed(start + 10s, deadline + late, ttl, at_ten));
        BOOST_TEST((machine.deadline() == deadline));
        BOOST_TEST(machine.step(deadline + late).action == term_action::signal_loss);
    }
}

BOOST_AUTO_TEST_CASE(answer_just_before_the_deadline_extends)
{
    term_machine machine = renewing();
    BOOST_TEST(machine.renewed(start + 10s, deadline - 1ns, ttl, at_ten));
    BOOST_TEST((machine.deadline() == start + 37s));
}

BOOST_AUTO_TEST_CASE(answer_that_comes_after_the_end_of_a_shorter_ttl_leaves_the_old_deadline)
{
    struct row {
        lh::duration ttl;
        lh::time_point deadline;
    };
    for (const row& r : {row{5s, deadline}, row{13s, deadline}, row{13s + 1ns, start + 20s + 1ns}}) {
        term_machine machine = renewing();
        BOOST_TEST(machine.renewed(start + 10s, start + 20s, r.ttl, at_ten));
        BOOST_TEST((machine.deadline() == r.deadline));
        BOOST_TEST(machine.step(start + 20s).action != term_action::signal_loss);
        BOOST_TEST(machine.step(r.deadline).action == term_action::signal_loss);
    }
}

BOOST_AUTO_TEST_CASE(answer_after_the_loss_does_not_revive)
{
    term_machine machine = renewing();
    BOOST_TEST(machine.step(deadline).action == term_action::signal_loss);
    BOOST_TEST(!machine.renewed(start + 10s, deadline - 1s, ttl, at_ten));
    BOOST_TEST(machine.phase() == term_phase::lost);
    BOOST_TEST((machine.wakes_at() == lh::time_point::max()));
}

BOOST_AUTO_TEST_CASE(loss_is_signalled_once)
{
    term_machine machine = held();
    BOOST_TEST(machine.step(deadline).action == term_action::signal_loss);
    BOOST_TEST(machine.step(deadline).action == term_action::sleep);
    BOOST_TEST(!machine.overrun(deadline));
    BOOST_TEST(!machine.refused());
}

BOOST_AUTO_TEST_CASE(overrun_is_true_at_the_deadline_and_once)
{
    term_machine machine = held();
    BOOST_TEST(!machine.overrun(deadline - 1ns));
    BOOST_TEST(machine.overrun(deadline));
    BOOST_TEST(!machine.overrun(deadline));
    BOOST_TEST(machine.step(deadline).action == term_action::sleep);
}

BOOST_AUTO_TEST_CASE(refused_term_is_not_watched_any_more)
{
    term_machine machine = renewing();
    BOOST_TEST(machine.refused());
    BOOST_TEST((machine.wakes_at() == lh::time_point::max()));
    BOOST_TEST(machine.step(deadline).action == term_action::sleep);
}

BOOST_AUTO_TEST_CASE(one_renewal_at_a_time)
{
    term_machine machine = renewing();
    BOOST_TEST(machine.renewing());
    for (auto now = start + 10s; now < deadline; now += 1s) BOOST_TEST(machine.step(now).action == term_action::sleep);
}

BOOST_AUTO_TEST_CASE(failure_is_no_loss_and_leaves_the_deadline)
{
    term_machine machine = renewing();
    machine.renewal_failed(start + 11s, at_ten);
    BOOST_TEST(machine.phase() == term_phase::held);
    BOOST_TEST((machine.deadline() == deadline));
    BOOST_TEST(machine.step(deadline).action == term_action::signal_loss);
}

BOOST_AUTO_TEST_CASE(failure_is_never_followed_by_a_try_without_a_pause)
{
    for (const lh::duration pause : {lh::duration{0}, lh::duration{-1h}, lh::duration::min(), lh::duration{10s}}) {
        const after policy{pause};
        term_machine machine;
        machine.granted(start, ttl, margin, policy);
        int tries = 0;
        for (auto now = machine.wakes_at(); machine.phase() == term_phase::held; now = machine.wakes_at()) {
            if (machine.step(now).action != term_action::renew) break;
            BOOST_TEST_REQUIRE(++tries <= term_machine::shortest_pause_divisor);
            machine.renewal_failed(now, policy);
            BOOST_TEST((machine.wakes_at() >= std::min(deadline, now + ttl / term_machine::shortest_pause_divisor)));
        }
        BOOST_TEST(tries > 0);
    }
}

BOOST_AUTO_TEST_CASE(success_is_never_followed_by_a_renewal_without_a_pause)
{
    for (const lh::duration pause : {lh::duration{0}, lh::duration{-1h}, lh::duration::min()}) {
        const after policy{pause};
        term_machine machine;
        machine.granted(start, ttl, margin, policy);
        auto now = start;
        for (int i = 0; i < 10; ++i) {
            BOOST_TEST((machine.wakes_at() >= now + ttl / term_machine::shortest_pause_divisor));
            now = machine.wakes_at();
            BOOST_TEST(machine.step(now).action == term_action::renew);
            BOOST_TEST(machine.renewed(now, now, ttl, policy));
        }
    }
}

BOOST_AUTO_TEST_CASE(policy_that_answers_too_late_is_no_renewal)
{
    for (const std::optional<lh::duration> pause : {std::optional<lh::duration>{}, std::optional{lh::duration::max()},
                                                    std::optional{ttl}, std::optional<lh::duration>{ttl - margin}}) {
        const after policy{pause};
        term_machine machine;
        machine.granted(start, ttl, margin, policy);
        BOOST_TEST((machine.wakes_at() == deadline));
        BOOST_TEST(machine.step(deadline - 1ns).action == term_action::sleep);
        BOOST_TEST(machine.step(deadline).action == term_action::signal_loss);
    }
}

BOOST_AUTO_TEST_CASE(policy_that_gives_up_after_a_failure_is_not_asked_again)
{
    struct once {
        std::optional<lh::duration> next(lh::renewal_state s) const noexcept
        {
            return s.attempt == 0 ? std::optional<lh::duration>{10s} : std::nullopt;
        }
    };
    term_machine machine;
    machine.granted(start, ttl, margin, once{});
    BOOST_TEST(machine.step(start + 10s).action == term_action::renew);
    machine.renewal_failed(start + 11s, once{});
    BOOST_TEST((machine.wakes_at() == deadline));
    BOOST_TEST(machine.step(deadline).action == term_action::signal_loss);
}

BOOST_AUTO_TEST_CASE(policy_hears_age_ttl_and_failures)
{
    std::vector<lh::renewal_state> heard;
    struct listener {
        std::vector<lh::renewal_state>* heard;
        std::optional<lh::duration> next(lh::renewal_state s) const noexcept
        {
            heard->push_back(s);
            return 1s;
        }
    };
    const listener policy{&heard};
    term_machine machine;
    machine.granted(start, ttl, margin, policy);
    machine.renewal_failed(start + 2s, policy);
    machine.renewal_failed(start + 3s, policy);
    BOOST_TEST(machine.renewed(start + 5s, start + 6s, 40s, policy));
    machine.ended();
    machine.granted(start + 1h, ttl, margin, policy);
    BOOST_TEST_REQUIRE(heard.size() == 5U);
    BOOST_TEST((heard[0].granted == 0s && heard[0].ttl == ttl && heard[0].attempt == 0));
    BOOST_TEST((heard[1].granted == 0s && heard[1].attempt == 1));
    BOOST_TEST((heard[2].granted == 0s && heard[2].attempt == 2));
    BOOST_TEST((heard[3].granted == 5s && heard[3].ttl == 40s && heard[3].attempt == 0));
    BOOST_TEST((heard[4].granted == 0s && heard[4].ttl == ttl && heard[4].attempt == 0), "a new term starts at 0");
}

BOOST_AUTO_TEST_CASE(new_term_forgets_the_renewal_of_the_one_before)
{
    term_machine machine = renewing();
    machine.ended();
    machine.granted(start + 15s, ttl, margin, at_ten);
    BOOST_TEST(!machine.renewing());
    BOOST_TEST(machine.phase() == term_phase::held);
    BOOST_TEST((machine.wakes_at() == start + 25s));
}

BOOST_AUTO_TEST_CASE(longest_durations_do_not_overflow)
{
    constexpr lh::duration ten_years = 24h * 3650;
    for (const lh::time_point sent : {lh::time_point{}, lh::time_point{ten_years * 18}}) {
        term_machine machine;
        machine.granted(sent, ten_years, 0ns, lh::renew_at_fraction{});
        BOOST_TEST((machine.deadline() == sent + ten_years));
        BOOST_TEST((machine.wakes_at() > sent && machine.wakes_at() < machine.deadline()));
        for (int i = 0; i < 200; ++i) machine.renewal_failed(sent + ten_years - 1ns, lh::renew_at_fraction{999, 1000});
        BOOST_TEST((machine.wakes_at() == machine.deadline()));
    }
}

BOOST_AUTO_TEST_CASE(clock_that_starts_at_the_epoch_works)
{
    term_machine machine;
    machine.granted(lh::time_point{}, ttl, margin, lh::no_renewal{});
    BOOST_TEST(machine.step(lh::time_point{}).action == term_action::sleep);
    BOOST_TEST(machine.step(lh::time_point{27s}).action == term_action::signal_loss);
}

BOOST_AUTO_TEST_SUITE_END()
