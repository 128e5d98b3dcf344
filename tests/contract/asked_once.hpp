// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_ASKED_ONCE_HPP
#define LEASEHOLD_TESTS_CONTRACT_ASKED_ONCE_HPP

// One question to a guard that an attempt returns, which then releases, as in is_held(lease.try_acquire()). The guard itself refuses
// that, since a program must keep what it has asked about; a test wants the answer alone.

// Found by argument-dependent look-up.
namespace leasehold {

template <class Guard>
bool is_held(const Guard& guard)
{
    return guard.held();
}

template <class Guard>
bool is_empty(const Guard& guard)
{
    return guard.empty();
}

template <class Guard>
auto token_of(const Guard& guard)
{
    return guard.token();
}

template <class Guard>
auto remaining_of(const Guard& guard)
{
    return guard.remaining();
}

}  // namespace leasehold

#endif
