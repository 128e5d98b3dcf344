// SPDX-License-Identifier: BSL-1.0
#include "everything.hpp"

namespace odr {

const void* category_seen_from_second()
{
    return &leasehold::lease_category();
}

}  // namespace odr
