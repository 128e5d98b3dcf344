// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_FIXED_OWNER_ID_HPP
#define LEASEHOLD_OWNER_ID_FIXED_OWNER_ID_HPP

#include <leasehold/owner_id/concept.hpp>

#include <string>
#include <utility>

namespace leasehold::inline v0 {

/// The owner is the text it is given.
///
/// A restarted process with the same text goes on with the term it had, while that is unexpired; two live processes
/// with the same text would both be granted it, so the text must be theirs alone (a pod's name, a configured node).
/// What the process before had sent when it died may still arrive: a late release of its can end the term that its successor
/// goes on with, who learns of that from its next renewal. Where that matters, wait a call_timeout before you start again.
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
