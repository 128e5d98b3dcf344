// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_METRICS_HPP
#define LEASEHOLD_METRICS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/fire_counting.hpp>
#include <leasehold/detail/series.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/shard_event.hpp>
#include <leasehold/store/hooked_store.hpp>
#include <leasehold/store/store_call.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

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
        detail::name_series& numbers = names_.of(call.name);
        numbers.calls[operation][static_cast<std::size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
        numbers.call_seconds[operation].add(report.elapsed);
        if (report.error) errors_[detail::error_index(report.error)].fetch_add(1, std::memory_order_relaxed);
    }

    /// Counts the beginning or the end of a term; for hooked_store.
    void operator()(const lease_event& event) noexcept
    {
        const std::int64_t token = event.token.value();
        if (event.kind == lease_event_kind::acquired) {
            names_.term_begins(event.name, token).wait_seconds.add(event.waited);
            return;
        }
        detail::name_series& numbers = names_.term_ends(event.name, token);
        if (event.kind == lease_event_kind::lost) {
            numbers.lost[event.error ? 1 : 0].fetch_add(1, std::memory_order_relaxed);
            loss_delay_seconds_.add(event.late);
        }
        numbers.term_seconds.add(event.held);
    }

    /// The options of the recurring of this name, with hooks that count its fires that were completed, missed, failed or given up, note
    /// when the last one was completed, by whichever host, and then call those of `with`. What counts as completed is what
    /// recurring_options::on_completed tells: after complete(connection) the recurring has to read first that it was committed. A failure
    /// is counted by run() and async_run_recurring(), whose job threw. Must outlive the recurring. May throw std::bad_alloc.
    [[nodiscard]] recurring_options counting_fires(std::string_view name, recurring_options with = {})
    {
        detail::name_series& numbers = names_.of(name);
        numbers.counts_fires.store(true, std::memory_order_relaxed);
        return detail::counting_fires(std::move(with), numbers, [&numbers](detail::fire_outcome outcome) {
            numbers.fires[static_cast<std::size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
        });
    }

    /// Counts what happens to a member of a shard_group; for shard_options::on_event, as in
    /// `.on_event = [&metrics](const lh::shard_event& event) { metrics(event); }`. Takes a lock, and allocates for the first event of a
    /// group.
    void operator()(const shard_event& event) noexcept
    {
        std::error_code without_memory;
        detail::catch_into(without_memory, [&] {
            const std::lock_guard lock{groups_mutex_};
            detail::group_series& numbers = groups_[std::string{event.group}];
            numbers.owned = event.owned;
            numbers.wanted = event.share;
            switch (event.kind) {
            case shard_event_kind::taken: ++numbers.taken; break;
            case shard_event_kind::given_back: ++numbers.given_back; break;
            case shard_event_kind::lost: ++numbers.lost; break;
            case shard_event_kind::failed: ++numbers.failed; break;
            case shard_event_kind::late: ++numbers.late; break;
            case shard_event_kind::draining:
            case shard_event_kind::resized:
            case shard_event_kind::share_changed:
            case shard_event_kind::store_failed: break;
            }
        });
    }

    /// Writes all numbers in Prometheus' text format (version 0.0.4). They are read one by one while others count. If `file`
    /// is not empty, every number gets the label file="...": node_exporter's textfile collector takes numbers of two files
    /// only if their labels differ. Prometheus wants it to be UTF-8. Throws what `out` throws, and std::bad_alloc.
    void write_prometheus(std::ostream& out, std::string_view file = {}) const
    {
        const detail::prometheus_writer to{out, file};
        write_calls(to);
        write_terms(to);
        write_fires(to);
        write_groups(to);
        to.begin("leasehold_store_call_duration_seconds", "histogram", "How long calls of the store took.");
        for (std::size_t i = 0; i < detail::counted_operations; ++i) {
            detail::histogram all;
            names_.for_each([&](std::string_view, const detail::name_series& numbers) { all.add(numbers.call_seconds[i]); });
            to.histogram("leasehold_store_call_duration_seconds", {{"operation", detail::operation_names[i]}}, all);
        }
        to.begin("leasehold_loss_signal_delay_seconds", "histogram",
                 "How long after its deadline a lost term was signalled to its holder.");
        to.histogram("leasehold_loss_signal_delay_seconds", {}, loss_delay_seconds_);
        to.begin("leasehold_store_errors_total", "counter", "Calls of the store that failed, by what was wrong.");
        for (std::size_t i = 0; i < errors_.size(); ++i)
            to.sample("leasehold_store_errors_total", {{"code", detail::error_label(i)}}, errors_[i].load(std::memory_order_relaxed));
    }

private:
    void write_calls(const detail::prometheus_writer& to) const
    {
        for (std::size_t i = 0; i < detail::counted_operations; ++i) {
            const detail::call_family& family = detail::call_families[i];
            to.begin(family.name, "counter", family.help);
            names_.for_each([&](std::string_view name, const detail::name_series& numbers) {
                for (std::size_t outcome = 0; outcome < detail::outcome_count; ++outcome)
                    to.sample(family.name, {{"lease", name}, {"outcome", family.outcomes[outcome]}},
                              numbers.calls[i][outcome].load(std::memory_order_relaxed));
            });
        }
    }

    // The fires of the names that have a schedule, if there are any.
    void write_fires(const detail::prometheus_writer& to) const
    {
        bool begun = false;
        names_.for_each([&](std::string_view name, const detail::name_series& numbers) {
            if (!numbers.counts_fires.load(std::memory_order_relaxed)) return;
            if (!std::exchange(begun, true))
                to.begin("leasehold_fires_total", "counter", "Fires that were completed, missed, failed or given up.");
            for (std::size_t i = 0; i < detail::fire_outcomes.size(); ++i)
                to.sample("leasehold_fires_total", {{"lease", name}, {"outcome", detail::fire_outcomes[i]}},
                          numbers.fires[i].load(std::memory_order_relaxed));
        });
        write_state_of_fires(to, detail::last_completed_family, detail::last_completed_seconds);
        write_state_of_fires(to, detail::failures_in_a_row_family, detail::failures_in_a_row);
    }

    template <class Value>
    void write_state_of_fires(const detail::prometheus_writer& to, const detail::gauge_family& family, Value value_of) const
    {
        bool begun = false;
        detail::for_each_schedule(names_, [&](std::string_view name, const detail::name_series& numbers) {
            const auto value = value_of(numbers);
            if (!value) return;
            if (!std::exchange(begun, true)) to.begin(family.name, "gauge", family.help);
            to.sample(family.name, {{"lease", name}}, *value);
        });
    }

    void write_terms(const detail::prometheus_writer& to) const
    {
        to.begin("leasehold_held", "gauge", "Terms that this process holds now.");
        names_.for_each([&](std::string_view name, const detail::name_series& numbers) {
            to.sample("leasehold_held", {{"lease", name}}, names_.held(numbers));
        });
        to.begin("leasehold_fencing_token", "gauge", "The token of the last term of this process; 0 before the first.");
        names_.for_each([&](std::string_view name, const detail::name_series& numbers) {
            to.sample("leasehold_fencing_token", {{"lease", name}}, numbers.token.load(std::memory_order_relaxed));
        });
        to.begin("leasehold_lost_total", "counter",
                 "Terms that were lost: in an outage of the store, or because the store said so or nobody renewed.");
        names_.for_each([&](std::string_view name, const detail::name_series& numbers) {
            to.sample("leasehold_lost_total", {{"lease", name}, {"reason", "over"}}, numbers.lost[0].load(std::memory_order_relaxed));
            to.sample("leasehold_lost_total", {{"lease", name}, {"reason", "outage"}}, numbers.lost[1].load(std::memory_order_relaxed));
        });
        to.begin("leasehold_wait_duration_seconds", "histogram", "How long a caller that was granted the lease had waited for it.");
        names_.for_each([&](std::string_view name, const detail::name_series& numbers) {
            to.histogram("leasehold_wait_duration_seconds", {{"lease", name}}, numbers.wait_seconds);
        });
        to.begin("leasehold_term_duration_seconds", "histogram", "How long terms lasted that have ended.");
        names_.for_each([&](std::string_view name, const detail::name_series& numbers) {
            to.histogram("leasehold_term_duration_seconds", {{"lease", name}}, numbers.term_seconds);
        });
    }

    void write_groups(const detail::prometheus_writer& to) const
    {
        const std::lock_guard lock{groups_mutex_};
        if (groups_.empty()) return;
        const auto write = [&](std::string_view family, std::string_view type, std::string_view help, auto value) {
            to.begin(family, type, help);
            for (const auto& [group, numbers] : groups_) to.sample(family, {{"group", group}}, value(numbers));
        };
        using series = detail::group_series;
        write("leasehold_shards_owned", "gauge", "Shards of the group that this process owns now.",
              [](const series& numbers) { return numbers.owned; });
        write("leasehold_shards_wanted", "gauge", "Shards of the group that this process should own, by its last look.",
              [](const series& numbers) { return numbers.wanted; });
        to.begin("leasehold_shard_moves_total", "counter", "Shards that this process has taken, given back, and lost.");
        for (const auto& [group, numbers] : groups_) {
            to.sample("leasehold_shard_moves_total", {{"group", group}, {"kind", "taken"}}, numbers.taken);
            to.sample("leasehold_shard_moves_total", {{"group", group}, {"kind", "given_back"}}, numbers.given_back);
            to.sample("leasehold_shard_moves_total", {{"group", group}, {"kind", "lost"}}, numbers.lost);
        }
        write("leasehold_shard_failures_total", "counter", "Functions that work on a shard and have thrown.",
              [](const series& numbers) { return numbers.failed; });
        write("leasehold_shard_drains_late_total", "counter",
              "Drains of its own shards, and of those that it has asked for, that have outlasted their time.",
              [](const series& numbers) { return numbers.late; });
    }

    mutable std::mutex groups_mutex_;
    std::map<std::string, detail::group_series, std::less<>> groups_;
    detail::name_table names_;
    detail::histogram loss_delay_seconds_;
    std::array<std::atomic<std::uint64_t>, detail::counted_errors.size() + 1> errors_{};  // relaxed: see detail::histogram
};

}  // namespace leasehold::inline v0

#endif
