// SPDX-License-Identifier: BSL-1.0
// Another process for the contract suite on Redis. The address comes in the environment, where ps does not show it.
#include <contract/peer.hpp>
#include <redis_store/redis_store.hpp>
#include <support/redis_address.hpp>
#include <support/static_holder.hpp>

#include <cstdlib>
#include <iostream>
#include <string_view>

int main(int argc, char** argv)
{
    const char* address = std::getenv("LEASEHOLD_CONTRACT_STORE");
    if (!address) {
        std::cerr << "contract_peer_redis: LEASEHOLD_CONTRACT_STORE is not set\n";
        return 2;
    }
    const redis_leases::redis_options options = leasehold_test::redis_options_of(address);
    if (argc == 2 && std::string_view{argv[1]} == "hold-by-static-objects")
        return leasehold_test::hold_by_static_objects([&] { return redis_leases::redis_store{options}; });
    redis_leases::redis_store store{options};
    return leasehold::contract::run_peer(store, {argv + 1, argv + argc});
}
