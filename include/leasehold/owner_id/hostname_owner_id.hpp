// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_HOSTNAME_OWNER_ID_HPP
#define LEASEHOLD_OWNER_ID_HOSTNAME_OWNER_ID_HPP

#include <leasehold/detail/host.hpp>
#include <leasehold/owner_id/concept.hpp>

#include <string>

namespace leasehold::inline v0 {

/// The host's name; random where there is none.
///
/// One owner per host: processes of one host do not exclude each other, and a restarted one goes on with its lease.
struct hostname_owner_id {
    /// See owner_id.
    [[nodiscard]] std::string id() const
    {
        const std::string host = detail::host_prefix();
        return host.empty() ? detail::random_hex() : host;
    }
};

}  // namespace leasehold::inline v0

#endif
