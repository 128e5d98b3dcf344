// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SEMAPHORE_OPTIONS_HPP
#define LEASEHOLD_SEMAPHORE_OPTIONS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <cstdint>
#include <ostream>
#include <string_view>

namespace leasehold::inline v0 {

/// What a lease_semaphore does that was made with another count than the store's record has.
enum class on_other_count : std::uint8_t {
    refuse,  ///< every attempt is an error, errc::invalid_terms, which says both counts
    follow   ///< it takes the count of the record; its own counts only if there is no record
};

/// The enumerator's name; "invalid" for any other value.
[[nodiscard]] constexpr std::string_view to_string(on_other_count what) noexcept
{
    switch (what) {
    case on_other_count::refuse: return "refuse";
    case on_other_count::follow: return "follow";
    }
    return "invalid";
}

/// Writes to_string(what).
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, on_other_count what)
{
    return out << to_string(what);
}

/// Options of a lease_semaphore, one of the arguments after the count.
///
///     lh::lease_semaphore permits{store, "licences", 4, 30s, lh::semaphore_options{.on_other_count = lh::on_other_count::follow}};
struct semaphore_options {
    /// If the record says another count when the object first asks. A count that resize() changes later is followed in any case.
    leasehold::on_other_count on_other_count = leasehold::on_other_count::refuse;
};

}  // namespace leasehold::inline v0

#endif
