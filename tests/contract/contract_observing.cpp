// SPDX-License-Identifier: BSL-1.0
// Stores that expire by observation. Who hasn't looked doesn't know that a term is over, so one store is everybody's here;
// and what an operator is shown is what isn't released, over or not.
#include <contract/contract.hpp>
#include <contract/odbc_connection.hpp>

#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/temporary_directory.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;

struct observed_database {
    leasehold_test::temporary_directory folder;
    std::string connection_string() const { return leasehold_test::sqlite_connection_string(folder.path() / "leases.db"); }

    lh::observing_odbc_store store{connection_string()};

    observed_database() { store.create_schema(); }
};

struct observing_fixture {
    lh::observing_odbc_store& store() { return database().store; }
    lh::observing_odbc_store& another_store() { return database().store; }
    void let_pass(lh::duration d) { std::this_thread::sleep_for(d); }
    lh::duration short_ttl() const { return 250ms; }
    void delete_row(std::string_view name)
    {
        leasehold_test::odbc_connection{database().connection_string()}.execute("delete from leasehold where name = '" +
                                                                                std::string{name} + "'");
    }
    static observed_database& database()
    {
        static observed_database the_database;
        return the_database;
    }
};

const lh::contract::suite<observing_fixture> contract{
    "observing",
    {"grants", "tokens", "renewals", "releases", "closings", "names", "guards", "losses", "waiting", "turns", "several", "handover",
     "checkpoints", "store_clock", "fires", "groups", "races", "races_at_expiry", "contention", "deletions"}};

}  // namespace
