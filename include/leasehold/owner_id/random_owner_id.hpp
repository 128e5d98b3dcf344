// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_RANDOM_OWNER_ID_HPP
#define LEASEHOLD_OWNER_ID_RANDOM_OWNER_ID_HPP

#include <leasehold/detail/host.hpp>
#include <leasehold/owner_id/concept.hpp>

#include <string>

namespace leasehold::inline v0 {

/// The host's name, for people, and 128 random bits, new at each call: unique to each basic_lease object. The default.
///
/// May throw what std::random_device throws where there is no source of random numbers.
struct random_owner_id {
    /// See owner_id.
    [[nodiscard]] std::string id() const
    {
        const std::string host = detail::host_prefix();
        return host.empty() ? detail::random_hex() : host + "/" + detail::random_hex();
    }
};

}  // namespace leasehold::inline v0

#endif
