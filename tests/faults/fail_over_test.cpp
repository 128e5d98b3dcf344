// SPDX-License-Identifier: BSL-1.0
// needs: server
// A primary that is killed and a standby that takes its place, while several processes, as stores, contend for a lease. The gate
// is the address that moves.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <contract/asked_once.hpp>
#include <support/eventually.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/tcp_gate.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

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

/// A term as its holder saw it: from after the grant to before the last time that it was told it holds.
struct seen_term {
    std::int64_t token;
    std::chrono::steady_clock::time_point first, last;
};

class history {
public:
    void add(const seen_term& term)
    {
        const std::lock_guard lock{mutex_};
        terms_.push_back(term);
    }
    [[nodiscard]] std::size_t size() const
    {
        const std::lock_guard lock{mutex_};
        return terms_.size();
    }

    void check() const
    {
        std::vector<seen_term> terms = terms_;
        std::ranges::sort(terms, {}, &seen_term::first);
        int overlaps = 0, tokens_that_did_not_grow = 0;
        for (std::size_t i = 1; i < terms.size(); ++i) {
            if (terms[i].first < terms[i - 1].last) ++overlaps;
            if (terms[i].token <= terms[i - 1].token) ++tokens_that_did_not_grow;
        }
        BOOST_TEST(overlaps == 0);
        BOOST_TEST(tokens_that_did_not_grow == 0);
    }

private:
    mutable std::mutex mutex_;
    std::vector<seen_term> terms_;
};

void contend(const std::string& where, const std::atomic<bool>& stop, history& into)
{
    lh::odbc_store store{where, {.call_timeout = 1s}};
    lh::basic_lease lease{store, "contended", lh::lease_terms{.ttl = 2s}};
    while (!stop) {
        std::error_code ec;
        auto guard = lease.try_acquire_for(200ms, ec);
        seen_term term{guard.token().value(), std::chrono::steady_clock::now(), {}};
        if (!guard.held()) continue;
        term.last = term.first;
        static_cast<void>(throughout(
            [&] {
                const auto now = std::chrono::steady_clock::now();
                const bool held = guard.held();
                if (held) term.last = now;
                return held;
            },
            20ms));
        into.add(term);
        guard.release(ec);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fail_over)

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
    lh::basic_lease lease{patient, "kept", lh::lease_terms{.ttl = 60s}};
    auto kept = lease.try_acquire();
    BOOST_REQUIRE(kept.held());
    const auto kept_token = kept.token();

    history all;
    std::atomic<bool> stop = false;
    std::size_t before = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < contenders; ++i) threads.emplace_back([&] { contend(where, stop, all); });
        BOOST_TEST(eventually([&] { return all.size() >= terms_on_each; }, 60s));
        primary.kill();
        before = all.size();
        // At once, so that some meet a server that is not yet a primary.
        gate.lead_to(standby.port());
        gate.cut();
        standby.promote();
        BOOST_TEST(eventually([&] { return all.size() >= before + terms_on_each; }, 60s));
        stop = true;
    }
    all.check();
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
