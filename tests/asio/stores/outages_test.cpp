// SPDX-License-Identifier: BSL-1.0
// What an asynchronous wait does, and what it keeps from nobody, while its connections are cut and its server is frozen.
#include <asio/stores/scene.hpp>

#include <future>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

using namespace leasehold_test;

namespace {

// Longer than what must not wait for a call that hangs may take.
constexpr auto call_timeout = 2 * soon;
constexpr lh::lease_terms short_terms{.ttl = 8s};

/// This process reaches the server through a gate, and has a store on another database.
template <class Database>
struct shaky_processes {
    shaky_processes() { elsewhere.create_schema(); }
    ~shaky_processes() { thaw(); }

    void freeze()
    {
        database.server.freeze();
        frozen = true;
    }
    void thaw()
    {
        if (std::exchange(frozen, false)) database.server.thaw();
    }
    [[nodiscard]] std::size_t waiting() { return mine.local_waiters().waiting(); }
    // Whether the thread that runs handlers has time for others.
    [[nodiscard]] bool executor_is_free()
    {
        const auto ran = std::make_shared<std::promise<void>>();
        net::post(io.context, [ran] { ran->set_value(); });
        return ran->get_future().wait_for(soon) == std::future_status::ready;
    }
    [[nodiscard]] bool lease_is_granted_by(lh::odbc_store& store)
    {
        lh::basic_lease lease{store, new_name(), terms};
        recorder<typename decltype(lease)::guard_type> attempt;
        lh::async_acquire(lease, attempt.on(io.context));
        return attempt.called(soon) && attempt.get().result.held();
    }

    Database& database = the<Database>();
    bool frozen = false;
    tcp_gate gate{database.server.port()};
    temporary_directory folder{};
    lh::odbc_store elsewhere{sqlite_connection_string(folder.path() / "elsewhere.db"), patient_options()};
    lh::odbc_store mine{database.connection_string_through(gate), lh::odbc_options{.call_timeout = call_timeout}};
    lh::odbc_store theirs{database.connection_string(), patient_options()};
    running_context io{};
};

template <class On>
using outage = contenders<On, shaky_processes<typename On::database>>;

}  // namespace

