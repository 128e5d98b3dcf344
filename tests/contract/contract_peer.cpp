// SPDX-License-Identifier: BSL-1.0
// Another process for the contract suite. The connection string comes in the environment, where ps does not show it.
#include <contract/peer.hpp>

#include <leasehold/odbc/odbc_store.hpp>

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv)
{
    const char* connection_string = std::getenv("LEASEHOLD_CONTRACT_STORE");
    if (!connection_string) {
        std::cerr << "contract_peer: LEASEHOLD_CONTRACT_STORE is not set\n";
        return 2;
    }
    leasehold::odbc_store store{connection_string};
    return leasehold::contract::run_peer(store, {argv + 1, argv + argc});
}
