// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>
#include <unit/basic_lease_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace basic_lease_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::fate;
using leasehold_test::operation;

namespace {

bool is(const std::system_error& e, lh::errc code) { return e.code() == code && !std::string{e.what()}.empty(); }

constexpr std::array failures{fate::fails, fate::loses_reply, fate::throws, fate::throws_no_code};

}  // namespace
}  // namespace basic_lease_test

BOOST_FIXTURE_TEST_SUITE(basic_lease_test, leasehold_test::basic_lease_fixture)

BOOST_AUTO_TEST_CASE(arguments_are_refused_before_any_io)
{
    for (const std::string& bad : {std::string{}, std::string(191, 'x'), std::string("a\0b", 3), std::string{"\xC0\x80"}}) {
        BOOST_CHECK_EXCEPTION((lh::basic_lease{store, bad, lh::lease_terms{}, clock}), std::system_error,
                              [](const std::system_error& e) { return is(e, lh::errc::invalid_name); });
        BOOST_CHECK_EXCEPTION((lh::basic_lease{store, "n", lh::lease_terms{}, clock, lh::fixed_owner_id{bad}}),
                              std::system_error, [](const std::system_error& e) { return is(e, lh::errc::invalid_owner); });
    }
    BOOST_CHECK_EXCEPTION(lease("n", {.ttl = 1s, .safety_margin = 1s}), std::system_error,
                          [](const std::system_error& e) { return is(e, lh::errc::invalid_terms); });
    BOOST_TEST(store.sent(operation::try_acquire) == 0);
}

// 590 years in nanoseconds are five years modulo 2^64.
BOOST_AUTO_TEST_CASE(ttl_that_no_duration_can_hold_is_refused)
{
    const auto refused = [](const std::system_error& e) { return is(e, lh::errc::invalid_terms); };
    BOOST_CHECK_EXCEPTION((lh::basic_lease{store, "n", std::chrono::years{590}, clock}), std::system_error, refused);
    BOOST_CHECK_EXCEPTION((lh::basic_lease{store, "n", std::chrono::hours::max(), clock}), std::system_error, refused);
    BOOST_CHECK_EXCEPTION((lh::basic_lease{store, "n", std::chrono::hours::min(), clock}), std::system_error, refused);
}

BOOST_AUTO_TEST_CASE(policy_that_renews_after_the_deadline_is_refused)
{
    const auto make = [&](lh::duration margin) {
        const lh::basic_lease lease{
            store, "n", {.ttl = 30s, .safety_margin = margin}, clock, lh::fixed_owner_id{"o"}, lh::renew_at_fraction{1, 3}};
    };
    BOOST_CHECK_EXCEPTION(make(20s), std::system_error,
                          [](const std::system_error& e) { return is(e, lh::errc::invalid_terms); });
    make(20s - 1ns);
}

BOOST_AUTO_TEST_CASE(reports_what_it_was_made_with)
{
    const auto l = lease("name", {.ttl = 7s});
    BOOST_TEST(l.name() == "name");
    BOOST_TEST(l.owner() == "o");
    BOOST_TEST((l.terms() == lh::lease_terms{.ttl = 7s}));
    BOOST_TEST(&l.store() == &store);
}

BOOST_AUTO_TEST_CASE(default_owner_is_unique_to_each_object)
{
    const lh::basic_lease a{store, "n"}, b{store, "n"};
    BOOST_TEST(a.owner() != b.owner());
}

BOOST_AUTO_TEST_CASE(busy_is_an_empty_guard_and_no_error)
{
    store.leases.try_acquire("n", "somebody else", 10s, ec);
    auto l = lease();
    BOOST_TEST(!is_held(l.try_acquire()));
    ec = lh::errc::store_failure;
    BOOST_TEST(!is_held(l.try_acquire(ec)));
    BOOST_TEST(!ec);
    clock.advance(10s);
    BOOST_TEST(is_held(l.try_acquire()));
}

BOOST_AUTO_TEST_CASE(second_attempt_through_one_object_is_busy_without_io)
{
    auto l = lease();
    auto guard = l.try_acquire();
    BOOST_TEST(static_cast<bool>(guard));
    BOOST_TEST(!is_held(l.try_acquire()));
    BOOST_TEST(!is_held(l.try_acquire(ec)));
    BOOST_TEST(!ec);
    BOOST_TEST(store.sent(operation::try_acquire) == 1);
    guard.release();
    BOOST_TEST(is_held(l.try_acquire()));
}