BOOST_AUTO_TEST_SUITE(asio_outages_of_stores)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_whose_connections_are_cut_goes_on_and_delays_nobody, On, over_network)
{
    outage<On> s;
    using kind = typename On::kind;
    BOOST_TEST_REQUIRE(s.lease_is_granted_by(s.mine), "so it has a connection: what is cut is no login");
    auto held = s.hold();
    recorder<typename outage<On>::guard> waiter;
    kind::async_acquire(s.right, waiter.on(s.io.context));
    BOOST_TEST_REQUIRE(s.one_waits());
    s.gate.cut();  // once: a call that loses two connections is an outage, which ends a wait
    BOOST_TEST(s.executor_is_free());
    BOOST_TEST(s.lease_is_granted_by(s.elsewhere));
    BOOST_TEST(s.lease_is_granted_by(s.mine), "on a new connection");
    const bool waits_again = s.one_waits();
    if (waiter.called(0s)) BOOST_FAIL("the wait has ended: " << waiter.get().ec.message());
    BOOST_TEST_REQUIRE(waits_again);
    held.release();
    const auto end = waiter.get();
    BOOST_TEST(!end.ec);
    BOOST_TEST(end.result.held());
    BOOST_TEST(s.taken() == kind::own_rows);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_at_a_frozen_server_goes_on_and_delays_nobody_elsewhere, On, over_network)
{
    outage<On> s;
    using kind = typename On::kind;
    auto held = s.hold();
    recorder<typename outage<On>::guard> waiter;
    kind::async_acquire(s.right, waiter.on(s.io.context));
    BOOST_TEST_REQUIRE(s.one_waits());
    s.freeze();
    // Both threads that make this store's calls hang.
    lh::basic_lease one{s.mine, new_name(), terms}, another{s.mine, new_name(), terms};
    recorder<typename decltype(one)::guard_type> hangs, hangs_too;
    lh::async_try_acquire(one, hangs.on(s.io.context));
    lh::async_try_acquire(another, hangs_too.on(s.io.context));
    BOOST_TEST(s.executor_is_free());
    BOOST_TEST(s.lease_is_granted_by(s.elsewhere));
    BOOST_TEST(!hangs.called(0s));
    BOOST_TEST(!hangs_too.called(0s));
    BOOST_TEST(!waiter.called(0s));
    s.thaw();
    BOOST_TEST(hangs.get().result.held());
    BOOST_TEST(hangs_too.get().result.held());
    held.release();
    const auto end = waiter.get();
    BOOST_TEST(!end.ec);
    BOOST_TEST(end.result.held());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_that_is_cancelled_at_a_frozen_server_ends_and_keeps_nothing, On, over_network)
{
    outage<On> s{short_terms};
    using kind = typename On::kind;
    const auto held = s.hold();
    std::stop_source stop;
    recorder<typename outage<On>::guard> waiter;
    kind::async_acquire(s.right, stop.get_token(), waiter.on(s.io.context));
    BOOST_TEST_REQUIRE(s.one_waits());
    s.freeze();
    net::post(s.io.context, [stop]() mutable { stop.request_stop(); });
    BOOST_TEST(s.executor_is_free(), "a cancellation waits for no call");
    if (On::only_queues) BOOST_TEST(s.waiting() == 0u, "at once");
    BOOST_TEST(s.lease_is_granted_by(s.elsewhere));
    // A call that has begun, and one that gives rows back, may take the call's time-out.
    constexpr bool calls_nobody = On::only_queues && kind::rows_while_waiting == kind::held_rows;
    BOOST_TEST(waiter.called(calls_nobody ? soon : call_timeout + soon));
    const auto end = waiter.get();
    BOOST_TEST(end.ec == aborted);
    BOOST_TEST(end.result.empty());
    s.thaw();
    BOOST_TEST(eventually([&] { return s.taken() == kind::held_rows; }, 20s, 20ms), "given back, or over");
    BOOST_TEST(eventually([&] { return s.database.in_queue() == 0; }, 20s, 20ms));
    BOOST_TEST(held.held());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_set_at_a_frozen_server_is_an_outage_and_nothing_stays_held, Database, servers_with_queues)
{
    outage<on<a_lease, Database>> s{short_terms};
    using lease_type = lh::basic_lease<lh::odbc_store>;
    std::vector<lease_type> all, more;
    for (const char* each : {"/a", "/b", "/c"}) {
        all.emplace_back(s.mine, s.name + each, short_terms);
        more.emplace_back(s.elsewhere, s.name + each, terms);
    }
    { const auto first = lh::try_acquire_all(all); }  // connects, and writes the rows
    s.freeze();
    recorder<lh::lease_set_guard<lease_type>> hangs, granted;
    lh::async_try_acquire_all(all, hangs.on(s.io.context));
    lh::async_try_acquire_all(more, granted.on(s.io.context));
    BOOST_TEST(granted.called(soon));
    BOOST_TEST(granted.get().result.held());
    BOOST_TEST(s.executor_is_free());
    BOOST_TEST(!hangs.called(0s));
    const auto end = hangs.get();
    BOOST_TEST(end.ec == lh::errc::store_timeout);
    BOOST_TEST(end.result.empty());
    s.thaw();
    BOOST_TEST(eventually([&] { return s.theirs.list(s.name).empty(); }, 20s, 20ms));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_set_is_granted_on_a_new_connection_after_a_cut, Database, servers_with_queues)
{
    outage<on<a_lease, Database>> s;
    std::vector<lh::basic_lease<lh::odbc_store>> all;
    for (const char* each : {"/a", "/b", "/c"}) all.emplace_back(s.mine, s.name + each, terms);
    for (int i = 0; i < 3; ++i) {
        recorder<lh::lease_set_guard<lh::basic_lease<lh::odbc_store>>> set;
        lh::async_try_acquire_all(all, set.on(s.io.context));
        auto got = set.get();
        BOOST_TEST(!got.ec);
        BOOST_TEST(got.result.held());
        s.gate.cut();
        recorder<lh::release_outcome> released;
        lh::async_release(got.result, released.on(s.io.context));
        BOOST_TEST((released.get().result == lh::release_outcome::released));
        s.gate.cut();
    }
    BOOST_TEST(s.theirs.list(s.name).empty());
}

BOOST_AUTO_TEST_SUITE_END()
