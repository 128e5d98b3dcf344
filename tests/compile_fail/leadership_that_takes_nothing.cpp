// error: deleted.*run
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <stop_token>

namespace lh = leasehold;

void use(lh::memory_store& store, const std::stop_token& stop)
{
    lh::basic_lease lease{store, "n"};
    lh::leader_election election{lease};
#ifdef LEASEHOLD_COMPILE_OK
    election.run(stop, [](auto& term) { term.ensure_held(); });
#else
    election.run(stop, [] {});
#endif
}
