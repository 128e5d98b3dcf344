// SPDX-License-Identifier: BSL-1.0
// needs: server
// A checkpoint in the application's own transaction: there together with what the transaction writes, or not at all.
#include <contract/asked_once.hpp>
#include <contract/odbc_connection.hpp>
#include <contract/scene.hpp>
#include <faults/fenced_databases.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>

BOOST_AUTO_TEST_SUITE(checkpoint_in_transaction)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

template <class Store>
std::string saved(Store& store, const std::string& name)
{
    const auto record = store.checkpoint(name);
    return record ? record->text : "none";
}

/// The statement for programs without ODBC, with its parameters written out.
std::string with_values(std::string sql, const std::string& text, const auto& guard)
{
    const auto quoted = [](std::string_view value) { return "'" + std::string{value} + "'"; };
    for (const std::string& value : {quoted(text), quoted(guard.name()), quoted(guard.owner()), std::to_string(guard.token().value())})
        sql.replace(sql.find('?'), 1, value);
    return sql;
}

struct observing_mariadb_database : mariadb_database {
    using store_type = lh::observing_odbc_store;
    static constexpr bool observes = true;
};
using kinds_of_mariadb = boost::mpl::list<mariadb_database, observing_mariadb_database>;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(checkpoint_is_there_with_the_write_or_not_at_all, Database, databases)
{
    scene<Database> s{"together"};
    const auto guard = s.lease.try_acquire();
    s.mine.write(guard.token());
    BOOST_TEST(lh::odbc::save_checkpoint(s.mine.handle(), guard, "offset=1"));
    s.mine.roll_back();
    BOOST_TEST(saved(s.others_store, s.name) == "none");
    BOOST_TEST(s.mine.last() == "0");
    s.mine.roll_back();
    for (const char* text : {"offset=2", "offset=2", "", "Gr\u00fc\u00dfe 'quoted' \\ ? \U0001f600"}) {
        s.mine.write(guard.token());
        BOOST_TEST(lh::odbc::save_checkpoint(s.mine.handle(), guard, text));
        std::error_code ec = std::make_error_code(std::errc::io_error);
        BOOST_TEST(lh::odbc::save_checkpoint(s.mine.handle(), guard, text, ec));
        BOOST_TEST(!ec);
        s.mine.commit();
        BOOST_TEST(saved(s.others_store, s.name) == text);
        BOOST_TEST((s.others_store.checkpoint(s.name)->token == guard.token()));
        BOOST_TEST(s.mine.last() == std::to_string(guard.token().value()));
        s.mine.roll_back();
    }
    const std::string largest(lh::max_checkpoint_bytes, 'x');
    BOOST_TEST(lh::odbc::save_checkpoint(s.mine.handle(), guard, largest));
    s.mine.commit();
    BOOST_TEST(saved(s.store, s.name) == largest);
}

