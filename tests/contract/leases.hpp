// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_LEASES_HPP
#define LEASEHOLD_TESTS_CONTRACT_LEASES_HPP

#include <contract/asked_once.hpp>
#include <contract/scene.hpp>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

namespace leasehold::contract {

inline constexpr lease_terms long_terms{.ttl = long_ttl};

// A lease on the scene's own name, on the holder's clock.
template <store_fixture Fixture, owner_id OwnerId = random_owner_id, renew_policy Policy = renew_at_fraction>
auto lease_on(scene<Fixture>& s, store_of<Fixture>& store, lease_terms terms = long_terms, OwnerId owner = {},
              Policy policy = {})
{
    return basic_lease{store, s.name(), terms, s.clock(), std::move(owner), std::move(policy)};
}

// A guard of a lease that is free. A machine that is held up for longer than the ttl gets another try.
template <class Lease>
auto guard_of(Lease& lease)
{
    for (int tries = 1;; ++tries) {
        std::error_code ec;
        auto guard = lease.try_acquire(ec);
        if (guard && guard.held()) return guard;
        if (tries == 20 || (ec && ec != errc::store_timeout))
            throw std::runtime_error{"no guard of a free lease: " + ec.message()};
    }
}

// Ends the guard's term in the store without its knowledge, as an operator's command would.
template <class Store, class Guard>
void end_underneath(Store& store, const Guard& guard)
{
    if (!release(store, guard.name(), guard.owner(), guard.token()))
        throw std::logic_error{"the guard's term is not in the store"};
}

// basic_lease over the store: attempts, and what guards show.
template <store_fixture Fixture>
void add_guards(case_list<Fixture> cases)
{
    cases.add("guard_shows_the_term_that_the_store_has", [](auto& s) {
        auto lease = lease_on(s, s.store());
        BOOST_TEST(!lease.inspect().has_value());
        auto guard = lease.try_acquire();
        BOOST_REQUIRE(static_cast<bool>(guard));
        BOOST_TEST(guard.held());
        BOOST_TEST(guard.token() > fencing_token{});
        BOOST_TEST(guard.remaining() > 0ns);
        BOOST_TEST(guard.remaining() <= long_terms.ttl - long_terms.margin());
        BOOST_CHECK_NO_THROW(guard.ensure_held());
        const auto record = inspect(s.other(), s.name());
        BOOST_REQUIRE(record.has_value());
        BOOST_TEST(record->owner == guard.owner());
        BOOST_TEST(record->token == guard.token());
        BOOST_TEST(lease.inspect()->token == guard.token());
    });

    cases.add("guard_releases_when_told_or_destroyed", [](auto& s) {
        auto lease = lease_on(s, s.store());
        fencing_token first;
        {
            auto guard = lease.try_acquire();
            first = guard.token();
            BOOST_TEST(inspect(s.other(), s.name()).has_value());
        }
        BOOST_TEST(!inspect(s.other(), s.name()).has_value());
        auto guard = lease.try_acquire();
        BOOST_TEST(guard.token() > first);
        BOOST_TEST(guard.release() == release_outcome::released);
        BOOST_TEST(!inspect(s.other(), s.name()).has_value());
        BOOST_TEST(!static_cast<bool>(guard));
        BOOST_TEST(!guard.held());
        BOOST_TEST(guard.remaining() == 0ns);
    });

    cases.add("another_lease_object_is_busy_meanwhile", [](auto& s) {
        auto mine = lease_on(s, s.store());
        auto theirs = lease_on(s, s.other());
        auto guard = mine.try_acquire();
        BOOST_TEST(guard.held());
        BOOST_TEST(!is_held(theirs.try_acquire()));
        std::error_code ec = leftover();
        BOOST_TEST(!is_held(theirs.try_acquire(ec)));
        BOOST_TEST(!ec);
        guard.release();
        BOOST_TEST(is_held(theirs.try_acquire()));
    });

    cases.add("lease_object_is_busy_while_its_guard_lives", [](auto& s) {
        auto lease = lease_on(s, s.store());
        auto guard = lease.try_acquire();
        const fencing_token token = guard.token();
        BOOST_TEST(!is_held(lease.try_acquire()));
        BOOST_TEST(guard.held());
        guard.release();
        guard = lease.try_acquire();
        BOOST_TEST(guard.token() > token);
    });

    cases.add("lease_object_takes_over_from_another_with_the_same_owner", [](auto& s) {
        auto one = lease_on(s, s.store(), long_terms, fixed_owner_id{"node-1"});
        auto two = lease_on(s, s.other(), long_terms, fixed_owner_id{"node-1"});
        auto first = one.try_acquire();
        auto second = two.try_acquire();
        BOOST_TEST(second.held());
        BOOST_TEST(second.token() > first.token());
        BOOST_TEST(!first.renew());
        BOOST_TEST(first.release() == release_outcome::lost);
        BOOST_TEST(second.renew());
        BOOST_TEST(second.release() == release_outcome::released);
    });

    cases.add("restarted_process_with_a_fixed_owner_goes_on_at_once_with_a_new_token", [](auto& s) {
        const fencing_token before = grant(s.other(), s.name(), "node-1");
        auto lease = lease_on(s, s.store(), long_terms, fixed_owner_id{"node-1"});
        BOOST_TEST(token_of(lease.try_acquire()) > before);
    });

    cases.add("threads_that_share_a_lease_object_exclude_each_other", [](auto& s) {
        auto lease = lease_on(s, s.store());
        std::atomic<int> inside = 0;
        std::atomic<int> seen_inside = 0;
        std::atomic<int> entered = 0;
        at_once(8, [&](std::size_t) {
            while (entered < 100) {
                auto guard = lease.try_acquire();
                if (!guard) {
                    std::this_thread::yield();
                    continue;
                }
                if (inside.fetch_add(1) != 0) ++seen_inside;
                std::this_thread::yield();
                inside.fetch_sub(1);
                ++entered;
            }
        });
        BOOST_TEST(seen_inside == 0);
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
    });

    cases.add("guard_can_be_moved", [](auto& s) {
        auto lease = lease_on(s, s.store());
        auto one = lease.try_acquire();
        const fencing_token token = one.token();
        auto two = std::move(one);
        BOOST_TEST(!static_cast<bool>(one));  // NOLINT: moved-from guards are empty, that is the point
        BOOST_TEST(two.token() == token);
        auto& itself = two;
        two = std::move(itself);
        BOOST_TEST(two.held());
        BOOST_TEST(two.token() == token);
        decltype(two) three;
        swap(two, three);
        BOOST_TEST(!two.held());
        BOOST_TEST(three.held());
        BOOST_TEST(inspect(s.store(), s.name()).has_value());
    });

    cases.add("guard_releases_what_it_held_when_another_is_moved_into_it", [](auto& s) {
        basic_lease one{s.store(), s.name("one"), long_terms, s.clock()};
        basic_lease two{s.store(), s.name("two"), long_terms, s.clock()};
        auto guard = one.try_acquire();
        guard = two.try_acquire();
        BOOST_TEST(guard.name() == s.name("two"));
        BOOST_TEST(!inspect(s.store(), s.name("one")).has_value());
        BOOST_TEST(inspect(s.store(), s.name("two")).has_value());
        guard = {};
        BOOST_TEST(!inspect(s.store(), s.name("two")).has_value());
    });

    cases.add("empty_guard_says_that_it_holds_nothing", [](auto& s) {
        auto lease = lease_on(s, s.store());
        auto guard = lease.try_acquire();
        guard.release();
        const auto not_held = [](const std::system_error& e) { return e.code() == errc::not_held; };
        BOOST_CHECK_EXCEPTION(guard.renew(), std::system_error, not_held);
        BOOST_CHECK_EXCEPTION(guard.renew(1s), std::system_error, not_held);
        BOOST_CHECK_EXCEPTION(guard.release(), std::system_error, not_held);
        BOOST_CHECK_EXCEPTION(guard.ensure_held(), std::system_error, not_held);
        BOOST_TEST(guard.token() == fencing_token{});
        BOOST_TEST(guard.name() == "");
        BOOST_TEST(!guard.stop_token().stop_possible());
        std::error_code ec;
        BOOST_TEST(!guard.renew(ec));
        BOOST_TEST((ec == errc::not_held));
        ec.clear();
        BOOST_TEST(guard.release(ec) == release_outcome::unknown);
        BOOST_TEST((ec == errc::not_held));
    });

    cases.add("forms_with_an_error_code_clear_it_and_do_not_throw", [](auto& s) {
        auto lease = lease_on(s, s.store());
        std::error_code ec = leftover();
        auto guard = lease.try_acquire(ec);
        BOOST_TEST(!ec);
        BOOST_TEST(guard.held());
        static_assert(noexcept(lease.try_acquire(ec))&& noexcept(lease.inspect(ec))&& noexcept(guard.renew(ec))&& noexcept(
            guard.renew(long_ttl, ec))&& noexcept(guard.release(ec)));
        ec = leftover();
        BOOST_TEST(lease.inspect(ec).has_value());
        BOOST_TEST(!ec);
        ec = leftover();
        BOOST_TEST(guard.renew(ec));
        BOOST_TEST(!ec);
        ec = leftover();
        BOOST_TEST(guard.renew(2 * long_ttl, ec));
        BOOST_TEST(!ec);
        BOOST_TEST(!guard.renew(long_terms.margin(), ec));
        BOOST_TEST((ec == errc::invalid_terms));
        ec = leftover();
        BOOST_TEST(guard.release(ec) == release_outcome::released);
        BOOST_TEST(!ec);
        ec = leftover();
        BOOST_TEST(!lease.inspect(ec).has_value());
        BOOST_TEST(!ec);
    });

    cases.add("min_hold_keeps_the_name_closed_after_an_early_release", [](auto& s) {
        const lease_terms terms{.ttl = long_ttl, .min_hold = s.ttl()};
        const auto [name, record, again, theirs] = s.in_time(s.ttl(), [&](const std::string& n) {
            basic_lease lease{s.store(), n, terms, s.clock()};
            basic_lease other{s.other(), n, terms, s.clock()};
            static_cast<void>(lease.try_acquire());  // and at once released
            const auto shown = lease.inspect();
            return std::tuple{n, shown, is_held(lease.try_acquire()), is_held(other.try_acquire())};
        });
        BOOST_TEST(!again);
        BOOST_TEST(!theirs);
        BOOST_REQUIRE(record.has_value());
        BOOST_TEST(record->owner == "");
        BOOST_TEST(record->remaining <= s.ttl() + s.rounding());
        s.let_expire(s.ttl());
        BOOST_TEST(acquire(s.other(), name, "b").granted());
    });

    cases.add("min_hold_closes_nothing_after_a_later_release", [](auto& s) {
        auto lease = lease_on(s, s.store(), lease_terms{.ttl = long_ttl, .min_hold = min_ttl});
        auto guard = lease.try_acquire();
        s.let_expire(min_ttl);
        BOOST_TEST(guard.release() == release_outcome::released);
        BOOST_TEST(!inspect(s.other(), s.name()).has_value());
    });

    cases.add("try_run_runs_under_the_lease_and_hands_the_result_back", [](auto& s) {
        auto lease = lease_on(s, s.store());
        bool held_inside = false;
        BOOST_TEST(
            lease.try_run([&](auto& guard) { held_inside = guard.held() && inspect(s.other(), s.name()).has_value(); }));
        BOOST_TEST(held_inside);
        BOOST_TEST(lease.try_run([] { return 42; }).value() == 42);
        BOOST_CHECK_THROW(lease.try_run([] { throw std::runtime_error{"the work failed"}; }), std::runtime_error);
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        std::error_code ec = leftover();
        BOOST_TEST(lease.try_run([] { return std::string{"done"}; }, ec).value() == "done");
        BOOST_TEST(!ec);
        grant(s.other(), s.name(), "somebody else");
        bool ran = false;
        BOOST_TEST(!lease.try_run([&ran] { ran = true; }));
        BOOST_TEST(!lease.try_run([&ran] { return ran = true; }, ec).has_value());
        BOOST_TEST(!ec);
        BOOST_TEST(!ran);
    });
}

}  // namespace leasehold::contract

#endif
