// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_RANDOM_OWNER_ID_HPP
#define LEASEHOLD_OWNER_ID_RANDOM_OWNER_ID_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/host.hpp>
#include <leasehold/owner_id/concept.hpp>

#include <string>

namespace leasehold::inline v0 {

/// 128 random bits, new at each call, and so unique to each basic_lease object. They follow the host's name, or "localhost" if it has
/// none, which is for people to read: "db1/8f0c...". The default.
///
/// May throw what std::random_device throws if there is no source of random numbers.
struct random_owner_id {
    /// See owner_id.
    [[nodiscard]] std::string id() const { return detail::unique_owner(detail::host_prefix()); }
};

}  // namespace leasehold::inline v0

#endif
