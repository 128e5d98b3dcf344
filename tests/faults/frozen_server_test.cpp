// SPDX-License-Identifier: BSL-1.0
// needs: server, quiet
// A real server is stopped (SIGSTOP) under a guard: both network drivers then block for ever in whatever call they are in.
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

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;
using servers = boost::mpl::list<postgresql_server, mariadb_server>;

namespace {

constexpr auto call_timeout = 1s;
constexpr lh::lease_terms terms{.ttl = 3s, .safety_margin = 500ms};
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

BOOST_AUTO_TEST_SUITE(frozen_server)

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
    BOOST_TEST(static_cast<bool>(lease.try_acquire()));
    s.server.freeze();
    const lh::time_point begun = now();
    std::error_code ec;
    BOOST_TEST(!lease.try_acquire(ec));
    BOOST_TEST((now() - begun <= call_timeout + slack));
    BOOST_TEST((ec == lh::errc::store_timeout));
    BOOST_TEST((ec == std::errc::timed_out));
    s.server.thaw();
    BOOST_TEST(eventually([&] { return static_cast<bool>(lease.try_acquire(ec)); }, 20s));
}

BOOST_AUTO_TEST_SUITE_END()
