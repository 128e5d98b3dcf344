// SPDX-License-Identifier: BSL-1.0
// needs: server, program
// A job once per fire, by five processes that are killed at random: each fire is completed exactly once, as the job's own table says.
#include <contract/asked_once.hpp>
#include <contract/odbc_connection.hpp>
#include <faults/fenced_databases.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <support/child_process.hpp>
#include <support/eventually.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

using own_databases = boost::mpl::list<postgresql_database, mariadb_database, sqlite_database>;

std::size_t wanted_fires()
{
    const char* const text = std::getenv("LEASEHOLD_FIRES");
    return text ? std::stoul(text) : 60;
}

std::size_t number(odbc_connection& from, const std::string& sql) { return std::stoul(from.execute(sql)); }

}  // namespace

BOOST_AUTO_TEST_SUITE(fires)

BOOST_AUTO_TEST_CASE_TEMPLATE(each_fire_is_completed_exactly_once_by_processes_that_are_killed_at_random, Database, own_databases)
{
    Database database;
    lh::odbc_store store{database.connection_string()};
    store.create_schema();
    odbc_connection looks{database.connection_string()};
    looks.execute("create table fires (fire bigint)");

    const auto start = [&] { return child_process{{FIRES_HOST, database.connection_string()}}; };
    std::vector<child_process> hosts;
    for (int i = 0; i < 5; ++i) hosts.push_back(start());
    std::mt19937 random{20261125};
    const auto between = [&random](int low, int high) { return std::uniform_int_distribution<int>{low, high}(random); };
    int killed = 0;
    std::size_t fires_before = 0;
    int since = 0;  // how many were killed since a fire was completed
    const bool done = eventually(
        [&] {
            const std::size_t fires_now = number(looks, "select count(*) from fires");
            since = fires_now > std::exchange(fires_before, fires_now) ? 0 : since + 1;
            // Where a process takes long to start, all would be killed before they have begun.
            const auto another = [&] { return number(looks, "select count(*) from fires") > fires_before; };
            if (since > 8 && !eventually(another, 10s, 50ms)) return false;
            child_process& host = hosts[static_cast<std::size_t>(between(0, 4))];
            if (!host.running()) BOOST_ERROR("a host has ended by itself");
            host.kill();
            host = start();
            ++killed;
            return number(looks, "select count(*) from fires") >= wanted_fires();
        },
        180s + wanted_fires() * 500ms, std::chrono::milliseconds{between(150, 250)});
    for (child_process& host : hosts) host.kill();
    BOOST_TEST(done);
    BOOST_TEST(killed > 3);

    // What a killed process has begun is rolled back some time after.
    const auto last = [&] { return store.checkpoint("job").value_or(lh::checkpoint_record{}).text; };
    BOOST_TEST(!eventually([&, before = last()]() mutable { return std::exchange(before, last()) != before; }, 500ms));
    const std::size_t all = number(looks, "select count(*) from fires");
    const std::size_t first_fire = number(looks, "select min(fire) from fires");
    const std::size_t last_fire = number(looks, "select max(fire) from fires");
    BOOST_TEST(number(looks, "select count(distinct fire) from fires") == all);
    BOOST_TEST(last_fire - first_fire + 1 == all);
    const auto record = lh::read_fire_record(last());
    BOOST_REQUIRE((record && record->last));
    BOOST_TEST(static_cast<std::size_t>(record->last->fire.time_since_epoch() / 50ms) == last_fire);
    BOOST_TEST_MESSAGE(all << " fires, " << killed << " processes killed");
}

// It would overwrite the record of the fires.
template <class Run>
concept checkpointed_as_a_guard =
    requires(SQLHDBC mine, const Run& run, std::error_code& ec) { lh::odbc::save_checkpoint(mine, run, "", ec); } ||
    requires(SQLHDBC mine, const Run& run) { lh::odbc::save_checkpoint(mine, run, ""); };
static_assert(!checkpointed_as_a_guard<lh::recurring_run<lh::lease<lh::odbc_store>>>);
static_assert(checkpointed_as_a_guard<lh::lease_guard<lh::lease<lh::odbc_store>>>);

