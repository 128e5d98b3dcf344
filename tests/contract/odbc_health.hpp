// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_ODBC_HEALTH_HPP
#define LEASEHOLD_TESTS_CONTRACT_ODBC_HEALTH_HPP

// What a store says of its health.

#include <contract/odbc_connection.hpp>
#include <contract/odbc_errors.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <system_error>

namespace leasehold_test {

struct expected_health {
    bool has_clock = false;  ///< of the database's own
    bool wakes = false;      ///< the database has session locks
};

/// A server of this host: its clock is this host's.
inline void check_health(const std::string& connection_string, const expected_health& expected)
{
    using namespace std::chrono_literals;
    lh::odbc_store store{connection_string, with_table("health")};
    const lh::store_health missing = store.health();
    BOOST_TEST(missing.error == lh::errc::schema_missing);
    BOOST_TEST(missing.diagnostics.advice.find("create_schema()") != std::string::npos);
    BOOST_TEST(missing.reachable);
    BOOST_TEST(missing.schema_version == 0);

    store.create_schema();
    const lh::store_health found = store.health();
    BOOST_TEST(!found.error, found.error.message());
    BOOST_TEST(found.diagnostics.advice == "");
    BOOST_TEST(found.reachable);
    BOOST_TEST(found.schema_version == 1);
    BOOST_TEST((found.took > 0s));
    BOOST_TEST(found.clock_ahead.has_value() == expected.has_clock);
    if (found.clock_ahead) BOOST_TEST((std::chrono::abs(*found.clock_ahead) <= found.took));
    BOOST_TEST(found.wakes == expected.wakes);
    BOOST_TEST(found.sessions >= 1U);
    BOOST_TEST(found.hanging_calls == 0U);
}

/// A table says of what version it is, and nothing uses one of a later version than it knows.
inline void check_schema_version(const std::string& connection_string)
{
    const lh::odbc_options options = with_table("versioned");
    lh::odbc_store{connection_string, options}.create_schema();
    odbc_connection own{connection_string};
    own.execute("update versioned set owner = 'leasehold schema 2' where name = ''");
    lh::odbc_store store{connection_string, options};
    check_failure(store, {.code = lh::errc::store_failure, .words = {"later version", "upgrade the library"}});
    std::error_code ec;
    store.create_schema(ec);
    BOOST_TEST(ec == lh::errc::store_failure, ec.message());
    const lh::store_health refused = store.health();
    BOOST_TEST(refused.error == lh::errc::store_failure, refused.error.message());
    BOOST_TEST(refused.reachable);
    BOOST_TEST(refused.schema_version == 0);

    own.execute("update versioned set owner = 'leasehold schema 1' where name = ''");
    BOOST_TEST(store.health().schema_version == 1);
    check_works(store, "known");

    own.execute("delete from versioned where name = ''");
    lh::odbc_store taken_over{connection_string, options};
    BOOST_TEST(taken_over.health().schema_version == 1);
    check_works(taken_over, "taken over");
}

}  // namespace leasehold_test

#endif
