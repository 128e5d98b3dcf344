// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_METRICS_HPP
#define LEASEHOLD_METRICS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/series.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/store/hooked_store.hpp>
#include <leasehold/store/store_call.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <system_error>

namespace leasehold::inline v0 {

/// Counts the attempts, renewals, releases and looks that a store is asked for, and the terms of its leases; writes the numbers in
/// Prometheus' text format.
///
///     lh::metrics metrics;
///     lh::hooked_store observed{store, std::ref(metrics)};
///     lh::basic_lease lease{observed, "leader"};
///     metrics.write_prometheus(out);   // when asked for /metrics
///
/// Counting takes no lock and allocates nothing, but for the first event of a name. Each name has numbers of its own, up to
/// max_names; those that come later, and names that no store takes, share the label lease="(others)". Names are never forgotten.
///
/// Neither copyable nor movable. Thread safety: any thread may call any function. Lifetime: must outlive the stores that
/// report to it, and their leases.
class metrics {
public:
    /// The names that have numbers of their own, unless the constructor is told another limit.
    static constexpr std::size_t default_max_names = 1024;

    /// At most `max_names` names have numbers of their own. May throw std::bad_alloc.
    explicit metrics(std::size_t max_names = default_max_names) : names_{std::max<std::size_t>(max_names, 1)} {}
    metrics(const metrics&) = delete;
    metrics& operator=(const metrics&) = delete;
    ~metrics() = default;

    /// Counts a call of the store; for hooked_store.
    void operator()(const store_call& call, const store_call_report& report) noexcept
    {
        const auto operation = static_cast<std::size_t>(call.operation);
        if (operation >= detail::counted_operations) return;
        const auto outcome = report.error       ? detail::call_outcome::error
                             : report.succeeded ? detail::call_outcome::yes
                                                : detail::call_outcome::no;
        detail::name_series& of = names_.of(call.name);
        of.calls[operation][static_cast<std::size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
        of.call_seconds[operation].add(report.elapsed);
        if (report.error) errors_[error_index(report.error)].fetch_add(1, std::memory_order_relaxed);
    }

    /// Counts the beginning or the end of a term; for hooked_store.
    void operator()(const lease_event& event) noexcept
    {
        const std::int64_t token = event.token.value();
        if (event.kind == lease_event_kind::acquired) {
            names_.term_begins(event.name, token).wait_seconds.add(event.waited);
            return;
        }
        detail::name_series& of = names_.term_ends(event.name, token);
        if (event.kind == lease_event_kind::lost) {
            of.lost[event.error ? 1 : 0].fetch_add(1, std::memory_order_relaxed);
            loss_delay_seconds_.add(event.late);
        }
        of.term_seconds.add(event.held);
    }

    /// Writes all numbers in Prometheus' text format (version 0.0.4). They are read one by one while others count. If `file`
    /// is not empty, every number gets the label file="...": node_exporter's textfile collector takes numbers of two files
    /// only if their labels differ. Prometheus wants it to be UTF-8. Throws what `out` throws, and std::bad_alloc.
    void write_prometheus(std::ostream& out, std::string_view file = {}) const
    {
        const detail::prometheus_writer to{out, file};
        write_calls(to);
        write_terms(to);
        to.begin("leasehold_store_call_duration_seconds", "histogram", "How long calls of the store took.");
        for (std::size_t i = 0; i < detail::counted_operations; ++i) {
            detail::histogram all;
            names_.for_each([&](std::string_view, const detail::name_series& of) { all.add(of.call_seconds[i]); });
            to.histogram("leasehold_store_call_duration_seconds", {{"operation", detail::operation_names[i]}}, all);
        }
        to.begin("leasehold_loss_signal_delay_seconds", "histogram",
                 "How long after its deadline a lost term was signalled to its holder.");
        to.histogram("leasehold_loss_signal_delay_seconds", {}, loss_delay_seconds_);
        to.begin("leasehold_store_errors_total", "counter", "Calls of the store that failed, by what was wrong.");
        for (std::size_t i = 0; i < errors_.size(); ++i)
            to.sample("leasehold_store_errors_total", {{"code", detail::error_labels[i]}}, errors_[i].load(std::memory_order_relaxed));
    }

private:
    static std::size_t error_index(const std::error_code& error) noexcept
    {
        for (std::size_t i = 0; i < detail::counted_errors.size(); ++i)
            if (error == detail::counted_errors[i]) return i;
        return detail::counted_errors.size();
    }

    void write_calls(const detail::prometheus_writer& to) const
    {
        for (std::size_t i = 0; i < detail::counted_operations; ++i) {
            const detail::call_family& family = detail::call_families[i];
            to.begin(family.name, "counter", family.help);
            names_.for_each([&](std::string_view name, const detail::name_series& of) {
                for (std::size_t outcome = 0; outcome < detail::outcome_count; ++outcome)
                    to.sample(family.name, {{"lease", name}, {"outcome", family.outcomes[outcome]}},
                              of.calls[i][outcome].load(std::memory_order_relaxed));
            });
        }
    }

    void write_terms(const detail::prometheus_writer& to) const
    {
        to.begin("leasehold_held", "gauge", "Terms that this process holds now.");
        names_.for_each([&](std::string_view name, const detail::name_series& of) {
            to.sample("leasehold_held", {{"lease", name}}, names_.held(of));
        });
        to.begin("leasehold_fencing_token", "gauge", "The token of the last term of this process; 0 before the first.");
        names_.for_each([&](std::string_view name, const detail::name_series& of) {
            to.sample("leasehold_fencing_token", {{"lease", name}}, of.token.load(std::memory_order_relaxed));
        });
        to.begin("leasehold_lost_total", "counter",
                 "Terms that were lost: in an outage of the store, or because the store said so or nobody renewed.");
        names_.for_each([&](std::string_view name, const detail::name_series& of) {
            to.sample("leasehold_lost_total", {{"lease", name}, {"reason", "over"}}, of.lost[0].load(std::memory_order_relaxed));
            to.sample("leasehold_lost_total", {{"lease", name}, {"reason", "outage"}}, of.lost[1].load(std::memory_order_relaxed));
        });
        to.begin("leasehold_wait_duration_seconds", "histogram", "How long a caller that was granted the lease had waited for it.");
        names_.for_each([&](std::string_view name, const detail::name_series& of) {
            to.histogram("leasehold_wait_duration_seconds", {{"lease", name}}, of.wait_seconds);
        });
        to.begin("leasehold_term_duration_seconds", "histogram", "How long terms lasted that have ended.");
        names_.for_each([&](std::string_view name, const detail::name_series& of) {
            to.histogram("leasehold_term_duration_seconds", {{"lease", name}}, of.term_seconds);
        });
    }

    detail::name_table names_;
    detail::histogram loss_delay_seconds_;
    std::array<std::atomic<std::uint64_t>, detail::error_labels.size()> errors_{};  // relaxed: see detail::histogram
};

}  // namespace leasehold::inline v0

#endif
