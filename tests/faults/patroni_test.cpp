// SPDX-License-Identifier: BSL-1.0
// needs: server, quiet, patroni
// PostgreSQL under Patroni: three nodes, etcd, and HAProxy in front of them. Its primary is killed, frozen, and cut off from the others but
// not from its clients, while several stores contend for a lease. LEASEHOLD_FAIL_OVERS: so often each (default: once).
#include <contract/asked_once.hpp>
#include <faults/contended_lease.hpp>
#include <faults/fail_over_costs.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>
#include <support/patroni_cluster.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(patroni)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr int contenders = 4;
constexpr std::size_t terms_to_see = 10;
// For a fail-over on a busy machine.
constexpr auto patience = 120s;
constexpr lh::lease_terms long_terms = renewed_lease::terms;

lh::time_point now() { return lh::steady_clock{}.now(); }

int fail_overs_of_each_kind()
{
    const char* const asked = std::getenv("LEASEHOLD_FAIL_OVERS");
    return asked && *asked ? std::atoi(asked) : 1;
}

/// What befalls the primary, and how it comes back.
struct fault {
    const char* name;
    void (*begin)(patroni_node& primary);
    void (*end)(patroni_node& primary);
};

constexpr std::array<fault, 3> faults{{
    {"killed", [](patroni_node& primary) { primary.kill(); }, [](patroni_node& primary) { primary.start(); }},
    {"frozen", [](patroni_node& primary) { primary.freeze(); }, [](patroni_node& primary) { primary.thaw(); }},
    {"cut off", [](patroni_node& primary) { primary.isolate(); }, [](patroni_node& primary) { primary.rejoin(); }},
}};

lh::duration median_of(std::vector<lh::duration> times)
{
    std::ranges::sort(times);
    return times.at(times.size() / 2);
}

/// One cluster with contenders and a holder, and what they see while its primary changes.
struct scene {
    const char* mode;
    patroni_cluster cluster;
    contended_lease contended{};
    std::optional<renewed_lease> kept{};
    std::atomic<bool> stop = false;
    std::vector<std::jthread> threads{};

    explicit scene(replication how) : mode{how == replication::synchronous ? "synchronous" : "asynchronous"}, cluster{how}
    {
        lh::odbc_store{cluster.connection_string(), {.call_timeout = 20s}}.create_schema();
        kept.emplace(cluster.connection_string());
        for (int i = 0; i < contenders; ++i) threads.emplace_back([this] { contended.contend(cluster.connection_string(), stop); });
        BOOST_REQUIRE(see_terms());
    }
    ~scene()
    {
        stop = true;
        threads.clear();
        kept.reset();
    }

    [[nodiscard]] bool see_terms()
    {
        const std::size_t before = contended.terms_seen();
        return eventually([&] { return contended.terms_seen() >= before + terms_to_see; }, patience);
    }

    // How long no renewal succeeded, and how long nobody held the contended lease.
    struct cost {
        lh::duration holder;
        lh::duration waiter;
    };
    cost fail_over(const fault& what)
    {
        const std::size_t first = cluster.primary();
        BOOST_REQUIRE(first < patroni_cluster::size);
        kept->measure_anew();
        const lh::time_point begun = now();
        what.begin(cluster.node(first));
        BOOST_REQUIRE(eventually([&] { return cluster.primary_beside(first).has_value(); }, patience, 100ms));
        BOOST_REQUIRE(see_terms());
        // Before the end: a renewal may still be under way.
        BOOST_TEST(eventually([&] { return kept->longest_without_renewal() > 1s; }, patience));
        const cost found{kept->longest_without_renewal(), contended.longest_gap_since(begun)};
        what.end(cluster.node(first));
        cluster.wait_until_whole();
        BOOST_REQUIRE(see_terms());
        return found;
    }

    void fail_over_all()
    {
        for (const fault& what : faults) {
            std::vector<lh::duration> holder, waiter;
            for (int i = 0; i < fail_overs_of_each_kind(); ++i) {
                const cost found = fail_over(what);
                BOOST_TEST_MESSAGE("    " << mode << ", " << what.name << ": no renewal for " << found.holder / 1ms
                                          << " ms, nobody held for " << found.waiter / 1ms << " ms");
                holder.push_back(found.holder);
                waiter.push_back(found.waiter);
            }
            BOOST_TEST_MESSAGE("  " << mode << ", " << what.name << ", medians: no renewal for " << median_of(holder) / 1ms
                                    << " ms, nobody held for " << median_of(waiter) / 1ms << " ms");
        }
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(with_synchronous_mode_a_fail_over_loses_nothing)
{
    scene s{replication::synchronous};
    s.fail_over_all();
    BOOST_TEST(s.contended.faults() == "");
    BOOST_TEST(s.kept->is_first_term());
}

// A term that is shorter than Patroni's leader key is over before another node leads. Its token may be used again.
BOOST_AUTO_TEST_CASE(without_synchronous_mode_short_terms_do_not_overlap)
{
    scene s{replication::asynchronous};
    s.fail_over_all();
    BOOST_TEST_MESSAGE("  seen: " << s.contended.faults());
    BOOST_TEST(s.contended.faults().find("overlap") == std::string::npos);
}

// The primary that is cut off takes writes until Patroni on its host gives up, and nobody else ever hears of them.
BOOST_AUTO_TEST_CASE(without_synchronous_mode_two_hold_what_a_primary_granted_that_was_cut_off)
{
    for (const replication mode : {replication::asynchronous, replication::synchronous}) {
        BOOST_TEST_CONTEXT("synchronous mode " << (mode == replication::synchronous))
        {
            patroni_cluster cluster{mode};
            const std::string where = cluster.connection_string();
            lh::odbc_store first{where, {.call_timeout = 2s}}, second{where, {.call_timeout = 2s}};
            first.create_schema();
            lh::basic_lease lease{first, "n", long_terms}, other{second, "n", long_terms};
            BOOST_REQUIRE(is_held(lease.try_acquire()));  // so the session is there, and the row
            const std::size_t cut_off = cluster.primary();
            cluster.node(cut_off).isolate();

            std::error_code ec;
            auto guard = lease.try_acquire(ec);
            BOOST_TEST(guard.held() == (mode == replication::asynchronous), ec.message());
            BOOST_REQUIRE(eventually([&] { return cluster.primary_beside(cut_off).has_value(); }, patience, 100ms));
            lh::lease_guard<lh::basic_lease<lh::odbc_store>> again;
            BOOST_TEST(eventually(
                [&] {
                    std::error_code failed;
                    again = other.try_acquire(failed);
                    return again.held();
                },
                patience));
            // Two believe, and the token does not tell them apart. Only the owner does.
            BOOST_TEST(guard.held() == (mode == replication::asynchronous));
            if (mode == replication::asynchronous) BOOST_TEST(again.token() == guard.token());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
