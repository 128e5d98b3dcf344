// SPDX-License-Identifier: BSL-1.0
// What the engine's threads still do at a store when its last lease is destroyed, and leases of other stores keep them.
#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/scripted_batching_store.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <thread>

BOOST_AUTO_TEST_SUITE(engine_retiring_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::scripted_batching_store;
using leasehold_test::throughout;

namespace {

// Calls of one kind that wait at a gate.
struct gated_calls {
    lh::store_operation of;
    leasehold_test::gate at;
    std::atomic<int> inside = 0;

    template <class Make>
    auto pass(Make make)
    {
        ++inside;
        at.pass();
        struct leaving {
            std::atomic<int>& inside;
            ~leaving() { --inside; }
        } const leaves{inside};
        return make();
    }
};

// A decorator whose calls of one kind wait.
class gated_store : public lh::forwarding_store<scripted_batching_store, gated_store> {
    using base = lh::forwarding_store<scripted_batching_store, gated_store>;
    friend base;

public:
    gated_store(scripted_batching_store& store, gated_calls& calls) : base{store}, calls_{&calls} {}

    void renew_many(std::span<const lh::term_renewal> renewals, std::span<lh::batch_answer> answers, lh::duration within,
                    std::error_code& ec)
    {
        calls_->pass([&] { base::renew_many(renewals, answers, within, ec); });
    }

private:
    template <class Make>
    auto around(const lh::store_call& call, std::error_code&, Make make)
    {
        return call.operation == calls_->of ? calls_->pass(make) : make();
    }

    gated_calls* calls_;
};

using lease_type = lh::basic_lease<gated_store, lh::manual_clock>;

struct scene {
    explicit scene(lh::store_operation hangs) : calls{hangs, leasehold_test::gate{clock}}
    {
        BOOST_TEST_REQUIRE(of_the_engine.held());
    }

    void acquire(std::string_view name)
    {
        lease = std::make_unique<lease_type>(*gated, name, lh::lease_terms{.ttl = 30s}, clock);
        guard = lease->try_acquire();
        BOOST_TEST_REQUIRE(guard.held());
    }

    // Destroys the lease and its store, on another thread, and opens the gate after a while.
    void retire_waits_for_the_call()
    {
        std::atomic<bool> retired = false;
        int left_inside = -1;
        std::thread ends{[&] {
            guard.release();
            lease.reset();
            left_inside = calls.inside;
            retired = true;
            gated.reset();
        }};
        BOOST_TEST(throughout([&] { return !retired; }, 50ms));
        calls.at.open();
        ends.join();
        BOOST_TEST(left_inside == 0);
        BOOST_TEST(eventually([&] { return calls.inside == 0; }));
    }

    lh::manual_clock clock;
    scripted_batching_store store{clock};
    lh::basic_lease<scripted_batching_store, lh::manual_clock> other{store, "other", lh::lease_terms{.ttl = 10h}, clock};
    decltype(other)::guard_type of_the_engine = other.try_acquire();  // which all leases of the store share
    gated_calls calls;
    std::unique_ptr<gated_store> gated = std::make_unique<gated_store>(store, calls);
    std::unique_ptr<lease_type> lease;
    lease_type::guard_type guard;
};

}  // namespace

BOOST_AUTO_TEST_CASE(renewal_that_hangs_is_waited_for_before_the_store_may_go)
{
    scene s{lh::store_operation::renew};
    s.acquire("n");
    s.clock.advance(10s);
    BOOST_TEST(s.calls.at.reached_by(1));
    s.retire_waits_for_the_call();
}

BOOST_AUTO_TEST_CASE(renewal_of_several_that_hangs_is_waited_for_before_the_store_may_go)
{
    scene s{lh::store_operation::renew};
    s.acquire("n");
    {
        lease_type second{*s.gated, "second", lh::lease_terms{.ttl = 30s}, s.clock};
        auto also = second.try_acquire();
        BOOST_TEST_REQUIRE(also.held());
        s.clock.advance(10s);
        BOOST_TEST(s.calls.at.reached_by(1));
        std::thread opens{[&] {
            BOOST_TEST(eventually([&] {
                std::error_code none;
                return !s.store.leases.inspect("second", none).has_value();
            }));
            s.calls.at.open();
        }};
        also.release();
        second = lease_type{*s.gated, "third", lh::lease_terms{.ttl = 30s}, s.clock};
        BOOST_TEST(s.calls.inside == 0);
        opens.join();
    }
}

BOOST_AUTO_TEST_CASE(look_that_hangs_is_waited_for_before_the_store_may_go)
{
    scene s{lh::store_operation::handover_requested};
    s.acquire("n");
    const std::stop_token asked = s.guard.handover_token();
    BOOST_TEST(s.calls.at.reached_by(1));
    s.retire_waits_for_the_call();
}

// The watchdog asks for it when the lease, and the store, may be gone.
BOOST_AUTO_TEST_CASE(how_many_go_together_is_known_without_the_store)
{
    lh::manual_clock clock;
    scripted_batching_store store{clock};
    lh::renewal::term_keeper keeper{store, "n", "o", lh::lease_terms{.ttl = 30s}, clock, lh::renew_at_fraction{}};
    std::error_code ec;
    BOOST_TEST_REQUIRE(keeper.begin_attempt());
    const auto term = keeper.grant(store.try_acquire("n", "o", 30s, ec).token, clock.now());
    store.takes = 10;
    clock.advance(10s);
    BOOST_TEST(keeper.step());
    store.takes = 3;
    BOOST_TEST(keeper.batch_size() == 10U);
    BOOST_TEST((keeper.end(term, ec) == lh::release_outcome::released));
}

BOOST_AUTO_TEST_CASE(lease_that_a_call_of_its_own_renewal_destroys_does_not_wait_for_itself)
{
    scene s{lh::store_operation::publish};
    s.acquire("n");
    std::atomic<bool> retired = false;
    s.store.before(leasehold_test::operation::renew, [&](std::string_view name) {
        if (name != "n" || retired) return;
        s.guard.release();
        s.lease.reset();
        retired = true;
    });
    s.clock.advance(10s);
    BOOST_TEST(eventually([&] { return retired.load(); }));
}

BOOST_AUTO_TEST_SUITE_END()
