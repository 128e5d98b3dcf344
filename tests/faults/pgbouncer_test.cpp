// SPDX-License-Identifier: BSL-1.0
// needs: server
// PgBouncer in front of the database, which gives each transaction another of its sessions, or each client one of its own.
#include <contract/asked_once.hpp>
#include <contract/odbc_connection.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/pgbouncer.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(behind_pgbouncer)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr lh::lease_terms terms{.ttl = 60s};

/// What a session of the server has that a client may have left there, but for what psqlODBC itself sets on each of its connections
/// and what PgBouncer keeps for each client.
const std::string left_behind =
    "select coalesce(string_agg(what, ' ' order by what), '') from ("
    "select name || '=' || setting as what from pg_settings where source = 'session'"
    " and name not in ('extra_float_digits', 'DateStyle', 'TimeZone', 'client_encoding', 'application_name')"
    " union all select 'prepared:' || name from pg_prepared_statements"
    " union all select 'lock:' || objid from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as of_this_session";

postgresql_server& the_server()
{
    static postgresql_server server;
    return server;
}

std::string sessions_of(postgresql_server& server)
{
    return server.execute_sql("select count(*) from pg_stat_activity where usename = 'leasehold'");
}

/// A pooler of its own, a new table, and nobody else's session on the server.
struct scene {
    postgresql_server& server = the_server();
    pgbouncer pooler;

    explicit scene(pool_mode mode, int sessions = pgbouncer::default_sessions) : pooler{server, mode, sessions}
    {
        if (!eventually([&] { return sessions_of(server) == "0\n"; })) throw std::runtime_error{"sessions of an earlier scene"};
        server.execute_sql("drop table if exists leasehold, written");
        lh::odbc_store{server.connection_string()}.create_schema();
    }
    [[nodiscard]] std::string where() const { return pooler.connection_string(); }

    /// On each session that the pooler has by now, as other clients meet them: all at the same time.
    std::vector<std::string> on_all_sessions()
    {
        std::vector<odbc_connection> clients;
        std::vector<std::string> found;
        for (int left = std::stoi(sessions_of(server)); left > 0; --left) {
            clients.emplace_back(where());
            clients.back().begin();
            found.push_back(clients.back().execute(left_behind));
        }
        return found;
    }
};

/// All that a store does.
void use(lh::odbc_store& store)
{
    lh::basic_lease lease{store, "n", terms};
    auto guard = lease.acquire();
    BOOST_TEST(guard.renew());
    BOOST_TEST(guard.publish("here"));
    BOOST_TEST(lease.request_handover("please"));
    BOOST_TEST(lease.inspect().value().handover_request.value_or("") == "please");
    BOOST_TEST(lease.inspect().value().data == "here");
    lh::basic_lease waiter{store, "n", terms};
    BOOST_TEST(!is_held(waiter.try_acquire_for(30ms)));
    std::vector<lh::basic_lease<lh::odbc_store>> many;
    for (int i = 0; i < 5; ++i) many.emplace_back(store, "many-" + std::to_string(i), terms);
    BOOST_TEST(lh::try_acquire_each(many).size() == many.size());
    BOOST_TEST(store.list("n").size() == 1U);
    BOOST_TEST(store.force_release("n"));
    BOOST_TEST(!guard.renew());
    BOOST_TEST(store.purge(1min) == 0U);
    BOOST_TEST(!store.health().error);
}

bool waits_for_a_lock(postgresql_server& server)
{
    return server.execute_sql("select count(*) from pg_stat_activity where usename = 'leasehold' and wait_event_type = 'Lock'") != "0\n";
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_left_on_the_poolers_sessions)
{
    for (const int sessions : {1, 3}) {
        scene at{pool_mode::transaction, sessions};
        {
            lh::odbc_store store{at.where(), {.pool_size = 2}};
            lh::odbc_store other{at.where(), {.pool_size = 2}};
            use(store);
            const std::jthread beside{[&] {
                lh::basic_lease lease{other, "beside", terms};
                for (int i = 0; i < 20; ++i) static_cast<void>(lease.try_acquire());
            }};
            use(store);
        }
        const auto found = at.on_all_sessions();
        BOOST_TEST(!found.empty());
        for (const std::string& each : found) BOOST_TEST(each == "");
    }
}