BOOST_AUTO_TEST_CASE(lost_guard_that_is_alive_is_in_nobodys_way)
{
    auto l = lease();
    const auto lost = l.try_acquire();
    clock.advance(1h);
    BOOST_TEST(!lost);
    auto guard = l.try_acquire();
    BOOST_TEST(static_cast<bool>(guard));
    BOOST_TEST(guard.token().value() > lost.token().value());
    BOOST_TEST(!lost);
    BOOST_TEST(lost.remaining() == 0s);
}

BOOST_AUTO_TEST_CASE(release_of_a_lost_guard_leaves_the_next_term_alone)
{
    auto l = lease();
    auto lost = l.try_acquire();
    clock.advance(1h);
    const auto guard = l.try_acquire();
    BOOST_TEST(lost.release() == lh::release_outcome::lost);
    BOOST_TEST(guard.held());
    BOOST_TEST(!is_held(l.try_acquire()), "the object's own guard holds");
    lh::basic_lease other{store, "n", clock, lh::fixed_owner_id{"other"}};
    BOOST_TEST(!is_held(other.try_acquire()));
}

BOOST_AUTO_TEST_CASE(guard_can_be_replaced_by_the_next_one_after_a_loss)
{
    auto l = lease();
    auto guard = l.acquire();
    clock.advance(1h);
    guard = l.acquire();
    BOOST_TEST(guard.held());
}

BOOST_AUTO_TEST_CASE(lost_guard_hides_no_outage)
{
    auto l = lease();
    const auto lost = l.try_acquire();
    clock.advance(1h);
    store.next(operation::try_acquire, fate::fails);
    BOOST_TEST(!is_held(l.try_acquire(ec)));
    BOOST_TEST((ec == lh::errc::store_unavailable));
}

BOOST_AUTO_TEST_CASE(lease_moves_with_what_it_holds)
{
    auto l = lease();
    auto guard = l.try_acquire();
    auto moved = std::move(l);
    BOOST_TEST(!is_held(moved.try_acquire()));
    BOOST_TEST(guard.release() == lh::release_outcome::released);
    moved.lock();
    auto twice = std::move(moved);
    BOOST_TEST(twice.guard().held());
    twice.unlock();
    BOOST_TEST(!twice.inspect().has_value());
}

BOOST_AUTO_TEST_CASE(guard_outlives_its_lease)
{
    auto guard = [this] {
        auto l = lease();
        return l.try_acquire();
    }();
    clock.advance(10s);
    BOOST_TEST(guard.remaining() == 17s);
    BOOST_TEST(guard.name() == "n");
    BOOST_TEST(guard.release() == lh::release_outcome::released);
}

BOOST_AUTO_TEST_CASE(threads_that_share_an_object_exclude_each_other)
{
    auto l = lease();
    std::atomic<int> inside = 0, terms = 0;
    std::atomic<bool> overlap = false;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; ++i) {
                std::error_code error;
                if (auto guard = l.try_acquire(error)) {
                    if (++inside != 1) overlap = true;
                    ++terms;
                    --inside;
                }
                if (error) overlap = true;
            }
        });
    for (std::thread& t : threads) t.join();
    BOOST_TEST(!overlap);
    BOOST_TEST(terms > 0);
    BOOST_TEST(free());
}

// The store still has the term, and takes the attempt for its owner's.
BOOST_AUTO_TEST_CASE(attempt_through_the_object_while_a_release_is_under_way_makes_the_release_no_loss)
{
    bool asked = false;
    auto l = lease();
    auto guard = l.try_acquire();
    const std::stop_token lost = guard.stop_token();
    decltype(guard) next;
    store.before(operation::release, [&](std::string_view) {
        if (!std::exchange(asked, true)) next = l.try_acquire(ec);
    });
    BOOST_TEST((guard.release() == lh::release_outcome::released));
    BOOST_TEST(!ec);
    BOOST_TEST(next.held());
    BOOST_TEST((next.release() == lh::release_outcome::released));
    BOOST_TEST(free());
    clock.advance(10min);  // a loss would have been signalled by then
    BOOST_TEST(!lost.stop_requested());
}

BOOST_AUTO_TEST_CASE(term_that_comes_and_goes_through_the_object_while_a_release_is_under_way_makes_the_release_no_loss)
{
    for (const bool lost_instead : {false, true}) {
        bool asked = false;
        auto l = lease();
        auto guard = l.try_acquire();
        const std::stop_token lost = guard.stop_token();
        store.before(operation::release, [&](std::string_view) {
            if (std::exchange(asked, true)) return;
            auto next = l.try_acquire(ec);
            if (lost_instead) {
                store.leases.force_release("n");
                BOOST_TEST(!next.renew(ec));
                const auto third = l.try_acquire(ec);
                BOOST_TEST(third.held());
            }
        });
        BOOST_TEST((guard.release() == lh::release_outcome::released));
        BOOST_TEST(!ec);
        BOOST_TEST(free());
        clock.advance(10min);  // a loss would have been signalled by then
        BOOST_TEST(!lost.stop_requested());
    }
}

