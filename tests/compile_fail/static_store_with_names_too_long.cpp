// error: names and owners have 1 to 190 bytes
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/store/static_memory_store.hpp>

namespace lh = leasehold;

#ifdef LEASEHOLD_COMPILE_OK
constexpr lh::static_text_limits limits{.name_bytes = 190};
#else
constexpr lh::static_text_limits limits{.name_bytes = 191};
#endif

lh::static_memory_store<1, lh::steady_clock, lh::spin_mutex, limits> store;
