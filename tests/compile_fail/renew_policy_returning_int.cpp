// error: no matching function for call to 'use
// note: same_as
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renew_policy/concept.hpp>

struct counts_milliseconds {
#ifdef LEASEHOLD_COMPILE_OK
    std::optional<leasehold::duration> next(leasehold::renewal_state) const noexcept;
#else
    int next(leasehold::renewal_state) const noexcept;
#endif
};

template <leasehold::renew_policy Policy>
void use(Policy);

void misuse()
{
    use(counts_milliseconds{});
}
