// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_CONCEPT_HPP
#define LEASEHOLD_OWNER_ID_CONCEPT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <concepts>
#include <string>

namespace leasehold::inline v0 {

/// Names the owner.
///
/// | expression | returns | does |
/// |---|---|---|
/// | o.id() | convertible to std::string | non-empty UTF-8 up to max_owner_bytes (190) without NUL; called once, by the constructor of basic_lease, which refuses anything else with errc::invalid_owner; may throw |
///
/// For a store, two lease objects with the same text are the same owner: it grants a new term to either while the other
/// holds, so they do not exclude each other. Make the text unique to one basic_lease object. All models here do so except
/// fixed_owner_id and static_owner_id, whose comments say what sharing an owner costs.
///
/// Minimal model:
///
///     struct pod_name { std::string id() const { return std::string{std::getenv("POD_NAME")} + "/" + std::getenv("POD_UID"); } };
template <class O>
concept owner_id = std::copy_constructible<O> && requires(const O& o) {
    { o.id() } -> std::convertible_to<std::string>;
};

}  // namespace leasehold::inline v0

#endif
