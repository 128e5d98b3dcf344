// SPDX-License-Identifier: BSL-1.0
#include <contract/contract.hpp>

#include <chrono>
#include <cstddef>

namespace {

namespace lh = leasehold;

// More names than any case holds at once.
inline constexpr std::size_t room = 256;

struct static_memory_fixture {
    lh::manual_clock time;
    lh::static_memory_store<room, lh::manual_clock> leases{
        time, std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now() - time.now().time_since_epoch())};

    auto& store() { return leases; }
    auto& another_store() { return leases; }
    void let_pass(lh::duration d) { time.advance(d); }
    lh::duration short_ttl() const { return std::chrono::seconds{10}; }
    lh::manual_clock clock() const { return time; }
};

const lh::contract::suite<static_memory_fixture> contract{"static_memory"};

}  // namespace
