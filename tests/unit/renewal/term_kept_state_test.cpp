// SPDX-License-Identifier: BSL-1.0
// What a term keeps beside its machine: what its holder is told of it, and how it is made ready for the next grant.
#include <leasehold/renewal/term.hpp>

#include <leasehold/renew_policy/renew_at_fraction.hpp>

#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <system_error>

BOOST_AUTO_TEST_SUITE(term_kept_state_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using lh::renewal::term;
using lh::renewal::term_phase;

namespace {

constexpr lh::time_point start{1h};
constexpr lh::time_point deadline = start + 27s;

struct held_term : term {
    held_term()
    {
        machine.granted(start, 30s, 3s, lh::renew_at_fraction{});
        this->deadline.store(machine.deadline());
    }
};

// Calls something after each look, in the place of another thread.
struct shared_clock {
    [[nodiscard]] lh::time_point now() const noexcept
    {
        const lh::time_point seen = time;
        if (after_look) after_look();
        return seen;
    }

    lh::time_point time{};
    std::function<void()> after_look;
};

}  // namespace

BOOST_AUTO_TEST_CASE(once_it_was_zero_the_time_left_stays_zero)
{
    held_term t;
    BOOST_TEST(t.remaining(shared_clock{deadline - 1ns, {}}) == 1ns);
    BOOST_TEST(t.remaining(shared_clock{deadline, {}}) == 0s);
    BOOST_TEST((t.deadline.load() == term::over));
    BOOST_TEST(t.remaining(shared_clock{start, {}}) == 0s);
}

BOOST_AUTO_TEST_CASE(extension_that_another_thread_published_meanwhile_counts)
{
    held_term t;
    const shared_clock clock{deadline, [&t] { t.deadline.store(deadline + 10s); }};
    BOOST_TEST(t.remaining(clock) == 10s);
    BOOST_TEST((t.deadline.load() == deadline + 10s));
}

BOOST_AUTO_TEST_CASE(renewal_without_an_answer_is_an_outage_from_the_deadline_on)
{
    held_term idle;
    BOOST_TEST(!idle.renewal_error(deadline));

    held_term at_the_store;
    at_the_store.in_flight = true;
    BOOST_TEST(!at_the_store.renewal_error(deadline - 1ns));
    BOOST_TEST((at_the_store.renewal_error(deadline) == lh::errc::store_timeout));
    at_the_store.last_error = lh::errc::store_conflict;
    BOOST_TEST((at_the_store.renewal_error(deadline) == lh::errc::store_conflict));
    BOOST_TEST((at_the_store.renewal_error(start) == lh::errc::store_conflict));

    held_term asked_for;
    BOOST_TEST_REQUIRE((asked_for.machine.step(start + 10s).action == lh::renewal::term_action::renew));
    BOOST_TEST(!asked_for.renewal_error(deadline - 1ns));
    BOOST_TEST((asked_for.renewal_error(deadline) == lh::errc::store_timeout));
}

BOOST_AUTO_TEST_CASE(new_term_is_over_until_it_is_granted_and_nothing_has_happened_to_it)
{
    const term t;
    BOOST_TEST((t.deadline.load() == term::over));
    BOOST_TEST((t.machine.phase() == term_phase::none));
    BOOST_TEST(!(t.in_flight || t.refused || t.beginning_observed || t.loss_told || t.end_observed || t.listens || t.handover_requested));
    BOOST_TEST(!t.signals_requests());
}

BOOST_AUTO_TEST_CASE(reset_leaves_nothing_of_the_term_before)
{
    held_term t;
    t.token = lh::fencing_token{7};
    t.in_flight = t.refused = t.beginning_observed = t.loss_told = t.end_observed = t.listens = t.handover_requested = true;
    t.last_error = lh::errc::store_failure;
    t.keep_closed_until = start;
    t.stop = std::stop_source{};
    t.priority = 3;
    t.handover = std::make_unique<term::handover_state>();
    t.handover->reason = "please";
    t.handover->stop = std::stop_source{};
    BOOST_TEST(t.signals_requests());
    t.reset();
    BOOST_TEST((t.deadline.load() == term::over));
    BOOST_TEST((t.machine.phase() == term_phase::none));
    BOOST_TEST(t.token == lh::fencing_token{});
    BOOST_TEST(!t.in_flight);
    BOOST_TEST(!t.refused);
    BOOST_TEST(!t.beginning_observed);
    BOOST_TEST(!t.loss_told);
    BOOST_TEST(!t.end_observed);
    BOOST_TEST(!t.listens);
    BOOST_TEST(!t.handover_requested);
    BOOST_TEST(!t.last_error);
    BOOST_TEST((t.keep_closed_until == lh::time_point{}));
    BOOST_TEST(!t.stop.stop_possible());
    BOOST_TEST(!t.priority.has_value());
    BOOST_TEST_REQUIRE(t.handover != nullptr);
    BOOST_TEST(t.handover->reason == "");
    BOOST_TEST(!t.signals_requests());
}

BOOST_AUTO_TEST_SUITE_END()
