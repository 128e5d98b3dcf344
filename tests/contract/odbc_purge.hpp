// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_ODBC_PURGE_HPP
#define LEASEHOLD_TESTS_CONTRACT_ODBC_PURGE_HPP

// For the library's own tests: names that nobody uses any longer go, and tokens never come twice. Rows are made older with
// SQL, so that nobody has to wait.

#include <contract/odbc_connection.hpp>
#include <contract/odbc_errors.hpp>
#include <contract/odbc_purge_scene.hpp>
#include <contract/scene.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold_test {

using lh::contract::grant;
using lh::contract::release;

inline void check_what_goes(purge_scene& s)
{
    const auto released = [&](const std::string& name) { release(s.store, name, "a", grant(s.store, name, "a")); };
    const auto over = [&](const std::string& name, lh::duration since) {
        grant(s.store, name, "a");
        s.make_older(name, lh::contract::long_ttl + since);
    };
    grant(s.store, "held", "a");
    over("ran out a moment ago", 1s);
    over("ran out 58 minutes ago", 58min);
    over("ran out 62 minutes ago", 62min);
    released("released a moment ago");
    released("released 58 minutes ago");
    s.make_release_older("released 58 minutes ago", 58min);
    released("released 62 minutes ago");
    s.make_release_older("released 62 minutes ago", 62min);
    released("released by an earlier version");
    s.set_expiry("released by an earlier version", s.of.long_ago);
    release(s.store, "closed", "a", grant(s.store, "closed", "a"), lh::contract::long_ttl);
    release(s.store, "opened again long ago", "a", grant(s.store, "opened again long ago", "a"), lh::contract::long_ttl);
    s.make_older("opened again long ago", lh::contract::long_ttl + 62min);

    BOOST_TEST(s.store.purge(1h) == 4U);
    const std::set<std::string> left{"held", "ran out a moment ago", "ran out 58 minutes ago", "released a moment ago",
                                     "released 58 minutes ago", "closed"};
    BOOST_TEST(s.names() == left, boost::test_tools::per_element());
    BOOST_TEST(s.store.purge(1h) == 0U);
    BOOST_TEST(!s.store.try_acquire("held", "b", 1s, s.ignored).granted());
    BOOST_TEST(!s.store.try_acquire("closed", "b", 1s, s.ignored).granted());
}

// What somebody may come back for stays, unless it is known that nobody will.
inline void check_checkpoints_stay(purge_scene& s)
{
    for (const std::string name : {"plain", "with a checkpoint", "with an empty one"}) {
        const lh::fencing_token token = grant(s.store, name, "a");
        if (name != "plain")
            BOOST_TEST(s.store.save_checkpoint(name, "a", token, name == "with an empty one" ? "" : "offset=4711", s.ignored));
        release(s.store, name, "a", token);
        s.make_release_older(name, 62min);
    }
    BOOST_TEST(s.store.purge(1h) == 1U);
    BOOST_TEST(s.names() == (std::set<std::string>{"with a checkpoint", "with an empty one"}), boost::test_tools::per_element());
    BOOST_TEST(s.store.checkpoint("with a checkpoint")->text == "offset=4711");
    BOOST_TEST(s.store.purge(2h, lh::with_checkpoints) == 0U);
    BOOST_TEST(s.store.purge(1h, lh::with_checkpoints, s.ignored) == 2U);
    BOOST_TEST(s.names().empty());
    BOOST_TEST(!s.store.checkpoint("with a checkpoint").has_value());
    BOOST_TEST(grant(s.store, "with a checkpoint", "a") > lh::fencing_token{1});
    BOOST_TEST(!s.store.checkpoint("with a checkpoint").has_value());
}

