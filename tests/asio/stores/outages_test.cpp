// SPDX-License-Identifier: BSL-1.0
// What an asynchronous wait does, and what it keeps from nobody, while its connections are cut and its server is frozen.
#include <asio/stores/scene.hpp>
#include <contract/asked_once.hpp>

#include <future>
#include <memory>
#include <utility>
#include <vector>

using namespace leasehold_test;

namespace {

// No call that hangs ends by itself before the test looks at what must not wait for it.
constexpr auto beyond_the_test = 60s;
static_assert(beyond_the_test >= 6 * soon);
// Where it is to end by itself.
constexpr auto short_timeout = 3s;
// Rows that were to be given back are not free by then because their terms are over.
constexpr auto before_expiry = 20s;
static_assert(2 * before_expiry < terms.ttl - short_timeout - soon);
constexpr lh::lease_terms short_terms{.ttl = 8s};

/// This process reaches the server through a gate, and has a store on another database.
template <class Database>
struct shaky_processes {
    explicit shaky_processes(lh::duration call_timeout = beyond_the_test)
        : mine{database.connection_string_through(gate), {.call_timeout = call_timeout}}
    {
        elsewhere.create_schema();
    }
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
    // Whether the calls that were given up return, after which they have ended what they were granted.
    [[nodiscard]] bool no_call_hangs()
    {
        return eventually([&] { return mine.hanging_calls() == 0; }, before_expiry, 20ms);
    }
    [[nodiscard]] bool lease_is_granted_by(lh::odbc_store& store)
    {
        lh::basic_lease lease{store, new_name(), terms};
        recorder<typename decltype(lease)::guard_type> attempt;
        lh::async_acquire(lease, attempt.on(io.context));
        return attempt.called(soon) && is_held(attempt.get().result);
    }

    Database& database = the<Database>();
    bool frozen = false;
    tcp_gate gate{database.server.port()};
    temporary_directory folder{};
    lh::odbc_store elsewhere{sqlite_connection_string(folder.path() / "elsewhere.db"), patient_options()};
    lh::odbc_store mine;
    lh::odbc_store theirs{database.connection_string(), patient_options()};
    running_context io{};
};

template <class On>
using outage = contenders<On, shaky_processes<typename On::database>>;

using lease_type = lh::basic_lease<lh::odbc_store>;
using three_guards = lh::lease_set_guard<lease_type>;

/// Three leases of this process, connected, and three on the other database.
template <class Database>
struct three_leases : shaky_processes<Database> {
    explicit three_leases(lh::duration call_timeout = beyond_the_test) : shaky_processes<Database>{call_timeout}
    {
        for (const char* each : {"/a", "/b", "/c"}) {
            ours.emplace_back(this->mine, name + each, terms);
            others.emplace_back(this->elsewhere, name + each, terms);
        }
        const auto first = lh::try_acquire_all(ours);  // writes the rows
    }

