// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OPENTELEMETRY_HPP
#define LEASEHOLD_OPENTELEMETRY_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/fire_counting.hpp>
#include <leasehold/detail/series.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/store/hooked_store.hpp>
#include <leasehold/store/store_call.hpp>

#include <opentelemetry/context/context.h>
#include <opentelemetry/metrics/async_instruments.h>
#include <opentelemetry/metrics/meter.h>
#include <opentelemetry/metrics/observer_result.h>
#include <opentelemetry/metrics/provider.h>
#include <opentelemetry/metrics/sync_instruments.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/span.h>
#include <opentelemetry/trace/span_startoptions.h>
#include <opentelemetry/trace/tracer.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

/// Tells OpenTelemetry of a store's calls and of the terms of its leases: spans of waits and terms, and the metrics of lh::metrics,
/// by the same names.
///
///     lh::opentelemetry_hook telemetry;
///     lh::hooked_store observed{store, std::ref(telemetry)};
///     lh::basic_lease lease{observed, "leader"};
///
/// A span "leasehold wait" lasts from when a caller asked for a lease until it was granted, and is a child of the span that is active then.
/// A span "leasehold term" is its child, and lasts until the term is released or lost; a loss is an error of that span. Both have the
/// attributes leasehold.lease, leasehold.owner and leasehold.token; the term's has leasehold.outcome, too. Waits that were not granted
/// have none.
///
/// Neither copyable nor movable. Thread safety: any thread may call any function. Lifetime: must outlive the stores that report to it, and
/// their leases. Terms that have not ended when it is destroyed end their spans then.
class opentelemetry_hook {
public:
    /// What makes spans.
    using tracer_pointer = ::opentelemetry::nostd::shared_ptr<::opentelemetry::trace::Tracer>;
    /// What makes instruments.
    using meter_pointer = ::opentelemetry::nostd::shared_ptr<::opentelemetry::metrics::Meter>;

    /// Uses the global providers as they are now: set them before. May throw std::bad_alloc.
    opentelemetry_hook()
        : opentelemetry_hook{::opentelemetry::trace::Provider::GetTracerProvider()->GetTracer("leasehold"),
                             ::opentelemetry::metrics::Provider::GetMeterProvider()->GetMeter("leasehold")}
    {
    }

    /// At most `max_names` names have numbers of their own in leasehold_held, leasehold_fencing_token and the gauges of fires; see
    /// lh::metrics. May throw std::bad_alloc.
    opentelemetry_hook(tracer_pointer tracer, meter_pointer meter, std::size_t max_names = 1024)
        : tracer_{std::move(tracer)}, meter_{std::move(meter)}, names_{std::max<std::size_t>(max_names, 1)}
    {
        for (std::size_t i = 0; i < calls_.size(); ++i)
            calls_[i] = meter_->CreateUInt64Counter(text(detail::call_families[i].name), text(detail::call_families[i].help));
        held_->AddCallback(&observe_held, this);
        token_->AddCallback(&observe_tokens, this);
        last_completed_->AddCallback(&observe_last_completed, this);
        failures_in_a_row_->AddCallback(&observe_failures_in_a_row, this);
    }

    opentelemetry_hook(const opentelemetry_hook&) = delete;
    opentelemetry_hook& operator=(const opentelemetry_hook&) = delete;
    ~opentelemetry_hook()
    {
        held_->RemoveCallback(&observe_held, this);
        token_->RemoveCallback(&observe_tokens, this);
        last_completed_->RemoveCallback(&observe_last_completed, this);
        failures_in_a_row_->RemoveCallback(&observe_failures_in_a_row, this);
    }

    /// Counts a call of the store; for hooked_store.
    void operator()(const store_call& call, const store_call_report& report) noexcept
    {
        const auto operation = static_cast<std::size_t>(call.operation);
        if (operation >= detail::counted_operations) return;
        const std::size_t outcome = report.error ? 2 : report.succeeded ? 0 : 1;
        calls_[operation]->Add(1, {{"lease", text(call.name)}, {"outcome", text(detail::call_families[operation].outcomes[outcome])}});
        call_seconds_->Record(seconds(report.elapsed), {{"operation", text(detail::operation_names[operation])}}, {});
        if (report.error) errors_->Add(1, {{"code", text(detail::error_label(detail::error_index(report.error)))}});
    }

