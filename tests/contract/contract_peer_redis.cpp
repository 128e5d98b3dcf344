// SPDX-License-Identifier: BSL-1.0
// Another process for the contract suite on Redis. The address comes in the environment, where ps does not show it.
#include <contract/peer.hpp>
#include <redis_store/redis_store.hpp>
#include <support/redis_address.hpp>

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv)
{
    const char* address = std::getenv("LEASEHOLD_CONTRACT_STORE");
    if (!address) {
        std::cerr << "contract_peer_redis: LEASEHOLD_CONTRACT_STORE is not set\n";
        return 2;
    }
    redis_leases::redis_store store{leasehold_test::redis_options_of(address)};
    return leasehold::contract::run_peer(store, {argv + 1, argv + argc});
}
