// SPDX-License-Identifier: BSL-1.0
// What calls of a Redis come to when it, or the way to it, fails.
#include <contract/scene.hpp>
#include <contract/tenure.hpp>
#include <redis_store/redis_store.hpp>

#include <support/child_process.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/own_redis.hpp>
#include <support/redis_address.hpp>
#include <support/redis_outage.hpp>
#include <support/redis_server.hpp>
#include <support/tcp_gate.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::own_redis;
using leasehold_test::redis_options_of;
using leasehold_test::redis_outage;
using leasehold_test::redis_server;
using redis_leases::redis_options;
using redis_leases::redis_store;

BOOST_AUTO_TEST_SUITE(redis_calls)

BOOST_FIXTURE_TEST_CASE(frozen_server_is_a_timeout_in_time_and_then_works, own_redis)
{
    redis_store hasty{impatient()};
    std::error_code ec;
    const auto token = store.try_acquire("name", "a", 1h, ec).token;
    server.freeze();
    const auto begun = std::chrono::steady_clock::now();
    const auto check = [&](std::string_view operation) {
        BOOST_TEST((ec == lh::errc::store_timeout), operation << ": " << ec.message());
        BOOST_TEST(hasty.diagnostics().advice.find("no answer") != std::string::npos);
        ec.clear();
    };
    BOOST_TEST(!hasty.try_acquire("name", "b", 1h, ec).granted());
    check("try_acquire");
    hasty.renew("name", "a", token, 1h, ec);
    check("renew");
    hasty.inspect("name", ec);
    check("inspect");
    hasty.release("name", "a", token, {}, ec);
    check("release");
    const auto took = std::chrono::steady_clock::now() - begun;
    BOOST_TEST((took >= 4 * 390ms && took < 4 * 400ms + 8s));
    server.thaw();
    BOOST_TEST(eventually([&] { return hasty.try_acquire("another name", "a", 1h, ec).granted(); }), ec.message());
}

// The release may still arrive; what the same owner is granted meanwhile has a token of its own.
BOOST_FIXTURE_TEST_CASE(release_that_comes_late_ends_nothing_of_the_same_owner, own_redis)
{
    redis_store hasty{impatient()};
    std::error_code ec;
    const auto token = store.try_acquire("name", "a", 1h, ec).token;
    server.command({"client", "pause", "2500", "all"});
    BOOST_TEST(!hasty.release("name", "a", token, {}, ec));
    BOOST_TEST((ec == lh::errc::store_timeout), ec.message());
    lh::acquire_result next;
    BOOST_TEST(eventually([&] {
        next = hasty.try_acquire("name", "a", 1h, ec);
        return !ec;
    }));
    BOOST_TEST(next.granted());
    BOOST_TEST(next.token > token);
    BOOST_TEST(!store.release("name", "a", token, {}, ec));
    BOOST_TEST(store.renew("name", "a", next.token, 1h, ec));
}

BOOST_FIXTURE_TEST_CASE(ended_connections_are_replaced_unnoticed, own_redis)
{
    // As many as the pool has, all at the same time.
    lh::contract::at_once(options.pool_size, [&](std::size_t i) {
        for (int time = 0; time < 50; ++time) lh::contract::grant(store, "name " + std::to_string(i), "a");
    });
    std::error_code ec;
    const auto token = store.try_acquire("name", "a", 1h, ec).token;
    for (int i = 0; i < 3; ++i) {
        server.command({"client", "kill", "user", redis_server::user});
        BOOST_TEST(store.renew("name", "a", token, 1h, ec), ec.message());
    }
    server.command({"client", "kill", "user", redis_server::user});
    server.command({"script", "flush"});
    BOOST_TEST(store.release("name", "a", token, {}, ec), ec.message());
}

