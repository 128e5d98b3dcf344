// error: this is no owner id
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <chrono>

namespace lh = leasehold;
using namespace std::chrono_literals;

struct my_owner {
#ifdef LEASEHOLD_COMPILE_OK
    std::string id() const { return "me"; }
#else
    int id() const { return 0; }
#endif
};

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::basic_lease lease{store, "n", my_owner{}};
#else
    lh::basic_lease lease{store, "n", my_owner{}};
#endif
}
