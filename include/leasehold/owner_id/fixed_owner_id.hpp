// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_FIXED_OWNER_ID_HPP
#define LEASEHOLD_OWNER_ID_FIXED_OWNER_ID_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/owner_id/concept.hpp>

#include <string>
#include <utility>

namespace leasehold::inline v0 {

/// The owner is the given text, so that an owner can be shared on purpose.
///
/// Its purpose: a restarted process that uses the text of its predecessor (a pod's name, a configured node) need not wait
/// for the end of the predecessor's term. It is granted a new term at once, with a new token, so that a fence tells the two
/// apart. Its price: lease objects with one text do not exclude each other. The last attempt is granted the name, and the
/// other object's term ends without a release. There held() stays true until its next renewal is refused or its deadline
/// comes. Both may believe for that long, and only the token keeps the older one from writing. Therefore the text must
/// belong to one lease object at a time. static_owner_id shares an owner too; all other owner ids of the library are unique
/// to the object.
class fixed_owner_id {
public:
    /// Takes the owner, which basic_lease checks.
    explicit fixed_owner_id(std::string owner) noexcept : owner_{std::move(owner)} {}

    /// See owner_id.
    [[nodiscard]] const std::string& id() const noexcept { return owner_; }

private:
    std::string owner_;
};

}  // namespace leasehold::inline v0

#endif
