// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>
#include <contract/asked_once.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace basic_static_lease_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using lh::release_outcome;

namespace {

using memory = lh::static_memory_store<4, lh::manual_clock>;

// A store whose next call fails, or takes a while.
struct testy_store {
    static constexpr std::size_t max_name_bytes = 8;
    static constexpr std::size_t max_owner_bytes = 8;

    template <class Error, class Call>
    auto carry_out(Error& ec, Call call)
    {
        ++calls;
        if (const lh::errc code = std::exchange(fails_with, lh::errc{}); code != lh::errc{}) {
            ec = code;
            return decltype(call()){};
        }
        const auto result = call();
        clock.advance(std::exchange(takes, 0s));
        return result;
    }

    template <class Error>
    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, Error& ec) noexcept
    {
        return carry_out(ec, [&] { return leases.try_acquire(name, owner, ttl, ec); });
    }
    template <class Error>
    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration ttl, Error& ec) noexcept
    {
        return carry_out(ec, [&] { return leases.renew(name, owner, token, ttl, ec); });
    }
    template <class Error>
    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration min_hold_left, Error& ec) noexcept
    {
        return carry_out(ec, [&] { return leases.release(name, owner, token, min_hold_left, ec); });
    }
    auto look_up(std::string_view name) const { return leases.look_up(name); }

    lh::manual_clock clock;
    memory leases{clock};
    int calls = 0;
    lh::errc fails_with{};
    lh::duration takes{};
};
static_assert(lh::plain_lease_store<testy_store> && lh::plain_lease_store<memory>);

template <class Policy = lh::no_renewal>
using lease_of = lh::basic_static_lease<testy_store, lh::manual_clock, lh::static_owner_id, Policy>;

struct fixture {
    testy_store store;
    lh::manual_clock clock = store.clock;
    lease_of<> lease{store, "n", {.ttl = 10s}, clock, lh::static_owner_id{"a"}};
    lease_of<> other{store, "n", {.ttl = 10s}, clock, lh::static_owner_id{"b"}};
    lh::plain_error ec = lh::errc::store_conflict;  // success has to clear it
};

static_assert(!std::copy_constructible<lease_of<>> && !std::copy_constructible<lease_of<>::guard_type>);
static_assert(std::is_nothrow_move_constructible_v<lease_of<>::guard_type> &&
              std::is_nothrow_move_assignable_v<lease_of<>::guard_type>);
static_assert(lh::error_report<lh::plain_error> && lh::error_report<std::error_code> && !lh::error_report<int>);

}  // namespace
}  // namespace basic_static_lease_test

BOOST_FIXTURE_TEST_SUITE(basic_static_lease_test, fixture)

BOOST_AUTO_TEST_CASE(guard_holds_renews_and_releases)
{
    auto guard = lease.try_acquire(ec);
    BOOST_TEST(!ec);
    BOOST_TEST(guard.held());
    BOOST_TEST(guard.remaining() == 9s);
    BOOST_TEST((guard.name() == "n" && guard.owner() == "a" && guard.lease() == &lease));
    const auto token = guard.token();
    BOOST_TEST((lease.inspect()->owner == "a" && lease.inspect()->token == token));
    ec = lh::errc::lost;
    BOOST_TEST((lease.inspect(ec) == lease.inspect()));
    BOOST_TEST(!ec);
    clock.advance(5s);
    ec = lh::errc::lost;
    BOOST_TEST(guard.renew(ec));
    BOOST_TEST(!ec);
    BOOST_TEST(guard.remaining() == 9s);
    BOOST_TEST((guard.token() == token));
    ec = lh::errc::lost;
    BOOST_TEST(guard.release(ec) == release_outcome::released);
    BOOST_TEST(!ec);
    BOOST_TEST(!guard);
    BOOST_TEST(!lease.inspect().has_value());
}

