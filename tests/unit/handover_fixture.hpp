// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_HANDOVER_FIXTURE_HPP
#define LEASEHOLD_TESTS_UNIT_HANDOVER_FIXTURE_HPP

#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/scripted_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <system_error>

namespace leasehold_test {

/// Two leases of one name on a scripted store, and a clock that stands still.
struct handover_fixture {
    using lease_type = leasehold::basic_lease<scripted_store, leasehold::manual_clock>;

    ~handover_fixture() { hang.open(); }  // whatever failed, nobody is left hanging

    std::optional<leasehold::lease_record> record() { return store.leases.inspect("n", ec); }

    /// Turns the clock to the next renewal, and returns when that and what follows it are done.
    void to_next_renewal()
    {
        const int before = store.answered(operation::renew);
        clock.advance(std::chrono::seconds{10});
        BOOST_TEST_REQUIRE(eventually([&] { return store.answered(operation::renew) > before; }));
    }

    bool looked(int times)
    {
        return eventually([&] { return store.answered(operation::handover_requested) >= times; });
    }

    leasehold::manual_clock clock;
    gate hang{clock};
    scripted_store store{clock};
    lease_type lease{store, "n", leasehold::lease_terms{.ttl = std::chrono::seconds{30}}, clock};
    lease_type other{store, "n", leasehold::lease_terms{.ttl = std::chrono::seconds{30}}, clock};
    std::error_code ec;
};

}  // namespace leasehold_test

#endif
