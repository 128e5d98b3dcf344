// SPDX-License-Identifier: BSL-1.0
// needs: server
// A primary that is killed and a standby that takes its place, while several processes, as stores, contend for a lease. The gate
// is the address that moves.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <contract/asked_once.hpp>
#include <faults/contended_lease.hpp>
#include <faults/fail_over_costs.hpp>
#include <support/eventually.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/tcp_gate.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(fail_over)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

std::string through(const tcp_gate& gate, const postgresql_server& server)
{
    std::string text = server.connection_string();
    const std::string port = "Port=" + std::to_string(server.port());
    return text.replace(text.find(port), port.size(), "Port=" + std::to_string(gate.port()));
}

}  // namespace

BOOST_AUTO_TEST_CASE(synchronous_standby_has_all_that_was_granted)
{
    constexpr std::size_t terms_on_each = 30;
    constexpr int contenders = 4;
    postgresql_server primary;
    lh::odbc_store{primary.connection_string()}.create_schema();
    postgresql_server standby{postgresql_server::standby_of{primary}};
    primary.commit_also_on(standby);
    tcp_gate gate{primary.port()};
    const std::string where = through(gate, primary);

    lh::odbc_store patient{where};
    lh::basic_lease lease{patient, "kept by itself", lh::lease_terms{.ttl = 60s}};
    auto kept = lease.try_acquire();
    BOOST_REQUIRE(kept.held());
    const auto kept_token = kept.token();

    contended_lease all;
    std::atomic<bool> stop = false;
    std::size_t before = 0;
    {
        renewed_lease renewed{where};
        std::vector<std::jthread> threads;
        for (int i = 0; i < contenders; ++i) threads.emplace_back([&] { all.contend(where, stop); });
        BOOST_TEST(eventually([&] { return all.terms_seen() >= terms_on_each; }, 60s));
        renewed.measure_anew();
        const lh::time_point killed = lh::steady_clock{}.now();
        primary.kill();
        before = all.terms_seen();
        // At once, so that some meet a server that is not yet a primary.
        gate.lead_to(standby.port());
        gate.cut();
        standby.promote();
        BOOST_TEST(eventually([&] { return all.terms_seen() >= before + terms_on_each; }, 60s));
        const std::size_t renewals = renewed.renewals();
        BOOST_TEST(eventually([&] { return renewed.renewals() > renewals + 1; }, 60s));
        BOOST_TEST_MESSAGE("  killed, its standby promoted at once: no renewal for " << renewed.longest_without_renewal() / 1ms
                           << " ms, nobody held for " << all.longest_gap_since(killed) / 1ms << " ms");
        stop = true;
        threads.clear();
        BOOST_TEST(renewed.is_first_term());
    }
    BOOST_TEST(all.faults() == "");
    std::error_code ec;
    BOOST_TEST(eventually([&] { return kept.renew(ec); }));
    BOOST_TEST(kept.token() == kept_token);
    BOOST_TEST(kept.release() == lh::release_outcome::released);
}

// What docs/dialects.md says of replicas without synchronous replication.
BOOST_AUTO_TEST_CASE(asynchronous_standby_may_lack_the_last_terms)
{
    postgresql_server primary;
    lh::odbc_store{primary.connection_string()}.create_schema();
    postgresql_server standby{postgresql_server::standby_of{primary}};
    tcp_gate gate{primary.port()};
    standby.stop();

    lh::odbc_store first{through(gate, primary)}, second{through(gate, primary)};
    lh::basic_lease lease{first, "n", lh::lease_terms{.ttl = 60s}}, other{second, "n", lh::lease_terms{.ttl = 60s}};
    auto guard = lease.try_acquire();
    BOOST_REQUIRE(guard.held());
    BOOST_TEST(!is_held(other.try_acquire()));

    primary.kill();
    standby.start();
    standby.promote();
    gate.lead_to(standby.port());
    gate.cut();
    lh::lease_guard<lh::basic_lease<lh::odbc_store>> again;
    BOOST_TEST(eventually([&] {
        std::error_code ec;
        again = other.try_acquire(ec);
        return again.held();
    }));
    // Two believe, and the token does not tell them apart. Only the owner does.
    BOOST_TEST(guard.held());
    BOOST_TEST(again.token() == guard.token());
    std::error_code ec;
    BOOST_TEST(eventually([&] { return !guard.renew(ec) && !ec; }));
    BOOST_TEST(!guard.held());
    BOOST_TEST(again.renew());
}

BOOST_AUTO_TEST_SUITE_END()
