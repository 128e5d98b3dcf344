// SPDX-License-Identifier: BSL-1.0
// needs: server, quiet
// Calls whose driver does not return: how many there may be, what becomes of them, and of a process that ends meanwhile.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/detail/session/pool.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/child_process.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/tcp_gate.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sql.h>
#include <sqlext.h>

BOOST_AUTO_TEST_SUITE(hanging_calls)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;
using servers = boost::mpl::list<postgresql_server, mariadb_server>;

namespace {

constexpr const char* connection_variable = "LEASEHOLD_TEST_HANGS_ON";
constexpr auto slack = 400ms;  // for the scheduling of a loaded machine

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

std::error_code call(lh::odbc_store& store)
{
    std::error_code ec;
    static_cast<void>(store.inspect("n", ec));
    return ec;
}

std::string through(const tcp_gate& gate, const database_server& server)
{
    std::string text = server.connection_string();
    const std::string port = "Port=" + std::to_string(server.port());
    return text.replace(text.find(port), port.size(), "Port=" + std::to_string(gate.port()));
}

// Whether the driver keeps SQL_ATTR_LOGIN_TIMEOUT, as psqlODBC 18 and MariaDB's 3.2 seem to do. Its thread may hang until what it connects
// to goes on, which has to be before it is destroyed.
class login_probe {
public:
    explicit login_probe(std::string to) : connects_{[this, text = std::move(to)] { connect(text); }} {}

    bool gives_up() { return eventually([this] { return ended_.load(); }, 4s); }

private:
    void connect(std::string text)
    {
        SQLHENV environment = nullptr;
        SQLHDBC connection = nullptr;
        SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment);
        SQLSetEnvAttr(environment, SQL_ATTR_ODBC_VERSION, reinterpret_cast<SQLPOINTER>(SQL_OV_ODBC3), 0);
        SQLAllocHandle(SQL_HANDLE_DBC, environment, &connection);
        SQLSetConnectAttr(connection, SQL_ATTR_LOGIN_TIMEOUT, reinterpret_cast<SQLPOINTER>(1), SQL_IS_UINTEGER);
        const auto done = SQLDriverConnect(connection, nullptr, reinterpret_cast<SQLCHAR*>(text.data()), SQL_NTS, nullptr, 0, nullptr,
                                           SQL_DRIVER_NOPROMPT);
        ended_ = true;
        if (SQL_SUCCEEDED(done)) SQLDisconnect(connection);
        SQLFreeHandle(SQL_HANDLE_DBC, connection);
        SQLFreeHandle(SQL_HANDLE_ENV, environment);
    }

    std::atomic<bool> ended_ = false;
    std::jthread connects_;
};

