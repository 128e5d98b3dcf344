// SPDX-License-Identifier: BSL-1.0
module;

#include <leasehold/leasehold.hpp>
#include <leasehold/metrics.hpp>

/// The public names of <leasehold/leasehold.hpp> and <leasehold/metrics.hpp> as a module, which exports no macro.
export module leasehold;

export namespace leasehold {

using leasehold::acquire_result;
using leasehold::acquire_status;
using leasehold::basic_lease;
using leasehold::basic_lockable;
using leasehold::basic_memory_store;
using leasehold::basic_static_lease;
using leasehold::basic_static_memory_store;
using leasehold::batch_acquiring_store;
using leasehold::batch_answer;
using leasehold::batching_store;
using leasehold::bounded_text;
using leasehold::checked_name;
using leasehold::checked_terms;
using leasehold::diagnosing_store;
using leasehold::duration;
using leasehold::errc;
using leasehold::error_report;
using leasehold::exclusive_guard;
using leasehold::faulty_store;
using leasehold::fencing_token;
using leasehold::fixed_owner_id;
using leasehold::handover_store;
using leasehold::hooked_store;
using leasehold::host_process_thread_owner_id;
using leasehold::hostname_owner_id;
using leasehold::last_failure;
using leasehold::leader_election;
using leasehold::leader_election_options;
using leasehold::leader_term;
using leasehold::lease;
using leasehold::lease_category;
using leasehold::lease_clock;
using leasehold::lease_event;
using leasehold::lease_event_kind;
using leasehold::lease_guard;
using leasehold::lease_lost;
using leasehold::lease_record;
using leasehold::lease_semaphore;
using leasehold::lease_set_guard;
using leasehold::lease_store;
using leasehold::lease_terms;
using leasehold::make_error_code;
using leasehold::manual_clock;
using leasehold::max_data_bytes;
using leasehold::max_name_bytes;
using leasehold::max_owner_bytes;
using leasehold::max_permits;
using leasehold::max_release_time;
using leasehold::max_ttl;
using leasehold::memory_store;
using leasehold::metrics;
using leasehold::min_ttl;
using leasehold::never_renewing_policy;
using leasehold::no_renewal;
using leasehold::notifying_store;
using leasehold::observed_store;
using leasehold::operator<<;
using leasehold::operator==;
using leasehold::owner_id;
using leasehold::permit_guard;
using leasehold::plain_error;
using leasehold::plain_lease_store;
using leasehold::poll_pauses;
using leasehold::polled_store;
using leasehold::queue_ticket;
using leasehold::random_owner_id;
using leasehold::reader_limit;
using leasehold::release_all;
using leasehold::release_outcome;
using leasehold::renew_at_fraction;
using leasehold::renew_for;
using leasehold::renew_policy;
using leasehold::renew_policy_on_clock;
using leasehold::renewal_state;
using leasehold::shared_lease;
using leasehold::spin_mutex;
using leasehold::static_lease_guard;
using leasehold::static_lease_record;
using leasehold::static_memory_store;
using leasehold::static_owner_id;
using leasehold::static_text_limits;
using leasehold::steady_clock;
using leasehold::step_down_reason;
using leasehold::store_call;
using leasehold::store_call_report;
using leasehold::store_diagnostics;
using leasehold::store_error;
using leasehold::store_fault;
using leasehold::store_operation;
using leasehold::term_release;
using leasehold::term_renewal;
using leasehold::term_request;
using leasehold::time_point;
using leasehold::to_string;
using leasehold::try_acquire_all;
using leasehold::try_acquire_each;
using leasehold::validate;
using leasehold::validate_data;
using leasehold::validate_name;
using leasehold::validate_owner;
using leasehold::validate_reason;
using leasehold::waitable_clock;
using leasehold::waker;

}  // namespace leasehold
