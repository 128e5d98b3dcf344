// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_GUARD_HPP
#define LEASEHOLD_LEASE_GUARD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/guard_base.hpp>
#include <leasehold/detail/held_term.hpp>
#include <leasehold/fwd.hpp>
#include <leasehold/renewal/term_keeper.hpp>

namespace leasehold::inline v0 {

namespace detail {

template <class Lease>
struct lease_parts;
template <class Store, class Clock, class OwnerId, class RenewPolicy>
struct lease_parts<basic_lease<Store, Clock, OwnerId, RenewPolicy>> {
    using store = Store;
    using term = held_term<renewal::term_keeper<Store, Clock, RenewPolicy>>;
};

}  // namespace detail

/// Holds one term of a lease and releases it in its destructor.
///
/// A term can be lost while its guard lives: call held(), which reads a clock and does no I/O, or watch stop_token(). A lost guard does
/// not block the lease, which can then be acquired again, also through the same object.
/// The destructor waits no longer than the store's call timeout. If it is the last of all leases and guards of the store, it also waits
/// for a stop callback that is running.
/// Movable, not copyable; a default-constructed, moved-from or released guard is empty. Thread safety: distinct guards are independent,
/// also those of one lease object; several threads may ask one guard at once, and one thread at a time may do more.
/// Lifetime: the store must outlive it; the lease need not.
template <class Lease>
class [[nodiscard]] lease_guard : public detail::guard_base<lease_guard<Lease>, typename detail::lease_parts<Lease>::term> {
public:
    using detail::guard_base<lease_guard, typename detail::lease_parts<Lease>::term>::guard_base;

    /// The type of its lease.
    using lease_type = Lease;
    /// The type of the lease's store.
    using store_type = typename detail::lease_parts<Lease>::store;
};

}  // namespace leasehold::inline v0

#endif
