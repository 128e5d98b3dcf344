// error: this is no renew policy
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <chrono>

namespace lh = leasehold;
using namespace std::chrono_literals;

struct my_policy {
#ifdef LEASEHOLD_COMPILE_OK
    std::optional<lh::duration> next(lh::renewal_state) const noexcept { return {}; }
#else
    bool next(lh::renewal_state) const noexcept { return false; }
#endif
};

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::basic_lease lease{store, "n", my_policy{}};
#else
    lh::basic_lease lease{store, "n", my_policy{}};
#endif
}