// Whatever way a term is ended, its time can be read.
inline void check_all_releases_keep_their_time(purge_scene& s)
{
    const std::vector<std::string> names{"forced", "batched 1", "batched 2", "with a session lock", "without"};
    grant(s.store, names[0], "a");
    BOOST_TEST(s.store.force_release(names[0]));
    release(s.store, names[3], "a", grant(s.store, names[3], "a"));

    s.options.session_locks = false;
    lh::odbc_store without{s.connection_string, s.options};
    release(without, names[4], "a", grant(without, names[4], "a"));
    const std::vector<lh::term_release> both{{names[1], "a", grant(without, names[1], "a"), {}},
                                             {names[2], "a", grant(without, names[2], "a"), {}}};
    std::array answers{lh::batch_answer::unknown, lh::batch_answer::unknown};
    without.release_many(both, answers, s.ignored);
    BOOST_TEST((answers == std::array{lh::batch_answer::yes, lh::batch_answer::yes}));
    BOOST_TEST(s.store.purge(1h) == 0U);
    for (const std::string& name : names) s.make_release_older(name, 62min);
    BOOST_TEST(s.store.purge(1h) == names.size());
}

inline void check_tokens_go_on(purge_scene& s)
{
    lh::fencing_token last;
    for (int i = 0; i < 5; ++i) release(s.store, "often", "a", last = grant(s.store, "often", "a"));
    release(s.store, "once", "a", grant(s.store, "once", "a"));
    BOOST_TEST(last.value() == 5);
    s.make_release_older("often", 62min);
    s.make_release_older("once", 62min);
    BOOST_TEST(s.store.purge(1h) == 2U);
    lh::odbc_store another{s.connection_string, s.options};
    BOOST_TEST(grant(another, "new", "a") > last, "the first token of a name that was never there");
    const lh::fencing_token next = grant(s.store, "often", "a");
    BOOST_TEST(next > last);
    BOOST_TEST(!release(s.store, "often", "a", last));
    BOOST_TEST(release(s.store, "often", "a", next));
    BOOST_TEST(grant(s.store, "often", "b").value() == next.value() + 1);
}

// More than one step, and the greatest token in the middle.
inline void check_many_names(purge_scene& s)
{
    s.own.execute("insert into " + s.options.table + " (name, owner, token, expires_at) with recursive numbers (n) as (select 1"
                  " union all select n + 1 from numbers where n < 50) select " + s.of.pair_name + ", 'o', a.n + b.n, " +
                  s.of.long_ago + " from numbers a, numbers b");
    lh::odbc_store store{s.connection_string, s.options};
    grant(store, "job-25-25", "a");
    s.own.execute("update " + s.options.table + " set token = 1000 where name = 'job-25-26'");
    BOOST_TEST(store.purge(1h) == 2499U);
    BOOST_TEST(s.names() == std::set<std::string>{"job-25-25"}, boost::test_tools::per_element());
    BOOST_TEST(grant(store, "new", "a").value() == 1001);
    BOOST_TEST(store.purge(1h) == 0U);
}

inline void check_ages_that_are_refused(purge_scene& s)
{
    release(s.store, "n", "a", grant(s.store, "n", "a"));
    s.set_expiry("n", s.of.long_ago);
    for (const lh::duration age : {lh::duration{}, lh::duration{-1h}, lh::duration{59s}, lh::duration{24h * 365 * 51}}) {
        std::error_code ec;
        BOOST_TEST(s.store.purge(age, ec) == 0U);
        BOOST_TEST((ec == std::errc::invalid_argument));
        BOOST_CHECK_THROW(s.store.purge(age), std::system_error);
    }
    lh::odbc_options patient = s.options;
    patient.call_timeout = 2min;
    lh::odbc_store slow{s.connection_string, patient};
    std::error_code ec;
    BOOST_TEST(slow.purge(239s, ec) == 0U);
    BOOST_TEST((ec == std::errc::invalid_argument));
    BOOST_TEST(s.names().size() == 1U);
    BOOST_TEST(slow.purge(240s, ec) == 1U);
    BOOST_TEST(!ec);
    ec = lh::contract::leftover();
    BOOST_TEST(s.store.purge(24h * 365 * 50, ec) == 0U);
    BOOST_TEST(!ec);
}

