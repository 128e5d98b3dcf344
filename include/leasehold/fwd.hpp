// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_FWD_HPP
#define LEASEHOLD_FWD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/concepts.hpp>
#include <leasehold/static_text_limits.hpp>
#include <leasehold/store/basic_lockable.hpp>

#include <cstddef>
#include <cstdint>

namespace leasehold::inline v0 {

class steady_clock;
class manual_clock;

struct random_owner_id;
using hostname_owner_id = random_owner_id;
struct host_process_thread_owner_id;
class fixed_owner_id;
class static_owner_id;

class renew_at_fraction;
class renew_for;
struct no_renewal;

struct checkpoint_record;
struct lease_record;
struct lease_terms;
class fencing_token;

// The concepts stand both here and in the definitions: unconstrained declarations would declare other templates. The type of
// a default argument needs to be complete only where a lease is made.
template <lease_store Store, lease_clock Clock, owner_id OwnerId, renew_policy RenewPolicy>
class basic_lease;

template <class Lease>
class lease_guard;

struct member_options;
struct member_record;
enum class member_change_kind : std::uint8_t;
struct member_change;
struct observer_options;
enum class shard_event_kind : std::uint8_t;
struct shard_event;
struct shard_options;
struct shard_statistics;
struct shard_view;

template <lease_store Store, lease_clock Clock>
class group_member;

template <lease_store Store, lease_clock Clock>
class group_observer;

template <lease_store Store, lease_clock Clock>
class shard_group;

template <class Lease>
class shard_term;

template <lease_clock Clock>
class basic_memory_store;

template <std::size_t N, lease_clock Clock, basic_lockable Mutex, static_text_limits Limits>
class basic_static_memory_store;

}  // namespace leasehold::inline v0

#endif