BOOST_AUTO_TEST_CASE(in_session_mode_the_pooler_resets_what_a_store_has_set)
{
    scene at{pool_mode::session};
    {
        lh::odbc_store store{at.where()};
        use(store);
        BOOST_TEST(store.health().wakes);
        BOOST_TEST(!store.health().pooled);
    }
    for (const std::string& each : at.on_all_sessions()) BOOST_TEST(each == "");
}

BOOST_AUTO_TEST_CASE(pooler_is_recognised_whatever_else_it_is_at)
{
    scene at{pool_mode::transaction, 5};
    std::atomic<bool> stop = false;
    std::vector<std::jthread> others;
    for (int i = 0; i < 6; ++i)
        others.emplace_back([&] {
            odbc_connection client{at.where()};
            while (!stop) client.execute("select 1");
        });
    int recognised = 0;
    constexpr int stores = 30;
    for (int i = 0; i < stores; ++i) {
        lh::odbc_store store{at.where()};
        recognised += store.health().pooled ? 1 : 0;
    }
    stop = true;
    others.clear();
    BOOST_TEST(recognised == stores);
    for (const std::string& each : at.on_all_sessions()) BOOST_TEST(each == "");
}

BOOST_AUTO_TEST_CASE(stores_that_begin_at_once_recognise_it)
{
    scene at{pool_mode::transaction, 2};
    std::atomic<int> recognised = 0;
    constexpr int stores = 12;
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < stores; ++i)
            all.emplace_back([&] {
                lh::odbc_store store{at.where(), {.call_timeout = 30s}};
                recognised += store.health().pooled ? 1 : 0;
            });
    }
    BOOST_TEST(recognised == stores);
}

BOOST_AUTO_TEST_CASE(pooler_that_the_options_name_is_not_looked_for)
{
    scene at{pool_mode::transaction};
    lh::odbc_store direct{at.server.connection_string(), {.pooler = lh::transaction_pooler::present}};
    BOOST_TEST(direct.health().pooled);
    BOOST_TEST(!direct.health().wakes);
    use(direct);
    BOOST_TEST(sessions_of(at.server) == "1\n");
    lh::odbc_store without{at.server.connection_string()};
    BOOST_TEST(!without.health().pooled);
    BOOST_TEST(without.health().wakes);
}

BOOST_AUTO_TEST_CASE(contenders_exclude_each_other_and_are_served)
{
    constexpr int turns = 25;
    constexpr int contenders = 4;
    scene at{pool_mode::transaction, 3};
    std::atomic<int> inside = 0, overlaps = 0, served = 0, tokens_that_fell = 0;
    std::atomic<std::int64_t> last_token = 0;
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < contenders; ++i)
            all.emplace_back([&] {
                lh::odbc_store store{at.where()};
                lh::basic_lease lease{store, "n", terms};
                for (int turn = 0; turn < turns; ++turn) {
                    std::error_code ec;
                    const auto guard = lease.try_acquire_for(60s, ec);
                    if (!guard) continue;
                    if (++inside != 1) ++overlaps;
                    if (last_token.exchange(guard.token().value()) >= guard.token().value()) ++tokens_that_fell;
                    ++served;
                    --inside;
                }
            });
    }
    BOOST_TEST(overlaps == 0);
    BOOST_TEST(tokens_that_fell == 0);
    BOOST_TEST(served == turns * contenders);
}

