// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FAULTS_FENCED_CLUSTER_HPP
#define LEASEHOLD_TESTS_FAULTS_FENCED_CLUSTER_HPP

// What the tests of the fence on a Galera cluster stand on, whose nodes don't see each other's locks.

#include <contract/odbc_connection.hpp>
#include <faults/fenced_databases.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>
#include <support/galera_cluster.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

namespace leasehold_test {

/// One cluster for all cases, with the tables of leases and of the application.
inline galera_cluster& fenced_cluster()
{
    static galera_cluster the_cluster;
    static const bool prepared = [] {
        const std::string connection_string = the_cluster.node(0).connection_string();
        lh::odbc_store{connection_string}.create_schema();
        odbc_connection{connection_string}.execute(application::table);
        // The other nodes make the table after this one has answered.
        for (std::size_t i = 1; i < galera_cluster::size; ++i) {
            lh::odbc_store other{the_cluster.node(i).connection_string()};
            BOOST_TEST_REQUIRE(eventually(
                [&] {
                    std::error_code ec;
                    static_cast<void>(other.inspect("n", ec));
                    return !ec;
                },
                30s));
        }
        return true;
    }();
    static_cast<void>(prepared);
    return the_cluster;
}

/// A holder on the first node, whose clock is stopped, and somebody else on the second. The application on the first node
/// writes rows that nobody else writes: nothing but the fence can refuse them.
struct fenced_cluster_scene {
    std::string name;
    lh::odbc_store store{fenced_cluster().node(0).connection_string(), mariadb_database::options()};
    lh::odbc_store others_store{fenced_cluster().node(1).connection_string(), mariadb_database::options()};
    lh::basic_lease<lh::odbc_store, lh::manual_clock, lh::random_owner_id, lh::no_renewal> lease;
    lh::basic_lease<lh::odbc_store> others{others_store, name, lh::lease_terms{.ttl = 60s}};

    explicit fenced_cluster_scene(std::string of)
        : name{std::move(of)}, lease{store, name, lh::lease_terms{.ttl = 1500ms}, lh::manual_clock{}}
    {
        application::prepare(fenced_cluster().node(0).connection_string(), name);
    }

    /// What `ask`, a call that fills in an error code, answers. A conflict, as with what another node has committed in the same instant, is
    /// no answer: it is asked again.
    template <class Ask>
    static auto answered(Ask ask)
    {
        for (int times = 1;; ++times) {
            std::error_code ec;
            auto answer = ask(ec);
            if (ec == lh::errc::store_conflict && times < 20) continue;
            BOOST_TEST(!ec, ec.message());
            return answer;
        }
    }

    /// As the first node sees it: the second may not have heard of the term yet.
    bool has_run_out()
    {
        return eventually([&] { return !lease.inspect(); }, 20s);
    }
};

}  // namespace leasehold_test

#endif