// Whatever is lost on the way, an attempt, a release or their answers: no two hold at once, and nobody's release is told as a
// loss.
BOOST_FIXTURE_TEST_CASE(contenders_whose_connections_are_ended_all_the_time_never_hold_at_once, own_redis)
{
    namespace contract = lh::contract;
    constexpr std::size_t contenders = 4;
    const lh::steady_clock clock;
    const auto until = std::chrono::steady_clock::now() + 1s;
    std::vector<std::vector<contract::tenure>> tenures(contenders);
    std::atomic<int> lost = 0;
    std::atomic<int> unknown = 0;
    contract::at_once(contenders + 1, [&](std::size_t i) {
        while (i == contenders && std::chrono::steady_clock::now() < until) {
            server.command({"client", "kill", "user", redis_server::user});
            server.command({"script", "flush"});
        }
        redis_store& mine = i % 2 ? store : other;
        const std::string owner = std::to_string(i);
        while (std::chrono::steady_clock::now() < until) {
            std::error_code ec;
            const lh::acquire_result result = mine.try_acquire("name", owner, 1h, ec);
            if (ec || !result.granted()) continue;
            const lh::time_point begin = clock.now();
            std::this_thread::yield();
            tenures[i].push_back({begin, clock.now(), result.token, owner});
            const bool released = mine.release("name", owner, result.token, {}, ec);
            if (ec)
                ++unknown;
            else if (!released)
                ++lost;
        }
    });
    std::vector<contract::tenure> all;
    for (const auto& some : tenures) all.insert(all.end(), some.begin(), some.end());
    BOOST_TEST_MESSAGE("    " << all.size() << " terms, " << unknown << " releases of unknown outcome");
    BOOST_TEST(all.size() > 10);
    BOOST_TEST(lost == 0);
    BOOST_TEST(contract::overlaps_in(all) == "");
}

BOOST_FIXTURE_TEST_CASE(forgotten_scripts_are_sent_again, own_redis)
{
    std::error_code ec;
    const auto token = store.try_acquire("name", "a", 1h, ec).token;
    server.command({"script", "flush"});
    BOOST_TEST(store.renew("name", "a", token, 1h, ec), ec.message());
    server.command({"script", "flush"});
    BOOST_TEST(store.release("name", "a", token, {}, ec), ec.message());
}

// The server has carried it out, and the connection breaks before the answer: what it says when asked again is the same.
BOOST_FIXTURE_TEST_CASE(release_whose_answer_was_lost_is_told_as_released, own_redis)
{
    leasehold_test::tcp_gate gate{server.port()};
    redis_options through_gate = options;
    through_gate.port = gate.port();
    through_gate.call_timeout = 20s;
    redis_store far{through_gate};
    for (const lh::duration min_hold_left : {lh::duration{0h}, lh::duration{1h}}) {
        const std::string name = "kept closed for " + std::to_string(min_hold_left.count());
        std::error_code ec;
        const auto token = far.try_acquire(name, "a", 1h, ec).token;
        gate.stall(leasehold_test::direction::to_client);
        bool released = false;
        std::error_code failed;
        {
            const std::jthread releasing{[&] { released = far.release(name, "a", token, min_hold_left, failed); }};
            BOOST_TEST(eventually([&] {
                const auto record = store.inspect(name, ec);
                return !ec && (!record || record->owner.empty());
            }));
            // Somebody else is quicker than the second try.
            BOOST_TEST(store.try_acquire(name, "b", 1h, ec).granted() == (min_hold_left == 0h));
            gate.cut();
            gate.pass();
        }
        BOOST_TEST(released);
        BOOST_TEST(!failed, failed.message());
        BOOST_TEST(!far.release(name, "a", token, min_hold_left, failed));  // another one, which comes second
        BOOST_TEST(!failed, failed.message());
    }
}

BOOST_AUTO_TEST_CASE(killed_server_is_unavailable_and_goes_on_with_its_data_when_it_is_back)
{
    redis_server server{{"--appendonly", "yes", "--appendfsync", "always"}};
    redis_store store{redis_options_of(server.connection_string())};
    std::error_code ec;
    const auto token = store.try_acquire("name", "a", 1h, ec).token;
    const auto ended = store.try_acquire("other", "a", 1h, ec).token;
    BOOST_TEST(store.release("other", "a", ended, {}, ec));
    server.kill();
    BOOST_TEST(!store.try_acquire("name", "b", 1h, ec).granted());
    BOOST_TEST((ec == lh::errc::store_unavailable), ec.message());
    server.start();
    BOOST_TEST(!store.try_acquire("name", "b", 1h, ec).granted());
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(store.renew("name", "a", token, 1h, ec));
    BOOST_TEST(store.try_acquire("other", "b", 1h, ec).token > ended);
}

