// SPDX-License-Identifier: BSL-1.0
// needs: program
// Drivers and databases that nobody has tuned for, and that don't keep what they say: support/lying_driver. Whatever it lies
// about, the store works, or says that it can't; never are there two holders, or a token that the table doesn't have.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <contract/odbc_connection.hpp>
#include <contract/tenure.hpp>

#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <ostream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

/// An SQLite file, as an honest driver shows it, and as one that lies.
struct database {
    temporary_directory folder;
    odbc_connection honest;

    database() : honest{sqlite_connection_string(file())}
    {
        ::setenv("LYING_DRIVER_REAL", find_odbc_driver_file({"SQLite3", "SQLITE3"}).c_str(), 1);
    }
    [[nodiscard]] std::string file() const { return (folder.path() / "leases.db").string(); }
    [[nodiscard]] std::string lying(const std::string& lies) const
    {
        return std::string{"Driver="} + LYING_DRIVER + ";Lies=" + lies + ";Timeout=2000;Database=" + file();
    }
    void create_schema(const std::string& of) const { lh::odbc_store{lying(of)}.create_schema(); }
    std::string row(const char* what)
    {
        return honest.execute(std::string{"select "} + what + " from leasehold where name = 'n'");
    }
};

/// What is told of a database, and whether its store is to work; if not, a word of what it has to say.
struct lie {
    const char* lies;
    const char* refused_with = nullptr;

    friend std::ostream& operator<<(std::ostream& out, const lie& told) { return out << told.lies; }
};

const std::vector<lie> told_lies{
    {"unheard_of"},
    {"unheard_of,no_row_count"},
    {"unheard_of,one_row"},
    {"unheard_of,untouched_bigint"},
    {"unheard_of,narrow_bigint"},
    {"unheard_of,untouched_bigint,narrow_bigint,no_row_count"},
    {"unheard_of,long_numbers", "64-bit"},
    {"unheard_of,padded_text", "byte"},
    {"unheard_of,no_rows", "read back"},
    {"unheard_of,no_commit", "commit"},
    {"sqlite"},
    {"sqlite,no_row_count", "count"},
    {"sqlite,untouched_bigint", "64-bit"},
};

constexpr lh::duration ttl = 1s;

/// As on MariaDB, with locks that this driver refuses.
struct sqlite_with_locks {
    static constexpr bool in_process = false;

    static lh::dialect::spec describe(const lh::dialect::server_info& at)
    {
        lh::dialect::spec s = lh::dialect::sqlite::describe(at);
        s.in_process = false;
        s.locks = {.before_wait = {}, .lock = "select 1 as get_lock", .try_lock = "select 1 as get_lock", .unlock = "select 1",
                   .unlock_all = {}, .backend = "select 1", .end_wait = "select :session"};
        return s;
    }
};

/// A store that refuses says why, each time.
void check_refusal(database& of, const lie& told)
{
    lh::odbc_store store{of.lying(told.lies)};
    for (int i = 0; i < 2; ++i) {
        std::error_code ec;
        BOOST_TEST(!store.try_acquire("n" + std::to_string(i), "a", ttl, ec).granted());
        BOOST_TEST(ec == lh::errc::store_failure, told << ": " << ec.message());
        BOOST_TEST(store.diagnostics().advice.find(told.refused_with) != std::string::npos,
                   told << " says: " << store.diagnostics().advice << " / " << store.diagnostics().server_message);
    }
}

// What each of them believes, put side by side.
void contend(const std::string& lies)
{
    database db;
    db.create_schema(lies.substr(0, lies.find(',')));
    constexpr std::size_t contenders = 4;
    const auto until = std::chrono::steady_clock::now() + 2s;
    std::vector<std::vector<lh::contract::tenure>> tenures(contenders);
    std::vector<std::string> troubles(contenders);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < contenders; ++i)
        threads.emplace_back([&, i] {
            lh::odbc_store store{db.lying(lies), {.call_timeout = 1s}};
            const lh::steady_clock clock;
            for (int turn = 0; std::chrono::steady_clock::now() < until; ++turn) {
                const std::string owner = std::to_string(i) + '-' + std::to_string(turn);
                std::error_code ec;
                const lh::time_point asked = clock.now();
                const auto result = store.try_acquire("n", owner, ttl, ec);
                const lh::time_point begin = clock.now();
                if (ec)
                    troubles[i] = ec.message() + " " + store.diagnostics().advice + " " + store.diagnostics().server_message;
                std::this_thread::sleep_for(2ms);
                if (ec || !result.granted()) continue;
                // An answer that is late is none.
                const lh::time_point end = std::min(clock.now(), asked + ttl * 9 / 10);
                if (begin < end) tenures[i].push_back({begin, end, result.token, owner});
                if (turn % 16 != 7) static_cast<void>(store.release("n", owner, result.token, 0s, ec));
            }
        });
    for (auto& each : threads) each.join();
    std::vector<lh::contract::tenure> all;
    for (const auto& some : tenures) all.insert(all.end(), some.begin(), some.end());
    BOOST_TEST_MESSAGE("    " << lies << ": " << all.size() << " terms");
    BOOST_TEST(lh::contract::overlaps_in(all) == "");
    BOOST_TEST(all.empty() == (lies.find("no_commit") != std::string::npos), lies << ", last trouble: " << troubles.front());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lying_driver)