BOOST_AUTO_TEST_CASE(attempt_through_the_object_while_a_lost_term_is_released_leaves_it_lost)
{
    bool asked = false;
    auto l = lease("n", {.ttl = 30s, .min_hold = 1h});
    auto guard = l.try_acquire();
    clock.advance(10min);
    decltype(guard) next;
    store.before(operation::release, [&](std::string_view) {
        if (!std::exchange(asked, true)) next = l.try_acquire(ec);
    });
    BOOST_TEST((guard.release() == lh::release_outcome::lost));
    BOOST_TEST(next.held());
}

BOOST_AUTO_TEST_CASE(token_grows_from_term_to_term)
{
    auto l = lease();
    lh::fencing_token last;
    for (int i = 0; i < 5; ++i) {
        const auto guard = l.try_acquire();
        BOOST_TEST((guard.token() > last));
        last = guard.token();
    }
}

BOOST_AUTO_TEST_CASE(failed_attempt_is_an_error_and_the_object_usable)
{
    for (const fate f : failures) {
        BOOST_TEST_CONTEXT("fate " << static_cast<int>(f))
        {
            auto l = lease();
            store.next(operation::try_acquire, f);
            BOOST_CHECK_THROW((void)l.try_acquire(), lh::store_error);
            store.next(operation::try_acquire, f);
            const auto none = l.try_acquire(ec);
            BOOST_TEST(!none);
            BOOST_TEST(!none.held());
            BOOST_TEST(static_cast<bool>(ec));
            const auto guard = l.try_acquire(ec);
            BOOST_TEST(!ec);
            BOOST_TEST(guard.held());
        }
    }
}

BOOST_AUTO_TEST_CASE(attempt_whose_reply_was_lost_is_safe_to_repeat)
{
    auto l = lease();
    store.next(operation::try_acquire, fate::loses_reply);
    BOOST_TEST(!is_held(l.try_acquire(ec)));
    BOOST_TEST((ec == lh::errc::store_timeout));
    BOOST_TEST(token_of(l.try_acquire()).value() == 2, "the term that nobody knows of is superseded");
}

BOOST_AUTO_TEST_CASE(errors_say_what_was_tried)
{
    auto l = lease();
    store.next(operation::try_acquire, fate::fails);
    BOOST_CHECK_EXCEPTION((void)l.try_acquire(), lh::store_error, [](const lh::store_error& e) {
        return std::string{e.what()} == "leasehold: try_acquire 'n': the store can't be reached" &&
               is(e, lh::errc::store_unavailable);
    });
}

BOOST_AUTO_TEST_CASE(grant_that_takes_longer_than_the_term_is_a_timeout_and_released)
{
    auto l = lease();
    for (const lh::duration slow : {27s, 29s}) {
        store.after(operation::try_acquire, [&](auto) { clock.advance(slow); });
        BOOST_TEST(!is_held(l.try_acquire(ec)));
        BOOST_TEST((ec == lh::errc::store_timeout));
        BOOST_TEST(free());
    }
    store.after(operation::try_acquire, [&](auto) { clock.advance(27s - 1ns); });
    BOOST_TEST(is_held(l.try_acquire()));
}

BOOST_AUTO_TEST_CASE(grant_carried_out_late_is_released_whatever_min_hold_is)
{
    auto l = lease("n", {.ttl = 30s, .min_hold = 1h});
    store.before(operation::try_acquire, [&](auto) { clock.advance(1min); });
    BOOST_CHECK_EXCEPTION((void)l.try_acquire(), lh::store_error, [](const lh::store_error& e) {
        return e.code() == lh::errc::store_timeout && e.code() == std::errc::timed_out;
    });
    BOOST_TEST(free());
}

BOOST_AUTO_TEST_CASE(min_hold_keeps_the_name_closed_after_an_early_release)
{
    auto l = lease("n", {.ttl = 30s, .min_hold = 1min});
    BOOST_TEST(is_held(l.try_acquire()));
    clock.advance(1min - 1ns);
    BOOST_TEST(!is_held(l.try_acquire()), "the same owner neither");
    clock.advance(1ns);
    BOOST_TEST(is_held(l.try_acquire()));
}

