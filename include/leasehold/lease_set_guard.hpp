// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_SET_GUARD_HPP
#define LEASEHOLD_LEASE_SET_GUARD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/guard_base.hpp>
#include <leasehold/detail/guard_sets.hpp>
#include <leasehold/fencing_token.hpp>

#include <cstddef>
#include <vector>

namespace leasehold::inline v0 {

/// The terms of several leases, all or none: what try_acquire_all() returns.
///
/// The set is held while every one of its leases is: one deadline, which is the earliest, and one stop token, which is asked to
/// stop when the first of them is lost. The remaining terms continue until the set is released or destroyed. The guards of the single
/// leases have the same stop token.
/// The destructor does not call a store again after a call that fails, and begins no call after max_release_time (1 s). So it waits for
/// that and one call timeout of each store at most. release() has no such limit.
/// Movable, not copyable; a moved-from, released or default-constructed guard is empty. Thread safety: like lease_guard.
/// Lifetime: the stores must outlive it; the leases need not.
template <class... Leases>
class [[nodiscard]] lease_set_guard : public detail::guard_base<lease_set_guard<Leases...>, detail::held_set<Leases...>> {
    static_assert(sizeof...(Leases) > 0);

public:
    using detail::guard_base<lease_set_guard, detail::held_set<Leases...>>::guard_base;

    /// The guards, in the order of the leases: a vector if all leases are of one type, else a tuple.
    using guards_type = typename detail::held_set<Leases...>::guards_type;

    /// How many leases it has; 0 when it is empty.
    [[nodiscard]] std::size_t size() const& noexcept { return this->body().size(); }

    /// The guard of each lease, in the order in which the leases were given: for its token, and for a fence.
    [[nodiscard]] const guards_type& guards() const& noexcept { return this->body().guards(); }

    /// The fencing token of each term, in the order in which the leases were given. May throw std::bad_alloc.
    [[nodiscard]] std::vector<fencing_token> tokens() const&
    {
        std::vector<fencing_token> all;
        all.reserve(size());
        detail::each_of_set(guards(), [&all](const auto& guard) {
            if (!guard.empty()) all.push_back(guard.token());
        });
        return all;
    }

    std::size_t size() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    const guards_type& guards() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::vector<fencing_token> tokens() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
};

}  // namespace leasehold::inline v0

#endif
