// SPDX-License-Identifier: BSL-1.0
#define BOOST_TEST_MODULE my_store
#include <contract/contract.hpp>

namespace lh = leasehold;

struct my_fixture {
    lh::manual_clock time;
    lh::basic_memory_store<lh::manual_clock> leases{time};

    auto& store() { return leases; }
    auto& another_store() { return leases; }
    void let_pass(lh::duration d) { time.advance(d); }
    lh::duration short_ttl() const { return std::chrono::seconds{10}; }
    lh::manual_clock clock() const { return time; }
};

const lh::contract::suite<my_fixture> contract{"my_store"};
