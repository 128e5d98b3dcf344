// SPDX-License-Identifier: BSL-1.0
// Who is told how a term ended, and how often. No engine runs here: the test is the signaller, or its threads are.
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/renewal/term_keeper.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace term_keeper_lost_terms_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::scripted_store;
using kind = lh::lease_event_kind;
using lh::release_outcome;

namespace {

// Nobody can wait on it, so that nothing happens in the background.
struct read_only_clock {
    [[nodiscard]] lh::time_point now() const noexcept { return of.now(); }
    lh::manual_clock of;
};

// Says when somebody waits for the keeper.
struct watched_clock : lh::manual_clock {};

// What has become of a wait that watched_condition makes.
std::atomic<int> waits = 0;
std::atomic<int> wakes = 0;

struct watched_condition {
    void wait(std::unique_lock<std::mutex>& lock)
    {
        ++waits;
        if (condition.wait_for(lock, 10s) == std::cv_status::no_timeout) ++wakes;
    }
    void notify_one() noexcept { condition.notify_one(); }
    std::condition_variable condition;
};

struct observed : scripted_store {
    using scripted_store::scripted_store;

    void observe(const lh::lease_event& event) noexcept
    {
        {
            const std::lock_guard lock{mutex};
            events.emplace_back(event.kind, event.token);
        }
        if (during) during();
    }

    [[nodiscard]] std::ptrdiff_t count(kind of) const
    {
        const std::lock_guard lock{mutex};
        return std::ranges::count(events, of, [](const auto& each) { return each.first; });
    }

    [[nodiscard]] std::ptrdiff_t losses_of(lh::fencing_token token) const
    {
        const std::lock_guard lock{mutex};
        return std::ranges::count(events, std::pair{kind::lost, token});
    }

    std::function<void()> during;  // an observation
    mutable std::mutex mutex;
    std::vector<std::pair<kind, lh::fencing_token>> events;
};

template <class Store, class Clock>
struct scene {
    using keeper_type = lh::renewal::term_keeper<Store, Clock, lh::no_renewal>;
    using term_ptr = typename keeper_type::term_ptr;

    term_ptr grant()
    {
        term_ptr granted = grant_untold();
        keeper->observe_beginning(granted, keeper->clock().now());
        return granted;
    }

    // The thread that acquires has not told the store yet.
    term_ptr grant_untold()
    {
        BOOST_TEST_REQUIRE(keeper->begin_attempt());
        const lh::time_point sent = keeper->clock().now();
        const auto result = store.try_acquire("n", "o", 30s, ec);
        BOOST_TEST_REQUIRE(result.granted());
        term_ptr granted = keeper->grant(result.token, sent);
        BOOST_TEST_REQUIRE(granted != nullptr);
        return granted;
    }

    // The holder's renewal finds the term over.
    void lose(const term_ptr& held)
    {
        store.leases.force_release("n");
        BOOST_TEST(!keeper->extend(held, std::nullopt, ec));
    }

    term_ptr lost_term()
    {
        term_ptr lost = grant();
        lose(lost);
        return lost;
    }

    // That of an attempt which is granted nothing.
    void forget_newest()
    {
        BOOST_TEST_REQUIRE(keeper->begin_attempt());
        keeper->attempt_failed();
    }

    lh::manual_clock time;
    Store store{time};
    std::error_code ec;
    std::shared_ptr<keeper_type> keeper =
        std::make_shared<keeper_type>(store, "n", "o", lh::lease_terms{.ttl = 30s}, Clock{time}, lh::no_renewal{});
};

using plain_scene = scene<scripted_store, lh::manual_clock>;
using observed_scene = scene<observed, lh::manual_clock>;

}  // namespace
}  // namespace term_keeper_lost_terms_test

template <>
struct leasehold::renewal::runtime_traits<term_keeper_lost_terms_test::watched_clock>
    : leasehold::renewal::runtime_traits<leasehold::manual_clock> {
    using condition_variable = term_keeper_lost_terms_test::watched_condition;
};