BOOST_DATA_TEST_CASE(store_works_or_says_that_it_cannot, boost::unit_test::data::make(told_lies), told)
{
    database db;
    db.create_schema(std::string{told.lies}.substr(0, std::string{told.lies}.find(',')));
    if (told.refused_with) return check_refusal(db, told);
    lh::odbc_store a{db.lying(told.lies)};
    lh::odbc_store b{db.lying(told.lies)};
    lh::fencing_token last;
    for (int round = 0; round < 3; ++round) {
        std::error_code ec;
        const auto mine = a.try_acquire("n", "a", ttl, ec);
        BOOST_TEST_REQUIRE(mine.granted(), ec.message() << " " << a.diagnostics().advice);
        BOOST_TEST(mine.token > last);
        BOOST_TEST(db.row("token") == std::to_string(mine.token.value()));
        BOOST_TEST(db.row("owner") == "a");
        BOOST_TEST(!b.try_acquire("n", "b", ttl, ec).granted());
        BOOST_TEST(!ec);
        BOOST_TEST(a.renew("n", "a", mine.token, ttl, ec));
        BOOST_TEST(!a.renew("n", "b", mine.token, ttl, ec));
        BOOST_TEST(!b.release("n", "b", mine.token, 0s, ec));
        BOOST_TEST(a.inspect("n", ec).value().owner == "a");
        BOOST_TEST(a.list("n", ec).size() == 1U);
        BOOST_TEST(a.release("n", "a", mine.token, 0s, ec));
        BOOST_TEST(!a.release("n", "a", mine.token, 0s, ec));
        const auto next = b.try_acquire("n", "b", ttl, ec);
        BOOST_TEST(next.granted());
        BOOST_TEST(next.token > mine.token);
        BOOST_TEST(a.force_release("n", ec));
        BOOST_TEST(!a.force_release("n", ec));
        BOOST_TEST(!b.renew("n", "b", next.token, ttl, ec));
        BOOST_TEST(!ec);
        last = next.token;
    }
}

// Longer than a call may: the generic dialect, too, whose first grant takes a second connection.
BOOST_AUTO_TEST_CASE(connecting_slowly_keeps_a_store_from_its_first_calls_only)
{
    for (const std::string of : {"unheard_of", "sqlite"}) {
        database db;
        db.create_schema(of);
        ::setenv("LYING_DRIVER_DELAY", "260", 1);
        lh::odbc_store store{db.lying(of + ",slow_connecting"), {.call_timeout = 200ms}};
        lh::acquire_result granted;
        int calls = 0;
        while (!granted.granted() && calls < 20) {
            std::error_code ec;
            granted = store.try_acquire("n" + std::to_string(++calls), "a", 60s, ec);
            BOOST_TEST((granted.granted() ? !ec : ec == lh::errc::store_timeout), of << ": " << ec.message());
        }
        BOOST_TEST_MESSAGE("    " << of << ": granted to call " << calls);
        BOOST_TEST(granted.granted(), of);
        BOOST_TEST(calls > 1);
        BOOST_TEST(eventually([&] { return store.hanging_calls() == 0; }));
        ::unsetenv("LYING_DRIVER_DELAY");
    }
}

