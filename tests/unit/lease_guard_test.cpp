// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

namespace lease_guard_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::fate;
using leasehold_test::operation;
using leasehold_test::scripted_store;
using lh::release_outcome;

namespace {

using lease_type = lh::basic_lease<scripted_store, lh::manual_clock, lh::fixed_owner_id, lh::no_renewal>;
using guard_type = lease_type::guard_type;

struct fixture {
    std::optional<lh::lease_record> record()
    {
        std::error_code none;
        return store.leases.inspect("n", none);
    }

    lh::manual_clock clock;
    scripted_store store{clock};
    lease_type lease{store, "n", {.ttl = 30s}, clock, lh::fixed_owner_id{"o"}, lh::no_renewal{}};
    guard_type guard = lease.try_acquire();
    std::error_code ec;
};

bool not_held(const std::system_error& e) { return e.code() == lh::errc::not_held; }

constexpr std::array failures{fate::fails, fate::loses_reply, fate::throws, fate::throws_no_code};

}  // namespace
}  // namespace lease_guard_test

BOOST_FIXTURE_TEST_SUITE(lease_guard_test, fixture)

BOOST_AUTO_TEST_CASE(empty_guard_answers_and_refuses)
{
    guard_type empty;
    BOOST_TEST(!empty);
    BOOST_TEST(!empty.held());
    BOOST_TEST(empty.remaining() == 0s);
    BOOST_TEST(empty.token().value() == 0);
    BOOST_TEST(empty.name().empty());
    BOOST_TEST(empty.owner().empty());
    BOOST_TEST(!empty.stop_token().stop_possible());
    BOOST_CHECK_EXCEPTION(empty.renew(), std::system_error, not_held);
    BOOST_CHECK_EXCEPTION(empty.renew(1s), std::system_error, not_held);
    BOOST_CHECK_EXCEPTION(empty.release(), std::system_error, not_held);
    BOOST_CHECK_EXCEPTION(empty.ensure_held(), std::system_error, not_held);
    BOOST_TEST(!empty.renew(ec));
    BOOST_TEST((ec == lh::errc::not_held));
    ec.clear();
    BOOST_TEST(!empty.renew(1s, ec));
    BOOST_TEST((ec == lh::errc::not_held));
    ec.clear();
    BOOST_TEST(empty.release(ec) == release_outcome::unknown);
    BOOST_TEST((ec == lh::errc::not_held));
}

BOOST_AUTO_TEST_CASE(held_guard_tells_its_term)
{
    BOOST_TEST(guard.held());
    BOOST_TEST(guard.remaining() == 27s);
    BOOST_TEST(guard.token().value() == 1);
    BOOST_TEST(guard.name() == "n");
    BOOST_TEST(guard.owner() == "o");
    guard.ensure_held();
}

BOOST_AUTO_TEST_CASE(over_at_the_deadline_which_is_the_ttl_less_the_margin)
{
    clock.advance(27s - 1ns);
    BOOST_TEST(guard.held());
    BOOST_TEST(guard.remaining() == 1ns);
    clock.advance(1ns);
    BOOST_TEST(!guard.held());
    BOOST_TEST(guard.remaining() == 0s);
    BOOST_TEST(!guard);
    BOOST_TEST(!guard.empty(), "empty only once it is released");
    BOOST_CHECK_EXCEPTION(guard.ensure_held(), lh::lease_lost, [](const auto& e) { return e.code() == lh::errc::lost; });
    BOOST_TEST(record().has_value(), "the store keeps it for the margin");
}

BOOST_AUTO_TEST_CASE(destructor_releases)
{
    {
        const guard_type last = std::move(guard);
    }
    BOOST_TEST(!record().has_value());
}