namespace term_keeper_lost_terms_test {

BOOST_AUTO_TEST_SUITE(term_keeper_lost_terms_test)

BOOST_AUTO_TEST_CASE(stop_that_a_live_term_shares_is_asked_for_by_its_loss_only)
{
    plain_scene s;
    const std::stop_source shared;
    const auto term = s.grant();
    s.keeper->share_stop(term, shared);
    BOOST_TEST(!shared.stop_requested());
    s.lose(term);
    BOOST_TEST(!shared.stop_requested(), "callbacks would run on the caller");
    s.keeper->signal();
    BOOST_TEST(shared.stop_requested());
}

BOOST_AUTO_TEST_CASE(stop_that_a_lost_term_shares_is_asked_for_at_once)
{
    plain_scene s;
    const std::stop_source shared;
    s.keeper->share_stop(s.lost_term(), shared);
    BOOST_TEST(shared.stop_requested());
}

BOOST_AUTO_TEST_CASE(token_on_a_clock_that_cannot_be_waited_on_is_never_asked_to_stop)
{
    scene<scripted_store, read_only_clock> s;
    BOOST_TEST(!s.keeper->stop_token(s.grant()).stop_possible());
}

BOOST_AUTO_TEST_CASE(every_token_of_a_term_is_asked_to_stop)
{
    plain_scene s;
    const auto term = s.grant();
    const std::stop_token first = s.keeper->stop_token(term), second = s.keeper->stop_token(term);
    s.lose(term);
    s.keeper->signal();
    BOOST_TEST(first.stop_requested());
    BOOST_TEST(second.stop_requested());
}

BOOST_AUTO_TEST_CASE(losses_that_nobody_is_told_of_keep_no_terms)
{
    plain_scene without_token;
    const auto one = without_token.lost_term();
    without_token.forget_newest();
    BOOST_TEST(one.use_count() == 1);

    plain_scene already_stopped;
    std::stop_source shared;
    const auto other = already_stopped.grant();
    already_stopped.keeper->share_stop(other, shared);
    shared.request_stop();
    already_stopped.lose(other);
    already_stopped.forget_newest();
    BOOST_TEST(other.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(each_of_two_losses_is_signalled_and_observed_once)
{
    observed_scene s;
    const auto first = s.grant();
    const std::stop_token first_stop = s.keeper->stop_token(first);
    s.lose(first);
    const auto second = s.grant();
    const std::stop_token second_stop = s.keeper->stop_token(second);
    s.lose(second);
    for (int i = 0; i < 2; ++i) {
        s.keeper->signal();
        BOOST_TEST(first_stop.stop_requested());
        BOOST_TEST(second_stop.stop_requested());
        BOOST_TEST(s.store.losses_of(first->token) == 1);
        BOOST_TEST(s.store.losses_of(second->token) == 1);
    }
}

BOOST_AUTO_TEST_CASE(loss_that_is_found_before_the_beginning_was_observed_is_observed_after_it_and_once)
{
    observed_scene refused;
    const auto lost = refused.grant_untold();
    refused.lose(lost);

    observed_scene overrun;
    const auto late = overrun.grant_untold();
    overrun.time.advance(28s);
    overrun.forget_newest();

    for (auto* const s : {&refused, &overrun}) {
        const auto& term = s == &refused ? lost : late;
        s->keeper->signal();
        BOOST_TEST(s->store.events.empty());
        s->keeper->observe_beginning(term, s->time.now());
        BOOST_TEST(s->store.count(kind::acquired) == 1);
        BOOST_TEST(s->store.count(kind::lost) == 0, "a hook is called by the signaller, and not under the mutex");
        s->keeper->signal();
        s->keeper->signal();
        BOOST_TEST(s->store.losses_of(term->token) == 1);
    }
}

BOOST_AUTO_TEST_CASE(each_of_two_losses_is_observed_once_before_the_store_goes)
{
    observed_scene s;
    const auto first = s.lost_term(), second = s.lost_term();
    s.keeper->observe_rest();
    BOOST_TEST(s.store.losses_of(first->token) == 1);
    BOOST_TEST(s.store.losses_of(second->token) == 1);
    s.keeper->signal();
    BOOST_TEST(s.store.count(kind::lost) == 2);
}

BOOST_AUTO_TEST_CASE(loss_that_a_release_finds_is_observed_once_and_queued_for_nobody)
{
    observed_scene s;
    const auto term = s.grant(), referred_to = term;  // or the keeper would keep it for the next grant
    s.store.leases.force_release("n");
    BOOST_TEST(s.keeper->end(term, s.ec) == release_outcome::lost);
    BOOST_TEST(s.store.count(kind::lost) == 1);
    BOOST_TEST(term.use_count() == 2);
    s.keeper->signal();
    BOOST_TEST(s.store.count(kind::lost) == 1);
}

// A later attempt through the object took it over while its release was at the store, and so did the one after that.
BOOST_AUTO_TEST_CASE(release_of_a_term_that_later_ones_of_its_object_took_over_is_no_loss)
{
    observed_scene s;
    const auto term = s.grant();
    BOOST_TEST(s.keeper->end_here(term).has_value());
    BOOST_TEST(s.keeper->end(s.grant(), s.ec) == release_outcome::released);
    s.forget_newest();
    BOOST_TEST(s.keeper->has_ended(term, release_outcome::lost) == release_outcome::released);
    BOOST_TEST(s.store.count(kind::released) == 2);
    BOOST_TEST(s.store.count(kind::lost) == 0);
}

// So did one whose grant came too late to be used.
BOOST_AUTO_TEST_CASE(release_of_a_term_that_a_grant_too_late_took_over_is_no_loss)
{
    observed_scene s;
    const auto term = s.grant();
    BOOST_TEST(s.keeper->end_here(term).has_value());
    BOOST_TEST_REQUIRE(s.keeper->begin_attempt());
    const auto result = s.store.try_acquire("n", "o", 30s, s.ec);
    BOOST_TEST((s.keeper->grant(result.token, s.time.now() - 30s) == nullptr));
    s.keeper->attempt_failed();
    BOOST_TEST(s.keeper->has_ended(term, release_outcome::lost) == release_outcome::released);
}

BOOST_AUTO_TEST_CASE(release_that_is_carried_out_after_a_deadline_that_nobody_saw_is_no_loss)
{
    observed_scene s;
    const auto term = s.grant();
    const std::stop_token stop = s.keeper->stop_token(term);
    s.time.advance(27s);
    BOOST_TEST(s.keeper->end(term, s.ec) == release_outcome::released, "the store keeps it for the safety margin");
    s.keeper->signal();
    BOOST_TEST(!stop.stop_requested());
    BOOST_TEST(s.store.count(kind::released) == 1);
    BOOST_TEST(s.store.count(kind::lost) == 0);
}

BOOST_AUTO_TEST_CASE(on_a_clock_that_cannot_be_waited_on_the_release_tells_of_the_loss)
{
    scene<observed, read_only_clock> s;
    const auto term = s.lost_term(), referred_to = term;
    BOOST_TEST(s.store.count(kind::lost) == 0);
    BOOST_TEST(s.keeper->end(term, s.ec) == release_outcome::lost);
    BOOST_TEST(s.store.count(kind::lost) == 1);
    BOOST_TEST(term.use_count() == 2, "nobody would take it from a queue");
    s.keeper->observe_rest();
    BOOST_TEST(s.store.count(kind::lost) == 1);
}

BOOST_AUTO_TEST_CASE(loss_whose_stop_callbacks_run_is_observed_before_the_store_goes_and_not_again)
{
    observed_scene s;
    const auto term = s.grant();
    std::ptrdiff_t before = -1, after = -1;
    const std::stop_callback callback{s.keeper->stop_token(term), [&] {
                                          before = s.store.count(kind::lost);
                                          s.keeper->observe_rest();
                                          after = s.store.count(kind::lost);
                                      }};
    s.lose(term);
    s.keeper->signal();
    BOOST_TEST(before == 0);
    BOOST_TEST(after == 1);
    BOOST_TEST(s.store.count(kind::lost) == 1);
}

BOOST_AUTO_TEST_CASE(term_whose_memory_was_that_of_a_lost_one_is_not_taken_for_it)
{
    observed_scene s;
    auto term = s.lost_term();
    s.keeper->signal();
    const auto* const memory = term.get();
    BOOST_TEST(s.keeper->end(term, s.ec) == release_outcome::lost);
    term.reset();
    term = s.grant();
    BOOST_TEST_REQUIRE(term.get() == memory);
    BOOST_TEST(s.keeper->end(term, s.ec) == release_outcome::released);
    s.keeper->observe_rest();
    BOOST_TEST(s.store.count(kind::lost) == 1);
    BOOST_TEST(s.store.count(kind::released) == 1);
}

BOOST_AUTO_TEST_CASE(store_does_not_go_while_it_is_being_told_of_a_loss)
{
    scene<observed, watched_clock> s;
    const auto term = s.lost_term();
    waits = wakes = 0;
    leasehold_test::gate hold_back;
    s.store.during = [&] { hold_back.pass(); };
    std::atomic<bool> may_go = false;
    std::jthread signaller{[&] { s.keeper->signal(); }};
    BOOST_TEST_REQUIRE(hold_back.reached_by());
    std::jthread last_handle{[&] {
        s.keeper->observe_rest();
        may_go = true;
    }};
    BOOST_TEST(eventually([&] { return waits > 0 || may_go; }));
    BOOST_TEST(waits > 0);
    BOOST_TEST(!may_go);
    hold_back.open();
    last_handle.join();
    BOOST_TEST(wakes > 0);
    BOOST_TEST(s.store.count(kind::lost) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace term_keeper_lost_terms_test
