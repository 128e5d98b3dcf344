// SPDX-License-Identifier: BSL-1.0
// ctest:

// The lease is in the same database as the data that it protects: a fence in the transaction that writes keeps late writes
// out.
//
// lh::odbc::fence confirms the term inside the transaction, and nobody else gets the lease until that transaction ends.
// So it doesn't matter how long this process sleeps between the fence and the commit. This example uses SQLite; on
// PostgreSQL and MariaDB the holder's renewals go through meanwhile.
#include "thread_service/connection.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <iostream>
#include <string>

namespace lh = leasehold;
using namespace std::chrono_literals;

constexpr const char* database = "Driver=SQLite3;Database=fenced_write.db;Timeout=2000";

// One transaction; true if it was committed as the lease's holder.
template <class Guard>
bool add_entry(connection& to, const Guard& guard, const std::string& text)
{
    if (!lh::odbc::fence(to.handle(), guard)) {
        to.roll_back();
        return false;
    }
    to.run("insert into journal values ('" + text + "')");
    to.commit();
    return true;
}

int main()
{
    lh::odbc_store store{database};
    store.create_schema();
    connection application{database};  // the application's own, with transactions
    application.run("create table if not exists journal (text varchar(100))");
    application.commit();

    // A stopped clock imitates a process that sleeps and doesn't know it: its guard still says that it holds the lease.
    lh::basic_lease sleeping{store, "journal", lh::lease_terms{.ttl = 200ms}, lh::manual_clock{}, lh::random_owner_id{},
                             lh::no_renewal{}};
    lh::basic_lease awake{store, "journal", lh::lease_terms{.ttl = 10s}};

    const auto sleeper = sleeping.try_acquire();
    if (!sleeper) return 1;
    const bool in_time = add_entry(application, sleeper, "the first, in time");
    std::cout << "first: its entry is " << (in_time ? "written" : "refused") << ", and it falls asleep\n";

    const auto other = awake.try_acquire_for(5s);
    const bool others = other.held() && add_entry(application, other, "the second");
    std::cout << "second: its entry is " << (others ? "written" : "refused") << '\n';

    const bool late = add_entry(application, sleeper, "the first, too late");
    std::cout << "first: wakes up, believes it holds the lease (" << (sleeper.held() ? "yes" : "no") << "); its entry is "
              << (late ? "written" : "refused") << '\n';
    return in_time && others && !late ? 0 : 1;
}
