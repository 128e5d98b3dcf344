// SPDX-License-Identifier: BSL-1.0
// needs: server, quiet
// A server that takes longer to connect to than a call may take: far away, busy, or through TLS.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/detail/session/pool.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/tcp_gate.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(slow_connecting)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;
using servers = boost::mpl::list<postgresql_server, mariadb_server>;

namespace {

constexpr auto slack = 400ms;  // for the scheduling of a loaded machine

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

template <class Server>
struct scene {
    Server server{};
    tcp_gate gate{server.port()};

    // 1.3 times as long as a call.
    explicit scene(lh::duration call_timeout)
    {
        gate.delay_connecting(std::chrono::duration_cast<std::chrono::milliseconds>(call_timeout) * 13 / 10);
    }
    void create_schema() { lh::odbc_store{server.connection_string()}.create_schema(); }
    [[nodiscard]] std::string through_gate() const
    {
        std::string text = server.connection_string();
        const std::string port = "Port=" + std::to_string(server.port());
        return text.replace(text.find(port), port.size(), "Port=" + std::to_string(gate.port()));
    }
    // Of names; the table has one of its own.
    [[nodiscard]] std::string rows() { return count("leasehold where name like 'n%'"); }
    // Of what is asked for after "from".
    [[nodiscard]] std::string count(const std::string& of)
    {
        const std::string line = server.execute_sql("select count(*) from " + of);
        return line.substr(0, line.find('\n'));
    }
};

}  // namespace

// A whole number of seconds: where a driver keeps a time-out for connecting, it must not be the call's.
BOOST_AUTO_TEST_CASE_TEMPLATE(keeps_a_store_from_its_first_calls_only, Server, servers)
{
    constexpr auto call_timeout = 2s;
    constexpr int most_calls = 8;  // the first connection of a store is made up to three times
    scene<Server> s{call_timeout};
    s.create_schema();
    lh::odbc_store store{s.through_gate(), lh::odbc_options{.call_timeout = call_timeout}};
    lh::acquire_result granted;
    int calls = 0;
    while (!granted.granted() && calls < most_calls) {
        const auto begun = now();
        std::error_code ec;
        granted = store.try_acquire("n" + std::to_string(++calls), "a", 60s, ec);
        BOOST_TEST((now() - begun < call_timeout + slack));
        BOOST_TEST((granted.granted() ? !ec : ec == lh::errc::store_timeout), calls << ": " << ec.message());
        if (calls == 1) BOOST_TEST(store.diagnostics().advice.starts_with("no connection within call_timeout"), store.diagnostics().advice);
    }
    BOOST_TEST_MESSAGE("    granted to call " << calls);
    BOOST_REQUIRE(granted.granted());
    BOOST_TEST(calls > 1);
    BOOST_TEST(eventually([&] { return store.hanging_calls() == 0; }, 30s));
    // Of the calls that were given up, nothing has reached the table.
    BOOST_TEST(s.rows() == "1");
    // And all goes well from now on.
    for (int i = 0; i < 20; ++i) {
        std::error_code ec;
        BOOST_TEST(store.renew("n" + std::to_string(calls), "a", granted.token, 60s, ec), ec.message());
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sends_nothing_of_a_call_that_was_given_up, Server, servers)
{
    constexpr auto call_timeout = 1s;
    scene<Server> s{call_timeout};
    lh::odbc_store store{s.through_gate(), lh::odbc_options{.call_timeout = call_timeout}};
    std::error_code ec;
    store.create_schema(ec);
    BOOST_TEST((ec == lh::errc::store_timeout));
    BOOST_TEST(store.hanging_calls() == 1U);
    BOOST_REQUIRE(eventually([&] { return store.hanging_calls() == 0; }, 30s));
    BOOST_TEST(s.count("information_schema.tables where table_name = 'leasehold'") == "0");
    BOOST_TEST(store.sessions() == 1U);
    BOOST_TEST(store.abandoned_calls() == 1U);
    store.create_schema(ec);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(s.rows() == "0");
}

// As many callers as one likes: the store gets its connections, has no more while it gets them than may hang, and no more than pool_size
// from then on.
BOOST_AUTO_TEST_CASE_TEMPLATE(leads_to_no_more_connections_than_allowed, Server, servers)
{
    constexpr auto call_timeout = 1s;
    constexpr std::size_t pool_size = 2;
    constexpr std::size_t callers = 8;
    scene<Server> s{call_timeout};
    s.create_schema();
    lh::odbc_store store{s.through_gate(), lh::odbc_options{.call_timeout = call_timeout, .pool_size = pool_size}};
    const auto until = now() + 12s;
    std::atomic<std::size_t> well = 0, well_late = 0, failed_late = 0;
    std::size_t most = 0;
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < callers; ++i)
            threads.emplace_back([&] {
                while (now() < until) {
                    std::error_code ec;
                    static_cast<void>(store.inspect("n", ec));
                    if (!ec) ++well;
                    if (now() > until - 2s) ++(ec ? failed_late : well_late);
                    std::this_thread::sleep_for(1ms);
                }
            });
        while (now() < until) {
            most = std::max(most, s.gate.connections());
            std::this_thread::sleep_for(2ms);
        }
    }
    BOOST_TEST_MESSAGE("    " << well << " calls went well, on up to " << most << " connections");
    BOOST_TEST(well_late > 0U);
    BOOST_TEST(failed_late == 0U);
    // One more for each that looks for a pooler.
    BOOST_TEST(most <= 2 * (pool_size + lh::odbc::detail::abandoned_calls_max));
    BOOST_TEST(eventually([&] { return s.gate.connections() <= pool_size; }));
    BOOST_TEST(store.hanging_calls() == 0U);
    BOOST_TEST(store.sessions() <= pool_size);
}

// At every moment: before it has connected, which it does twice the first time, just when it has, and after.
BOOST_AUTO_TEST_CASE_TEMPLATE(leaves_nothing_behind_when_the_store_is_destroyed, Server, servers)
{
    constexpr auto call_timeout = 60ms;
    scene<Server> s{call_timeout};
    s.create_schema();
    for (auto after = 0ms; after < 2 * call_timeout; after += 2ms) {
        std::optional<lh::odbc_store> store{
            std::in_place, s.through_gate(),
            lh::odbc_options{.call_timeout = call_timeout, .pooler = lh::transaction_pooler::absent}};
        std::error_code ec;
        static_cast<void>(store->inspect("n", ec));
        std::this_thread::sleep_for(after);
        const auto begun = now();
        store.reset();
        BOOST_TEST((now() - begun < call_timeout + slack));
    }
    BOOST_TEST(eventually([&] { return s.gate.connections() == 0; }));
}

BOOST_AUTO_TEST_SUITE_END()