    /// Counts the beginning or the end of a term, and begins or ends its span; for hooked_store.
    void operator()(const lease_event& event) noexcept
    {
        if (event.kind == lease_event_kind::acquired) {
            names_.term_begins(event.name, event.token.value());
            wait_seconds_->Record(seconds(event.waited), {{"lease", text(event.name)}}, {});
            begin_spans(event);
            return;
        }
        names_.term_ends(event.name, event.token.value());
        term_seconds_->Record(seconds(event.held), {{"lease", text(event.name)}}, {});
        if (event.kind == lease_event_kind::lost) {
            lost_->Add(1, {{"lease", text(event.name)}, {"reason", event.error ? "outage" : "over"}});
            loss_delay_seconds_->Record(seconds(event.late), {});
        }
        end_span(event);
    }

    /// As metrics::counting_fires().
    [[nodiscard]] recurring_options counting_fires(std::string_view name, recurring_options with = {})
    {
        return detail::counting_fires(std::move(with), names_.of(name), [this, name = std::string{name}](detail::fire_outcome outcome) {
            fires_->Add(1, {{"lease", text(name)}, {"outcome", text(detail::fire_outcomes[static_cast<std::size_t>(outcome)])}});
        });
    }

private:
    using counter = ::opentelemetry::nostd::unique_ptr<::opentelemetry::metrics::Counter<std::uint64_t>>;
    using histogram = ::opentelemetry::nostd::unique_ptr<::opentelemetry::metrics::Histogram<double>>;
    using gauge = ::opentelemetry::nostd::shared_ptr<::opentelemetry::metrics::ObservableInstrument>;
    using span = ::opentelemetry::nostd::shared_ptr<::opentelemetry::trace::Span>;

    static ::opentelemetry::nostd::string_view text(std::string_view words) noexcept { return {words.data(), words.size()}; }
    static double seconds(duration time) noexcept { return std::chrono::duration<double>{time}.count(); }

    span started(std::string_view name, const lease_event& event, const ::opentelemetry::trace::StartSpanOptions& options) noexcept
    {
        return tracer_->StartSpan(text(name),
                                  {{"leasehold.lease", text(event.name)},
                                   {"leasehold.owner", text(event.owner)},
                                   {"leasehold.token", event.token.value()}},
                                  options);
    }

    void begin_spans(const lease_event& event) noexcept
    {
        const auto waited = std::chrono::duration_cast<std::chrono::system_clock::duration>(event.waited);
        ::opentelemetry::trace::StartSpanOptions options;
        options.start_system_time = ::opentelemetry::common::SystemTimestamp{std::chrono::system_clock::now() - waited};
        options.start_steady_time = ::opentelemetry::common::SteadyTimestamp{std::chrono::steady_clock::now() - waited};
        const span wait = started("leasehold wait", event, options);
        ::opentelemetry::trace::StartSpanOptions of_term;
        of_term.parent = wait->GetContext();
        const span term = started("leasehold term", event, of_term);
        wait->End();
        std::error_code no_memory;  // then the span ends here
        detail::catch_into(no_memory, [&] {
            const std::lock_guard lock{mutex_};
            terms_.emplace(std::pair{std::string{event.name}, event.token.value()}, term);
        });
    }

    void end_span(const lease_event& event) noexcept
    {
        const span term = taken(event);
        if (!term) return;
        const bool lost = event.kind == lease_event_kind::lost;
        term->SetAttribute("leasehold.outcome", text(to_string(event.kind)));
        std::error_code no_memory;
        detail::catch_into(no_memory, [&] {
            if (lost) term->SetStatus(::opentelemetry::trace::StatusCode::kError, event.error ? event.error.message() : "over");
        });
        term->End();
    }

    // Null: it has not begun, or there was no memory for it.
    span taken(const lease_event& event) noexcept
    {
        span term;
        std::error_code no_memory;
        detail::catch_into(no_memory, [&] {
            const std::pair key{std::string{event.name}, event.token.value()};
            const std::lock_guard lock{mutex_};
            if (const auto found = terms_.find(key); found != terms_.end()) {
                term = found->second;
                terms_.erase(found);
            }
        });
        return term;
    }

