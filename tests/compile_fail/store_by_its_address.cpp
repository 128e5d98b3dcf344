// error: give the store itself, not its address
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <chrono>

namespace lh = leasehold;
using namespace std::chrono_literals;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::basic_lease lease{store, "n"};
#else
    lh::basic_lease lease{&store, "n"};
#endif
}