BOOST_AUTO_TEST_CASE(release_tells_whether_it_was_held_up_to_then)
{
    BOOST_TEST(guard.release() == release_outcome::released);
    BOOST_TEST(!guard);
    BOOST_TEST(!record().has_value());
    guard = lease.try_acquire();
    store.leases.force_release("n");
    BOOST_TEST(guard.release(ec) == release_outcome::lost);
    BOOST_TEST(!ec);
    guard = lease.try_acquire();
    clock.advance(30s);
    BOOST_TEST(guard.release(ec) == release_outcome::lost);
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE(release_in_the_margin_is_released)
{
    clock.advance(28s);
    BOOST_TEST(guard.release() == release_outcome::released);
}

BOOST_AUTO_TEST_CASE(failed_release_is_reported_and_the_guard_empty)
{
    for (const fate f : failures) {
        BOOST_TEST_CONTEXT("fate " << static_cast<int>(f))
        {
            store.next(operation::release, f);
            BOOST_CHECK_THROW(guard.release(), lh::store_error);
            BOOST_TEST(!guard);
            guard = lease.try_acquire();
            store.next(operation::release, f);
            BOOST_TEST(guard.release(ec) == release_outcome::unknown);
            BOOST_TEST(static_cast<bool>(ec));
            BOOST_TEST(!guard);
            guard = lease.try_acquire();
            BOOST_TEST(guard.held());
        }
    }
}

BOOST_AUTO_TEST_CASE(destructor_swallows_a_failed_release)
{
    for (const fate f : failures) {
        store.next(operation::release, f);
        guard = {};
        guard = lease.try_acquire();
        BOOST_TEST(guard.held());
    }
}

BOOST_AUTO_TEST_CASE(move_leaves_an_empty_guard_behind)
{
    guard_type other = std::move(guard);
    BOOST_TEST(!guard);
    BOOST_TEST(other.held());
    guard = std::move(other);
    BOOST_TEST(!other);
    BOOST_TEST(guard.held());
    BOOST_TEST(store.sent(operation::release) == 0);
}

BOOST_AUTO_TEST_CASE(move_assignment_releases_what_was_held_before)
{
    lease_type second_lease{store, "m", {.ttl = 30s}, clock, lh::fixed_owner_id{"o"}, lh::no_renewal{}};
    guard = second_lease.try_acquire();
    BOOST_TEST(guard.name() == "m");
    BOOST_TEST(!record().has_value());
    BOOST_TEST(is_held(lease.try_acquire()));
    guard = {};  // before its lease goes
}

BOOST_AUTO_TEST_CASE(self_move_keeps_the_lease)
{
    guard_type& same = guard;
    guard = std::move(same);
    BOOST_TEST(guard.held());
}

BOOST_AUTO_TEST_CASE(swap_exchanges)
{
    guard_type other;
    swap(guard, other);
    BOOST_TEST(!guard);
    BOOST_TEST(other.held());
}

BOOST_AUTO_TEST_CASE(renew_extends_from_now)
{
    clock.advance(20s);
    BOOST_TEST(guard.renew());
    BOOST_TEST(guard.remaining() == 27s);
    BOOST_TEST(record()->remaining == 30s);
    BOOST_TEST(guard.token().value() == 1);
}

BOOST_AUTO_TEST_CASE(renew_of_a_lost_term_is_false_and_no_error)
{
    store.leases.force_release("n");
    BOOST_TEST(!guard.renew());
    BOOST_TEST(!guard.held());
    BOOST_TEST(!guard.renew(ec));
    BOOST_TEST(!ec);
    guard = {};
    guard = lease.try_acquire();
    clock.advance(27s);
    BOOST_TEST(!guard.renew());
    BOOST_TEST(record()->remaining == 3s, "too late to count, so nothing was sent");
}

BOOST_AUTO_TEST_CASE(failed_renew_is_reported_and_the_term_goes_on)
{
    for (const fate f : failures) {
        BOOST_TEST_CONTEXT("fate " << static_cast<int>(f))
        {
            store.next(operation::renew, f);
            BOOST_CHECK_THROW(guard.renew(), lh::store_error);
            store.next(operation::renew, f);
            BOOST_TEST(!guard.renew(ec));
            BOOST_TEST(static_cast<bool>(ec));
            BOOST_TEST(guard.held());
            BOOST_TEST(!guard.stop_token().stop_requested());
        }
    }
    BOOST_TEST(guard.renew(ec));
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE(renew_with_another_ttl)
{
    BOOST_TEST(guard.renew(60s));
    BOOST_TEST(guard.remaining() == 57s);
    BOOST_TEST(record()->remaining == 60s);
    BOOST_TEST(guard.renew(4s));
    BOOST_TEST(guard.remaining() == 1s, "the holder believes the shorter time");
    BOOST_TEST(record()->remaining == 60s, "the store never shortens");
}

BOOST_AUTO_TEST_CASE(renew_refuses_a_ttl_that_cannot_work)
{
    for (const lh::duration bad : {lh::duration{3s}, lh::duration{0}, lh::duration{-1s}, lh::duration::min(),
                                   lh::duration::max(), lh::max_ttl + 1ns}) {
        BOOST_CHECK_EXCEPTION(guard.renew(bad), std::system_error,
                              [](const auto& e) { return e.code() == lh::errc::invalid_terms; });
        BOOST_TEST(!guard.renew(bad, ec));
        BOOST_TEST((ec == lh::errc::invalid_terms));
    }
    BOOST_TEST(store.sent(operation::renew) == 0);
    BOOST_TEST(guard.renew(lh::max_ttl));
    BOOST_TEST(guard.renew(3s + 1ns));
    BOOST_TEST(guard.remaining() == 1ns);
}

BOOST_AUTO_TEST_CASE(stop_token_is_not_stopped_by_a_release)
{
    const std::stop_token stop = guard.stop_token();
    guard.release();
    clock.advance(1h);
    BOOST_TEST(!stop.stop_requested());
}

BOOST_AUTO_TEST_CASE(stop_token_is_stopped_at_the_deadline)
{
    const std::stop_token stop = guard.stop_token();
    BOOST_TEST(stop.stop_possible());
    clock.advance(27s - 1ns);
    BOOST_TEST(!stop.stop_requested());
    clock.advance(1ns);
    BOOST_TEST(stop.stop_requested());
}

BOOST_AUTO_TEST_CASE(stop_token_taken_after_the_loss_is_stopped)
{
    clock.advance(27s);
    BOOST_TEST(guard.stop_token().stop_requested());
    guard = {};
    guard = lease.try_acquire();
    store.leases.force_release("n");
    guard.renew();
    BOOST_TEST(guard.stop_token().stop_requested());
}

BOOST_AUTO_TEST_CASE(each_term_has_its_own_stop_token)
{
    const std::stop_token first = guard.stop_token();
    BOOST_TEST((guard.stop_token() == first));
    guard.release();
    guard = lease.try_acquire();
    const std::stop_token second = guard.stop_token();
    BOOST_TEST((first != second));
    clock.advance(27s);
    BOOST_TEST(!first.stop_requested());
    BOOST_TEST(second.stop_requested());
    guard = {};
    guard = lease.try_acquire();
    BOOST_TEST(!guard.stop_token().stop_requested());
}

BOOST_AUTO_TEST_SUITE_END()
