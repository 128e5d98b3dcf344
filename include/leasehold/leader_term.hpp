// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEADER_TERM_HPP
#define LEASEHOLD_LEADER_TERM_HPP

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_guard.hpp>

#include <optional>
#include <stop_token>
#include <string_view>

namespace leasehold::inline v0 {

/// One term of leadership, as leader_election hands it to the function that leads.
///
/// Thread safety: held(), remaining(), token() and stop_token() from any thread. Lifetime: the call of that function.
template <class Lease>
class leader_term {
public:
    leader_term(const leader_term&) = delete;
    leader_term& operator=(const leader_term&) = delete;

    /// Whether to go on leading: false once the lease is lost, or leadership is to end (stop or resign()). Reads the clock.
    [[nodiscard]] bool held() const noexcept { return guard_.held() && !step_down_.stop_requested(); }

    /// Asked to stop when held() turns false, no later than the deadline. For callbacks on it see lease_guard::stop_token().
    [[nodiscard]] std::stop_token stop_token() const noexcept { return step_down_.get_token(); }

    /// Time to the deadline of the lease; 0 when it is over.
    [[nodiscard]] duration remaining() const noexcept { return guard_.remaining(); }
    /// The term's fencing token.
    [[nodiscard]] fencing_token token() const noexcept { return guard_.token(); }
    /// The lease's name.
    [[nodiscard]] std::string_view name() const noexcept { return guard_.name(); }
    /// The lease's owner: this candidate.
    [[nodiscard]] std::string_view owner() const noexcept { return guard_.owner(); }

    /// Throws lease_lost unless the lease is held.
    void ensure_held() const { guard_.ensure_held(); }

    /// The lease's guard, for renew(), a fence, and functions that take guards. It is released when leading ends.
    [[nodiscard]] lease_guard<Lease>& guard() noexcept { return guard_; }

private:
    template <class L>
    friend class leader_election;

    leader_term(lease_guard<Lease> guard, const std::stop_token& stop, std::stop_source step_down)
        : guard_{std::move(guard)}, step_down_{std::move(step_down)}, on_loss_{guard_.stop_token(), request_stop{step_down_}}, on_stop_{stop, request_stop{step_down_}}
    {
    }

    struct request_stop {
        std::stop_source source;
        void operator()() noexcept { source.request_stop(); }
    };

    lease_guard<Lease> guard_;
    std::stop_source step_down_;
    std::stop_callback<request_stop> on_loss_;
    std::stop_callback<request_stop> on_stop_;
};

}  // namespace leasehold::inline v0

#endif
