// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEADER_ELECTION_OPTIONS_HPP
#define LEASEHOLD_LEADER_ELECTION_OPTIONS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/step_down_reason.hpp>

#include <chrono>
#include <functional>
#include <optional>

namespace leasehold::inline v0 {

/// The hooks and the pauses of a candidate. Hooks run on the thread of run(); a hook that throws ends run().
struct leader_election_options {
    /// Called when elected, just before the function that leads is called.
    std::function<void(fencing_token)> on_elected{};
    /// Called when it no longer leads: after the release, or before it if the lease was lost, since that call may take long.
    std::function<void(step_down_reason)> on_stepped_down{};
    /// Called once for each other candidate that leads: when an attempt of this candidate meets it, or else within a third
    /// of the ttl. A short term in between may be missed.
    std::function<void(const lease_record&)> on_leader_observed{};
    /// Called when the store failed while campaigning, with the exception that an attempt would have thrown; run() tries again after a
    /// pause. The exception converts to its error code.
    std::function<void(const store_error&)> on_error{};

    /// The first pause after a failed campaign (1 ms or more). The pause doubles each time, up to retry_max, and each pause
    /// is shortened by up to a half at random, so that candidates do not all come back at the same time.
    duration retry_min = std::chrono::milliseconds{100};
    /// The longest pause; see retry_min.
    duration retry_max = std::chrono::seconds{5};
    /// Whether the leader steps down when somebody has asked for the lease (basic_lease::request_handover(), `leasehold ask`). It
    /// learns of that with its next renewal; then the term's held() turns false, as after resign(). It declines the request of a
    /// candidate whose priority is not higher than its own. Without effect if the store is no handover_store.
    bool step_down_if_asked = true;
    /// A candidate with a priority above 0 asks a leader by itself, and does so again while the same one leads, every third of the
    /// ttl. A leader of a lower priority steps down, if it may; all others lead on. It leaves the leader alone that comes after it
    /// was asked for the lease, or resigned, for that leader's whole term. Needs a handover_store.
    int priority = 0;
    /// How long not to campaign after resigning, returning or being asked, so that somebody else gets the turn; counted from the release.
    /// By default a little longer than the others sleep if the store can't wake them: its longest poll pause plus 100 ms.
    std::optional<duration> cooldown{};
};

}  // namespace leasehold::inline v0

#endif
