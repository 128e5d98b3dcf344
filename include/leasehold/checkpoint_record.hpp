// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_CHECKPOINT_RECORD_HPP
#define LEASEHOLD_CHECKPOINT_RECORD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/fencing_token.hpp>

#include <string>

namespace leasehold::inline v0 {

/// What a holder of a name has saved for those that hold it later: how far it has come.
struct checkpoint_record {
    std::string text;     ///< what was saved; may be empty
    fencing_token token;  ///< the token of the term that saved it

    friend bool operator==(const checkpoint_record&, const checkpoint_record&) = default;
};

}  // namespace leasehold::inline v0

#endif