BOOST_AUTO_TEST_CASE(wrong_log_in_and_missing_rights_are_named_and_the_password_is_not)
{
    redis_server server;
    redis_options options = redis_options_of(server.connection_string());
    const auto error_with = [&](const redis_options& with, const std::string& words) {
        redis_store store{with};
        lh::basic_lease lease{store, "name"};
        try {
            static_cast<void>(lease.try_acquire());
        } catch (const lh::store_error& e) {
            BOOST_TEST(std::string{e.what()}.find(words) != std::string::npos, e.what());
            BOOST_TEST(std::string{e.what()}.find("secret") == std::string::npos, e.what());
            return e.code();
        }
        return std::error_code{};
    };
    options.password = "secret";
    BOOST_TEST(error_with(options, "log-in") == make_error_code(lh::errc::store_unavailable));
    server.command({"acl", "setuser", "stranger", "on", ">secret", "+script|load"});
    options.user = "stranger";
    BOOST_TEST(error_with(options, "right") == make_error_code(lh::errc::store_failure));
    server.command({"acl", "setuser", "stranger", "~leasehold:*", "+evalsha"});  // so that it is the script that may not
    BOOST_TEST(error_with(options, "right") == make_error_code(lh::errc::store_failure));
    options.port = leasehold_test::free_port();
    BOOST_TEST(error_with(options, "no connection") == make_error_code(lh::errc::store_unavailable));
}

BOOST_AUTO_TEST_CASE(password_that_a_server_repeats_is_not_told)
{
    redis_server server{{"--rename-command", "AUTH", "SESAME"}};
    redis_options options = redis_options_of(server.connection_string());
    options.password = "secret";
    redis_store store{options};
    std::error_code ec;
    store.inspect("name", ec);
    BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    BOOST_TEST(store.diagnostics().server_message == "ERR");
}

BOOST_FIXTURE_TEST_CASE(redis_that_takes_no_writes_is_an_outage_and_not_busy, own_redis)
{
    std::error_code ec;
    const auto check = [&](const std::string& words) {
        BOOST_TEST(!store.try_acquire("name", "a", 1h, ec).granted());
        BOOST_TEST((ec == lh::errc::store_unavailable), ec.message());
        BOOST_TEST(store.diagnostics().advice.find(words) != std::string::npos, store.diagnostics().advice);
    };
    {
        const redis_outage outage{server};
        check("min-replicas-to-write");
    }
    server.command({"replicaof", "127.0.0.1", "1"});
    check("replica");
    server.command({"replicaof", "no", "one"});
    BOOST_TEST(store.try_acquire("name", "a", 1h, ec).granted(), ec.message());
}

BOOST_AUTO_TEST_CASE(foreign_data_under_a_name_is_an_error_and_not_busy)
{
    redis_server server;
    redis_store store{redis_options_of(server.connection_string())};
    std::error_code ec;
    server.command({"rpush", "leasehold:{lease:list}:term", "x"});
    BOOST_TEST(!store.try_acquire("list", "a", 1h, ec).granted());
    BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    server.command({"set", "leasehold:{lease:text}:term", "x"});
    BOOST_TEST(!store.try_acquire("text", "a", 1h, ec).granted());
    BOOST_TEST((ec == lh::errc::store_failure), ec.message());
}

// What docs/redis.md says of fail-overs.
BOOST_AUTO_TEST_CASE(fail_over_to_a_replica_that_lagged_forgets_a_grant_and_does_not_use_its_token_again)
{
    redis_server primary{{"--repl-diskless-sync-delay", "0"}};
    leasehold_test::tcp_gate between{primary.port()};
    redis_server replica{{"--replicaof", "127.0.0.1", std::to_string(between.port())}};
    redis_store store{redis_options_of(primary.connection_string())};
    std::error_code ec;
    store.try_acquire("copied in time", "a", 1h, ec);
    BOOST_REQUIRE(eventually(
        [&] {
            return replica.command({"exists", "leasehold:{lease:copied in time}:term"}) == "1";
        },
        30s));
    between.stall();
    const auto lost = store.try_acquire("name", "a", 1h, ec);
    BOOST_TEST(lost.granted());
    primary.kill();
    replica.command({"replicaof", "no", "one"});
    redis_store after{redis_options_of(replica.connection_string())};
    BOOST_TEST(!after.try_acquire("copied in time", "b", 1h, ec).granted());
    const auto second = after.try_acquire("name", "b", 1h, ec);
    BOOST_TEST(second.granted());  // two holders at once
    BOOST_TEST(second.token > lost.token);
}

BOOST_FIXTURE_TEST_CASE(static_guard_whose_server_was_killed_does_not_abort_the_exit, own_redis)
{
    const leasehold_test::process_options with{.environment = {{"LEASEHOLD_CONTRACT_STORE", server.connection_string()}},
                                               .capture = true};
    leasehold_test::child_process holder{{CONTRACT_PEER_REDIS, "hold-by-static-objects"}, with};
    BOOST_TEST_REQUIRE(holder.read_line().has_value());
    server.kill();
    holder.write("end\n");
    BOOST_TEST(holder.read_all() == make_error_code(lh::errc::store_unavailable).message() + "\n");
    BOOST_TEST(holder.wait() == leasehold_test::exit_status{});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
