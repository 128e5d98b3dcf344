// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_ODBC_HANDOVER_HPP
#define LEASEHOLD_TESTS_CONTRACT_ODBC_HANDOVER_HPP

// A table of version 1, which has no columns for what is said during a term.

#include <contract/odbc_connection.hpp>
#include <contract/odbc_errors.hpp>
#include <contract/scene.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace leasehold_test {

/// Makes a table as versions of the library before 2 of the schema have made it.
inline void create_version_1(const std::string& connection_string, const std::string& table)
{
    leasehold::odbc_store store{connection_string, with_table(table)};
    odbc_connection own{connection_string};
    for (const std::string& statement : store.schema_sql())
        if (statement.find("alter table") == std::string::npos) own.execute(statement);
}

/// What works with every version of the table.
template <class Store>
void check_works_without_said(Store& store, const std::string& name)
{
    leasehold::basic_lease lease{store, name};
    auto guard = lease.try_acquire();
    BOOST_TEST(guard.renew());
    BOOST_TEST(!guard.handover_requested());
    BOOST_TEST(lease.inspect()->data == "");
    BOOST_TEST(!lease.inspect()->handover_request.has_value());
    BOOST_TEST(store.list(name).size() == 1U);
    std::error_code ec;
    BOOST_TEST(!store.handover_requested(name, guard.owner(), guard.token(), ec).has_value());
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST((guard.release() == leasehold::release_outcome::released));
}

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
    BOOST_TEST(shows_after("z") == "z");
    BOOST_TEST((guard.release() == leasehold::release_outcome::released));
    auto next = lease.try_acquire();
    BOOST_TEST(shows_after("priority 7") == "priority 7");
    BOOST_TEST(shows_after("priority 6") == "priority 6");
    BOOST_TEST(shows_after("z") == "z");
}

/// Version 1 goes on working; the columns come on the first use, or by create_schema(), of however many at once.
inline void check_version_1(const std::string& connection_string)
{
    create_version_1(connection_string, "first_use");
    leasehold::odbc_store first_use{connection_string, with_table("first_use")};
    check_works_without_said(first_use, "old");
    check_says(first_use, "old");

    create_version_1(connection_string, "by_hand");
    leasehold::odbc_store by_hand{connection_string, with_table("by_hand")};
    leasehold::basic_lease lease{by_hand, "held meanwhile"};
    auto guard = lease.try_acquire();
    BOOST_TEST(!lease.inspect()->handover_request.has_value());
    leasehold::odbc_store{connection_string, with_table("by_hand")}.create_schema();
    BOOST_TEST(guard.renew());
    BOOST_TEST(guard.publish("x"));
    BOOST_TEST(lease.inspect()->data == "x");
    by_hand.create_schema();  // once more does no harm
    BOOST_TEST(lease.inspect()->data == "x");
}

inline void check_version_1_upgraded_by_many(const std::string& connection_string)
{
    constexpr std::size_t many = 6;
    create_version_1(connection_string, "by_many");
    std::vector<std::unique_ptr<leasehold::odbc_store>> stores;
    for (std::size_t i = 0; i < many; ++i)
        stores.push_back(std::make_unique<leasehold::odbc_store>(connection_string, with_table("by_many")));
    std::vector<std::error_code> failures(many);
    leasehold::contract::at_once(many, [&](std::size_t i) {
        if (i % 2 == 0)
            stores[i]->create_schema(failures[i]);
        else
            stores[i]->request_handover("nobody's", "", failures[i]);
    });
    for (const std::error_code& each : failures) BOOST_TEST(!each, each.message());
    for (auto& each : stores) check_says(*each, "new");
}

}  // namespace leasehold_test

#endif
