// SPDX-License-Identifier: BSL-1.0
// needs: server
// What the fence says at each level of isolation, in a transaction that has begun before or has a snapshot.
#include <faults/fenced_databases.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <iostream>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>

BOOST_AUTO_TEST_SUITE(fence_isolation)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE_TEMPLATE(sees_what_happened_since_the_transactions_snapshot, Database, networked)
{
    for (const std::string level : Database::levels) BOOST_TEST_CONTEXT(level) {
            const auto named = [&level](const std::string& what) { return what + " since, " + level; };
            const auto begin = [](scene<Database>& s, const std::string& at) {
                application app{s.database.connection_string(), s.name, Database::set_level(at)};
                BOOST_TEST(app.last() == "0");
                std::string in_force = app.connection().execute(Database::show_level);
                for (char& c : in_force) c = c == '-' ? ' ' : c;
                BOOST_TEST(in_force == at);
                return app;
            };
            {
                scene<Database> s{named("renewed"), 400ms};
                auto guard = s.lease.try_acquire();
                application app = begin(s, level);
                BOOST_TEST(guard.renew(60s));
                // In the snapshot it has run out by then.
                BOOST_TEST(throughout([&] { return s.others_store_says_held(); }, 500ms));
                BOOST_TEST(lh::odbc::fence(app.handle(), guard));
                const lh::time_point begun = now();
                BOOST_TEST(guard.renew());
                BOOST_TEST(now() - begun < lock_timeout);
                app.write(guard.token());
                app.commit();
            }
            {
                scene<Database> s{named("released")};
                const auto guard = s.lease.try_acquire();
                application app = begin(s, level);
                BOOST_TEST(s.others_store.force_release(s.name));
                BOOST_TEST(!lh::odbc::fence(app.handle(), guard));
            }
            {
                scene<Database> s{named("taken over")};
                const auto guard = s.lease.try_acquire();
                application app = begin(s, level);
                BOOST_TEST(s.others_store.force_release(s.name));
                const auto others = s.others.try_acquire();
                BOOST_TEST(others.held());
                std::error_code ec;
                BOOST_TEST(!lh::odbc::fence(app.handle(), guard, ec));
                BOOST_TEST((!ec || ec == lh::errc::store_conflict), ec.message());
                app.roll_back();
                BOOST_TEST(!lh::odbc::fence(app.handle(), guard));
            }
        }
}

// Such a snapshot shows what others have overwritten by the time the term began.
BOOST_AUTO_TEST_CASE_TEMPLATE(refuses_a_snapshot_from_before_the_term, Database, networked)
{
    for (const std::string level : Database::levels) BOOST_TEST_CONTEXT(level) {
            scene<Database> s{"granted since, " + level};
            application app{s.database.connection_string(), s.name, Database::set_level(level)};
            BOOST_TEST(app.last() == "0");
            const auto guard = s.lease.try_acquire();
            std::error_code ec;
            const bool fenced = lh::odbc::fence(app.handle(), guard, ec);
            // MariaDB's serializable transactions read with locks, and so from no snapshot.
            const bool has_snapshot =
                level != "read committed" && (level != "serializable" || std::is_same_v<Database, postgresql_database>);
            BOOST_TEST(fenced == !has_snapshot);
            BOOST_TEST((fenced || ec == lh::errc::store_conflict), ec.message());
            app.roll_back();
            BOOST_TEST(lh::odbc::fence(app.handle(), guard));
            app.write(guard.token());
            app.commit();
        }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(agrees_with_renewals_at_the_same_instant, Database, networked)
{
    for (const std::string level : Database::levels) BOOST_TEST_CONTEXT(level) {
            scene<Database> s{"same instant, " + level};
            auto guard = s.lease.try_acquire();
            application app{s.database.connection_string(), s.name, Database::set_level(level)};
            std::error_code renewing;
            std::jthread holder{[&](std::stop_token stop) {
                while (!stop.stop_requested() && !renewing) {
                    const bool renewed = s.store.renew(s.name, s.lease.owner(), guard.token(), 60s, renewing);
                    if (!renewing && !renewed) renewing = lh::errc::lost;
                }
            }};
            int fences = 0;
            int conflicts = 0;
            for (int i = 0; i < 200; ++i) {
                std::error_code ec;
                const bool fenced = lh::odbc::fence(app.handle(), guard, ec);
                BOOST_TEST((fenced || ec == lh::errc::store_conflict), ec.message());
                ++(fenced ? fences : conflicts);
                if (fenced)
                    app.commit();
                else
                    app.roll_back();
            }
            holder.request_stop();
            holder.join();
            BOOST_TEST(!renewing, renewing.message());
            BOOST_TEST(fences > 0);
            if (conflicts > 0) std::cout << conflicts << " of 200 fences met a conflict at " << level << '\n';
        }
}

// On SQLite a transaction with an old snapshot can't begin to write.
BOOST_AUTO_TEST_CASE(is_a_conflict_where_sqlite_would_write_after_an_old_snapshot)
{
    scene<sqlite_database> s{"old snapshot"};
    auto guard = s.lease.try_acquire();
    BOOST_TEST(s.mine.last() == "0");
    BOOST_TEST(guard.renew(90s));  // one that changes nothing, in the same millisecond, would write nothing
    std::error_code ec;
    BOOST_TEST(!lh::odbc::fence(s.mine.handle(), guard, ec));
    BOOST_TEST((ec == lh::errc::store_conflict), ec.message());
    s.mine.roll_back();
    BOOST_TEST(lh::odbc::fence(s.mine.handle(), guard));
    s.mine.roll_back();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(leaves_other_names_alone, Database, networked)
{
    for (const std::string level : Database::levels) BOOST_TEST_CONTEXT(level) {
            scene<Database> s{"m " + level};
            application app{s.database.connection_string(), s.name, Database::set_level(level)};
            std::error_code ec;
            const std::string before = "l " + level;
            const std::string after = "n " + level;
            for (const auto& each : {before, after}) {
                BOOST_TEST(s.others_store.try_acquire(each, "somebody", 60s, ec).granted());
                BOOST_TEST(s.others_store.force_release(each));
            }
            const auto guard = s.lease.try_acquire();
            BOOST_TEST(lh::odbc::fence(app.handle(), guard));
            for (const auto& each : {before, after, before + "+", after + "+", s.name + "+"}) {
                BOOST_TEST(s.others_store.try_acquire(each, "another", 60s, ec).granted(), each);
                BOOST_TEST(!ec, ec.message());
            }
        }
}

BOOST_AUTO_TEST_SUITE_END()
