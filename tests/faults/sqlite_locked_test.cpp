// SPDX-License-Identifier: BSL-1.0
// Somebody else writes to the SQLite file for longer than the store waits.
#include <leasehold/odbc/odbc_store.hpp>

#include <contract/odbc_connection.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <system_error>

BOOST_AUTO_TEST_SUITE(sqlite_locked)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(does_not_make_ones_own_term_busy_nor_forget_a_release)
{
    const temporary_directory folder;
    const std::string connection_string = sqlite_connection_string(folder.path() / "leases.db");
    lh::odbc_store store{connection_string, lh::odbc_options{.call_timeout = 2s, .lock_timeout = 200ms}};
    store.create_schema();
    std::error_code ec;
    const auto ours = store.try_acquire("n", "we", 1min, ec);
    BOOST_REQUIRE(ours.granted());
    {
        odbc_connection writer{connection_string};
        writer.begin();
        writer.execute("update leasehold set token = token where name = ''");
        BOOST_TEST(!store.try_acquire("n", "we", 2min, ec).granted());
        BOOST_TEST((ec == lh::errc::store_conflict));
        BOOST_TEST(!store.try_acquire("n", "another", 1min, ec).granted());
        BOOST_TEST(!ec);
        BOOST_TEST(!store.release("n", "we", ours.token, 0s, ec));
        BOOST_TEST((ec == lh::errc::store_conflict));
        BOOST_TEST(!store.try_acquire("n", "we", 1min, ec).granted());
        BOOST_TEST((ec == lh::errc::store_conflict));
        writer.roll_back();
    }
    const auto next = store.try_acquire("n", "we", 1min, ec);
    BOOST_REQUIRE((!ec && next.granted()));
    BOOST_TEST(next.token > ours.token);  // the release was made first
}

namespace {

/// Ends the terms of "n" and "m" by end(store, name, token), waits until the names are free, and attempts them while somebody else writes.
template <class Store, class End>
void check_that_free_names_are_not_busy(lh::duration ttl, End end)
{
    const temporary_directory folder;
    const std::string connection_string = sqlite_connection_string(folder.path() / "leases.db");
    Store store{connection_string, lh::odbc_options{.call_timeout = 2s, .lock_timeout = 200ms}};
    store.create_schema();
    std::error_code ec;
    for (const char* name : {"n", "m"}) {
        const auto ours = store.try_acquire(name, "we", ttl, ec);
        BOOST_REQUIRE(ours.granted());
        end(store, name, ours.token);
        BOOST_REQUIRE(eventually([&] { return !store.inspect(name, ec); }));
        BOOST_REQUIRE(!ec);
    }
    odbc_connection writer{connection_string};
    writer.begin();
    writer.execute("update leasehold set token = token where name = ''");
    BOOST_TEST(!store.try_acquire("n", "another", 1min, ec).granted());
    BOOST_TEST((ec == lh::errc::store_conflict));
    const std::array<lh::term_request, 2> both{lh::term_request{"n", "another", 1min}, lh::term_request{"m", "another", 1min}};
    std::array<std::optional<lh::acquire_result>, 2> answers;
    store.acquire_many(both, 2, answers, ec);
    BOOST_TEST((ec == lh::errc::store_conflict));
    BOOST_TEST((!answers[0] && !answers[1]));
    writer.roll_back();
}

template <class Store>
void check_that_released_names_are_not_busy(lh::duration min_hold)
{
    check_that_free_names_are_not_busy<Store>(1min, [min_hold](Store& store, const char* name, lh::fencing_token token) {
        std::error_code ec;
        BOOST_TEST(store.release(name, "we", token, min_hold, ec));
    });
}

}  // namespace

BOOST_AUTO_TEST_CASE(does_not_make_a_released_name_busy)
{
    check_that_released_names_are_not_busy<lh::odbc_store>(0s);
    check_that_released_names_are_not_busy<lh::observing_odbc_store>(0s);
}

BOOST_AUTO_TEST_CASE(does_not_make_a_name_busy_whose_min_hold_is_over)
{
    check_that_released_names_are_not_busy<lh::odbc_store>(20ms);
    check_that_released_names_are_not_busy<lh::observing_odbc_store>(20ms);
}

// A term that has run out may have an open fence by the database's clock, but there are no fences by observation.
BOOST_AUTO_TEST_CASE(does_not_make_a_name_busy_whose_term_was_seen_to_run_out)
{
    check_that_free_names_are_not_busy<lh::observing_odbc_store>(20ms, [](auto&&...) {});
}

BOOST_AUTO_TEST_CASE(keeps_no_call_longer_than_call_timeout_whatever_the_connection_string_says)
{
    const temporary_directory folder;
    const std::string plain = sqlite_connection_string(folder.path() / "leases.db");
    for (const std::string& connection_string : {plain + ";Timeout=10000", "Timeout=10000;" + plain}) {
        lh::odbc_store store{connection_string, lh::odbc_options{.call_timeout = 2s}};
        store.create_schema();  // from now on its calls are made on this very thread
        odbc_connection writer{plain};
        writer.begin();
        writer.execute("update leasehold set token = token where name = ''");
        const auto begun = std::chrono::steady_clock::now();
        std::error_code ec;
        BOOST_TEST(!store.try_acquire("n", "we", 1min, ec).granted());
        BOOST_TEST((ec == lh::errc::store_conflict || ec == lh::errc::store_timeout), ec.message());
        BOOST_TEST((std::chrono::steady_clock::now() - begun < 8s));  // not the 10 s of the connection string
        writer.roll_back();
    }
}

BOOST_AUTO_TEST_SUITE_END()
