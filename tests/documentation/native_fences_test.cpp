// SPDX-License-Identifier: BSL-1.0
// The fence without ODBC, by the functions that docs/fencing.md prints: what it says, and whom it keeps out.
#include "native_connections.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <contract/asked_once.hpp>
#include <contract/odbc_connection.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

using namespace leasehold_test;

namespace {

using interfaces = boost::mpl::list<over_libpq, over_libpqxx, over_libmariadb, over_libmariadb_as_on_a_cluster, over_sqlite>;
// Where the fence is a lock that renewals pass.
using passable = boost::mpl::list<over_libpq, over_libpqxx, over_libmariadb>;
using impassable = boost::mpl::list<over_libmariadb_as_on_a_cluster, over_sqlite>;

}  // namespace

BOOST_AUTO_TEST_SUITE(native_fences)

BOOST_AUTO_TEST_CASE_TEMPLATE(confirms_the_current_term_and_again, Interface, interfaces)
{
    native_scene<Interface> s{"current"};
    const auto guard = s.lease.try_acquire();
    s.app.begin();
    BOOST_TEST(s.app.fence(guard));
    s.write(guard.token());
    BOOST_TEST(s.app.fence(guard));
    s.app.commit();
    BOOST_TEST(s.mine.last() == std::to_string(guard.token().value()));
    BOOST_TEST(s.passes(guard));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(refuses_to_run_outside_of_a_transaction, Interface, interfaces)
{
    native_scene<Interface> s{"autocommit"};
    const auto guard = s.lease.try_acquire();
    BOOST_CHECK_THROW(s.app.fence(guard), std::logic_error);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(does_not_confirm_a_term_that_has_run_out_in_the_database, Interface, interfaces)
{
    native_scene<Interface> s{"run out", 200ms};
    const auto guard = s.lease.try_acquire();
    BOOST_TEST(s.has_run_out());
    BOOST_TEST(!s.passes(guard));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(does_not_confirm_a_term_that_was_released_or_ended_by_an_operator, Interface, interfaces)
{
    native_scene<Interface> s{"released"};
    auto first = s.lease.try_acquire();
    const kept_term released{first};
    BOOST_TEST(s.passes(released));
    BOOST_TEST(first.release() == lh::release_outcome::released);
    BOOST_TEST(!s.passes(released));
    const auto second = s.lease.try_acquire();
    BOOST_TEST(s.passes(second));
    BOOST_TEST(s.others_store.force_release(s.name));
    BOOST_TEST(!s.passes(second));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(does_not_confirm_a_term_that_was_taken_over, Interface, interfaces)
{
    native_scene<Interface> s{"taken over"};
    const auto guard = s.lease.try_acquire();
    BOOST_TEST(s.others_store.force_release(s.name));
    const auto others = s.others.try_acquire();
    BOOST_TEST(others.held());
    BOOST_TEST(!s.passes(guard));
    BOOST_TEST(s.passes(others));
    // Each part of the term counts by itself.
    BOOST_TEST(!s.passes(kept_term{s.name, others.owner(), guard.token()}));
    BOOST_TEST(!s.passes(kept_term{s.name, guard.owner(), others.token()}));
    BOOST_TEST(!s.passes(kept_term{s.name + "+", others.owner(), others.token()}));
    BOOST_TEST(!s.passes(kept_term{s.name, {}, others.token()}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(compares_names_and_owners_byte_by_byte, Interface, interfaces)
{
    const std::string name = std::string{"\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC it's "} + Interface::label;
    native_scene<Interface> s{"bytes"};
    std::error_code ec;
    const lh::acquire_result granted = s.store.try_acquire(name, "Owner \xC3\xA9", 60s, ec);
    BOOST_TEST_REQUIRE(granted.granted());
    BOOST_TEST(s.passes(kept_term{name, "Owner \xC3\xA9", granted.token}));
    for (const char* other : {"owner \xC3\xA9", "Owner e", "Owner \xC3\xA9 "}) BOOST_TEST(!s.passes(kept_term{name, other, granted.token}));
    BOOST_TEST(s.store.release(name, "Owner \xC3\xA9", granted.token, 0s, ec));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(keeps_take_overs_out_until_the_transaction_ends, Interface, interfaces)
{
    for (const bool committing : {true, false}) {
        native_scene<Interface> s{committing ? "until commit" : "until rollback", 1500ms};
        const auto guard = s.lease.try_acquire();
        s.app.begin();
        BOOST_TEST_REQUIRE(s.app.fence(guard));
        BOOST_TEST(s.has_run_out());
        for (int attempt = 0; attempt < 2; ++attempt) BOOST_TEST(s.others_are_kept_out());
        s.write(guard.token());
        committing ? s.app.commit() : s.app.roll_back();
        const auto others = s.others.try_acquire();
        BOOST_TEST(others.token() > guard.token());
        BOOST_TEST(s.mine.last() == (committing ? std::to_string(guard.token().value()) : "0"));
        BOOST_TEST(!s.passes(guard));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(keeps_several_waiters_out_and_lets_one_in_afterwards, Interface, interfaces)
{
    native_scene<Interface> s{"waiters", 1500ms};
    const auto guard = s.lease.try_acquire();
    s.app.begin();
    BOOST_TEST_REQUIRE(s.app.fence(guard));
    std::atomic<int> grants = 0;
    std::atomic<std::int64_t> token = 0;
    std::stop_source stop;
    std::vector<std::string> errors(3);
    {
        std::vector<std::jthread> waiters;
        for (std::string& error : errors)
            waiters.emplace_back([&s, &grants, &token, &error, &stop] {
                lh::odbc_options patient = s.database.options();
                patient.call_timeout = 30s;  // on a machine that does other things too
                lh::odbc_store store{s.database.connection_string(), patient};
                lh::basic_lease lease{store, s.name, lh::lease_terms{.ttl = 60s}, lh::no_renewal{}};
                std::error_code ec;
                const auto granted = lease.try_acquire_for(60s, stop.get_token(), ec);
                if (ec && ec != std::errc::operation_canceled) error = ec.message();
                if (!granted) return;
                token = granted.token().value();
                ++grants;
                static_cast<void>(eventually([&stop] { return stop.stop_requested(); }, 60s));
            });
        BOOST_TEST(s.has_run_out());
        BOOST_TEST(throughout([&grants] { return grants == 0; }, 1500ms));
        s.write(guard.token());
        s.app.commit();
        BOOST_TEST(eventually([&grants] { return grants == 1; }, 30s));
        BOOST_TEST(throughout([&grants] { return grants == 1; }, 100ms));
        stop.request_stop();
    }
    for (const std::string& error : errors) BOOST_TEST(error.empty(), error);
    BOOST_TEST(token > guard.token().value());
    BOOST_TEST(s.mine.last() == std::to_string(guard.token().value()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(lets_the_holders_renewals_and_its_release_through, Interface, passable)
{
    for (const std::string level : {"read committed", "repeatable read"}) BOOST_TEST_CONTEXT(level) {
            native_scene<Interface> s{"renewed, " + level};
            s.app.execute(Interface::database_type::set_level(level));
            auto guard = s.lease.try_acquire();
            s.app.begin();
            BOOST_TEST_REQUIRE(s.app.fence(guard));
            for (int i = 0; i < 20; ++i) BOOST_TEST(guard.renew());
            BOOST_TEST(s.app.fence(guard));
            BOOST_TEST(guard.release() == lh::release_outcome::released);
            BOOST_TEST(s.others_are_kept_out());
            s.app.commit();
            BOOST_TEST(is_held(s.others.try_acquire()));
        }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(makes_the_holders_renewals_wait_without_ending_the_term, Interface, impassable)
{
    native_scene<Interface> s{"waits"};
    lh::odbc_store impatient{s.database.connection_string(), lh::odbc_options{.call_timeout = 10s, .lock_timeout = 1s}};
    lh::basic_lease lease{impatient, s.name, lh::lease_terms{.ttl = 60s}, lh::no_renewal{}};
    auto guard = lease.try_acquire();
    s.app.begin();
    BOOST_TEST_REQUIRE(s.app.fence(guard));
    std::error_code ec;
    BOOST_TEST(!guard.renew(ec));
    BOOST_TEST((ec == lh::errc::store_conflict || ec == lh::errc::store_timeout), ec.message());
    BOOST_TEST(guard.held());
    s.app.commit();
    BOOST_TEST(guard.renew());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(first_in_its_transaction_it_is_right_at_each_level, Interface, passable)
{
    for (const std::string level : Interface::database_type::levels) BOOST_TEST_CONTEXT(level) {
            native_scene<Interface> s{"level, " + level, 1500ms};
            s.app.execute(Interface::database_type::set_level(level));
            auto guard = s.lease.try_acquire();
            s.app.begin();
            BOOST_TEST_REQUIRE(s.app.fence(guard));
            std::string in_force = s.app.execute(Interface::database_type::show_level);
            for (char& c : in_force) c = c == '-' ? ' ' : c;
            BOOST_TEST(in_force == level);
            BOOST_TEST(s.has_run_out());
            BOOST_TEST(s.others_are_kept_out());
            s.app.commit();
            BOOST_TEST(!s.passes(guard));
            guard.release();
            guard = s.lease.try_acquire();
            BOOST_TEST(guard.renew(60s));
            BOOST_TEST(s.passes(guard));
            BOOST_TEST(s.others_store.force_release(s.name));
            BOOST_TEST(!s.passes(guard));
            const auto others = s.others.try_acquire();
            BOOST_TEST(others.held());
            BOOST_TEST(!s.passes(guard));
        }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(anywhere_in_a_read_committed_transaction_it_judges_the_row_as_it_is, Interface, passable)
{
    native_scene<Interface> s{"read committed", 1500ms};
    s.app.execute(Interface::database_type::set_level("read committed"));
    auto guard = s.lease.try_acquire();
    s.app.begin();
    BOOST_TEST(s.app.execute("select token from written where name = '" + s.name + "'") == "0");
    BOOST_TEST(guard.renew(60s));
    BOOST_TEST(throughout([&] { return s.others_store_says_held(); }, 1700ms));
    BOOST_TEST(s.app.fence(guard));
    s.app.roll_back();
    s.app.begin();
    BOOST_TEST(s.app.execute("select token from written where name = '" + s.name + "'") == "0");
    BOOST_TEST(s.others_store.force_release(s.name));
    BOOST_TEST(!s.app.fence(guard));
    s.app.roll_back();
}

// What the page says of a fence that is not the first statement there.
BOOST_AUTO_TEST_CASE_TEMPLATE(late_in_a_transaction_with_one_snapshot_it_still_keeps_take_overs_out, Interface, passable)
{
    const std::string level = "repeatable read";
    const auto read = [](native_scene<Interface>& s) { return s.app.execute("select token from written where name = '" + s.name + "'"); };
    {
        native_scene<Interface> s{"snapshot before the term"};
        s.app.execute(Interface::database_type::set_level(level));
        s.app.begin();
        BOOST_TEST(read(s) == "0");
        const auto guard = s.lease.try_acquire();
        BOOST_TEST(!s.app.fence(guard));
        s.app.roll_back();
        BOOST_TEST(s.passes(guard));
    }
    {
        // The saving of a checkpoint does not notice on MariaDB before 11.6, and so needs a fence in front there, as the page says.
        native_scene<Interface> s{"save, snapshot before the term"};
        s.app.execute(Interface::database_type::set_level(level));
        if (std::string_view{Interface::dialect} == "mariadb" &&
            !s.app.execute("show variables like 'innodb_snapshot_isolation'").empty())
            s.app.execute("set innodb_snapshot_isolation = off");
        s.app.begin();
        BOOST_TEST(read(s) == "0");
        const auto guard = s.lease.try_acquire();
        BOOST_TEST(s.app.save(guard, "x") == (std::string_view{Interface::dialect} == "mariadb" ? 1 : 0));
        s.app.roll_back();
        BOOST_TEST(!s.others_store.checkpoint(s.name));
    }
    {
        native_scene<Interface> s{"snapshot before the release"};
        s.app.execute(Interface::database_type::set_level(level));
        const auto guard = s.lease.try_acquire();
        s.app.begin();
        BOOST_TEST(read(s) == "0");
        BOOST_TEST(s.others_store.force_release(s.name));
        BOOST_TEST(s.app.fence(guard));
        BOOST_TEST(s.others_are_kept_out());
        s.app.commit();
        BOOST_TEST(is_held(s.others.try_acquire()));
    }
    {
        native_scene<Interface> s{"snapshot before the take-over"};
        s.app.execute(Interface::database_type::set_level(level));
        const auto guard = s.lease.try_acquire();
        s.app.begin();
        BOOST_TEST(read(s) == "0");
        BOOST_TEST(s.others_store.force_release(s.name));
        BOOST_TEST(is_held(s.others.try_acquire()));
        bool passed = false;
        try {
            passed = s.app.fence(guard);
        }
        catch (const std::exception& conflict) {
            BOOST_TEST_MESSAGE(conflict.what());
        }
        BOOST_TEST(!passed);
        s.app.roll_back();
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(works_on_a_table_and_columns_of_other_names, Interface, interfaces)
{
    native_scene<Interface> s{"other names"};
    lh::odbc_options options = s.database.options();
    options.table = "Own_Leases";
    options.columns = {.name = "Key", .owner = "Holder", .token = "Number", .expires_at = "Until"};
    lh::odbc_store store{s.database.connection_string(), options};
    store.create_schema();
    lh::basic_lease lease{store, s.name, lh::lease_terms{.ttl = 1500ms}, lh::manual_clock{}, lh::no_renewal{}};
    lh::basic_lease others{store, s.name, lh::lease_terms{.ttl = 60s}, lh::no_renewal{}};
    const auto guard = lease.try_acquire();
    BOOST_TEST(!s.passes(guard));
    s.app.statement = lh::fence_sql(Interface::dialect, options);
    s.app.begin();
    BOOST_TEST_REQUIRE(s.app.fence(guard));
    BOOST_TEST(eventually([&] { return !lease.inspect(); }, 20s));
    std::error_code ec;
    BOOST_TEST(!is_held(others.try_acquire(ec)));
    BOOST_TEST(!ec, ec.message());
    s.app.commit();
    BOOST_TEST(is_held(others.try_acquire()));
    BOOST_TEST(!s.passes(guard));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(confirms_no_term_on_a_table_on_which_it_could_not_keep_anybody_out, Interface, passable)
{
    native_scene<Interface> s{"no index"};
    lh::odbc_options options = s.database.options();
    options.table = "without_index";
    s.app.execute("create table if not exists without_index (name varchar(190) primary key, owner varchar(190) not null,"
                  " token bigint not null, expires_at timestamp not null, " + handover_columns + ")");
    lh::odbc_store store{s.database.connection_string(), options};
    lh::basic_lease lease{store, s.name, lh::lease_terms{.ttl = 60s}, lh::no_renewal{}};
    const auto guard = lease.try_acquire();
    s.app.statement = lh::fence_sql(Interface::dialect, options);
    bool passed = false;
    try {
        passed = s.passes(guard);
    }
    catch (const std::runtime_error& refused) {
        BOOST_TEST(std::string{refused.what()}.find("leasehold_fence") != std::string::npos, refused.what());
        s.app.roll_back();
    }
    BOOST_TEST(!passed);
    s.app.execute(Interface::dialect == std::string{"postgresql"} ? "set time zone 'UTC'" : "set time_zone = '+00:00'");
    s.app.execute("create unique index leasehold_fence on without_index (name, token)");
    BOOST_TEST(s.passes(guard));
    s.app.execute("drop table without_index");
}

BOOST_AUTO_TEST_CASE(renewals_wait_for_a_fence_in_a_serializable_transaction_of_mariadb)
{
    native_scene<over_libmariadb> s{"serializable"};
    s.app.execute(mariadb_database::set_level("serializable"));
    auto guard = s.lease.try_acquire();
    s.app.begin();
    BOOST_TEST_REQUIRE(s.app.fence(guard));
    std::error_code ec;
    BOOST_TEST(!guard.renew(ec));
    BOOST_TEST((ec == lh::errc::store_conflict || ec == lh::errc::store_timeout), ec.message());
    s.app.commit();
    BOOST_TEST(guard.renew());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(checkpoint_is_saved_with_the_write_or_not_at_all, Interface, interfaces)
{
    native_scene<Interface> s{"checkpoint"};
    const auto guard = s.lease.try_acquire();
    s.app.begin();
    s.write(guard.token());
    BOOST_TEST(s.app.save(guard, "offset=1") == 1);
    s.app.roll_back();
    BOOST_TEST(!s.store.checkpoint(s.name).has_value());
    BOOST_TEST(s.written() == "0");
    const std::string odd = "offset=2 'quoted' \"too\" \\ ? $1 :name \xE6\x97\xA5\n";
    for (const std::string& text : {std::string{}, odd, std::string(lh::max_checkpoint_bytes, 'x')}) {
        s.app.begin();
        s.write(guard.token());
        BOOST_TEST(s.app.save(guard, text) == 1);
        BOOST_TEST(s.app.save(guard, text) == 1);
        s.app.commit();
        const auto saved = s.others_store.checkpoint(s.name);
        BOOST_TEST_REQUIRE(saved.has_value());
        BOOST_TEST(saved->text == text);
        BOOST_TEST((saved->token == guard.token()));
        BOOST_TEST(s.written() == std::to_string(guard.token().value()));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(checkpoint_of_a_late_holder_counts_no_row, Interface, interfaces)
{
    native_scene<Interface> s{"late checkpoint"};
    const auto counted = [&s](const auto& term) {
        s.app.begin();
        const int rows = s.app.save(term, "late");
        s.app.commit();
        return rows;
    };
    const auto guard = s.lease.try_acquire();
    BOOST_TEST(counted(kept_term{s.name, guard.owner(), lh::fencing_token{guard.token().value() + 1}}) == 0);
    BOOST_TEST(s.others_store.force_release(s.name));
    BOOST_TEST(counted(guard) == 0);
    const auto others = s.others.try_acquire();
    BOOST_TEST(counted(guard) == 0);
    BOOST_TEST(counted(kept_term{s.name, guard.owner(), others.token()}) == 0);
    BOOST_TEST(counted(kept_term{s.name, others.owner(), guard.token()}) == 0);
    BOOST_TEST(counted(kept_term{s.name + "+", others.owner(), others.token()}) == 0);
    BOOST_TEST(!s.store.checkpoint(s.name).has_value());
    BOOST_TEST(counted(others) == 1);
    BOOST_TEST(s.store.checkpoint(s.name).value().text == "late");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(checkpoint_of_a_term_that_has_run_out_counts_no_row, Interface, interfaces)
{
    native_scene<Interface> s{"checkpoint, run out", 200ms};
    const auto guard = s.lease.try_acquire();
    BOOST_TEST(s.has_run_out());
    s.app.begin();
    BOOST_TEST(s.app.save(guard, "late") == 0);
    s.app.commit();
    BOOST_TEST(!s.store.checkpoint(s.name).has_value());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(checkpoint_keeps_take_overs_out_until_the_transaction_ends, Interface, interfaces)
{
    native_scene<Interface> s{"checkpoint, until commit", 1500ms};
    const auto guard = s.lease.try_acquire();
    s.app.begin();
    BOOST_TEST_REQUIRE(s.app.save(guard, "offset=1") == 1);
    BOOST_TEST(s.has_run_out());
    BOOST_TEST(s.others_are_kept_out());
    s.app.commit();
    BOOST_TEST(is_held(s.others.try_acquire()));
    BOOST_TEST(s.store.checkpoint(s.name).value().text == "offset=1");
}

// Which `begin immediate` would have locked without it.
BOOST_AUTO_TEST_CASE(first_in_a_plain_transaction_of_sqlite_it_locks_the_file)
{
    native_scene<over_sqlite> s{"plain begin", 1500ms};
    const auto guard = s.lease.try_acquire();
    s.app.execute("begin");
    BOOST_TEST_REQUIRE(s.app.fence(guard));
    BOOST_TEST(s.has_run_out());
    BOOST_TEST(s.others_are_kept_out());
    s.app.commit();
    BOOST_TEST(is_held(s.others.try_acquire()));
}

BOOST_AUTO_TEST_CASE(sqlite_refuses_a_fence_in_a_transaction_with_an_old_snapshot)
{
    native_scene<over_sqlite> s{"old snapshot"};
    auto guard = s.lease.try_acquire();
    s.app.execute("begin");
    BOOST_TEST(s.app.execute("select token from written where name = '" + s.name + "'") == "0");
    BOOST_TEST(guard.renew(90s));
    BOOST_CHECK_EXCEPTION(s.app.fence(guard), std::runtime_error,
                          [](const std::runtime_error& e) { return std::string{e.what()}.find("locked") != std::string::npos; });
    s.app.roll_back();
    BOOST_TEST(s.passes(guard));
}

BOOST_AUTO_TEST_SUITE_END()