BOOST_AUTO_TEST_CASE(somebody_elses_lease_is_busy_and_no_error)
{
    const auto guard = lease.try_acquire(ec);
    ec = lh::errc::lost;
    BOOST_TEST(!is_held(other.try_acquire(ec)));
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE(own_guard_that_is_alive_is_busy_without_a_call)
{
    const auto guard = lease.try_acquire(ec);
    store.calls = 0;
    BOOST_TEST(!is_held(lease.try_acquire(ec)));
    BOOST_TEST(!ec);
    BOOST_TEST(store.calls == 0);
}

BOOST_AUTO_TEST_CASE(destructor_releases)
{
    {
        const auto guard = lease.try_acquire(ec);
    }
    BOOST_TEST(is_held(other.try_acquire(ec)));
    BOOST_TEST(is_held(lease.try_acquire(ec)));
}

BOOST_AUTO_TEST_CASE(holder_stops_believing_before_the_store_lets_anybody_in)
{
    auto guard = lease.try_acquire(ec);
    clock.advance(9s - 1ns);
    BOOST_TEST(guard.held());
    clock.advance(1ns);
    BOOST_TEST(!guard.held());
    BOOST_TEST(guard.remaining() == 0s);
    BOOST_TEST(!is_held(other.try_acquire(ec)));
    store.calls = 0;
    BOOST_TEST(!guard.renew(ec));  // too late here, although the store would have
    BOOST_TEST(!ec);
    BOOST_TEST(store.calls == 0);
    clock.advance(1s);
    BOOST_TEST(guard.remaining() == 0s);
    const auto next = other.try_acquire(ec);
    BOOST_TEST(next.held());
    BOOST_TEST((next.token() > guard.token()));
    BOOST_TEST(guard.release(ec) == release_outcome::lost);
    BOOST_TEST(next.held());
    BOOST_TEST((other.inspect()->owner == "b"));
}

BOOST_AUTO_TEST_CASE(renewal_after_the_deadline_does_not_reach_the_store)
{
    auto guard = lease.try_acquire(ec);
    clock.advance(9s);
    store.calls = 0;
    BOOST_TEST(!guard.renew(ec));
    BOOST_TEST(!ec);
    BOOST_TEST(store.calls == 0);
}

BOOST_AUTO_TEST_CASE(deadline_counts_from_before_the_attempt)
{
    store.takes = 4s;
    BOOST_TEST(remaining_of(lease.try_acquire(ec)) == 5s);
}

BOOST_AUTO_TEST_CASE(grant_that_comes_after_its_deadline_is_a_time_out_and_leaves_nothing_behind)
{
    lease_of<> once{store, "n", {.ttl = 10s, .min_hold = 1h}, clock, lh::static_owner_id{"a"}};
    store.takes = 9s;
    BOOST_TEST(!is_held(once.try_acquire(ec)));
    BOOST_TEST((ec == lh::errc::store_timeout));
    BOOST_TEST(is_held(other.try_acquire(ec)));
    BOOST_TEST(is_held(once.try_acquire(ec)));
}

BOOST_AUTO_TEST_CASE(term_that_the_store_ended_is_lost_at_the_next_renewal)
{
    auto guard = lease.try_acquire(ec);
    store.leases.force_release("n");
    BOOST_TEST(guard.held());
    BOOST_TEST(!guard.renew(ec));
    BOOST_TEST(!ec);
    BOOST_TEST(!guard.held());
    store.calls = 0;
    ec = lh::errc::store_conflict;
    BOOST_TEST(guard.release(ec) == release_outcome::lost);
    BOOST_TEST(!ec);
    BOOST_TEST((guard.release(ec) == release_outcome::unknown && ec == lh::errc::not_held), "it is empty by now");
    BOOST_TEST(store.calls == 0);
    guard = lease.try_acquire(ec);
    BOOST_TEST(guard.held());
    BOOST_TEST(guard.release(ec) == release_outcome::released);
}

BOOST_AUTO_TEST_CASE(renewal_that_is_answered_after_the_deadline_does_not_count)
{
    auto guard = lease.try_acquire(ec);
    store.takes = 9s;
    BOOST_TEST(!guard.renew(ec));
    BOOST_TEST(!ec);
    BOOST_TEST(!guard.held());
}

BOOST_AUTO_TEST_CASE(renewal_takes_another_ttl_and_keeps_it)
{
    auto guard = lease.try_acquire(ec);
    BOOST_TEST(guard.renew(20s, ec));
    BOOST_TEST(guard.remaining() == 19s);
    clock.advance(15s);
    BOOST_TEST(guard.renew(ec));
    BOOST_TEST(guard.remaining() == 19s);
    BOOST_TEST(!guard.renew(1s, ec));  // as long as the margin
    BOOST_TEST((ec == lh::errc::invalid_terms));
    BOOST_TEST(guard.remaining() == 19s);
}

BOOST_AUTO_TEST_CASE(min_hold_keeps_it_closed_after_an_early_release)
{
    lease_of<> job{store, "n", {.ttl = 10s, .min_hold = 60s}, clock, lh::static_owner_id{"a"}};
    auto guard = job.try_acquire(ec);
    clock.advance(2s);
    BOOST_TEST(guard.release(ec) == release_outcome::released);
    clock.advance(58s - 1ns);
    BOOST_TEST(!is_held(job.try_acquire(ec)));
    BOOST_TEST(!is_held(other.try_acquire(ec)));
    clock.advance(1ns);
    BOOST_TEST(is_held(other.try_acquire(ec)));
}

BOOST_AUTO_TEST_CASE(min_hold_does_not_count_after_a_loss)
{
    lease_of<> job{store, "n", {.ttl = 10s, .min_hold = 60s}, clock, lh::static_owner_id{"a"}};
    auto guard = job.try_acquire(ec);
    clock.advance(9500ms);  // past the deadline, and before the end in the store
    BOOST_TEST(guard.release(ec) == release_outcome::released);
    BOOST_TEST(is_held(other.try_acquire(ec)));
}

BOOST_AUTO_TEST_CASE(failures_of_the_store_are_reported_and_nothing_is_held)
{
    store.fails_with = lh::errc::store_failure;
    BOOST_TEST(!is_held(lease.try_acquire(ec)));
    BOOST_TEST((ec == lh::errc::store_failure));
    auto guard = lease.try_acquire(ec);
    BOOST_TEST(!ec);
    store.fails_with = lh::errc::store_unavailable;
    BOOST_TEST(!guard.renew(ec));
    BOOST_TEST((ec == lh::errc::store_unavailable));
    BOOST_TEST(guard.held());  // which it does until its deadline
    store.fails_with = lh::errc::store_unavailable;
    BOOST_TEST(guard.release(ec) == release_outcome::unknown);
    BOOST_TEST((ec == lh::errc::store_unavailable));
    BOOST_TEST(!guard);
}

BOOST_AUTO_TEST_CASE(std_error_code_will_do_as_well)
{
    std::error_code code;
    store.fails_with = lh::errc::store_failure;
    BOOST_TEST(!is_held(lease.try_acquire(code)));
    BOOST_TEST(code == lh::errc::store_failure);
    auto guard = lease.try_acquire(code);
    BOOST_TEST(!code);
    BOOST_TEST(guard.renew(code));
    BOOST_TEST(guard.release(code) == release_outcome::released);
    BOOST_TEST(!guard.renew(code));
    BOOST_TEST(code == lh::errc::not_held);
}

BOOST_AUTO_TEST_CASE(arguments_that_can_not_work_are_reported_by_each_attempt)
{
    const auto refused = [&](std::string_view name, lh::lease_terms terms, const char* owner) {
        lease_of<> bad{store, name, terms, clock, lh::static_owner_id{owner}};
        for (int i = 0; i < 2; ++i) BOOST_TEST(!is_held(bad.try_acquire(ec)));
        return ec.code();
    };
    store.calls = 0;
    constexpr lh::lease_terms terms{};
    BOOST_TEST(refused("", terms, "a") == lh::errc::invalid_name);
    BOOST_TEST(refused("123456789", terms, "a") == lh::errc::invalid_name);  // the store has room for 8
    BOOST_TEST(refused("\xFF", terms, "a") == lh::errc::invalid_name);
    BOOST_TEST(refused("n", terms, "") == lh::errc::invalid_owner);
    BOOST_TEST(refused("n", terms, "123456789") == lh::errc::invalid_owner);
    BOOST_TEST(refused("n", {.ttl = 0s}, "a") == lh::errc::invalid_terms);
    BOOST_TEST(refused("n", {.ttl = 1s, .safety_margin = 1s}, "a") == lh::errc::invalid_terms);
    BOOST_TEST(store.calls == 0);
    lease_of<lh::renew_at_fraction> late{store, "n", {.ttl = 10s, .safety_margin = 7s}, clock, lh::static_owner_id{"a"}};
    BOOST_TEST(!is_held(late.try_acquire(ec)));
    BOOST_TEST((ec == lh::errc::invalid_terms));
}

BOOST_AUTO_TEST_CASE(owner_may_be_a_text_that_is_made_when_asked_for)
{
    memory leases{clock};
    lh::basic_static_lease random{leases, "n", {.ttl = 10s}, clock, lh::random_owner_id{}};
    BOOST_TEST(random.owner().size() >= 32U);
    const auto guard = random.try_acquire(ec);
    BOOST_TEST(guard.held());
    BOOST_TEST((random.inspect()->owner == random.owner()));
}

BOOST_AUTO_TEST_CASE(empty_guard_answers_and_refuses)
{
    lease_of<>::guard_type empty;
    BOOST_TEST((!empty && !empty.held() && empty.remaining() == 0s && empty.token() == lh::fencing_token{}));
    BOOST_TEST((empty.name().empty() && empty.owner().empty() && empty.lease() == nullptr));
    for (const auto call :
         {+[](lease_of<>::guard_type&g, lh::plain_error&e) { return g.renew(e); },
          +[](lease_of<>::guard_type&g, lh::plain_error&e) { return g.renew(10s, e); },
          +[](lease_of<>::guard_type&g, lh::plain_error&e) { return g.renew_if_due(e); },
          +[](lease_of<>::guard_type&g, lh::plain_error&e) { return g.release(e) == release_outcome::released; }}) {
        ec.clear();
        BOOST_TEST(!call(empty, ec));
        BOOST_TEST((ec == lh::errc::not_held));
    }
}

BOOST_AUTO_TEST_CASE(guard_moves_and_what_it_held_before_is_released)
{
    lease_of<> second{store, "m", {.ttl = 10s}, clock, lh::static_owner_id{"a"}};
    auto one = lease.try_acquire(ec);
    auto two = second.try_acquire(ec);
    one = std::move(two);
    BOOST_TEST((one.name() == "m" && one.held()));
    BOOST_TEST(!lease.inspect().has_value());
    auto three = std::move(one);
    BOOST_TEST((!one && three.held()));
    swap(one, three);
    BOOST_TEST((one.held() && !three));
}

BOOST_AUTO_TEST_CASE(policy_says_when_a_renewal_is_due)
{
    lease_of<lh::renew_at_fraction> renewed{
        store, "n", {.ttl = 9s}, clock, lh::static_owner_id{"a"}, lh::renew_at_fraction{1, 3}};
    auto guard = renewed.try_acquire(ec);
    store.calls = 0;
    clock.advance(3s - 1ns);
    BOOST_TEST(guard.renew_if_due(ec));
    BOOST_TEST(store.calls == 0);
    clock.advance(1ns);
    BOOST_TEST(guard.renew_if_due(ec));
    BOOST_TEST(store.calls == 1);
    BOOST_TEST(guard.remaining() == 8100ms);
    for (int i = 0; i < 20; ++i) {
        clock.advance(1s);
        BOOST_TEST(guard.renew_if_due(ec));
    }
    BOOST_TEST(!is_held(other.try_acquire(ec)));
}

BOOST_AUTO_TEST_CASE(renewal_that_failed_is_tried_again_after_a_pause_of_the_policy)
{
    lease_of<lh::renew_at_fraction> renewed{
        store, "n", {.ttl = 9s}, clock, lh::static_owner_id{"a"}, lh::renew_at_fraction{1, 3}};
    auto guard = renewed.try_acquire(ec);
    clock.advance(3s);
    store.calls = 0;
    store.fails_with = lh::errc::store_unavailable;
    BOOST_TEST(guard.renew_if_due(ec));  // it is still held
    BOOST_TEST((ec == lh::errc::store_unavailable));
    BOOST_TEST(guard.renew_if_due(ec));
    BOOST_TEST(!ec);
    BOOST_TEST(store.calls == 1);
    clock.advance(200ms);
    BOOST_TEST(guard.renew_if_due(ec));
    BOOST_TEST(store.calls == 2);
    BOOST_TEST(guard.remaining() == 8100ms);
}

BOOST_AUTO_TEST_CASE(nothing_is_renewed_that_is_over)
{
    lease_of<lh::renew_at_fraction> renewed{store, "n", {.ttl = 10s}, clock, lh::static_owner_id{"a"}};
    auto guard = renewed.try_acquire(ec);
    clock.advance(9s);
    store.calls = 0;
    BOOST_TEST(!guard.renew_if_due(ec));
    BOOST_TEST(!ec);
    BOOST_TEST(store.calls == 0);
    auto never = other.try_acquire(ec);
    BOOST_TEST(!never);
}

BOOST_AUTO_TEST_CASE(no_renewal_leaves_the_term_to_its_deadline)
{
    auto guard = lease.try_acquire(ec);
    store.calls = 0;
    clock.advance(9s - 1ns);
    BOOST_TEST(guard.renew_if_due(ec));
    clock.advance(1ns);
    BOOST_TEST(!guard.renew_if_due(ec));
    BOOST_TEST(store.calls == 0);
}

BOOST_AUTO_TEST_SUITE_END()
