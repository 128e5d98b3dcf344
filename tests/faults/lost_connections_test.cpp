// SPDX-License-Identifier: BSL-1.0
// needs: server
// A connection that is lost while nobody uses it is replaced within the next call, however it was lost, whether its bytes
// went through TLS, and in whatever language the driver and the server say so.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/scoped_locale.hpp>
#include <support/tcp_gate.hpp>
#include <support/tls_files.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(lost_connections)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr lh::lease_terms terms{.ttl = 60s};

std::string through(const tcp_gate& gate, const database_server& server)
{
    std::string text = server.connection_string();
    const std::string port = "Port=" + std::to_string(server.port());
    return text.replace(text.find(port), port.size(), "Port=" + std::to_string(gate.port()));
}

/// A lease on a connection that is there, whose path to the server goes through a gate.
struct holder {
    tcp_gate& gate;
    lh::odbc_store store;
    lh::basic_lease<lh::odbc_store, lh::steady_clock, lh::random_owner_id, lh::no_renewal> lease{store, "n", terms};

    holder(tcp_gate& through_gate, const std::string& connection_string, bool session_locks)
        : gate{through_gate}, store{connection_string, {.pool_size = 1, .session_locks = session_locks}}
    {
        store.create_schema();
    }

    template <class Lose>
    void renews_after(Lose lose, const char* how)
    {
        BOOST_TEST_CONTEXT(how)
        {
            auto guard = lease.acquire();
            for (int i = 0; i < 3; ++i) {
                BOOST_REQUIRE(store.renew("n", lease.owner(), guard.token(), 60s, ec));
                lose();
                std::this_thread::sleep_for(20ms);  // for the end of the connection to arrive
                BOOST_TEST(store.renew("n", lease.owner(), guard.token(), 60s, ec));
                BOOST_TEST(!ec, ec.message() << ": " << store.diagnostics().sqlstate << ' '
                                             << store.diagnostics().native_error << ' '
                                             << store.diagnostics().server_message);
            }
            lose();
            BOOST_TEST((guard.release() == lh::release_outcome::released));
            // And where the first statement after the loss is another one.
            lose();
            BOOST_TEST(!lease.inspect());
        }
    }

    std::error_code ec{};
};

void end_sessions(postgresql_server& server)
{
    server.execute_sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'leasehold'");
}

// MySQL has no `kill user`.
void end_sessions(mariadb_server& server)
{
    std::istringstream sessions{server.execute_sql("select id from information_schema.processlist where user = 'leasehold'")};
    for (std::string session; std::getline(sessions, session);) {
        try {
            server.execute_sql("kill connection " + session);
        } catch (const std::runtime_error&) {
            // It had gone by itself.
        }
    }
}

template <class Server>
void check_losses(Server& server, const std::string& extra, std::vector<std::string> sessions_are_safe)
{
    for (const bool session_locks : {true, false}) {
        tcp_gate gate{server.port()};
        holder h{gate, through(gate, server) + extra, session_locks};
        if (!sessions_are_safe.empty())
            BOOST_TEST(server.execute_sql(sessions_are_safe.front()).find(sessions_are_safe.back()) != std::string::npos);
        BOOST_TEST_CONTEXT("session_locks = " << session_locks)
        {
            h.renews_after([&] { gate.cut(); }, "reset");
            h.renews_after([&] { gate.half_close(direction::to_client); }, "ended by the server's side");
            h.renews_after([&] { end_sessions(server); }, "ended by an administrator");
        }
        gate.cut();  // what was half closed
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(postgresql_in_plain_text)
{
    postgresql_server server;
    check_losses(server, ";sslmode=disable", {});
}

BOOST_AUTO_TEST_CASE(postgresql_through_tls)
{
    const tls_files tls{{"postgres"}};
    postgresql_server server{
        {"-c", "ssl=on", "-c", "ssl_cert_file=" + tls.certificate(), "-c", "ssl_key_file=" + tls.key()}};
    check_losses(server, ";sslmode=require",
                 {"select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'leasehold'", "t"});
}

BOOST_AUTO_TEST_CASE(postgresql_in_another_language)
{
    const scoped_locale german{"de_DE"};
    const tls_files tls{{"postgres"}};
    postgresql_server server{{"-c", "ssl=on", "-c", "ssl_cert_file=" + tls.certificate(), "-c", "ssl_key_file=" + tls.key(),
                              "-c", "lc_messages=" + german.name()}};
    check_losses(server, ";sslmode=disable", {});
    check_losses(server, ";sslmode=require", {});
}

BOOST_AUTO_TEST_CASE(mariadb_in_plain_text)
{
    mariadb_server server;
    check_losses(server, "", {});
}

BOOST_AUTO_TEST_CASE(mariadb_through_tls)
{
    const tls_files tls{{"mysql", "nobody"}};
    mariadb_server server{{"--ssl-cert=" + tls.certificate(), "--ssl-key=" + tls.key(), "--require-secure-transport=on"}};
    check_losses(server, ";FORCETLS=1", {});
}

BOOST_AUTO_TEST_CASE(mariadb_in_another_language)
{
    const scoped_locale german{"de_DE"};
    const tls_files tls{{"mysql", "nobody"}};
    mariadb_server server{{"--ssl-cert=" + tls.certificate(), "--ssl-key=" + tls.key()}};
    server.execute_sql("set global lc_messages = 'de_DE'");  // not from its start: its log says when it is ready
    check_losses(server, "", {});
    check_losses(server, ";FORCETLS=1", {});
}

BOOST_AUTO_TEST_SUITE_END()