std::optional<std::string> next_word(child_process& child, const std::string& word)
{
    std::optional<std::string> line;
    do line = child.read_line();
    while (line && *line != word);
    return line;
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(are_bounded_and_counted_and_end_when_the_server_goes_on, Server, servers)
{
    constexpr auto call_timeout = 100ms;
    Server server;
    lh::odbc_store{server.connection_string()}.create_schema();
    lh::odbc_store store{server.connection_string(), lh::odbc_options{.call_timeout = call_timeout}};
    BOOST_REQUIRE(eventually([&] { return !call(store); }));
    server.freeze();
    const std::uint64_t before = store.abandoned_calls();
    const std::size_t most = lh::odbc::detail::abandoned_calls_max + store.options().pool_size;
    login_probe probe{server.connection_string()};
    if (probe.gives_up()) {
        // A call that has to connect first comes back by itself, so that there are never so many.
        for (std::size_t i = 1; i <= 2 * most; ++i) {
            BOOST_TEST(static_cast<bool>(call(store)));
            BOOST_TEST(store.hanging_calls() <= most);
        }
        BOOST_TEST(eventually([&] { return store.hanging_calls() <= store.options().pool_size; }));
    }
    else {
        for (std::size_t i = 1; i <= most; ++i) {
            BOOST_TEST((call(store) == lh::errc::store_timeout));
            BOOST_TEST(store.hanging_calls() == i);
        }
        const auto begun = now();
        for (int i = 0; i < 100; ++i) BOOST_TEST((call(store) == lh::errc::store_unavailable));
        BOOST_TEST((now() - begun < slack));
        BOOST_TEST(store.hanging_calls() == most);
        BOOST_TEST(store.abandoned_calls() - before == most);
    }
    server.thaw();
    BOOST_TEST(eventually([&] { return store.hanging_calls() == 0; }, 30s));
    BOOST_TEST(eventually([&] { return !call(store); }, 30s));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(are_told_to_a_readiness_probe_in_time, Server, servers)
{
    constexpr auto call_timeout = 2s;
    Server server;
    lh::odbc_store store{server.connection_string(), lh::odbc_options{.call_timeout = call_timeout}};
    store.create_schema();
    BOOST_TEST_REQUIRE(!store.health().error);
    server.freeze();
    const auto begun = now();
    const lh::store_health frozen = store.health();
    BOOST_TEST((now() - begun < call_timeout + slack));
    BOOST_TEST(frozen.error == lh::errc::store_timeout);
    BOOST_TEST(!frozen.reachable);
    BOOST_TEST(frozen.hanging_calls == 1U);
    server.thaw();
    BOOST_TEST(eventually([&] { return !store.health().error; }, 30s));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(return_in_time_where_the_network_drops_all_packets, Server, servers)
{
    constexpr auto call_timeout = 500ms;
    Server server;
    lh::odbc_store{server.connection_string()}.create_schema();
    tcp_gate gate{server.port()};
    lh::odbc_store store{through(gate, server), lh::odbc_options{.call_timeout = call_timeout}};
    BOOST_REQUIRE(eventually([&] { return !call(store); }));
    gate.stall();
    for (int i = 0; i < 3; ++i) {
        const auto begun = now();
        BOOST_TEST((call(store) == lh::errc::store_timeout));
        BOOST_TEST((now() - begun < call_timeout + slack));
    }
    // Of a driver that gives up connecting only the first one stays, which had a connection.
    login_probe probe{through(gate, server)};
    const std::size_t least = probe.gives_up() ? 1 : 3;
    BOOST_TEST(store.hanging_calls() >= least);
    BOOST_TEST(store.hanging_calls() <= 3U);
    gate.cut();
    gate.pass();
    BOOST_TEST(eventually([&] { return store.hanging_calls() == 0; }, 30s));
    BOOST_TEST(eventually([&] { return !call(store); }, 30s));
}

// Sixteen and more connections that a router has forgotten: calls get through again before TCP has given up all of them.
BOOST_AUTO_TEST_CASE_TEMPLATE(on_connections_that_went_dead_together_do_not_stop_the_store, Server, servers)
{
    constexpr std::size_t sessions = 24;
    Server server;
    lh::odbc_store{server.connection_string()}.create_schema();
    tcp_gate gate{server.port()};
    lh::odbc_store store{through(gate, server), lh::odbc_options{.call_timeout = 1s, .pool_size = sessions}};
    const auto all_at_once = [&] {
        std::barrier together{static_cast<std::ptrdiff_t>(sessions)};
        std::atomic<std::size_t> well = 0;
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < sessions; ++i)
            threads.emplace_back([&] {
                together.arrive_and_wait();
                if (!call(store)) ++well;
            });
        threads.clear();
        return well.load();
    };
    // A session that is still connecting would hang as well when its connection is forgotten, so none may be.
    const auto all_are_connected = [&](std::size_t hanging_already) {
        gate.delay(2ms);  // so that their calls overlap
        const auto are_connected = [&] {
            return all_at_once() == sessions && store.sessions() > sessions / 2 && store.hanging_calls() <= hanging_already;
        };
        const bool connected = eventually(are_connected, 30s);
        gate.pass();
        return connected;
    };
    BOOST_REQUIRE(all_are_connected(0));

    // One after the other: the first that hangs says what the others are worth.
    gate.forget();
    BOOST_TEST((call(store) == lh::errc::store_timeout));
    for (int i = 0; i < 30; ++i) BOOST_TEST(!call(store));
    BOOST_TEST(store.hanging_calls() >= 1U);
    BOOST_TEST(store.hanging_calls() < sessions / 2);

    // All at once: as many hang as there are sessions, and then no more.
    BOOST_REQUIRE(all_are_connected(store.hanging_calls()));
    gate.forget();
    static_cast<void>(all_at_once());
    BOOST_TEST(store.hanging_calls() > sessions / 2);
    BOOST_TEST(eventually([&] { return all_at_once() == sessions; }, 30s));
    gate.cut();
    BOOST_TEST(eventually([&] { return store.hanging_calls() == 0; }, 30s));
}

// However many threads there are.
BOOST_AUTO_TEST_CASE(are_no_more_than_allowed_at_once)
{
    constexpr std::size_t threads_count = 64;
    postgresql_server server;
    lh::odbc_store{server.connection_string()}.create_schema();
    tcp_gate gate{server.port()};
    lh::odbc_store store{through(gate, server), lh::odbc_options{.call_timeout = 300ms, .pool_size = 8}};
    BOOST_REQUIRE(eventually([&] { return !call(store); }));
    gate.stall();
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < threads_count; ++i)
            threads.emplace_back([&] {
                for (int calls = 0; calls < 5; ++calls) static_cast<void>(call(store));
            });
    }
    BOOST_TEST(store.hanging_calls() == lh::odbc::detail::abandoned_calls_max + 8);
    gate.cut();
    gate.pass();
    BOOST_TEST(eventually([&] { return store.hanging_calls() == 0; }, 30s));
}

