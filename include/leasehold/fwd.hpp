// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_FWD_HPP
#define LEASEHOLD_FWD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/concepts.hpp>
#include <leasehold/schedule/concept.hpp>
#include <leasehold/static_text_limits.hpp>
#include <leasehold/store/basic_lockable.hpp>
#include <leasehold/store/plain_lease_store.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

// All public types, declared. Only basic_odbc_store is not: its concepts are in headers that a package of the core alone lacks.
namespace leasehold::inline v0 {

class fencing_token;
class last_failure;
class lease_lost;
class plain_error;
class store_error;
class token_gate;
enum class acquire_status : std::uint8_t;
enum class batch_answer : std::uint8_t;
enum class catch_up : std::uint8_t;
enum class errc;
enum class lease_event_kind : std::uint8_t;
enum class on_other_count : std::uint8_t;
enum class release_outcome : std::uint8_t;
enum class step_down_reason : std::uint8_t;
enum class store_fault : std::uint8_t;
enum class store_operation : std::uint8_t;
enum class turn_status : std::uint8_t;
struct acquire_result;
struct checkpoint_look;
struct checkpoint_record;
struct leader_election_options;
struct lease_event;
struct lease_record;
struct lease_terms;
struct poll_pauses;
struct reader_limit;
struct renewal_state;
struct semaphore_options;
struct sequencer;
struct static_text_limits;
struct store_call;
struct store_call_report;
struct store_diagnostics;
struct term_release;
struct term_renewal;
struct term_request;
struct turn_answer;

class manual_clock;
class metrics;
class spin_mutex;
class steady_clock;
class waker;

class fixed_owner_id;
class static_owner_id;
struct host_process_thread_owner_id;
struct random_owner_id;
using hostname_owner_id = random_owner_id;

class renew_at_fraction;
class renew_for;
struct no_renewal;

class cron;
struct every;

struct completed_fire;
struct fire_record;
struct open_fire;
struct recurring_options;

// The concepts stand both here and in the definitions: unconstrained declarations would declare other templates. The type of
// a default argument needs to be complete only where a lease is made.
template <lease_store Store, lease_clock Clock, owner_id OwnerId, renew_policy RenewPolicy>
class basic_lease;
template <lease_store Store, lease_clock Clock, owner_id OwnerId, renew_policy RenewPolicy>
class lease_semaphore;
template <lease_store Store, lease_clock Clock, owner_id OwnerId, renew_policy RenewPolicy>
class shared_lease;
template <plain_lease_store Store, lease_clock Clock, class OwnerId, renew_policy RenewPolicy>
    requires requires(const OwnerId& o) { { o.id() } -> std::convertible_to<std::string_view>; }
class basic_static_lease;

template <class Lease>
class lease_guard;
template <class Semaphore>
class permit_guard;
template <class Semaphore>
class permits_guard;
template <class SharedLease>
class exclusive_guard;
template <class... Leases>
class lease_set_guard;
template <class Lease>
class static_lease_guard;

template <class Lease>
class leader_election;
template <class Lease>
class leader_term;

template <lease_store Store, schedule Schedule, lease_clock Clock, owner_id OwnerId, renew_policy RenewPolicy>
class recurring;

template <class Lease>
class recurring_run;

struct member_options;
struct member_record;
enum class member_change_kind : std::uint8_t;
struct member_change;
struct observer_options;
enum class lease_change_kind : std::uint8_t;
struct lease_change;
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
class lease_observer;

template <lease_store Store, lease_clock Clock>
class prefix_observer;

template <lease_store Store, lease_clock Clock>
class shard_group;

template <class Lease>
class shard_term;

template <lease_clock Clock>
class basic_memory_store;
template <std::size_t N, lease_clock Clock, basic_lockable Mutex, static_text_limits Limits>
class basic_static_memory_store;
template <std::size_t MaxBytes>
class bounded_text;
template <static_text_limits Limits>
struct static_lease_record;

template <lease_store Store, class Derived>
class forwarding_store;
template <class Derived>
class name_holding;
struct hold_options;
template <lease_store Store, std::invocable<const store_call&, const store_call_report&> Hook>
class hooked_store;
template <lease_store Store, class Plan>
    requires std::is_invocable_r_v<store_fault, Plan&, const store_call&>
class faulty_store;

class opentelemetry_hook;

enum class transaction_pooler : std::uint8_t;
struct expiry_by_observation;
struct expiry_by_server_clock;
struct odbc_columns;
struct odbc_options;
struct store_health;
struct with_checkpoints_t;

}  // namespace leasehold::inline v0

namespace leasehold::inline v0::dialect {

struct batch_sql;
struct checkpoint_sql;
struct detected;
struct fence_sql;
struct generic;
struct handover_sql;
struct many_attempts_sql;
struct mariadb;
struct name_key_sql;
struct postgresql;
struct purge_sql;
struct server_info;
struct session_lock_sql;
struct spec;
struct sqlite;

}  // namespace leasehold::inline v0::dialect

namespace leasehold::inline v0::odbc {

class queue_ticket;
class store_base;
enum class sql_placeholders : std::uint8_t;

}  // namespace leasehold::inline v0::odbc

#endif
