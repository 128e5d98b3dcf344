// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_ODBC_HANDOVER_HPP
#define LEASEHOLD_TESTS_CONTRACT_ODBC_HANDOVER_HPP

// What is said during a term, and a table that lacks the columns for it.

#include <contract/odbc_connection.hpp>
#include <contract/odbc_errors.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <string>
#include <system_error>
#include <vector>

namespace leasehold_test {

template <class Store>
void check_says(Store& store, const std::string& name)
{
    leasehold::basic_lease lease{store, name};
    auto guard = lease.try_acquire();
    BOOST_TEST(guard.publish("x"));
    BOOST_TEST(lease.request_handover("y"));
    BOOST_TEST(lease.inspect()->data == "x");
    BOOST_TEST(guard.handover_requested());
    BOOST_TEST(guard.handover_reason() == "y");
    const auto shows_after = [&lease](const char* reason) {
        BOOST_TEST(lease.request_handover(reason));
        return lease.inspect()->handover_request.value_or("none");
    };
    BOOST_TEST(shows_after("priority 7") == "y");
    BOOST_TEST(shows_after("as shard 3 of a") == "y");
    BOOST_TEST(shows_after("z") == "z");
    BOOST_TEST((guard.release() == leasehold::release_outcome::released));
    auto next = lease.try_acquire();
    BOOST_TEST(shows_after("priority 7") == "priority 7");
    BOOST_TEST(shows_after("priority 6") == "priority 6");
    BOOST_TEST(shows_after("as shard 3 of a") == "as shard 3 of a");
    BOOST_TEST(shows_after("as shard 2 of b") == "as shard 2 of b");
    BOOST_TEST(shows_after("as shard 4095 of a of b") == "as shard 4095 of a of b");
    BOOST_TEST(shows_after("priority -2147483648") == "priority -2147483648");
    BOOST_TEST(shows_after("z") == "z");
    for (const std::string words : {"priority fix, please restart", "as shard keeper of the week, please restart"}) {
        BOOST_TEST(shows_after(words.c_str()) == words);
        BOOST_TEST(shows_after("priority 7") == words);
        BOOST_TEST(shows_after("as shard 3 of a") == words);
    }
}

/// A table that lacks a column is told by whatever is asked first, and nothing is granted. It works as soon as the column is there.
inline void check_missing_columns(const std::string& connection_string, const std::vector<std::string>& sqlstates)
{
    const auto options = with_table("with_columns_missing");
    leasehold::odbc_store{connection_string, options}.create_schema();
    odbc_connection own{connection_string};
    for (const std::string column :
         {"holder_data", "holder_data_token", "handover_request", "handover_token", "checkpoint", "checkpoint_token"}) {
        BOOST_TEST_CONTEXT(column)
        {
            own.execute("alter table with_columns_missing rename column " + column + " to elsewhere");
            leasehold::odbc_store store{connection_string, options};
            check_failure(
                store, {.code = leasehold::errc::schema_missing, .sqlstates = sqlstates, .words = {"column", "docs/migrating.md"}});
            std::error_code ec;
            store.create_schema(ec);
            BOOST_TEST((ec == leasehold::errc::schema_missing), ec.message());
            const leasehold::store_health found = store.health();
            BOOST_TEST((found.error == leasehold::errc::schema_missing), found.error.message());
            BOOST_TEST(found.schema_version == 0);
            BOOST_TEST(found.diagnostics.advice == store.diagnostics().advice);
            own.execute("alter table with_columns_missing rename column elsewhere to " + column);
            check_says(store, column);
        }
    }
}

}  // namespace leasehold_test

#endif
