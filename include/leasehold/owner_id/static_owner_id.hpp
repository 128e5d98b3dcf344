// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_STATIC_OWNER_ID_HPP
#define LEASEHOLD_OWNER_ID_STATIC_OWNER_ID_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/owner_id/concept.hpp>

namespace leasehold::inline v0 {

/// The owner is the given text, which is not copied: usually a literal. For any lease; a fixed_owner_id without a heap.
///
/// It has the same price: lease objects with one text do not exclude each other. So give each task a text of its own that
/// stays the same after a restart: a restarted task is then granted a new term, with a new token, at once.
class static_owner_id {
public:
    /// Takes the owner, which must outlive the object.
    constexpr explicit static_owner_id(const char* owner) noexcept : owner_{owner} {}

    /// See owner_id.
    [[nodiscard]] constexpr const char* id() const noexcept { return owner_; }

private:
    const char* owner_;
};

}  // namespace leasehold::inline v0

#endif
