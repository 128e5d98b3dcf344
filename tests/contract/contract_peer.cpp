// SPDX-License-Identifier: BSL-1.0
// Another process for the contract suite. The connection string comes in the environment, where ps does not show it; the
// dialect, if it is to be "generic", likewise.
#include <contract/peer.hpp>

#include <leasehold/odbc/odbc_store.hpp>

#include <cstdlib>
#include <iostream>
#include <string_view>

int main(int argc, char** argv)
{
    const char* connection_string = std::getenv("LEASEHOLD_CONTRACT_STORE");
    if (!connection_string) {
        std::cerr << "contract_peer: LEASEHOLD_CONTRACT_STORE is not set\n";
        return 2;
    }
    const auto run = [&](auto&& store) { return leasehold::contract::run_peer(store, {argv + 1, argv + argc}); };
    const char* dialect = std::getenv("LEASEHOLD_CONTRACT_DIALECT");
    if (dialect && dialect == std::string_view{"generic"})
        return run(leasehold::basic_odbc_store<leasehold::dialect::generic>{connection_string});
    return run(leasehold::odbc_store{connection_string});
}
