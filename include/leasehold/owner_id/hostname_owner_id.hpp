// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_HOSTNAME_OWNER_ID_HPP
#define LEASEHOLD_OWNER_ID_HOSTNAME_OWNER_ID_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/owner_id/random_owner_id.hpp>

namespace leasehold::inline v0 {

/// The same, by the name of what people read in it.
using hostname_owner_id = random_owner_id;

}  // namespace leasehold::inline v0

#endif
