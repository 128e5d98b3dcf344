// SPDX-License-Identifier: BSL-1.0
// needs: server, pgpool
// pgpool-II as it comes sends what only reads to a standby, for one session of two: it shows what was.
#include <contract/asked_once.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>
#include <support/pgpool.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <stdexcept>
#include <string>

BOOST_AUTO_TEST_SUITE(pgpool_in_front)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr int sessions = 30;

// Whose sessions are by themselves as a store wants them: nothing else tells the servers apart.
struct scene {
    postgresql_server primary{{"-c", "timezone=UTC"}};
    postgresql_server standby{postgresql_server::standby_of{primary}};

    scene() { lh::odbc_store{primary.connection_string()}.create_schema(); }

    // What the standby shows from now on is of the past.
    void stop_the_standby_following()
    {
        BOOST_REQUIRE(eventually([&] {
            try {
                return standby.execute_sql("select count(*) from leasehold") == "1\n";
            } catch (const std::runtime_error&) {
                return false;  // it has no table yet
            }
        }));
        standby.execute_sql("select pg_wal_replay_pause()");
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(session_whose_reads_go_to_a_standby_is_refused)
{
    scene s;
    const pgpool pooler{s.primary, s.standby, reads_go::anywhere};
    s.stop_the_standby_following();
    lh::odbc_store direct{s.primary.connection_string()};
    lh::basic_lease lease{direct, "n", lh::lease_terms{.ttl = 10min}};
    const auto guard = lease.try_acquire();
    BOOST_REQUIRE(guard.held());
    int refused = 0, right = 0, stale = 0;
    for (int i = 0; i < sessions; ++i) {
        lh::odbc_store store{pooler.connection_string()};
        try {
            const auto record = lh::basic_lease{store, "n", lh::lease_terms{}}.inspect();
            ++(record && record->token == guard.token() ? right : stale);
        } catch (const lh::store_error& error) {
            ++refused;
            BOOST_TEST(error.code() == lh::errc::store_failure);
            BOOST_TEST(std::string{error.what()}.find("reads go to another server than writes") != std::string::npos, error.what());
        }
    }
    BOOST_TEST_MESSAGE("    " << refused << " refused, " << right << " right, " << stale << " stale");
    BOOST_TEST(stale == 0);
    BOOST_TEST(refused > 0);
    BOOST_TEST(right > 0);
}

BOOST_AUTO_TEST_CASE(with_all_statements_at_the_primary_every_session_works)
{
    scene s;
    const pgpool pooler{s.primary, s.standby, reads_go::to_primary};
    s.stop_the_standby_following();
    for (int i = 0; i < sessions; ++i) {
        lh::odbc_store store{pooler.connection_string()};
        lh::basic_lease lease{store, "n", lh::lease_terms{.ttl = 10min}};
        auto guard = lease.try_acquire();
        BOOST_TEST(guard.held());
        BOOST_TEST(lease.inspect().has_value());
        BOOST_TEST(guard.release() == lh::release_outcome::released);
        BOOST_TEST(!lease.inspect().has_value());
    }
}

BOOST_AUTO_TEST_SUITE_END()
