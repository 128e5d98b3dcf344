// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FAULTS_CONTENDED_LEASE_HPP
#define LEASEHOLD_TESTS_FAULTS_CONTENDED_LEASE_HPP

#include <contract/tenure.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

namespace leasehold_test {

/// A lease for which several threads contend, each through a store of its own, as processes do; and what they saw.
class contended_lease {
public:
    static constexpr leasehold::lease_terms terms{.ttl = std::chrono::seconds{2}};

    /// Holds it over and over, each time until it is lost or for a fiftieth of a second.
    void contend(const std::string& where, const std::atomic<bool>& stop)
    {
        using namespace std::chrono_literals;
        leasehold::odbc_store store{where, {.call_timeout = 1s}};
        leasehold::basic_lease lease{store, "contended", terms};
        while (!stop) {
            std::error_code ec;
            auto guard = lease.try_acquire_for(200ms, ec);
            leasehold::contract::tenure term{now(), {}, guard.token(), std::string{lease.owner()}};
            if (!guard.held()) continue;
            term.end = term.begin;
            static_cast<void>(throughout(
                [&] {
                    const leasehold::time_point before = now();
                    const bool held = guard.held();
                    if (held) term.end = before;
                    return held;
                },
                20ms));
            add(term);
            guard.release(ec);
        }
    }

    [[nodiscard]] std::size_t terms_seen() const
    {
        const std::lock_guard lock{mutex_};
        return tenures_.size();
    }
    /// Terms that overlap, and tokens that did not grow; empty: none.
    [[nodiscard]] std::string faults() const
    {
        const std::lock_guard lock{mutex_};
        return leasehold::contract::overlaps_in(tenures_);
    }
    /// The longest time without a holder since then.
    [[nodiscard]] leasehold::duration longest_gap_since(leasehold::time_point instant) const
    {
        const std::lock_guard lock{mutex_};
        std::vector<leasehold::contract::tenure> sorted = tenures_;
        std::ranges::sort(sorted, {}, &leasehold::contract::tenure::begin);
        leasehold::duration longest{};
        for (std::size_t i = 1; i < sorted.size(); ++i)
            if (sorted[i].begin > instant) longest = std::max(longest, sorted[i].begin - sorted[i - 1].end);
        return longest;
    }

private:
    static leasehold::time_point now() { return leasehold::steady_clock{}.now(); }

    void add(const leasehold::contract::tenure& term)
    {
        const std::lock_guard lock{mutex_};
        tenures_.push_back(term);
    }

    mutable std::mutex mutex_;
    std::vector<leasehold::contract::tenure> tenures_;
};

}  // namespace leasehold_test

#endif