inline void check_table_without_a_floor(purge_scene& s)
{
    s.own.execute("delete from " + s.options.table + " where name = ''");
    const lh::fencing_token first = grant(s.store, "n", "a");
    BOOST_TEST(first.value() == 1);
    release(s.store, "n", "a", first);
    s.make_release_older("n", 62min);
    BOOST_TEST(s.store.purge(1h) == 1U);
    BOOST_TEST(s.floor() == "2");
    BOOST_TEST(grant(s.store, "n", "a") > first);
}

// With the columns of another library: whole seconds, in which a released row's time is a thousand seconds vague, and names
// longer than ours.
inline void check_table_from_before(purge_scene& s)
{
    const std::string table = s.options.table + "_before";
    s.own.execute("create table " + table + " (lock_name " + s.of.text + " not null primary key, locked_by " + s.of.text +
                  " not null, fencing_token bigint not null, lock_until " + s.of.seconds + " not null, " + handover_columns + ")");
    lh::odbc_options options{.table = table};
    options.columns = {.name = "lock_name", .owner = "locked_by", .token = "fencing_token", .expires_at = "lock_until"};
    lh::odbc_store store{s.connection_string, options};
    const std::vector<std::string> names{"B", "a", "job ", "Z", "\u00e9t\u00e9", std::string(lh::max_name_bytes, 'n')};
    for (const std::string& name : names) grant(store, name, "a");
    s.own.execute("insert into " + table + " (lock_name, locked_by, fencing_token, lock_until) select '" +
                  std::string(lh::max_name_bytes + 9, 'o') + "', locked_by, 9, lock_until from " + table + " where lock_name = 'a'");
    s.own.execute("update " + table + " set lock_until = " + s.of.long_ago);
    BOOST_TEST(store.purge(1h) == names.size());
    BOOST_TEST(s.own.execute("select count(*) from " + table) == "2", "the floor, and the name that is too long");
    BOOST_TEST(grant(store, "new", "a").value() == 2);

    release(store, "new", "a", lh::fencing_token{2});
    const auto make_older = [&](lh::duration by) {
        s.own.execute("update " + table + " set lock_until = " + s.earlier("lock_until", by) + " where lock_name = 'new'");
    };
    if (s.of.seconds == "integer") return;  // milliseconds
    BOOST_TEST(store.purge(1min) == 0U, "it may have been a thousand seconds ago, or just now");
    make_older(3s);
    BOOST_TEST(store.purge(1min) == 1U);
}

// Between the look and the removal it has a new term, and another that is over too.
inline void check_name_taken_meanwhile(purge_scene& s)
{
    for (const char* name : {"held again", "used again", "unused"}) {
        release(s.store, name, "a", grant(s.store, name, "a"));
        s.make_release_older(name, 62min);
    }
    scripted_moment db{s};
    db.connection.set_time_to_live(1h);
    db.before = [&](od::statement which) {
        if (which != od::statement::remove) return;
        grant(s.store, "held again", "b");
        release(s.store, "used again", "b", grant(s.store, "used again", "b"));
        s.make_release_older("used again", 62min);
    };
    const auto step = od::purge_flow(db);
    BOOST_TEST((step.failed() == od::fault::none));
    BOOST_TEST(step->removed == 1);
    const std::set<std::string> left{"held again", "used again"};
    BOOST_TEST(s.names() == left, boost::test_tools::per_element());
    BOOST_TEST(s.floor() == "2");
}