BOOST_AUTO_TEST_CASE(fence_in_a_transaction_through_the_pooler_holds_off_a_take_over)
{
    scene at{pool_mode::transaction};
    lh::odbc_store store{at.where()};
    lh::odbc_store other{at.where(), {.lock_timeout = 200ms}};
    lh::basic_lease lease{store, "n", terms};
    auto guard = lease.try_acquire();
    odbc_connection application{at.where()};
    application.execute("create table written (token bigint)");
    application.begin();
    BOOST_TEST(lh::odbc::fence(application.handle(), guard));
    application.execute("insert into written values (" + std::to_string(guard.token().value()) + ")");
    BOOST_TEST(guard.renew());
    BOOST_TEST(other.force_release("n"));
    std::error_code ec;
    // The row is locked, so it answers busy.
    BOOST_TEST(!other.try_acquire("n", "o", 1s, ec).granted());
    BOOST_TEST(!ec);
    application.commit();
    BOOST_TEST(other.try_acquire("n", "o", 60s, ec).granted());
    BOOST_TEST(!lh::odbc::fence(application.handle(), guard));
    application.roll_back();
}

BOOST_AUTO_TEST_CASE(statements_that_wait_for_locks_end_on_the_server)
{
    scene at{pool_mode::transaction};
    lh::odbc_store store{at.where(), {.call_timeout = 2s, .lock_timeout = 300ms}};
    std::error_code ec;
    lh::acquire_result held;
    // The pooler may take longer to connect than a call may last.
    BOOST_REQUIRE_MESSAGE(eventually([&] { return (held = store.try_acquire("n", "o", 60s, ec)).granted(); }), ec.message());
    odbc_connection application{at.server.connection_string()};
    application.begin();
    application.execute("lock table leasehold");
    const auto begun = std::chrono::steady_clock::now();
    BOOST_TEST(!store.renew("n", "o", held.token, 60s, ec));
    BOOST_TEST((ec == lh::errc::store_conflict || ec == lh::errc::store_timeout), ec.message());
    BOOST_TEST((std::chrono::steady_clock::now() - begun < 4s));
    BOOST_TEST(eventually([&] { return !waits_for_a_lock(at.server); }));
    application.roll_back();
    BOOST_TEST(store.renew("n", "o", held.token, 60s, ec));
}

// The level of the sessions is the server's; with it, an attempt that meets another would be an error.
BOOST_AUTO_TEST_CASE(level_and_commits_are_as_safe_as_on_a_session_of_its_own)
{
    scene at{pool_mode::transaction, 1};
    at.server.execute_sql("alter role leasehold set default_transaction_isolation = serializable");
    at.server.execute_sql("alter role leasehold set synchronous_commit = off");
    at.server.execute_sql("drop table if exists seen; drop function if exists look");
    at.server.execute_sql("create table seen (level text, commits text, waits text)");
    at.server.execute_sql("grant all on seen to leasehold");
    at.server.execute_sql("create function look() returns trigger language plpgsql as $$ begin insert into public.seen values"
                          " (current_setting('transaction_isolation'), current_setting('synchronous_commit'),"
                          " current_setting('statement_timeout')); return new; end $$");
    at.server.execute_sql("create trigger look before insert or update on leasehold for each row execute function look()");
    lh::odbc_store store{at.where()};
    std::error_code ec;
    const auto held = store.try_acquire("n", "o", 60s, ec);
    BOOST_REQUIRE(held.granted());
    BOOST_TEST(store.renew("n", "o", held.token, 60s, ec));
    BOOST_TEST((store.release("n", "o", held.token, {}, ec)));
    BOOST_TEST(at.server.execute_sql("select distinct level, commits, waits from seen") == "read committed\tlocal\t5s\n");
    for (const std::string& each : at.on_all_sessions()) BOOST_TEST(each == "");
    at.server.execute_sql("alter role leasehold reset all");
}

