// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_FIXED_OWNER_ID_HPP
#define LEASEHOLD_OWNER_ID_FIXED_OWNER_ID_HPP

#include <leasehold/owner_id/concept.hpp>

#include <string>
#include <utility>

namespace leasehold::inline v0 {

/// The owner is the text it is given.
///
/// A restarted process with the same text is granted its lease at once, as a new term with a new token, although the one it had is
/// unexpired. What the process before had sent when it died has the old token, and ends nothing. If that process is alive after
/// all, it believes in its term until its next renewal: so the text must be of one process alone (a pod's name, a configured
/// node), or what the lease guards must compare tokens.
class fixed_owner_id {
public:
    /// The owner; basic_lease checks it.
    explicit fixed_owner_id(std::string owner) noexcept : owner_{std::move(owner)} {}

    /// See owner_id.
    [[nodiscard]] const std::string& id() const noexcept { return owner_; }

private:
    std::string owner_;
};

}  // namespace leasehold::inline v0

#endif