// An UPDATE that changes nothing isn't counted, and a plain read shows the snapshot, which is from before the save. MariaDB can refuse to
// write over what has come since the snapshot, and does so by default since 11.6. MySQL can't.
BOOST_AUTO_TEST_CASE_TEMPLATE(checkpoint_that_was_saved_after_the_snapshot_may_be_saved_again_or_is_a_conflict, Database, kinds_of_mariadb)
{
    for (const char* level : Database::levels)
        for (const char* refuses : {"off", "on"}) {
            BOOST_TEST_INFO_SCOPE(level << ", innodb_snapshot_isolation " << refuses);
            scene<Database> s{std::string{"after the snapshot, "} + level + ", " + refuses};
            const bool can_refuse = !s.mine.connection().execute("show variables like 'innodb_snapshot_isolation'").empty();
            if (!can_refuse && refuses == std::string_view{"on"}) continue;
            auto guard = s.lease.try_acquire();
            if (can_refuse) s.mine.connection().execute(std::string{"set innodb_snapshot_isolation = "} + refuses);
            s.mine.connection().execute(Database::set_level(level));
            BOOST_TEST(s.mine.last() == "0");
            BOOST_TEST(guard.save_checkpoint("x"));
            const bool is_conflict = refuses == std::string_view{"on"} && level != std::string_view{"read committed"};
            std::error_code ec;
            BOOST_TEST(lh::odbc::save_checkpoint(s.mine.handle(), guard, "x", ec) != is_conflict);
            BOOST_TEST((is_conflict ? ec == lh::errc::store_conflict : !ec), ec.message());
            if (!is_conflict) s.mine.commit();
            BOOST_TEST(saved(s.others_store, s.name) == "x");
            s.mine.roll_back();
        }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(term_that_is_over_saves_nothing, Database, databases)
{
    scene<Database> s{"over"};
    auto guard = s.lease.try_acquire();
    BOOST_TEST(guard.save_checkpoint("before"));
    BOOST_TEST(s.others_store.force_release(s.name));
    BOOST_TEST(!lh::odbc::save_checkpoint(s.mine.handle(), guard, "late"));
    s.mine.roll_back();
    const auto others = s.others.try_acquire();
    BOOST_TEST(others.held());
    BOOST_TEST(guard.held());
    BOOST_TEST(!lh::odbc::save_checkpoint(s.mine.handle(), guard, "late"));
    s.mine.commit();
    BOOST_TEST(saved(s.store, s.name) == "before");
    BOOST_TEST(lh::odbc::save_checkpoint(s.mine.handle(), others, "after"));
    s.mine.commit();
    BOOST_TEST(saved(s.store, s.name) == "after");
    s.stopped.advance(60s);
    BOOST_TEST(!lh::odbc::save_checkpoint(SQL_NULL_HDBC, guard, "late"));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(term_that_has_run_out_in_the_database_saves_nothing, Database, databases)
{
    scene<Database> s{"run out", 200ms};
    const auto guard = s.lease.try_acquire();
    BOOST_TEST(s.has_run_out());
    BOOST_TEST(guard.held());
    BOOST_TEST(!lh::odbc::save_checkpoint(s.mine.handle(), guard, "late"));
    s.mine.commit();
    BOOST_TEST(saved(s.store, s.name) == "none");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nobody_is_granted_the_name_until_the_transaction_ends, Database, networked)
{
    scene<Database> s{"fenced", 2s};
    const auto guard = s.lease.try_acquire();
    BOOST_TEST(lh::odbc::save_checkpoint(s.mine.handle(), guard, "x"));
    BOOST_TEST(s.has_run_out());
    BOOST_TEST(!is_held(s.others.try_acquire()));
    s.mine.commit();
    const auto next = s.others.try_acquire();
    BOOST_TEST(next.held());
    BOOST_TEST(next.load_checkpoint().value_or("none") == "x");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(texts_and_connections_that_will_not_do_are_refused, Database, databases)
{
    scene<Database> s{"refused"};
    const auto guard = s.lease.try_acquire();
    const std::string too_long(lh::max_checkpoint_bytes + 1, 'x');
    std::error_code ec;
    BOOST_TEST(!lh::odbc::save_checkpoint(s.mine.handle(), guard, too_long, ec));
    BOOST_TEST((ec == lh::errc::invalid_data));
    BOOST_CHECK_THROW(static_cast<void>(lh::odbc::save_checkpoint(s.mine.handle(), guard, too_long)), std::system_error);
    odbc_connection autocommitting{s.database.connection_string()};
    BOOST_TEST(!lh::odbc::save_checkpoint(autocommitting.handle(), guard, "x", ec));
    BOOST_TEST((ec == std::errc::invalid_argument));
    BOOST_CHECK_EXCEPTION(static_cast<void>(lh::odbc::save_checkpoint(autocommitting.handle(), guard, "x")), std::system_error,
                          [&](const std::system_error& e) {
                              const std::string words = e.what();
                              return words.find("save_checkpoint '" + s.name + "': ") != std::string::npos &&
                                     words.find("SQL_ATTR_AUTOCOMMIT") != std::string::npos;
                          });
    BOOST_TEST(saved(s.store, s.name) == "none");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(statement_for_programs_without_odbc_saves_too, Database, databases)
{
    if constexpr (!Database::observes) {
        scene<Database> s{"by itself"};
        auto guard = s.lease.try_acquire();
        const std::string database = std::is_same_v<Database, postgresql_database> ? "postgresql"
                                     : std::is_same_v<Database, mariadb_database>  ? "mariadb"
                                                                                   : "sqlite";
        const std::string sql = lh::checkpoint_sql(database, s.database.options(), lh::odbc::sql_placeholders::question_marks);
        for (int once_more = 0; once_more < 2; ++once_more) {
            s.mine.connection().execute(with_values(sql, "offset=7", guard));
            BOOST_TEST(s.mine.connection().rows() == 1);
            s.mine.commit();
            BOOST_TEST(saved(s.store, s.name) == "offset=7");
        }
        BOOST_TEST((guard.release() == lh::release_outcome::released));
        const auto next = s.lease.try_acquire();
        BOOST_TEST(s.others_store.force_release(s.name));
        s.mine.connection().execute(with_values(sql, "late", next));
        BOOST_TEST(s.mine.connection().rows() == 0);
        s.mine.commit();
        BOOST_TEST(saved(s.store, s.name) == "offset=7");
    }
}

// Workers that fall asleep in the middle, or go without a word, import each number once: the table's key refuses a second time, and what
// is missing in the end was skipped.
BOOST_AUTO_TEST_CASE_TEMPLATE(each_piece_of_work_is_done_exactly_once, Database, networked)
{
    constexpr int last = 150;
    const std::string where = the<Database>().connection_string();
    odbc_connection{where}.execute("create table imported (number integer primary key)");
    std::atomic<int> slept = 0, refused = 0;
    lh::contract::at_once(4, [&](std::size_t worker) {
        lh::odbc_store store{where, Database::options()};
        odbc_connection to{where};
        to.begin();
        std::mt19937 random{static_cast<std::uint32_t>(worker)};
        for (int done = 0; done < last;) {
            // Not renewed and, as of a process that was stopped, with a clock that stands still: it believes for ever.
            lh::basic_lease lease{store, "import", lh::lease_terms{.ttl = 100ms}, lh::manual_clock{}, lh::no_renewal{}};
            auto guard = lease.try_acquire();
            if (guard.empty()) {
                std::this_thread::sleep_for(2ms);
                continue;
            }
            done = std::stoi(guard.load_checkpoint().value_or("0"));
            for (int batch = 0; batch < 8 && done < last; ++batch) {
                try {
                    to.execute("insert into imported values (" + std::to_string(done + 1) + ")");
                    if (random() % 16 == 0) {
                        ++slept;
                        std::this_thread::sleep_for(150ms);
                    }
                    if (!lh::odbc::save_checkpoint(to.handle(), guard, std::to_string(done + 1))) {
                        to.roll_back();
                        ++refused;
                        break;
                    }
                    if (random() % 16 == 0) {  // dies before the commit
                        to.roll_back();
                        break;
                    }
                    to.commit();
                    ++done;
                } catch (const std::exception&) {
                    // A number that another has written meanwhile, or a deadlock with him: a late worker's transaction fails.
                    to.roll_back();
                    ++refused;
                    break;
                }
            }
        }
    });
    BOOST_TEST(odbc_connection{where}.execute("select count(*) from imported") == std::to_string(last));
    BOOST_TEST(odbc_connection{where}.execute("select max(number) from imported") == std::to_string(last));
    lh::odbc_store store{where, Database::options()};
    BOOST_TEST(store.checkpoint("import")->text == std::to_string(last));
    BOOST_TEST_MESSAGE(slept << " slept, " << refused << " refused");
    BOOST_TEST(refused > 0);
}

BOOST_AUTO_TEST_SUITE_END()
