// SPDX-License-Identifier: BSL-1.0
// needs: server, quiet
// A real server is stopped (SIGSTOP) under a guard: both network drivers then block for ever in whatever call they are in.
#include <contract/asked_once.hpp>
#include <contract/odbc_connection.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

BOOST_AUTO_TEST_SUITE(frozen_server)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;
using servers = boost::mpl::list<postgresql_server, mariadb_server>;

namespace {

constexpr auto call_timeout = 1s;
constexpr lh::lease_terms terms{.ttl = 3s, .safety_margin = 500ms};
constexpr lh::lease_terms short_terms{.ttl = 2200ms, .safety_margin = 500ms};
// For the scheduling of a loaded machine, where the promise is "by the deadline": less than the margin, so that a signal
// that came only when the store let others in would be seen.
constexpr auto slack = 400ms;

lh::time_point now() { return lh::steady_clock{}.now(); }

template <class Server>
struct scene {
    Server server;
    temporary_directory folder;
    lh::odbc_store store{server.connection_string(), lh::odbc_options{.call_timeout = call_timeout}};
    lh::odbc_store other_store{sqlite_connection_string(folder.path() / "other.db")};

    scene()
    {
        store.create_schema();
        other_store.create_schema();
    }
};

}  // namespace

// The holder of a term that was taken over may believe in it still. PostgreSQL's grant is one statement, which it finds when it goes on.
BOOST_AUTO_TEST_CASE(term_that_was_granted_late_is_ended_if_the_name_was_free_and_runs_out_otherwise)
{
    postgresql_server server;
    lh::odbc_store store{server.connection_string(), {.call_timeout = call_timeout, .session_locks = false}};
    store.create_schema();
    std::error_code ec;
    const auto own = store.try_acquire("own", "we", 60s, ec);
    BOOST_REQUIRE(own.granted());
    for (const std::string name : {"free", "own"}) {
        server.freeze();
        static_cast<void>(store.try_acquire(name, "we", 60s, ec));
        BOOST_TEST(ec == lh::errc::store_timeout);
        server.thaw();
        BOOST_REQUIRE(eventually([&] { return store.hanging_calls() == 0; }));
        static_cast<void>(store.inspect("own", ec));  // connects again
    }
    BOOST_TEST((!store.inspect("free", ec) && !ec));
    BOOST_TEST(store.try_acquire("free", "another", 60s, ec).token.value() == 2);  // it had been granted
    BOOST_TEST(!store.release("own", "we", own.token, 0s, ec));
    const auto taken_over = store.inspect("own", ec);
    BOOST_REQUIRE(taken_over.has_value());
    BOOST_TEST(taken_over->token.value() == own.token.value() + 1);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_loss_is_signalled_by_the_deadline_and_the_guard_goes_within_the_call_timeout, Server, servers)
{
    scene<Server> s;
    lh::basic_lease lease{s.store, "job", terms};
    lh::basic_lease elsewhere{s.other_store, "job", terms};
    auto other_guard = elsewhere.try_acquire();
    std::optional guard{lease.try_acquire()};
    BOOST_REQUIRE(guard->held());
    std::atomic<lh::time_point> signalled{lh::time_point::max()};
    const std::stop_callback note_when{guard->stop_token(), [&] { signalled = now(); }};

    BOOST_TEST(throughout([&] { return guard->held(); }, terms.ttl + 1s));  // so it is renewed
    s.server.freeze();
    const lh::time_point deadline = now() + guard->remaining();

    BOOST_TEST(eventually([&] { return !guard->held(); }, 10s));
    BOOST_TEST(eventually([&] { return signalled.load() != lh::time_point::max(); }, 10s));
    BOOST_TEST((signalled.load() <= deadline + slack));
    BOOST_TEST(other_guard.held());

    const lh::time_point begun = now();
    guard.reset();
    BOOST_TEST((now() - begun <= call_timeout + slack));
    BOOST_TEST(throughout([&] { return other_guard.held(); }, 4s));

    s.server.thaw();
    lh::basic_lease next{s.store, "job", terms};
    std::optional<decltype(next.try_acquire())> again;
    BOOST_REQUIRE(eventually(
        [&] {
            std::error_code outage;
            again.emplace(next.try_acquire(outage));
            return static_cast<bool>(*again);
        },
        20s));
    BOOST_TEST(throughout([&] { return again->held(); }, 5s));  // longer than a ttl: it is renewed again
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_attempt_is_an_outage_within_the_call_timeout_and_not_busy, Server, servers)
{
    scene<Server> s;
    lh::basic_lease lease{s.store, "job", terms};
    BOOST_TEST(is_held(lease.try_acquire()));
    s.server.freeze();
    const lh::time_point begun = now();
    std::error_code ec;
    BOOST_TEST(!is_held(lease.try_acquire(ec)));
    BOOST_TEST((now() - begun <= call_timeout + slack));
    BOOST_TEST((ec == lh::errc::store_timeout));
    BOOST_TEST((ec == std::errc::timed_out));
    s.server.thaw();
    BOOST_TEST(eventually([&] { return is_held(lease.try_acquire(ec)); }, 20s));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(many_losses_are_signalled_by_the_deadline_while_a_batch_of_renewals_hangs, Server, servers)
{
    scene<Server> s;
    using lease_type = lh::basic_lease<lh::odbc_store>;
    std::list<lease_type> leases;
    std::vector<lease_type::guard_type> guards;
    std::atomic<int> on_time = 0, late = 0;
    for (int i = 0; i < 300; ++i) {
        leases.emplace_back(s.store, "job " + std::to_string(i), short_terms);
        guards.push_back(leases.back().try_acquire());
    }
    const auto all_held = [&] { return std::ranges::all_of(guards, [](const auto& guard) { return guard.held(); }); };
    BOOST_REQUIRE(throughout(all_held, 1s));  // so they are renewed
    s.server.freeze();
    const auto frozen = now();
    std::list<std::stop_callback<std::function<void()>>> notes;
    for (const auto& guard : guards) {
        const lh::time_point deadline = now() + guard.remaining();
        notes.emplace_back(guard.stop_token(), [&, deadline] { ++(now() <= deadline + slack ? on_time : late); });
    }
    BOOST_TEST(eventually([&] { return on_time + late == 300; }, 10s));
    BOOST_TEST((now() - frozen <= short_terms.ttl - short_terms.margin() + slack));
    BOOST_TEST(late == 0);

    const lh::time_point begun = now();
    std::error_code ec;
    BOOST_TEST(lh::release_all(guards, ec) == 0U);
    BOOST_TEST((ec == lh::errc::store_timeout || ec == lh::errc::store_unavailable), ec.message());
    BOOST_TEST((now() - begun <= call_timeout + slack), "one call that comes to nothing, not one for each");
    s.server.thaw();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(row_that_somebody_has_locked_costs_the_other_terms_of_a_batch_nothing, Server,
                              boost::mpl::list<postgresql_server>)
{
    scene<Server> s;
    using lease_type = lh::basic_lease<lh::odbc_store>;
    std::list<lease_type> leases;
    std::vector<lease_type::guard_type> guards;
    for (int i = 0; i < 300; ++i) {
        leases.emplace_back(s.store, "job " + std::to_string(i), short_terms);
        guards.push_back(leases.back().try_acquire());
    }
    odbc_connection application{s.server.connection_string()};
    application.begin();
    application.execute("select token from leasehold where name = 'job 150' for update");
    const auto others_held = [&] {
        return std::ranges::all_of(guards, [](const auto& g) { return g.held() || g.name() == "job 150"; });
    };
    BOOST_TEST(throughout(others_held, 3s));
    application.roll_back();
    BOOST_TEST(lh::release_all(guards) >= 299U);
}

BOOST_AUTO_TEST_SUITE_END()