// Not a test by itself: what the child of the next one does. It ends with a call, a wait and a renewal in the driver.
BOOST_AUTO_TEST_CASE(as_a_child_that_ends)
{
    const char* connection_string = std::getenv(connection_variable);
    if (!connection_string) return;
    lh::odbc_store store{connection_string, lh::odbc_options{.call_timeout = 200ms}};
    lh::odbc_store another{connection_string, lh::odbc_options{.call_timeout = 200ms}};
    lh::basic_lease lease{store, "n", lh::lease_terms{.ttl = 2s}};
    lh::basic_lease waiter{another, "n", lh::lease_terms{.ttl = 2s}};
    decltype(lease)::guard_type guard;
    // On a busy machine the first connection may take longer than a call.
    BOOST_REQUIRE(eventually([&] {
        std::error_code ec;
        guard = lease.try_acquire(ec);
        return guard.held();
    }));
    std::jthread waiting{[&](const std::stop_token& stop) {
        std::error_code ec;
        static_cast<void>(waiter.acquire(stop, ec));
    }};
    std::this_thread::sleep_for(200ms);
    std::cout << "holds" << std::endl;
    std::string line;
    std::getline(std::cin, line);
    BOOST_TEST((call(store) == lh::errc::store_timeout));
    std::cout << "ends" << std::endl;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(do_not_keep_a_process_from_ending_well, Server, servers)
{
    Server server;
    lh::odbc_store{server.connection_string()}.create_schema();
    child_process child{{"/proc/self/exe", "--run_test=hanging_calls/as_a_child_that_ends"},
                        {.environment = {{connection_variable, server.connection_string()}}, .capture = true}};
    BOOST_REQUIRE(next_word(child, "holds").has_value());
    server.freeze();
    child.write("go on\n");
    BOOST_TEST(next_word(child, "ends").has_value());
    const auto begun = now();
    const exit_status ended = child.wait(20s);
    BOOST_TEST(ended.success(), ended);
    // A few call time-outs: of the release, the waiter, and each store's destructor.
    BOOST_TEST((now() - begun < 5s));
    server.thaw();
}

BOOST_AUTO_TEST_SUITE_END()
