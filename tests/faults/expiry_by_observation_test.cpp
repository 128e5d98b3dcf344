// SPDX-License-Identifier: BSL-1.0
// needs: server
// A server whose wall clock jumps under a held lease: what becomes of it when the server's clock judges, and when
// challengers do.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <contract/asked_once.hpp>
#include <contract/odbc_connection.hpp>

#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <utility>

BOOST_AUTO_TEST_SUITE(expiry_by_observation)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr lh::lease_terms terms{.ttl = 2s, .safety_margin = 500ms};

lh::time_point now() { return lh::steady_clock{}.now(); }

/// A server whose wall clock is what jump() says; its monotonic clock stays right.
struct faked_postgresql {
    temporary_directory folder;
    postgresql_server server = started();

    void jump(const std::string& offset) const
    {
        const std::filesystem::path whole = folder.path() / "new";
        std::ofstream{whole} << offset << '\n';
        std::filesystem::permissions(whole, std::filesystem::perms{0644});
        std::filesystem::rename(whole, clock());
    }

private:
    [[nodiscard]] std::filesystem::path clock() const { return folder.path() / "clock"; }

    // What is in the environment while it starts is its for good.
    postgresql_server started()
    {
        std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
        jump("+0");
        auto variables = faketime_environment("+0");
        variables.erase("FAKETIME");
        variables["FAKETIME_TIMESTAMP_FILE"] = clock().string();
        variables["FAKETIME_NO_CACHE"] = "1";
        for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
        struct afterwards {
            const std::map<std::string, std::string>& variables;
            ~afterwards()
            {
                for (const auto& variable : variables) ::unsetenv(variable.first.c_str());
            }
        } const unset{variables};
        return postgresql_server{};
    }
};

struct mariadb_database {
    mariadb_server server{};
    std::string connection_string() const { return server.connection_string(); }
};
struct postgresql_database {
    postgresql_server server{};
    std::string connection_string() const { return server.connection_string(); }
};
struct sqlite_database {
    temporary_directory folder{};
    std::string connection_string() const { return sqlite_connection_string(folder.path() / "own.db"); }
};
using databases = boost::mpl::list<postgresql_database, mariadb_database, sqlite_database>;

template <class Store>
bool keeps_others_out(Store& store, const std::string& connection_string, faked_postgresql& database)
{
    Store others_store{connection_string};
    lh::basic_lease lease{store, "n", terms};
    lh::basic_lease others{others_store, "n", terms};
    auto guard = lease.try_acquire();
    BOOST_TEST(guard.held());
    bool alone = !is_held(others.try_acquire());
    for (const char* offset : {"+3600", "+0", "-86400", "+31536000", "+0"}) {
        database.jump(offset);
        alone = alone && throughout([&] { return !is_held(others.try_acquire()) || !guard.held(); }, 1s, 50ms) && guard.held();
        if (!alone) break;
    }
    return alone;
}

}  // namespace

BOOST_AUTO_TEST_CASE(jumps_of_the_servers_clock_change_nothing)
{
    faked_postgresql database;
    lh::observing_odbc_store store{database.server.connection_string()};
    store.create_schema();
    BOOST_TEST(keeps_others_out(store, database.server.connection_string(), database));
}

BOOST_AUTO_TEST_CASE(the_servers_clock_as_the_judge_breaks_by_them)
{
    faked_postgresql database;
    lh::odbc_store store{database.server.connection_string()};
    store.create_schema();
    BOOST_TEST(!keeps_others_out(store, database.server.connection_string(), database));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_dead_holders_lease_is_had_after_a_ttl_of_looking, Database, databases)
{
    Database database;
    lh::observing_odbc_store store{database.connection_string()};
    lh::observing_odbc_store others_store{database.connection_string()};
    store.create_schema();
    std::error_code ec;
    BOOST_TEST(store.try_acquire("n", "dead", 1s, ec).granted());
    BOOST_TEST(eventually([&] { return !store.inspect("n", ec).has_value(); }));  // as far as that store knows
    const lh::time_point begun = now();
    lh::basic_lease others{others_store, "n", terms};
    const auto guard = others.try_acquire_for(20s);
    BOOST_TEST(guard.held());
    BOOST_TEST(guard.token() == lh::fencing_token{2});
    BOOST_TEST(now() - begun >= 1s);
    BOOST_TEST(!store.renew("n", "dead", lh::fencing_token{1}, 1s, ec));
    BOOST_TEST(!store.release("n", "dead", lh::fencing_token{1}, 0s, ec));
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_living_holders_lease_is_not_had_and_a_released_one_at_once, Database, databases)
{
    Database database;
    lh::observing_odbc_store store{database.connection_string()};
    lh::observing_odbc_store others_store{database.connection_string()};
    store.create_schema();
    lh::basic_lease lease{store, "n", terms};
    lh::basic_lease others{others_store, "n", terms};
    auto guard = lease.try_acquire();
    BOOST_TEST(!is_held(others.try_acquire_for(5s)));
    BOOST_TEST(guard.held());
    const auto record = others.inspect();
    BOOST_TEST_REQUIRE(record.has_value());
    BOOST_TEST(record->owner == lease.owner());
    BOOST_TEST(store.list().size() == 1u);
    BOOST_TEST(guard.release() == lh::release_outcome::released);
    BOOST_TEST(store.list().empty());
    BOOST_TEST(token_of(others.try_acquire()) == lh::fencing_token{2});
    BOOST_TEST(is_held(lease.try_acquire()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(min_hold_closes_for_those_who_look, Database, databases)
{
    Database database;
    lh::observing_odbc_store store{database.connection_string()};
    store.create_schema();
    lh::basic_lease lease{store, "n", lh::lease_terms{.ttl = 2s, .min_hold = 1s}};
    auto guard = lease.try_acquire();
    BOOST_TEST(guard.release() == lh::release_outcome::released);
    BOOST_TEST(!is_held(lease.try_acquire()));
    BOOST_TEST(is_held(lease.try_acquire_for(20s)));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(fences_as_ever, Database, databases)
{
    Database database;
    lh::observing_odbc_store store{database.connection_string()};
    store.create_schema();
    lh::basic_lease lease{store, "n", lh::lease_terms{.ttl = 60s}};
    auto guard = lease.try_acquire();
    odbc_connection application{database.connection_string()};
    application.begin();
    BOOST_TEST(lh::odbc::fence(application.handle(), guard));
    application.roll_back();
    BOOST_TEST(store.force_release("n"));
    BOOST_TEST(guard.held());
    BOOST_TEST(!lh::odbc::fence(application.handle(), guard));
    application.roll_back();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cannot_share_a_table_with_the_other_kind, Database, databases)
{
    Database database;
    lh::observing_odbc_store observing{database.connection_string()};
    lh::odbc_store judging{database.connection_string()};
    observing.create_schema();
    std::error_code ec;
    BOOST_TEST(!judging.try_acquire("n", "o", 1s, ec).granted());
    BOOST_TEST((ec == lh::errc::schema_missing));
    BOOST_TEST(observing.try_acquire("n", "o", 1s, ec).granted());
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_SUITE_END()
