// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_LOSSES_HPP
#define LEASEHOLD_TESTS_CONTRACT_LOSSES_HPP

#include <contract/asked_once.hpp>
#include <contract/leases.hpp>
#include <contract/scene.hpp>

#include <chrono>
#include <stop_token>
#include <string>
#include <system_error>

namespace leasehold::contract {

// Terms that go on by renewal, and terms that end before their holder is done.
template <store_fixture Fixture>
void add_losses(case_list<Fixture> cases)
{
    cases.add("renewal_in_the_background_keeps_the_lease", [](auto& s) {
        const duration ttl = s.ttl() * 3;
        auto lease = lease_on(s, s.store(), lease_terms{.ttl = ttl});
        // A machine that stood still for a good part of the ttl has lost the lease rightly: then once more.
        for (bool stood_still = true; stood_still;) {
            stood_still = false;
            auto guard = guard_of(lease);
            const fencing_token token = guard.token();
            const std::stop_token lost = guard.stop_token();
            for (int step = 0; step < 10 && !stood_still; ++step) {
                const time_point before = s.clock().now();
                s.let_pass(ttl / 4);
                stood_still = s.clock().now() - before > ttl / 2;
                // On a manual clock the renewal has been sent and may not have been answered yet.
                BOOST_TEST((stood_still || eventually([&] { return guard.remaining() > ttl * 2 / 5 || !guard.held(); })));
            }
            if (stood_still) continue;
            const time_point before = s.clock().now();
            const bool held = guard.held(), told_early = lost.stop_requested();
            BOOST_TEST(guard.token() == token);
            BOOST_TEST(!acquire(s.other(), s.name(), "b").granted());
            const release_outcome outcome = guard.release();
            stood_still = s.clock().now() - before > ttl / 4;
            if (stood_still) continue;
            BOOST_TEST(held);
            BOOST_TEST(!told_early);
            BOOST_TEST(outcome == release_outcome::released);
            BOOST_TEST(!lost.stop_requested());
        }
    });

    cases.add("renewal_by_hand_extends_the_term", [](auto& s) {
        auto lease = lease_on(s, s.store(), lease_terms{.ttl = long_ttl}, random_owner_id{}, no_renewal{});
        auto guard = lease.try_acquire();
        BOOST_TEST(guard.renew());
        BOOST_TEST(guard.renew(2 * long_ttl));
        BOOST_TEST(guard.remaining() > long_ttl);
        const auto record = inspect(s.other(), s.name());
        BOOST_REQUIRE(record.has_value());
        BOOST_TEST(record->remaining > long_ttl);
        BOOST_TEST(record->token == guard.token());
    });

    cases.add("term_without_renewal_is_lost_at_its_deadline_before_the_store_lets_others_in", [](auto& s) {
        const duration ttl = s.ttl();
        auto lease = lease_on(s, s.store(), lease_terms{.ttl = ttl}, random_owner_id{}, no_renewal{});
        auto guard = guard_of(lease);
        const fencing_token token = guard.token();
        const std::stop_token lost = guard.stop_token();
        const time_point until = s.clock().now() + 10 * ttl;
        acquire_result next;
        while (!next.granted() && s.clock().now() < until) {
            const bool believed = guard.held();  // asked before the store is
            next = acquire(s.other(), s.name(), "b");
            BOOST_TEST(!(next.granted() && guard.held()));
            if (!believed) BOOST_TEST(!guard.held());
            s.let_pass(ttl / 32);
        }
        BOOST_REQUIRE(next.granted());
        BOOST_TEST(next.token > token);
        BOOST_TEST(guard.remaining() == 0ns);
        BOOST_TEST(eventually([&] { return lost.stop_requested(); }));
        BOOST_CHECK_THROW(guard.ensure_held(), lease_lost);
        BOOST_TEST(!guard.renew());
        BOOST_TEST(guard.release() == release_outcome::lost);
        BOOST_TEST(renew(s.other(), s.name(), "b", next.token));
    });

    cases.add("late_guard_does_no_harm_when_it_is_destroyed", [](auto& s) {
        auto lease = lease_on(s, s.store(), lease_terms{.ttl = s.ttl()}, random_owner_id{}, no_renewal{});
        fencing_token next;
        {
            auto guard = guard_of(lease);
            s.let_expire(s.ttl());
            next = grant(s.other(), s.name(), "b");
        }
        BOOST_TEST(renew(s.other(), s.name(), "b", next));
        BOOST_TEST(!is_held(lease.try_acquire()));
    });

    cases.add("renewal_in_the_background_notices_that_the_term_was_ended_underneath", [](auto& s) {
        const duration ttl = s.ttl() * 4;
        auto lease = lease_on(s, s.store(), lease_terms{.ttl = ttl});
        auto guard = guard_of(lease);
        const std::stop_token lost = guard.stop_token();
        end_underneath(s.other(), guard);
        s.let_pass(ttl / 2);
        BOOST_TEST(eventually([&] { return lost.stop_requested(); }));
        BOOST_TEST(!guard.held());
        BOOST_TEST(guard.remaining() == 0ns);
        BOOST_CHECK_THROW(guard.ensure_held(), lease_lost);
        BOOST_TEST(guard.release() == release_outcome::lost);
    });

    cases.add("renewal_by_hand_notices_that_the_term_was_ended_underneath", [](auto& s) {
        auto lease = lease_on(s, s.store());
        auto guard = lease.try_acquire();
        const std::stop_token lost = guard.stop_token();
        end_underneath(s.other(), guard);
        const fencing_token next = grant(s.other(), s.name(), "b");
        BOOST_TEST(guard.held());  // nobody has told it yet
        BOOST_TEST(!guard.renew());
        BOOST_TEST(!guard.held());
        BOOST_TEST(eventually([&] { return lost.stop_requested(); }));
        BOOST_TEST(guard.release() == release_outcome::lost);
        BOOST_TEST(renew(s.other(), s.name(), "b", next));
    });

    cases.add("release_tells_that_the_term_was_lost", [](auto& s) {
        auto lease = lease_on(s, s.store());
        auto guard = lease.try_acquire();
        end_underneath(s.other(), guard);
        BOOST_TEST(guard.release() == release_outcome::lost);
        BOOST_TEST(is_held(lease.try_acquire()));
    });

    cases.add("release_does_not_look_like_a_loss", [](auto& s) {
        auto lease = lease_on(s, s.store());
        auto guard = lease.try_acquire();
        const std::stop_token lost = guard.stop_token();
        guard.release();
        BOOST_TEST(!lost.stop_requested());
        auto next = lease.try_acquire();
        BOOST_TEST(!lost.stop_requested());
        BOOST_TEST(!next.stop_token().stop_requested());
    });

    if constexpr (operable_store<store_of<Fixture>>) {
        cases.add("forced_release_is_signalled_to_the_holder", [](auto& s) {
            const duration ttl = s.ttl() * 4;
            auto lease = lease_on(s, s.store(), lease_terms{.ttl = ttl});
            auto guard = guard_of(lease);
            const std::stop_token lost = guard.stop_token();
            BOOST_TEST(s.other().force_release(s.name()));
            const fencing_token next = grant(s.other(), s.name(), "b");
            BOOST_TEST(next > guard.token());
            s.let_pass(ttl / 2);
            BOOST_TEST(eventually([&] { return lost.stop_requested(); }));
            BOOST_TEST(!guard.held());
            BOOST_TEST(guard.release() == release_outcome::lost);
            BOOST_TEST(renew(s.other(), s.name(), "b", next));
        });
    }
}

}  // namespace leasehold::contract

#endif