// Read as new, it has had a term and been purged by the time the INSERT comes, which then has the token of that term.
inline void check_first_term_that_comes_late(purge_scene& s)
{
    scripted_moment db{s};
    lh::fencing_token in_between;
    db.connection.set_time_to_live(1h);
    db.connection.in().name.assign("n");
    db.connection.in().owner.assign("late");
    db.before = [&](od::statement which) {
        if (which != od::statement::insert || in_between != lh::fencing_token{}) return;
        release(s.store, "n", "a", in_between = grant(s.store, "n", "a"));
        s.make_release_older("n", 62min);
        BOOST_TEST(s.store.purge(1h) == 1U);
    };
    const auto answer = od::grant_flow(db, 0);
    BOOST_TEST((answer.failed() == od::fault::none));
    BOOST_TEST(answer->result.granted());
    BOOST_TEST(in_between.value() == 1);
    BOOST_TEST(answer->result.token > in_between);
    const auto shown = lh::contract::inspect(s.store, "n");
    BOOST_REQUIRE(shown.has_value());
    BOOST_TEST(shown->token == answer->result.token);
}

// Names come and go on three threads while a fourth purges. Rows are made older only while no grant is on its way, as no
// statement lives as long as a name has to be unused.
inline void check_tokens_while_names_are_purged(purge_scene& s)
{
    constexpr std::size_t contenders = 3;
    std::array<std::mutex, contenders> granting;
    std::array<std::multimap<std::string, std::int64_t>, contenders> noted;
    std::atomic<bool> hold_on = false;
    std::atomic<std::size_t> purged = 0;
    const auto begun = std::chrono::steady_clock::now();
    // A slow machine may not come to purge anything in that time: then longer.
    const auto goes_on = [&] { return std::chrono::steady_clock::now() < begun + (purged == 0U ? 30s : 1500ms); };
    const auto contend = [&](std::size_t i) {
        lh::odbc_store store{s.connection_string, s.options};
        const std::string owner = std::to_string(i);
        for (std::size_t n = i; goes_on(); ++n) {
            const std::string name = "n" + std::to_string(n % 300);
            while (hold_on) std::this_thread::yield();
            std::unique_lock lock{granting[i]};
            const auto result = lh::contract::acquire(store, name, owner);
            lock.unlock();
            if (!result.granted()) continue;
            noted[i].emplace(name, result.token.value());
            release(store, name, owner, result.token);
        }
    };
    lh::contract::at_once(contenders + 1, [&](std::size_t i) {
        if (i < contenders) return contend(i);
        odbc_connection own{s.connection_string};
        lh::odbc_store store{s.connection_string, s.options};
        while (goes_on()) {
            hold_on = true;
            {
                const std::scoped_lock lock{granting[0], granting[1], granting[2]};
                const std::string earlier = s.earlier("expires_at", lh::duration{62min} / 1000);
                s.patiently([&] { own.execute("update " + s.options.table + " set expires_at = " + earlier); });
            }
            hold_on = false;
            purged += store.purge(1h);
        }
    });
    std::set<std::pair<std::string, std::int64_t>> all;
    std::size_t grants = 0;
    for (const auto& each : noted) {
        grants += each.size();
        all.insert(each.begin(), each.end());
    }
    BOOST_TEST_MESSAGE("    " << grants << " grants, " << purged << " names purged");
    BOOST_TEST(all.size() == grants, "no name has had a token twice");
    BOOST_TEST(purged > 0U);
}

template <class Store>
void check_no_purge(Store& store)
{
    try {
        store.purge(1h);
        BOOST_ERROR("it was possible");
    } catch (const lh::store_error& e) {
        BOOST_TEST(e.code() == make_error_code(lh::errc::store_failure));
        for (const char* word : {"generic", "observation"})
            BOOST_TEST(std::string_view{e.what()}.find(word) != std::string_view::npos, e.what());
    }
}

inline void check_stores_that_cannot(purge_scene& s)
{
    const lh::odbc_options options{.table = s.options.table + "_observed"};
    lh::basic_odbc_store<lh::dialect::generic> generic{s.connection_string, options};
    generic.create_schema();
    check_no_purge(generic);
    lh::observing_odbc_store observing{s.connection_string, options};
    check_no_purge(observing);
}