    // `visit` takes the names and what observes a number of one.
    template <class Number, class Visit>
    static void observe(const ::opentelemetry::metrics::ObserverResult& result, void* hook, Visit visit)
    {
        using observer = ::opentelemetry::nostd::shared_ptr<::opentelemetry::metrics::ObserverResultT<Number>>;
        const auto* const to = ::opentelemetry::nostd::get_if<observer>(&result);
        if (!to) return;
        visit(static_cast<const opentelemetry_hook*>(hook)->names_,
              [to](std::string_view name, Number number) { (*to)->Observe(number, {{"lease", text(name)}}); });
    }
    static void observe_held(::opentelemetry::metrics::ObserverResult result, void* hook)
    {
        observe<std::int64_t>(result, hook, [](const detail::name_table& names, auto tell) {
            names.for_each([&](std::string_view name, const detail::name_series& numbers) { tell(name, names.held(numbers)); });
        });
    }
    static void observe_tokens(::opentelemetry::metrics::ObserverResult result, void* hook)
    {
        observe<std::int64_t>(result, hook, [](const detail::name_table& names, auto tell) {
            names.for_each([&](std::string_view name, const detail::name_series& numbers) {
                tell(name, numbers.token.load(std::memory_order_relaxed));
            });
        });
    }
    static void observe_last_completed(::opentelemetry::metrics::ObserverResult result, void* hook)
    {
        observe<double>(result, hook, [](const detail::name_table& names, auto tell) {
            detail::for_each_schedule(names, [&](std::string_view name, const detail::name_series& numbers) {
                if (const auto seconds = detail::last_completed_seconds(numbers)) tell(name, *seconds);
            });
        });
    }
    static void observe_failures_in_a_row(::opentelemetry::metrics::ObserverResult result, void* hook)
    {
        observe<std::int64_t>(result, hook, [](const detail::name_table& names, auto tell) {
            detail::for_each_schedule(names, [&](std::string_view name, const detail::name_series& numbers) {
                tell(name, numbers.failures_in_a_row.load(std::memory_order_relaxed));
            });
        });
    }

    tracer_pointer tracer_;
    meter_pointer meter_;
    detail::name_table names_;  // the gauges; all other numbers are OpenTelemetry's
    std::array<counter, detail::counted_operations> calls_{};
    histogram call_seconds_ =
        meter_->CreateDoubleHistogram("leasehold_store_call_duration_seconds", "How long calls of the store took.", "s");
    counter errors_ = meter_->CreateUInt64Counter("leasehold_store_errors_total", "Calls of the store that failed, by what was wrong.");
    counter lost_ = meter_->CreateUInt64Counter("leasehold_lost_total", "Terms that were lost, by the reason.");
    histogram loss_delay_seconds_ = meter_->CreateDoubleHistogram(
        "leasehold_loss_signal_delay_seconds", "How long after its deadline a lost term was signalled to its holder.", "s");
    histogram wait_seconds_ = meter_->CreateDoubleHistogram(
        "leasehold_wait_duration_seconds", "How long a caller that was granted the lease had waited for it.", "s");
    histogram term_seconds_ =
        meter_->CreateDoubleHistogram("leasehold_term_duration_seconds", "How long terms lasted that have ended.", "s");
    counter fires_ =
        meter_->CreateUInt64Counter("leasehold_fires_total", "Fires that were completed, missed, failed or given up.");
    gauge held_ = meter_->CreateInt64ObservableGauge("leasehold_held", "Terms that this process holds now.");
    gauge token_ = meter_->CreateInt64ObservableGauge("leasehold_fencing_token", "The token of the last term of this process.");
    gauge last_completed_ = meter_->CreateDoubleObservableGauge(text(detail::last_completed_family.name),
                                                                text(detail::last_completed_family.help), "s");
    gauge failures_in_a_row_ = meter_->CreateInt64ObservableGauge(text(detail::failures_in_a_row_family.name),
                                                                  text(detail::failures_in_a_row_family.help));
    std::mutex mutex_;
    std::multimap<std::pair<std::string, std::int64_t>, span> terms_;  // that have not ended; several stores may have equal tokens
};

}  // namespace leasehold::inline v0

#endif
