// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_NEVER_DESTROYED_HPP
#define LEASEHOLD_DETAIL_NEVER_DESTROYED_HPP

namespace leasehold::inline v0::detail {

// A static object that other static objects may use in their destructors.
template <class T>
union never_destroyed {
    constexpr never_destroyed() : value{} {}
    never_destroyed(const never_destroyed&) = delete;
    never_destroyed& operator=(const never_destroyed&) = delete;
    ~never_destroyed() {}

    T value;
};

}  // namespace leasehold::inline v0::detail

#endif