BOOST_AUTO_TEST_CASE(fence_holds_whatever_rows_are_counted)
{
    for (const char* lies : {"unheard_of", "unheard_of,no_row_count", "unheard_of,one_row", "unheard_of,late_autocommit"}) {
        database db;
        db.create_schema("unheard_of");
        lh::odbc_store store{db.lying(lies)};
        lh::basic_lease lease{store, "n", lh::lease_terms{.ttl = 60s}};
        auto guard = lease.try_acquire();
        BOOST_TEST_REQUIRE(guard.held());
        odbc_connection application{db.lying(lies)};
        application.begin();
        BOOST_TEST(lh::odbc::fence(application.handle(), guard), lies);
        application.commit();
        BOOST_TEST(store.force_release("n"));
        BOOST_TEST(!lh::odbc::fence(application.handle(), guard), lies);
        application.roll_back();
    }
}

BOOST_AUTO_TEST_CASE(many_releases_on_a_slow_database_take_one_call_timeout)
{
    database db;
    db.create_schema("sqlite");
    lh::odbc_store store{db.lying("sqlite"), {.call_timeout = 2s}};
    std::vector<std::string> names;
    for (char name = 'a'; name <= 'z'; ++name) names.emplace_back(1, name);
    std::vector<lh::term_release> releases;
    std::error_code ec;
    for (const std::string& name : names)
        releases.push_back({name, "o", store.try_acquire(name, "o", ttl * 60, ec).token, name == "z" ? lh::duration{} : ttl});
    BOOST_TEST_REQUIRE(!ec, ec.message());
    std::vector<lh::batch_answer> answers(releases.size(), lh::batch_answer::unknown);
    ::setenv("LYING_DRIVER_DELAY", "150", 1);
    const auto begun = std::chrono::steady_clock::now();
    store.release_many(releases, answers, ec);
    const auto took = std::chrono::steady_clock::now() - begun;
    ::unsetenv("LYING_DRIVER_DELAY");
    BOOST_TEST(ec == lh::errc::store_timeout, ec.message());
    BOOST_TEST((took < 3500ms));
    BOOST_TEST((answers.front() == lh::batch_answer::yes));
    BOOST_TEST((answers.back() == lh::batch_answer::yes), "one that no min_hold keeps closed goes first");
    BOOST_TEST((answers[releases.size() - 2] == lh::batch_answer::unknown));
}

BOOST_AUTO_TEST_CASE(terms_that_a_failed_commit_has_released_are_not_called_lost)
{
    database db;
    db.create_schema("sqlite");
    lh::odbc_store store{db.lying("sqlite,denied_commit")};
    std::error_code ec;
    std::vector<lh::term_release> releases;
    for (const char* name : {"m", "n"}) releases.push_back({name, "o", store.try_acquire(name, "o", ttl * 60, ec).token, {}});
    std::vector<lh::batch_answer> answers(releases.size(), lh::batch_answer::unknown);
    store.release_many(releases, answers, ec);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST((answers == std::vector<lh::batch_answer>(2, lh::batch_answer::yes)));
}

// Each try would cost a connection, and there is one more at each renewal.
BOOST_AUTO_TEST_CASE(locks_that_the_server_refuses_are_asked_for_once)
{
    database db;
    db.create_schema("sqlite");
    db.honest.execute("create table connected (once int)");
    lh::basic_odbc_store<sqlite_with_locks> store{db.lying("sqlite,refused_locks"),
                                                  {.pool_size = 1, .on_connect = {"insert into connected values (1)"}}};
    std::error_code ec;
    const auto mine = store.try_acquire("n", "a", ttl * 60, ec);
    BOOST_TEST_REQUIRE(mine.granted(), ec.message() << " " << store.diagnostics().server_message);
    BOOST_TEST(eventually([&] { return !store.health().wakes; }));
    BOOST_TEST(store.renew("n", "a", mine.token, ttl * 60, ec));
    BOOST_TEST(store.release("n", "a", mine.token, 0s, ec));
    BOOST_TEST(store.try_acquire("n", "b", ttl * 60, ec).granted());
    BOOST_TEST(store.health().session_locks == 0U);
    BOOST_TEST(db.honest.execute("select count(*) from connected") == "1");
}

BOOST_DATA_TEST_CASE(many_stores_on_one_name_never_hold_it_at_once,
                     boost::unit_test::data::make({"unheard_of", "unheard_of,no_row_count", "unheard_of,one_row",
                                                   "unheard_of,lost_replies", "unheard_of,no_row_count,lost_replies",
                                                   "sqlite,lost_replies", "unheard_of,no_commit"}),
                     lies)
{
    contend(lies);
}

BOOST_AUTO_TEST_SUITE_END()
