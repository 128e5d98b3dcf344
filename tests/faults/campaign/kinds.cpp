// SPDX-License-Identifier: BSL-1.0
#include "kinds.hpp"

#include <initializer_list>
#include <span>
#include <vector>

namespace campaign {

std::span<const fault_kind> fault_kinds()
{
    // A seed means the same faults for as long as their order stays.
    static const std::vector<fault_kind> all = [] {
        std::vector<fault_kind> kinds;
        for (const auto& part : {kinds_of_processes(), kinds_of_network(), kinds_of_servers()})
            kinds.insert(kinds.end(), part.begin(), part.end());
        return kinds;
    }();
    return all;
}

}  // namespace campaign
