// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FAULTS_ENDURANCE_CONTENTION_HPP
#define LEASEHOLD_TESTS_FAULTS_ENDURANCE_CONTENTION_HPP

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <random>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace endurance {

namespace lh = leasehold;

/// Threads that acquire a few leases one after the other and release them, beside those that are held.
class contention {
public:
    contention(lh::odbc_store& store, lh::lease_terms terms, std::uint32_t seed) : store_{store}, terms_{terms}
    {
        for (std::uint32_t i = 0; i < threads; ++i)
            threads_.emplace_back([this, own_seed = seed + i](const std::stop_token& stop) { contend(own_seed, stop); });
    }
    void end() { threads_.clear(); }

    std::atomic<std::uint64_t> grants = 0, busy = 0, outages = 0, other_errors = 0, overlaps = 0;

private:
    static constexpr std::uint32_t threads = 3;
    static constexpr std::size_t names = 8;

    void contend(std::uint32_t seed, const std::stop_token& stop)
    {
        using namespace std::chrono_literals;
        std::mt19937 random{seed};
        std::list<lh::basic_lease<lh::odbc_store>> leases;
        for (std::size_t i = 0; i < names; ++i) leases.emplace_back(store_, "contended-" + std::to_string(i), terms_);
        while (!stop.stop_requested()) {
            const std::size_t which = random() % names;
            std::error_code ec;
            // Attempts and waits in turn.
            auto& lease = *std::next(leases.begin(), static_cast<std::ptrdiff_t>(which));
            auto guard = random() % 2 == 0 ? lease.try_acquire(ec) : lease.try_acquire_for(200ms, stop, ec);
            if (ec && ec != std::errc::operation_canceled) {
                // A conflict: a call whose reply the fault has kept has its row locked still.
                const bool outage =
                    ec == lh::errc::store_unavailable || ec == lh::errc::store_timeout || ec == lh::errc::store_conflict;
                ++(outage ? outages : other_errors);
                // An outage that the store knows of is told at once.
                (void)leasehold_test::throughout([&] { return !stop.stop_requested(); }, 20ms, 20ms);
                continue;
            }
            if (!guard) {
                ++busy;
                continue;
            }
            ++grants;
            // A term that may end while it is counted here would be no proof of anything.
            if (guard.remaining() > 100ms) {
                if (holders_[which]++ != 0) ++overlaps;
                if (!leasehold_test::throughout([&] { return guard.held(); }, 20ms, 20ms)) ++overlaps;
                --holders_[which];
            }
            guard.release(ec);
        }
    }

    lh::odbc_store& store_;
    lh::lease_terms terms_;
    std::array<std::atomic<int>, names> holders_{};
    std::vector<std::jthread> threads_;
};

}  // namespace endurance

#endif
