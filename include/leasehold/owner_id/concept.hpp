// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_CONCEPT_HPP
#define LEASEHOLD_OWNER_ID_CONCEPT_HPP

#include <concepts>
#include <string>

namespace leasehold::inline v0 {

/// Says who holds.
///
/// | expression | returns | does |
/// |---|---|---|
/// | o.id() | convertible to std::string | non-empty UTF-8 up to max_owner_bytes (190) without NUL; called once, by the constructor of basic_lease, which refuses anything else with errc::invalid_owner; may throw |
///
/// Two holders with the same text are the same owner to a store: it lets either one take over from the other at once, as a new
/// term. So unless a restarted process is meant to go on without waiting, the text should be unique to one basic_lease object.
///
/// Minimal model:
///
///     struct pod_name { std::string id() const { return std::getenv("POD_NAME"); } };
template <class O>
concept owner_id = std::copy_constructible<O> && requires(const O& o) {
    { o.id() } -> std::convertible_to<std::string>;
};

}  // namespace leasehold::inline v0

#endif
