// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_HOSTNAME_OWNER_ID_HPP
#define LEASEHOLD_OWNER_ID_HOSTNAME_OWNER_ID_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/host.hpp>
#include <leasehold/owner_id/concept.hpp>

#include <string>

namespace leasehold::inline v0 {

/// The host's name, or "localhost" if it has none, and 128 random bits, new at each call: "db1/8f0c...".
///
/// Any two lease objects exclude each other, also on one host. For an owner that the processes of a host share, see
/// fixed_owner_id. May throw what std::random_device throws if there is no source of random numbers.
struct hostname_owner_id {
    /// See owner_id.
    [[nodiscard]] std::string id() const
    {
        const std::string host = detail::host_prefix();
        return detail::unique_owner(host.empty() ? "localhost" : host);
    }
};

}  // namespace leasehold::inline v0

#endif
