// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_SCALE_RENEWALS_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_SCALE_RENEWALS_HPP

#include "subject.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <atomic>
#include <list>
#include <optional>
#include <span>
#include <system_error>
#include <thread>

// The renewals of many leases of one process: in batches, and one statement each.
namespace scale {

namespace lh = leasehold;

/// The same store without its batches, as a user's own store may be.
class one_by_one_store {
public:
    explicit one_by_one_store(lh::odbc_store& inner) : inner_{inner} {}

    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        return inner_.try_acquire(name, owner, ttl, ec);
    }
    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration ttl, std::error_code& ec)
    {
        return inner_.renew(name, owner, token, ttl, ec);
    }
    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration min_hold_left, std::error_code& ec)
    {
        return inner_.release(name, owner, token, min_hold_left, ec);
    }
    std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec) { return inner_.inspect(name, ec); }

private:
    lh::odbc_store& inner_;
};
static_assert(lh::lease_store<one_by_one_store> && !lh::batching_store<one_by_one_store>);

/// One round of renewals of `leases` terms on the calling thread: what the database takes for it, both ways in turn.
inline void measure_statements(const subject& of, const options& wanted, leasehold_test::results& results)
{
    lh::odbc_store store{of.connection_string, {.on_connect = of.settings}};
    store.create_schema();
    std::error_code ec;
    std::vector<std::string> names;
    std::vector<lh::term_renewal> renewals;
    for (std::size_t i = 0; i < wanted.leases; ++i) names.push_back(numbered("statement-", i));
    for (const std::string& name : names) {
        const auto granted = store.try_acquire(name, "the process of this benchmark", 1h, ec);
        if (ec || !granted.granted()) throw std::runtime_error{"a grant failed"};
        renewals.push_back({name, "the process of this benchmark", granted.token, 1h});
    }
    std::vector<double> alone, alone_server, batched, batched_server, ratios;
    for (int round = 0; round <= wanted.rounds; ++round) {
        double server = of.processor_time();
        auto begun = std::chrono::steady_clock::now();
        for (const auto& each : renewals)
            if (!store.renew(each.name, each.owner, each.token, each.ttl, ec)) throw std::runtime_error{"a renewal failed"};
        const double one = seconds_since(begun), one_server = of.processor_time() - server;
        server = of.processor_time();
        begun = std::chrono::steady_clock::now();
        std::vector<lh::batch_answer> answers(renewals.size(), lh::batch_answer::unknown);
        const std::size_t most = store.batch_size();
        for (std::size_t at = 0; at < renewals.size(); at += most) {
            const std::size_t count = std::min(most, renewals.size() - at);
            store.renew_many(std::span{renewals}.subspan(at, count), std::span{answers}.subspan(at, count), 1h, ec);
        }
        const double many = seconds_since(begun), many_server = of.processor_time() - server;
        if (ec || std::ranges::count(answers, lh::batch_answer::yes) != static_cast<std::ptrdiff_t>(answers.size()))
            throw std::runtime_error{"a batch failed"};
        if (round == 0) continue;
        alone.push_back(one);
        alone_server.push_back(one_server);
        batched.push_back(many);
        batched_server.push_back(many_server);
        ratios.push_back(one / many);
    }
    const auto [least, most] = std::ranges::minmax(ratios);
    std::printf("%-12.*s %zu renewals: one statement each %7.1f ms (server %6.0f ms CPU),"
                " batches of %zu %6.1f ms (server %5.0f ms CPU)   ratio %.1f (%.1f to %.1f)\n",
                static_cast<int>(of.label.size()), of.label.data(), wanted.leases, median(alone) * 1e3, mean(alone_server) * 1e3,
                store.batch_size(), median(batched) * 1e3, mean(batched_server) * 1e3, median(ratios), least, most);
    std::fflush(stdout);
    results.add(of.label, "renewals one by one, ms a round", median(alone) * 1e3);
    results.add(of.label, "renewals one by one, server CPU ms a round", mean(alone_server) * 1e3);
    results.add(of.label, "renewals in batches, ms a round", median(batched) * 1e3);
    results.add(of.label, "renewals in batches, server CPU ms a round", mean(batched_server) * 1e3);
    results.add(of.label, "renewals, ratio", median(ratios));
}

/// Leases that are held for a while: what that costs this process and the server.
template <class Store>
void measure_holding(const subject& of, const char* way, lh::odbc_store& database, Store& store, const options& wanted,
                     leasehold_test::results& results)
{
    using lease_type = lh::basic_lease<Store, lh::steady_clock, lh::fixed_owner_id>;
    std::list<lease_type> leases;
    std::vector<typename lease_type::guard_type> guards;
    for (std::size_t i = 0; i < wanted.leases; ++i) {
        leases.emplace_back(store, numbered(way, i), lh::lease_terms{.ttl = 30s}, lh::steady_clock{}, lh::fixed_owner_id{"benchmark"});
        guards.push_back(leases.back().try_acquire());
    }
    const double own = own_processor_time(), server = of.processor_time();
    const auto begun = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::seconds{wanted.seconds});
    const double took = seconds_since(begun);
    const double own_share = (own_processor_time() - own) / took * 100, server_share = (of.processor_time() - server) / took * 100;
    const auto held = static_cast<std::size_t>(std::ranges::count_if(guards, [](const auto& guard) { return guard.held(); }));
    std::printf("%-12.*s %zu leases held for %.0f s, ttl 30 s, %-10s: process %5.2f %% of a core, server %5.2f %%,"
                " %zu sessions, %zu lost\n",
                static_cast<int>(of.label.size()), of.label.data(), wanted.leases, took, way, own_share, server_share,
                database.sessions(), wanted.leases - held);
    std::fflush(stdout);
    results.add(of.label, std::string{"holding, "} + way + ", process, percent of a core", own_share);
    results.add(of.label, std::string{"holding, "} + way + ", server, percent of a core", server_share);
    results.add(of.label, std::string{"holding, "} + way + ", sessions", static_cast<double>(database.sessions()));
    results.add(of.label, std::string{"holding, "} + way + ", lost", static_cast<double>(wanted.leases - held));
    lh::release_all(guards);
}

inline void measure_renewals(const subject& of, const options& wanted, leasehold_test::results& results)
{
    measure_statements(of, wanted, results);
    lh::odbc_store store{of.connection_string, {.on_connect = of.settings}};
    store.create_schema();
    measure_holding(of, "batched", store, store, wanted, results);
    one_by_one_store plain{store};
    measure_holding(of, "one by one", store, plain, wanted, results);
}

}  // namespace scale

#endif
