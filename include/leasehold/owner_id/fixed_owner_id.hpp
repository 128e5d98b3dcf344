// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_FIXED_OWNER_ID_HPP
#define LEASEHOLD_OWNER_ID_FIXED_OWNER_ID_HPP

#include <leasehold/owner_id/concept.hpp>

#include <string>
#include <utility>

namespace leasehold::inline v0 {

/// The owner is the text it is given: the one way to share an owner, on purpose.
///
/// What it is for: a restarted process with the text of the one before it (a pod's name, a configured node) need not wait for
/// the end of that one's term. It is granted a new term at once, with a new token, so that a fence tells the two apart.
/// Its price: lease objects with one text do not exclude each other. Whoever attempts last is granted the name, and the other's
/// term ends without a release: held() stays true there until its next renewal is refused or its deadline comes, so that both
/// may believe for that long, and only the token keeps the older one from what is written to. Therefore the text must belong to
/// one lease object at a time. All other owner ids of the library are unique to the object.
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
