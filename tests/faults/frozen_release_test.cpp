// SPDX-License-Identifier: BSL-1.0
// needs: server
// A process that is frozen between a release of many leases and its commit: their rows are locked by then.
#include <leasehold/basic_lease.hpp>
#include <leasehold/odbc/detail/driver/batches.hpp>
#include <leasehold/odbc/detail/driver/connecting.hpp>
#include <leasehold/odbc/detail/flow/batch_flow.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

BOOST_AUTO_TEST_SUITE(frozen_release)

namespace lh = leasehold;
namespace od = lh::odbc::detail;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

using servers = boost::mpl::list<postgresql_server, mariadb_server>;

bool is_mysql(const postgresql_server&) { return false; }
bool is_mysql(const mariadb_server& server) { return server.is_mysql(); }

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_are_free_for_others_within_a_call_timeout, Server, servers)
{
    const Server server;
    const lh::odbc_options options{.call_timeout = 2s};
    lh::odbc_store store{server.connection_string(), options};
    store.create_schema();
    std::error_code ec;
    const std::vector<std::string> names{"a", "b", "c"};
    od::batch many{names.size()};
    std::vector<od::item_number> all;
    for (const std::string& name : names) {
        const auto got = store.try_acquire(name, "frozen", 3s, ec);
        BOOST_REQUIRE(got.granted());
        all.push_back(static_cast<od::item_number>(many.size()));
        many.add(name, "frozen", got.token.value());
    }

    // What release_many() does, and never comes to the commit.
    const auto as = std::make_shared<const od::configuration>(server.connection_string(), options, &lh::dialect::detected::describe);
    std::optional<od::connection> frozen{as};
    BOOST_REQUIRE((frozen->connect() == od::fault::none));
    frozen->set_time_to_live({});
    BOOST_REQUIRE((frozen->begin_transaction() == od::fault::none));
    BOOST_REQUIRE((frozen->run_batch(od::batch_kind::releases, many, all) == od::fault::none));
    BOOST_REQUIRE(frozen->rows() == 3);

    if (is_mysql(server)) {
        // It has no time-out for that: the rows are locked until the connection ends, also when the term is over.
        BOOST_TEST(eventually([&] {
            const auto said = store.try_acquire("a", "next", 30s, ec);
            return said.status == lh::acquire_status::busy && said.remaining == lh::duration{} && !ec;
        }));
        frozen.reset();
    }
    for (const std::string& name : names)
        BOOST_TEST(eventually([&] { return store.try_acquire(name, "next", 30s, ec).granted() && !ec; }, 15s), name);
}

BOOST_AUTO_TEST_SUITE_END()
