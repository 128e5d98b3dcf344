// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FAULTS_FAIL_OVER_COSTS_HPP
#define LEASEHOLD_TESTS_FAULTS_FAIL_OVER_COSTS_HPP

#include <faults/contended_lease.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/database_cluster.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace leasehold_test {

/// A lease that is held all the time, renewed as fast as it goes: how long no renewal succeeded.
class renewed_lease {
public:
    /// Outlasts any fail-over.
    static constexpr leasehold::lease_terms terms{.ttl = std::chrono::minutes{10}};

    explicit renewed_lease(const std::string& where) : store_{where, {.call_timeout = std::chrono::seconds{1}}}
    {
        const auto is_granted = [this] {
            std::error_code ec;  // a second is little on a busy machine
            guard_ = lease_.try_acquire(ec);
            return guard_.held();
        };
        BOOST_REQUIRE(eventually(is_granted, std::chrono::minutes{1}));
        token_ = guard_.token();
        thread_ = std::jthread{[this](const std::stop_token& stop) { renew(stop); }};
    }

    [[nodiscard]] bool is_first_term() const { return !lost_; }
    [[nodiscard]] std::size_t renewals() const { return renewals_; }
    [[nodiscard]] leasehold::duration longest_without_renewal() const { return leasehold::duration{longest_.load()}; }
    void measure_anew() { longest_ = 0; }

private:
    static leasehold::time_point now() { return leasehold::steady_clock{}.now(); }

    void renew(const std::stop_token& stop)
    {
        for (leasehold::time_point last = now(); !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds{20})) {
            std::error_code ec;
            if (guard_.renew(ec) && !ec) {
                longest_ = std::max(longest_.load(), (now() - last).count());
                last = now();
                ++renewals_;
            } else if (!ec) {
                lost_ = true;
            }
            lost_ = lost_ || guard_.token() != token_;
        }
    }

    leasehold::odbc_store store_;
    using lease_type =
        leasehold::basic_lease<leasehold::odbc_store, leasehold::steady_clock, leasehold::random_owner_id, leasehold::no_renewal>;

    lease_type lease_{store_, "kept", terms, leasehold::no_renewal{}};
    lease_type::guard_type guard_{};
    leasehold::fencing_token token_{};
    std::atomic<leasehold::duration::rep> longest_ = 0;
    std::atomic<std::size_t> renewals_ = 0;
    std::atomic<bool> lost_ = false;
    std::jthread thread_{};
};

/// What it costs a holder and contenders at the other nodes of a cluster that one node is killed, and that it freezes. Nothing is lost.
/// `frozen_node_comes_back`: whether to wait for it; a group may take minutes.
inline void check_fail_over_of(database_cluster& cluster, std::size_t lost, bool frozen_node_comes_back)
{
    using namespace std::chrono_literals;
    BOOST_REQUIRE(cluster.wait_until_whole());
    constexpr auto patience = 60s;
    constexpr std::size_t terms_to_see = 10;
    std::vector<std::string> others;
    for (std::size_t i = 0; i < database_cluster::size; ++i)
        if (i != lost) others.push_back(cluster.node(i).connection_string());

    contended_lease contended;
    std::atomic<bool> stop = false;
    {
        renewed_lease kept{others.front()};
        std::vector<std::jthread> threads;
        for (const std::string& where : others) threads.emplace_back([&contended, &stop, &where] { contended.contend(where, stop); });
        const struct ending {  // also if a node can't be started again
            std::atomic<bool>& all;
            ~ending() { all = true; }
        } ends{stop};
        const auto see_all_work = [&] {
            const std::size_t terms = contended.terms_seen(), renewals = kept.renewals();
            return eventually([&] { return contended.terms_seen() >= terms + terms_to_see && kept.renewals() > renewals + 1; }, patience);
        };
        for (const bool frozen : {false, true}) {
            BOOST_TEST_CONTEXT("frozen " << frozen)
            {
                BOOST_TEST(see_all_work());
                kept.measure_anew();
                const leasehold::time_point begun = leasehold::steady_clock{}.now();
                if (frozen)
                    cluster.node(lost).freeze();
                else
                    cluster.node(lost).kill();
                const auto two_are_left = [&] { return cluster.node(lost == 0 ? 1 : 0).group_size() == 2; };
                BOOST_TEST(eventually(two_are_left, patience, 100ms));
                BOOST_TEST(see_all_work());
                BOOST_TEST_MESSAGE("  " << (frozen ? "frozen" : "killed") << ": no renewal for " << kept.longest_without_renewal() / 1ms
                                        << " ms, nobody held for " << contended.longest_gap_since(begun) / 1ms << " ms");
                if (frozen)
                    cluster.node(lost).thaw();
                else
                    cluster.node(lost).start();
                if (!frozen || frozen_node_comes_back) BOOST_TEST(cluster.wait_until_whole());
            }
        }
        BOOST_TEST(kept.is_first_term());
    }
    BOOST_TEST(contended.faults() == "");
}

}  // namespace leasehold_test

#endif
