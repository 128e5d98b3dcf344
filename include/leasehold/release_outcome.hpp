// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RELEASE_OUTCOME_HPP
#define LEASEHOLD_RELEASE_OUTCOME_HPP

#include <cstdint>

namespace leasehold::inline v0 {

/// How a term ended that its holder released.
enum class release_outcome : std::uint8_t {
    released,  ///< the store held the term for us up to this release: nobody else can have had it meanwhile
    lost,      ///< it was over before; somebody else may have held it since
    unknown    ///< the store could not be asked, or gave no answer: it frees the lease when the time runs out, at the latest
};

}  // namespace leasehold::inline v0

#endif
