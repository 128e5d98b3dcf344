// SPDX-License-Identifier: BSL-1.0
// Who wakes those that wait for a lease in a Redis, and what they do when nobody does.
#include <contract/scene.hpp>
#include <contract/waiter.hpp>
#include <redis_store/redis_store.hpp>

#include <support/eventually.hpp>
#include <support/own_redis.hpp>
#include <support/redis_address.hpp>
#include <support/redis_server.hpp>
#include <support/tcp_gate.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <system_error>

namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::own_redis;
using leasehold_test::redis_options_of;
using leasehold_test::redis_server;
using redis_leases::redis_options;
using redis_leases::redis_store;

BOOST_AUTO_TEST_SUITE(redis_wakes)

// One that holds, and one that waits in another process, so to speak.
struct waiting_scene : own_redis {
    redis_store far{options};
    lh::contract::observed_store<redis_store> observed{far};
    lh::fencing_token held = [this] {
        std::error_code ec;
        return store.try_acquire("name", "holder", 1h, ec).token;
    }();
    lh::basic_lease<lh::contract::observed_store<redis_store>> lease{observed, "name", lh::lease_terms{.ttl = 1h}};

    // To be woken: `wakes()` is as of the last time it looked.
    bool is_live()
    {
        return eventually([&] { return observed.wakes(); });
    }

    void check_release_wakes(lh::contract::waiter<decltype(lease)>& waits)
    {
        std::error_code ec;
        BOOST_TEST(store.release("name", "holder", held, {}, ec), ec.message());
        BOOST_TEST(eventually([&] { return waits.ended(); }));
        BOOST_TEST(waits.guard().held());
    }
};

BOOST_FIXTURE_TEST_CASE(bogus_messages_wake_and_do_no_harm, waiting_scene)
{
    lh::contract::waiter waits{lease, lh::steady_clock{}};
    BOOST_REQUIRE(is_live());
    for (int i = 0; i < 5; ++i) {
        const int before = observed.attempts();
        BOOST_TEST(server.command({"publish", "leasehold:ended:name", "you have it"}) == "1");
        BOOST_TEST(eventually([&] { return observed.attempts() > before; }));
    }
    server.command({"publish", "leasehold:ended:", ""});
    server.command({"publish", "leasehold:ended:another name", std::string(100'000, 'x')});
    BOOST_TEST(!waits.ended());
    check_release_wakes(waits);
}

BOOST_FIXTURE_TEST_CASE(waiter_whose_subscription_was_ended_asks_from_time_to_time_until_it_has_another, waiting_scene)
{
    lh::contract::waiter waits{lease, lh::steady_clock{}};
    for (int i = 0; i < 2; ++i) {
        BOOST_REQUIRE(is_live());
        const int before = observed.attempts();
        server.command({"acl", "setuser", redis_server::user, "resetchannels"});  // or it would be back at once
        server.command({"client", "kill", "type", "pubsub"});
        BOOST_TEST(eventually([&] { return !observed.wakes() && observed.attempts() > before + 3; }));
        BOOST_TEST(!waits.ended());
        server.command({"acl", "setuser", redis_server::user, "&leasehold:*"});
    }
    BOOST_REQUIRE(is_live());
    check_release_wakes(waits);
}

BOOST_FIXTURE_TEST_CASE(waiter_without_a_right_to_the_channel_gets_the_lease_by_asking, waiting_scene)
{
    server.command({"acl", "setuser", redis_server::user, "-subscribe"});
    lh::contract::waiter waits{lease, lh::steady_clock{}};
    BOOST_TEST(eventually([&] { return observed.attempts() > 3; }));
    BOOST_TEST(!observed.wakes());
    check_release_wakes(waits);
}

// Nothing ends the connection; only nothing comes through it any more.
BOOST_FIXTURE_TEST_CASE(subscription_that_has_gone_silent_is_noticed, own_redis)
{
    leasehold_test::tcp_gate gate{server.port()};
    redis_options through_gate = impatient();
    through_gate.port = gate.port();
    redis_store far{through_gate};
    lh::waker to_wake;
    auto ticket = far.enqueue("name", to_wake);
    BOOST_TEST(!ticket.listens());
    BOOST_TEST(to_wake.wait_for(10s));
    BOOST_TEST(eventually([&] { return ticket.listens(); }));
    to_wake.wait_for(0s);  // where the machine was so slow that there has been another subscription by now
    gate.stall();
    BOOST_TEST(eventually([&] { return !ticket.listens(); }));
    BOOST_TEST(to_wake.wait_for(10s));
    gate.pass();
    BOOST_TEST(eventually([&] { return ticket.listens(); }));
    BOOST_TEST(to_wake.wait_for(10s));
}

BOOST_AUTO_TEST_CASE(release_that_keeps_closed_tells_waiters_when_to_come_back)
{
    redis_server server;
    redis_store store{redis_options_of(server.connection_string())};
    std::error_code ec;
    const auto held = store.try_acquire("name", "holder", 1h, ec).token;
    lh::basic_lease lease{store, "name"};
    lh::contract::waiter waits{lease, lh::steady_clock{}};
    BOOST_TEST(eventually([&] { return server.command({"pubsub", "numsub", "leasehold:ended:name"}).ends_with("1"); }));
    BOOST_TEST(store.release("name", "holder", held, 300ms, ec));
    BOOST_TEST(eventually([&] { return waits.ended(); }));
    BOOST_TEST(waits.guard().token() > held);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