// The store still has the term, and would take the attempt for its owner's.
BOOST_AUTO_TEST_CASE(min_hold_keeps_the_object_closed_while_the_release_is_under_way)
{
    auto l = lease("n", {.ttl = 30s, .min_hold = 1min});
    auto guard = l.try_acquire();
    bool asked = false;
    store.before(operation::release, [&](auto) {
        if (!std::exchange(asked, true)) BOOST_TEST(!is_held(l.try_acquire()));
    });
    BOOST_TEST((guard.release() == lh::release_outcome::released));
    BOOST_TEST(!is_held(l.try_acquire()));
    clock.advance(1min);
    BOOST_TEST(is_held(l.try_acquire()));
}

BOOST_AUTO_TEST_CASE(waiter_sleeps_while_a_release_that_keeps_the_name_closed_is_under_way)
{
    auto l = lease("n", {.ttl = 30s, .min_hold = 1h});
    auto guard = l.try_acquire();
    store.before(operation::release, [&](auto) {
        clock.advance(1min);  // past the deadline of the term
        lh::waker to_wake;
        lh::waiting::lease_wait waits{lh::detail::lease_access::keeper(l), lh::time_point::max(), to_wake};
        const lh::waiting::wait_step step = waits.next(clock.now(), false);
        BOOST_TEST((step.action == lh::waiting::wait_action::sleep));
        BOOST_TEST((step.at == lh::time_point::max()), "until it is woken");
    });
    guard.release();
}

// They learn from the answer how long it is kept closed.
BOOST_AUTO_TEST_CASE(who_is_woken_by_a_release_that_keeps_the_name_closed_can_ask_the_store)
{
    auto l = lease("n", {.ttl = 30s, .min_hold = 1h});
    auto guard = l.try_acquire();
    const auto ask = [](void* of) noexcept {
        std::error_code failed;
        BOOST_TEST(!is_held(static_cast<decltype(l)*>(of)->try_acquire(failed)));
        BOOST_TEST(!failed);
    };
    lh::waker to_wake{ask, &l};
    const lh::waiting::local_queue::place first{lh::waiting::queue_of(store), lh::waiting::key_of(store, "n"), to_wake};
    guard.release();
    BOOST_TEST(store.sent(operation::try_acquire) == 2);
}

// A process that dies leaves the name to others at the end of its ttl; an exception is no worse.
BOOST_AUTO_TEST_CASE(exception_that_ends_a_term_leaves_the_name_open_whatever_min_hold_is)
{
    auto l = lease("n", {.ttl = 30s, .min_hold = 20h});
    const auto throws = [] { throw std::out_of_range{"work"}; };
    const auto holds = [&](auto end) {
        auto guard = l.try_acquire();
        BOOST_TEST_REQUIRE(guard.held());
        end(guard);
    };
    BOOST_CHECK_THROW(l.try_run(throws), std::out_of_range);
    BOOST_TEST(free());
    BOOST_CHECK_THROW(holds([&](auto&) { throws(); }), std::out_of_range);
    BOOST_TEST(free());
    struct at_end_of_scope {
        std::function<void()> act;
        ~at_end_of_scope() { act(); }
    };
    const auto during_an_exception = [&](std::function<void()> act) {
        const at_end_of_scope acts{std::move(act)};
        throws();
    };
    BOOST_CHECK_THROW(during_an_exception([&] { holds([](auto&) {}); }), std::out_of_range);
    BOOST_TEST(!free(), "the exception had nothing to do with that term");
}

BOOST_AUTO_TEST_CASE(inspect_tells_free_held_and_failure_apart)
{
    auto l = lease();
    BOOST_TEST(!l.inspect().has_value());
    const auto guard = l.try_acquire();
    clock.advance(1s);
    BOOST_TEST((l.inspect() == lh::lease_record{.name = "n", .owner = "o", .token = guard.token(), .remaining = 29s}));
    for (const fate f : failures) {
        BOOST_TEST_CONTEXT("fate " << static_cast<int>(f))
        {
            store.next(operation::inspect, f);
            BOOST_CHECK_THROW((void)l.inspect(), lh::store_error);
            store.next(operation::inspect, f);
            BOOST_TEST(!l.inspect(ec).has_value());
            BOOST_TEST(static_cast<bool>(ec));
        }
    }
    BOOST_TEST(l.inspect(ec).has_value());
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE(longest_terms_work)
{
    auto l = lh::basic_lease{store, "n", {.ttl = lh::max_ttl, .safety_margin = 0s, .min_hold = lh::max_ttl}, clock};
    auto guard = l.try_acquire();
    BOOST_TEST(guard.remaining() == lh::max_ttl);
    clock.advance(lh::max_ttl - 1ns);
    guard.release();
    BOOST_TEST(store.last_keep_closed() == 1ns);
}

BOOST_AUTO_TEST_SUITE_END()