BOOST_AUTO_TEST_CASE(statements_of_ones_own_for_each_connection_are_refused)
{
    scene at{pool_mode::transaction};
    lh::odbc_store store{at.where(), {.on_connect = {"set work_mem = '8MB'"}}};
    std::error_code ec;
    BOOST_TEST(!store.try_acquire("n", "o", 1s, ec).granted());
    BOOST_TEST((ec == lh::errc::store_failure));
    BOOST_TEST(store.diagnostics().advice.find("ALTER ROLE") != std::string::npos, store.diagnostics().advice);
    for (const std::string& each : at.on_all_sessions()) BOOST_TEST(each == "");
}

BOOST_AUTO_TEST_CASE(database_without_poolers_ignores_what_is_said_of_one)
{
    const temporary_directory folder;
    lh::odbc_store store{sqlite_connection_string(folder.path() / "leases.db"),
                         {.pooler = lh::transaction_pooler::present, .on_connect = {"pragma synchronous = normal"}}};
    store.create_schema();
    BOOST_TEST(!store.health().pooled);
    std::error_code ec;
    BOOST_TEST(store.try_acquire("n", "o", 1s, ec).granted());
}

BOOST_AUTO_TEST_CASE(mode_may_change_while_a_lease_is_held)
{
    scene at{pool_mode::session, 3};
    lh::odbc_store store{at.where()};
    lh::odbc_store other{at.where()};
    lh::basic_lease lease{store, "n", terms};
    auto guard = lease.try_acquire();
    BOOST_REQUIRE(guard.held());
    BOOST_TEST(guard.renew());
    BOOST_TEST(!store.health().pooled);
    at.pooler.set_mode(pool_mode::transaction);
    std::atomic<bool> stop = false;
    std::vector<std::jthread> others;
    for (int i = 0; i < 3; ++i)
        others.emplace_back([&] {
            odbc_connection client{at.where()};
            while (!stop) client.execute("select 1");
        });
    std::error_code ec;
    for (int i = 0; i < 200 && !store.health().pooled; ++i) {
        BOOST_TEST(guard.renew(ec));
        BOOST_TEST(!ec, ec.message());
        BOOST_TEST(!other.try_acquire("n", "o", 1s, ec).granted());
        BOOST_TEST(!ec, ec.message());
    }
    stop = true;
    BOOST_TEST(store.health().pooled);
    BOOST_TEST(guard.release() == lh::release_outcome::released);
    BOOST_TEST(other.try_acquire("n", "o", 1s, ec).granted());
}

BOOST_AUTO_TEST_CASE(loss_is_signalled_on_time_while_the_pooler_is_frozen)
{
    scene at{pool_mode::transaction};
    lh::odbc_store store{at.where(), {.call_timeout = 1s}};
    lh::basic_lease lease{store, "n", lh::lease_terms{.ttl = 2s}};
    auto guard = lease.try_acquire();
    BOOST_REQUIRE(guard.held());
    at.pooler.freeze();
    BOOST_TEST(eventually([&] { return guard.stop_token().stop_requested(); }, 4s));
    BOOST_TEST(!guard.held());
    at.pooler.thaw();
    BOOST_TEST(is_held(lease.try_acquire_for(10s)));
}

BOOST_AUTO_TEST_CASE(term_outlives_the_pooler)
{
    scene at{pool_mode::transaction};
    lh::odbc_store store{at.where()};
    lh::basic_lease lease{store, "n", terms};
    auto guard = lease.try_acquire();
    BOOST_REQUIRE(guard.held());
    const auto token = guard.token();
    at.pooler.kill();
    std::error_code ec;
    BOOST_TEST(!guard.renew(ec));
    BOOST_TEST((ec == lh::errc::store_unavailable), ec.message());
    at.pooler.start();
    BOOST_TEST(eventually([&] { return guard.renew(ec); }));
    BOOST_TEST(guard.token() == token);
    BOOST_TEST(guard.release() == lh::release_outcome::released);
}

BOOST_AUTO_TEST_SUITE_END()
