// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASEHOLD_HPP
#define LEASEHOLD_LEASEHOLD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

// Everything but what needs more than most programs do: the databases, <leasehold/odbc.hpp>; the asynchronous form,
// <leasehold/asio.hpp>; and numbers for Prometheus, <leasehold/metrics.hpp>.
#include <leasehold/basic_lease.hpp>
#include <leasehold/basic_static_lease.hpp>
#include <leasehold/bounded_text.hpp>
#include <leasehold/checkpoint_record.hpp>
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/exclusive_guard.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/fire_record.hpp>
#include <leasehold/format.hpp>
#include <leasehold/fwd.hpp>
#include <leasehold/group_member.hpp>
#include <leasehold/group_observer.hpp>
#include <leasehold/leader_election.hpp>
#include <leasehold/leader_election_options.hpp>
#include <leasehold/leader_term.hpp>
#include <leasehold/lease_change.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/lease_observer.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/lease_semaphore.hpp>
#include <leasehold/lease_set.hpp>
#include <leasehold/lease_set_guard.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/member_change.hpp>
#include <leasehold/member_record.hpp>
#include <leasehold/observer_options.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/owner_id/host_process_thread_owner_id.hpp>
#include <leasehold/owner_id/hostname_owner_id.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/owner_id/static_owner_id.hpp>
#include <leasehold/plain_error.hpp>
#include <leasehold/permit_guard.hpp>
#include <leasehold/permits_guard.hpp>
#include <leasehold/recurring.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/recurring_run.hpp>
#include <leasehold/release_all.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renew_policy/renew_for.hpp>
#include <leasehold/schedule/concept.hpp>
#include <leasehold/schedule/cron.hpp>
#include <leasehold/schedule/every.hpp>
#include <leasehold/semaphore_options.hpp>
#include <leasehold/sequencer.hpp>
#include <leasehold/shard_event.hpp>
#include <leasehold/shard_group.hpp>
#include <leasehold/shard_options.hpp>
#include <leasehold/shard_term.hpp>
#include <leasehold/shared_lease.hpp>
#include <leasehold/static_lease_guard.hpp>
#include <leasehold/static_lease_record.hpp>
#include <leasehold/static_text_limits.hpp>
#include <leasehold/step_down_reason.hpp>
#include <leasehold/store/basic_lockable.hpp>
#include <leasehold/store/basic_static_memory_store.hpp>
#include <leasehold/store/faulty_store.hpp>
#include <leasehold/store/forwarding_store.hpp>
#include <leasehold/store/hooked_store.hpp>
#include <leasehold/store/memory_store.hpp>
#include <leasehold/store/name_holding.hpp>
#include <leasehold/store/plain_lease_store.hpp>
#include <leasehold/store/spin_mutex.hpp>
#include <leasehold/store/static_memory_store.hpp>
#include <leasehold/store_diagnostics.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/version.hpp>

#endif
