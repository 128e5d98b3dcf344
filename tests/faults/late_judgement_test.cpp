// SPDX-License-Identifier: BSL-1.0
// needs: server
// A statement waits, or is stopped, between two of its steps: a term is judged by the clock of the right one.
#include <contract/odbc_connection.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <future>
#include <string>
#include <system_error>

BOOST_AUTO_TEST_SUITE(late_judgement)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

using servers = boost::mpl::list<postgresql_server, mariadb_server>;
const lh::odbc_options patient{.call_timeout = 10s, .lock_timeout = 5s, .session_locks = false};

}  // namespace

// Somebody has locked the row, and changes nothing.
BOOST_AUTO_TEST_CASE_TEMPLATE(renewal_that_waits_for_a_locked_row_revives_no_term, Server, servers)
{
    const Server server;
    lh::odbc_store store{server.connection_string(), patient};
    store.create_schema();
    std::error_code ec;
    for (const bool many : {false, true}) {
        const auto granted = store.try_acquire("n", "we", 1s, ec);
        BOOST_REQUIRE(granted.granted());
        BOOST_TEST(store.try_acquire("m", "we", 60s, ec).granted());
        odbc_connection somebody{server.connection_string()};
        somebody.begin();
        somebody.execute("select name from leasehold where name = 'n' for update");
        auto renewed = std::async(std::launch::async, [&] {
            std::error_code failed;
            if (!many) return store.renew("n", "we", granted.token, 60s, failed) && !failed;
            const std::array<lh::term_renewal, 2> terms{{{"n", "we", granted.token, 60s}, {"m", "we", granted.token, 60s}}};
            std::array<lh::batch_answer, 2> answers{};
            store.renew_many(terms, answers, 10s, failed);
            return answers[0] == lh::batch_answer::yes;
        });
        BOOST_TEST(eventually([&] { return !store.inspect("n", ec); }));
        somebody.commit();
        BOOST_TEST(!renewed.get());
        BOOST_TEST(!store.inspect("n", ec));
    }
}

// A view whose expiry takes time to read shows the row as it was before, and the clock as it is after.
BOOST_AUTO_TEST_CASE(term_that_is_renewed_while_it_is_read_is_not_over)
{
    const postgresql_server server;
    lh::odbc_store store{server.connection_string(), patient};
    store.create_schema();
    odbc_connection{server.connection_string()}.execute(
        "create view slow as select name, owner, token, (select expires_at from (select pg_sleep(1.5)) as pause) as expires_at,"
        " holder_data, holder_data_token, handover_request, handover_token,"
        " checkpoint, checkpoint_token from leasehold");
    lh::odbc_options options = patient;
    options.table = "slow";
    lh::odbc_store slow{server.connection_string(), options};
    std::error_code ec;
    BOOST_TEST(!slow.inspect("another", ec));
    const auto granted = store.try_acquire("n", "we", 1s, ec);
    BOOST_REQUIRE(granted.granted());
    auto record = std::async(std::launch::async, [&] { return slow.inspect("n", ec); });
    BOOST_TEST(eventually([&] {
        return odbc_connection{server.connection_string()}.execute(
                   "select count(*) from pg_stat_activity where wait_event = 'PgSleep'") != "0";
    }));
    BOOST_TEST(store.renew("n", "we", granted.token, 60s, ec));
    BOOST_TEST(record.get().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
