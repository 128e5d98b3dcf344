// SPDX-License-Identifier: BSL-1.0
#include <contract/contract.hpp>

#include <chrono>

namespace {

namespace lh = leasehold;

struct memory_fixture {
    lh::manual_clock time;
    lh::basic_memory_store<lh::manual_clock> leases{time};

    auto& store() { return leases; }
    auto& another_store() { return leases; }
    void let_pass(lh::duration d) { time.advance(d); }
    lh::duration short_ttl() const { return std::chrono::seconds{10}; }
    lh::manual_clock clock() const { return time; }
};

const lh::contract::suite<memory_fixture> contract{"memory"};

}  // namespace