BOOST_AUTO_TEST_CASE_TEMPLATE(completion_is_there_with_the_job_s_write_or_not_at_all, Database, own_databases)
{
    Database database;
    lh::odbc_store store{database.connection_string()};
    store.create_schema();
    odbc_connection mine{database.connection_string()};
    mine.execute("create table fires (fire bigint)");
    mine.begin();
    lh::recurring job{store, "job", lh::every{.period = 24h}};

    const auto begin_and_complete = [&](auto end_transaction) {
        auto run = job.try_begin();
        BOOST_REQUIRE(run.held());
        mine.execute("insert into fires (fire) values (1)");
        BOOST_TEST(lh::odbc::fence(mine.handle(), run));
        BOOST_TEST(run.complete(mine.handle()));
        end_transaction();
        return run.fail();
    };
    BOOST_TEST(begin_and_complete([&] { mine.roll_back(); }));  // open again, after its pause
    BOOST_TEST(!job.last());
    BOOST_TEST(is_empty(job.try_begin()));
    auto second = job.try_begin_for(20s);
    BOOST_REQUIRE(second.held());
    BOOST_TEST(second.attempt() == 2);
    second.release();
    BOOST_TEST(!begin_and_complete([&] { mine.commit(); }));  // done: it can't fail any more
    BOOST_TEST(job.last().has_value());
    BOOST_TEST(is_empty(job.try_begin()));
    BOOST_TEST(number(mine, "select count(*) from fires") == 1U);
}

// A commit whose answer was lost: the job does its work again in the same run.
BOOST_AUTO_TEST_CASE_TEMPLATE(work_that_is_repeated_after_a_commit_without_an_answer_is_committed_once, Database, own_databases)
{
    Database database;
    lh::odbc_store store{database.connection_string()};
    store.create_schema();
    odbc_connection mine{database.connection_string()};
    mine.execute("create table fires (fire bigint)");
    mine.begin();
    lh::recurring job{store, "job", lh::every{.period = 24h}};
    auto run = job.try_begin();
    BOOST_REQUIRE(run.held());
    const auto work_and_complete = [&] {
        mine.execute("insert into fires (fire) values (1)");
        return run.complete(mine.handle());
    };
    BOOST_TEST(work_and_complete());
    mine.roll_back();
    BOOST_TEST(work_and_complete());
    mine.commit();
    BOOST_TEST(!work_and_complete());
    mine.roll_back();
    BOOST_TEST(run.completed());
    BOOST_TEST(number(mine, "select count(*) from fires") == 1U);
}

// The transaction is slow: another host has looked, and may not believe what it saw when its attempt comes through.
BOOST_AUTO_TEST_CASE_TEMPLATE(fire_that_is_committed_after_its_term_has_expired_is_not_run_again, Database, own_databases)
{
    Database database;
    lh::odbc_store one{database.connection_string()};
    one.create_schema();
    lh::odbc_store other{database.connection_string()};
    odbc_connection mine{database.connection_string()};
    mine.execute("create table fires (fire bigint)");
    mine.begin();
    const lh::recurring_options options{.ttl = 1s};
    lh::recurring a{one, "job", lh::every{.period = 24h}, options};
    lh::recurring b{other, "job", lh::every{.period = 24h}, options};
    auto run = a.try_begin();
    BOOST_REQUIRE(run.held());
    mine.execute("insert into fires (fire) values (1)");
    BOOST_REQUIRE(run.complete(mine.handle()));
    std::error_code ec;
    BOOST_TEST(eventually([&] { return !other.inspect("job", ec); }, 10s));
    BOOST_TEST(!ec);
    auto second = std::async(std::launch::async, [&b] {
        const auto begun = b.try_begin_for(10s);
        return begun.held();
    });
    std::this_thread::sleep_for(300ms);  // b has looked, and its attempt waits
    mine.commit();
    BOOST_TEST(!second.get());
    BOOST_TEST(a.last().has_value());
    BOOST_TEST(number(mine, "select count(*) from fires") == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(hosts_agree_on_the_fire_by_the_database_s_clock, Database, own_databases)
{
    Database database;
    lh::odbc_store one{database.connection_string()};
    one.create_schema();
    lh::odbc_store other{database.connection_string()};
    lh::recurring a{one, "job", lh::every{.period = 200ms}};
    lh::recurring b{other, "job", lh::every{.period = 200ms}};
    lh::fire_time last{};
    for (int i = 0; i < 6; ++i) {
        auto& job = i % 2 == 0 ? a : b;
        BOOST_TEST(eventually([&] {
            auto run = job.try_begin();
            if (!run) return false;
            BOOST_TEST((run.fire() > last));
            last = run.fire();
            return run.complete();
        }));
        std::error_code ec;
        BOOST_TEST((job.last(ec)->completed_at >= last));
    }
}

BOOST_AUTO_TEST_SUITE_END()