    const std::string name = new_name();
    std::vector<lease_type> ours, others;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(asio_outages_of_stores)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_whose_connections_are_cut_goes_on_and_delays_nobody, On, over_network)
{
    outage<On> s{2 * soon};
    using kind = typename On::kind;
    BOOST_TEST_REQUIRE(s.lease_is_granted_by(s.mine), "so it has a connection: what is cut is no login");
    auto held = s.hold();
    recorder<typename outage<On>::guard> waiter;
    kind::async_acquire(s.right, waiter.on(s.io.context));
    BOOST_TEST_REQUIRE(s.one_waits());
    const int cut_session = On::queues_at_server ? s.database.session_in_queue() : 0;
    s.gate.cut();  // once: a call that loses two connections is an outage, which ends a wait
    BOOST_TEST(s.executor_is_free());
    BOOST_TEST(s.lease_is_granted_by(s.elsewhere));
    BOOST_TEST(s.lease_is_granted_by(s.mine), "on a new connection");
    // PostgreSQL finds out within a minute that a session that waits for a lock has lost its client. Until then it is in the queue, too.
    const bool waits_again =
        s.one_waits(false) && (!On::queues_at_server || eventually([&] { return s.database.in_queue_beside(cut_session); }, 20s, 20ms));
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
    BOOST_TEST(is_held(hangs.get().result));
    BOOST_TEST(is_held(hangs_too.get().result));
    BOOST_TEST(s.one_waits(), "it has kept its place");
    BOOST_TEST(!waiter.called(0s));
    BOOST_TEST(held.held());
    held.release();
    BOOST_TEST(waiter.called(before_expiry));
    const auto end = waiter.get();
    BOOST_TEST(!end.ec);
    BOOST_TEST(end.result.held());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_that_is_cancelled_at_a_frozen_server_ends_and_keeps_nothing, On, over_network)
{
    outage<On> s;
    using kind = typename On::kind;
    const auto held = s.hold();
    cancellation slots;
    recorder<typename outage<On>::guard> waiter;
    kind::async_acquire(s.right, slots.on(waiter.on(s.io.context)));
    BOOST_TEST_REQUIRE(s.one_waits());
    if (On::queues_at_server) BOOST_TEST_REQUIRE(s.has_looked());
    const std::size_t sessions = s.mine.sessions();
    s.freeze();
    net::post(s.io.context, [&] { slots.emit(); });
    BOOST_TEST(s.executor_is_free(), "a cancellation waits for no call");
    if (On::queues_at_server) BOOST_TEST(s.waiting() == 0u, "at once");
    BOOST_TEST(s.lease_is_granted_by(s.elsewhere));
    constexpr bool gives_rows_back = kind::rows_while_waiting != kind::held_rows;
    if (gives_rows_back)
        BOOST_TEST(!waiter.called(0s), "it has not given back what it has");
    else if (On::queues_at_server)
        BOOST_TEST(waiter.called(soon), "it calls nobody");
    if (On::queues_at_server && !gives_rows_back)
        BOOST_TEST(s.mine.sessions() == sessions, "what ends it on the server hangs on one of them");
    s.thaw();
    const auto end = waiter.get();
    BOOST_TEST(end.ec == aborted);
    BOOST_TEST(end.result.empty());
    BOOST_TEST(s.taken() == kind::held_rows, "given back before the handler was called");
    BOOST_TEST(eventually([&] { return s.database.in_queue() == 0; }, before_expiry, 20ms));
    BOOST_TEST(held.held());
}

// A call that has begun, and one that gives rows back, take the call's time-out. What that one could not send stays taken until the
// ttl is over, since nobody renews it.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_that_is_cancelled_ends_although_the_server_stays_frozen, On, over_network)
{
    outage<On> s{short_timeout};
    using kind = typename On::kind;
    constexpr bool gives_rows_back = kind::rows_while_waiting != kind::held_rows;
    auto right = kind::on(s.mine, s.name, gives_rows_back ? short_terms : terms);
    const auto held = s.hold();
    cancellation slots;
    recorder<typename outage<On>::guard> waiter;
    kind::async_acquire(right, slots.on(waiter.on(s.io.context)));
    BOOST_TEST_REQUIRE(s.one_waits());
    s.freeze();
    slots.cancel(s.io.context);
    BOOST_TEST_REQUIRE(waiter.called(short_timeout + soon));
    const auto end = waiter.get();
    BOOST_TEST(end.ec == aborted);
    BOOST_TEST(end.result.empty());
    s.thaw();
    BOOST_TEST(s.no_call_hangs());
    if (gives_rows_back)
        BOOST_TEST(eventually([&] { return s.taken() == kind::held_rows; }, 2 * short_terms.ttl, 20ms), "given back, or over");
    else
        BOOST_TEST(s.taken() == kind::held_rows);
    BOOST_TEST(eventually([&] { return s.database.in_queue() == 0; }, before_expiry, 20ms));
    BOOST_TEST(held.held());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_set_at_a_frozen_server_delays_nobody_elsewhere, Database, servers_with_queues)
{
    three_leases<Database> s;
    s.freeze();
    recorder<three_guards> hangs, granted;
    lh::async_try_acquire_all(s.ours, hangs.on(s.io.context));
    lh::async_try_acquire_all(s.others, granted.on(s.io.context));
    BOOST_TEST(granted.called(soon));
    BOOST_TEST(is_held(granted.get().result));
    BOOST_TEST(s.executor_is_free());
    BOOST_TEST(!hangs.called(0s));
    s.thaw();
    const auto end = hangs.get();
    BOOST_TEST(!end.ec);
    BOOST_TEST(end.result.held(), "it took no longer than a call may");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_set_at_a_frozen_server_is_an_outage_and_nothing_stays_held, Database, servers_with_queues)
{
    three_leases<Database> s{short_timeout};
    s.freeze();
    recorder<three_guards> hangs;
    lh::async_try_acquire_all(s.ours, hangs.on(s.io.context));
    BOOST_TEST_REQUIRE(hangs.called(short_timeout + soon));
    const auto end = hangs.get();
    BOOST_TEST(end.ec == lh::errc::store_timeout);
    BOOST_TEST(end.result.empty());
    s.thaw();
    BOOST_TEST(s.no_call_hangs());
    BOOST_TEST(s.theirs.list(s.name).empty(), "what was granted late is ended");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_set_is_granted_on_a_new_connection_after_a_cut, Database, servers_with_queues)
{
    three_leases<Database> s{2 * soon};
    for (int i = 0; i < 3; ++i) {
        recorder<three_guards> set;
        lh::async_try_acquire_all(s.ours, set.on(s.io.context));
        auto got = set.get();
        BOOST_TEST(!got.ec);
        BOOST_TEST(got.result.held());
        s.gate.cut();
        recorder<lh::release_outcome> released;
        lh::async_release(std::move(got.result), released.on(s.io.context));
        BOOST_TEST((released.get().result == lh::release_outcome::released));
        s.gate.cut();
    }
    BOOST_TEST(s.theirs.list(s.name).empty());
}

BOOST_AUTO_TEST_SUITE_END()
