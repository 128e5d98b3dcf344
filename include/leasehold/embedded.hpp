// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EMBEDDED_HPP
#define LEASEHOLD_EMBEDDED_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

// Everything that needs no heap, no exceptions and no threads, also for systems whose standard library has no threads.
// leasehold.hpp includes all of it too.
#include <leasehold/basic_static_lease.hpp>
#include <leasehold/bounded_text.hpp>
#include <leasehold/clock/concept.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/owner_id/static_owner_id.hpp>
#include <leasehold/plain_error.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renew_policy/renew_for.hpp>
#include <leasehold/static_lease_guard.hpp>
#include <leasehold/static_lease_record.hpp>
#include <leasehold/static_text_limits.hpp>
#include <leasehold/store/basic_lockable.hpp>
#include <leasehold/store/basic_static_memory_store.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/plain_lease_store.hpp>
#include <leasehold/store/spin_mutex.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/version.hpp>

#endif
