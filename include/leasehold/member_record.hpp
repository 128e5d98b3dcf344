// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_MEMBER_RECORD_HPP
#define LEASEHOLD_MEMBER_RECORD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>

#include <string>

namespace leasehold::inline v0 {

/// A member that lives.
struct member_record {
    std::string id;     ///< its name in the group
    std::string data;   ///< what it has published
    std::string owner;  ///< the owner of its lease; of a shard_group also of its shards
    fencing_token token;   ///< the token of its membership: another one after it has left and come back
    duration remaining{};  ///< time until the store would regard it as gone if it heard no more of it

    friend bool operator==(const member_record&, const member_record&) = default;
};


}  // namespace leasehold::inline v0

#endif