// A fence's transaction keeps the row of a term that has run out meanwhile: else the name could have a first term.
inline void check_fenced_name(purge_scene& s)
{
    s.options.lock_timeout = 100ms;
    grant(s.store, "before", "a");  // on MariaDB such a fence is in the way of the entry before it too, else that of the floor
    lh::odbc_store store{s.connection_string, s.options};
    const lh::lease_terms terms{.ttl = lh::contract::long_ttl};
    lh::basic_lease lease{store, "fenced", terms, lh::steady_clock{}, lh::random_owner_id{}, lh::no_renewal{}};
    const auto guard = lease.try_acquire();
    odbc_connection fencing{s.connection_string};
    fencing.begin();
    BOOST_TEST(lh::odbc::fence(fencing.handle(), guard));
    s.make_older("fenced", lh::contract::long_ttl + 62min);
    BOOST_TEST(store.purge(1h) == 0U);
    BOOST_TEST(s.names().size() == 2U);
    fencing.commit();
    BOOST_TEST(store.purge(1h) == 1U);
}

// `store` may do all else.
inline void check_purge_without_the_right(lh::odbc_store& store)
{
    try {
        store.purge(1h);
        BOOST_ERROR("it was possible");
    } catch (const lh::store_error& e) {
        BOOST_TEST(e.code() == make_error_code(lh::errc::store_failure));
        const std::string what = e.what();
        BOOST_TEST(what.substr(0, what.find(" [SQLSTATE")).find("DELETE") != std::string::npos, what);
    }
    check_works(store, "after");
}

/// Puts the cases into Boost.Test's tree under this name; to be made at namespace scope, once. `connection_string` is asked
/// when a case runs.
class purge_suite {
public:
    purge_suite(const char* name, std::function<std::string()> connection_string, purge_dialect of)
        : suite_{BOOST_TEST_SUITE(name)}, connection_string_{std::move(connection_string)}, of_{std::move(of)}
    {
        boost::unit_test::framework::master_test_suite().add(suite_);
        add("purge_removes_what_was_unused_for_that_long_and_nothing_else", &check_what_goes);
        add("names_with_a_checkpoint_stay_unless_told_otherwise", &check_checkpoints_stay);
        add("every_way_to_release_keeps_the_time_of_it", &check_all_releases_keep_their_time);
        add("tokens_after_a_purge_are_above_all_that_were_removed", &check_tokens_go_on);
        add("purge_goes_through_many_names_step_by_step", &check_many_names);
        add("purge_refuses_ages_that_are_too_small_or_too_great", &check_ages_that_are_refused);
        add("purge_makes_the_row_for_the_floor_if_it_is_missing", &check_table_without_a_floor);
        add("purge_of_a_table_from_before", &check_table_from_before);
        add("name_that_is_taken_between_look_and_removal_stays", &check_name_taken_meanwhile);
        if (of_.dbms != "PostgreSQL")  // which takes no second look
            add("first_term_that_comes_late_has_no_token_from_before", &check_first_term_that_comes_late);
        add("tokens_never_repeat_while_names_are_purged", &check_tokens_while_names_are_purged);
        add("stores_that_cannot_purge_say_so", &check_stores_that_cannot);
        if (of_.dbms != "SQLite")  // where nobody writes meanwhile
            add("fenced_name_is_not_purged", &check_fenced_name);
    }

private:
    void add(const char* name, void (*check)(purge_scene&), const char* file = __builtin_FILE(),
             std::size_t line = __builtin_LINE())
    {
        suite_->add(boost::unit_test::make_test_case(
            [check, where = connection_string_, of = of_] {
                purge_scene scene{where(), of};
                check(scene);
            },
            name, file, line));
    }

    boost::unit_test::test_suite* suite_;
    std::function<std::string()> connection_string_;
    purge_dialect of_;
};

}  // namespace leasehold_test

#endif
