// SPDX-License-Identifier: BSL-1.0
// Spans and metrics as OpenTelemetry's own exporters in memory get them.
#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/opentelemetry.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/recurring.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/schedule/every.hpp>
#include <leasehold/store/memory_store.hpp>

#include <opentelemetry/exporters/memory/in_memory_metric_data.h>
#include <opentelemetry/exporters/memory/in_memory_metric_exporter_factory.h>
#include <opentelemetry/exporters/memory/in_memory_span_data.h>
#include <opentelemetry/exporters/memory/in_memory_span_exporter_factory.h>
#include <opentelemetry/sdk/metrics/export/periodic_exporting_metric_reader_factory.h>
#include <opentelemetry/sdk/metrics/export/periodic_exporting_metric_reader_options.h>
#include <opentelemetry/sdk/metrics/meter_provider.h>
#include <opentelemetry/sdk/metrics/meter_provider_factory.h>
#include <opentelemetry/sdk/trace/simple_processor_factory.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <opentelemetry/trace/scope.h>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace lh = leasehold;
namespace otel = opentelemetry;
using namespace std::chrono_literals;

namespace {

class exported {
public:
    exported()
    {
        namespace trace = otel::sdk::trace;
        traces_ = trace::TracerProviderFactory::Create(
            trace::SimpleSpanProcessorFactory::Create(otel::exporter::memory::InMemorySpanExporterFactory::Create(spans_)));
        otel::sdk::metrics::PeriodicExportingMetricReaderOptions options;
        options.export_interval_millis = 3600s;  // by collect() only
        options.export_timeout_millis = 10s;
        metrics_.AddMetricReader(otel::sdk::metrics::PeriodicExportingMetricReaderFactory::Create(
            otel::exporter::memory::InMemoryMetricExporterFactory::Create(numbers_), options));
    }

    auto tracer() { return traces_->GetTracer("leasehold"); }
    auto meter() { return metrics_.GetMeter("leasehold"); }
    auto spans() { return spans_->GetSpans(); }

    // The number, or how many were recorded by a histogram; -1: there is none.
    std::int64_t number(const std::string& name, const std::map<std::string, std::string>& labels)
    {
        numbers_->Clear();  // it keeps the first value of a series
        metrics_.ForceFlush();
        for (const auto& [attributes, data] : numbers_->Get("leasehold", name)) {
            std::map<std::string, std::string> found;
            for (const auto& [key, value] : attributes.GetAttributes())
                if (const auto* text = otel::nostd::get_if<std::string>(&value)) found[key] = *text;
            if (found == labels) return value_of(data);
        }
        return -1;
    }

private:
    static std::int64_t value_of(const otel::sdk::metrics::PointType& data)
    {
        namespace kinds = otel::sdk::metrics;
        if (const auto* sum = otel::nostd::get_if<kinds::SumPointData>(&data)) return otel::nostd::get<std::int64_t>(sum->value_);
        if (const auto* last = otel::nostd::get_if<kinds::LastValuePointData>(&data)) {
            if (const auto* seconds = otel::nostd::get_if<double>(&last->value_)) return static_cast<std::int64_t>(*seconds);
            return otel::nostd::get<std::int64_t>(last->value_);
        }
        if (const auto* all = otel::nostd::get_if<kinds::HistogramPointData>(&data)) return static_cast<std::int64_t>(all->count_);
        return -1;
    }

    std::shared_ptr<otel::exporter::memory::InMemorySpanData> spans_;
    std::shared_ptr<otel::exporter::memory::SimpleAggregateInMemoryMetricData> numbers_ =
        std::make_shared<otel::exporter::memory::SimpleAggregateInMemoryMetricData>();
    std::unique_ptr<otel::trace::TracerProvider> traces_;
    otel::sdk::metrics::MeterProvider metrics_;
};

std::string text(const otel::sdk::trace::SpanData& span, const std::string& attribute)
{
    const auto found = span.GetAttributes().find(attribute);
    if (found == span.GetAttributes().end()) return "(none)";
    if (const auto* number = otel::nostd::get_if<std::int64_t>(&found->second)) return std::to_string(*number);
    return otel::nostd::get<std::string>(found->second);
}

std::string name_of(const otel::sdk::trace::SpanData& span) { return {span.GetName().data(), span.GetName().size()}; }

struct scene {
    exported out{};
    lh::memory_store store{};
    lh::opentelemetry_hook telemetry{out.tracer(), out.meter()};
    lh::hooked_store<lh::memory_store, std::reference_wrapper<lh::opentelemetry_hook>> observed{store, std::ref(telemetry)};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(opentelemetry_hooks)

BOOST_AUTO_TEST_CASE(wait_and_term_are_spans_of_one_trace)
{
    scene s;
    const auto outer = s.out.tracer()->StartSpan("job");
    {
        const otel::trace::Scope active{outer};
        lh::basic_lease lease{s.observed, "report", lh::fixed_owner_id{"node-1"}};
        auto guard = lease.try_acquire();
        BOOST_REQUIRE(guard.held());
        const auto before = s.out.spans();
        BOOST_REQUIRE(before.size() == 1U);
        BOOST_TEST(name_of(*before[0]) == "leasehold wait");
        BOOST_TEST((before[0]->GetParentSpanId() == outer->GetContext().span_id()));
        guard.release();
        const auto after = s.out.spans();
        BOOST_REQUIRE(after.size() == 1U);
        BOOST_TEST(name_of(*after[0]) == "leasehold term");
        BOOST_TEST((after[0]->GetParentSpanId() == before[0]->GetSpanId()));
        BOOST_TEST((after[0]->GetTraceId() == outer->GetContext().trace_id()));
        BOOST_TEST(text(*after[0], "leasehold.lease") == "report");
        BOOST_TEST(text(*after[0], "leasehold.owner") == "node-1");
        BOOST_TEST(text(*after[0], "leasehold.token") == "1");
        BOOST_TEST(text(*after[0], "leasehold.outcome") == "released");
        BOOST_TEST((after[0]->GetStatus() == otel::trace::StatusCode::kUnset));
    }
}

BOOST_AUTO_TEST_CASE(wait_span_lasts_as_long_as_the_wait)
{
    scene s;
    lh::lease_event event{.kind = lh::lease_event_kind::acquired, .name = "job", .owner = "a", .token = lh::fencing_token{7}};
    event.waited = 3s;
    s.telemetry(event);
    const auto spans = s.out.spans();
    BOOST_REQUIRE(spans.size() == 1U);
    BOOST_TEST((spans[0]->GetDuration() >= 3s));
    BOOST_TEST((spans[0]->GetDuration() < 60s));
}

BOOST_AUTO_TEST_CASE(loss_is_an_error_of_the_terms_span)
{
    scene s;
    lh::lease_event event{.kind = lh::lease_event_kind::acquired, .name = "job", .owner = "a", .token = lh::fencing_token{7}};
    s.telemetry(event);
    event.kind = lh::lease_event_kind::lost;
    event.error = lh::errc::store_timeout;
    s.telemetry(event);
    const auto spans = s.out.spans();
    BOOST_REQUIRE(spans.size() == 2U);
    BOOST_TEST((spans[1]->GetStatus() == otel::trace::StatusCode::kError));
    BOOST_TEST(std::string(spans[1]->GetDescription().data(), spans[1]->GetDescription().size()) == event.error.message());
    BOOST_TEST(text(*spans[1], "leasehold.outcome") == "lost");
    BOOST_TEST(s.out.number("leasehold_lost_total", {{"lease", "job"}, {"reason", "outage"}}) == 1);
    BOOST_TEST(s.out.number("leasehold_loss_signal_delay_seconds", {}) == 1);
}

BOOST_AUTO_TEST_CASE(term_of_another_store_with_the_same_token_keeps_a_span_of_its_own)
{
    scene s;
    lh::lease_event event{.kind = lh::lease_event_kind::acquired, .name = "job", .owner = "a", .token = lh::fencing_token{7}};
    s.telemetry(event);
    s.telemetry(event);
    event.kind = lh::lease_event_kind::released;
    s.telemetry(event);
    BOOST_TEST(s.out.spans().size() == 3U);
    s.telemetry(event);
    s.telemetry(event);  // an end too many
    BOOST_TEST(s.out.spans().size() == 1U);
}

BOOST_AUTO_TEST_CASE(metrics_have_the_names_and_labels_of_prometheus)
{
    scene s;
    lh::basic_lease mine{s.observed, "job"};
    lh::basic_lease yours{s.observed, "job"};
    auto guard = mine.try_acquire();
    BOOST_REQUIRE(guard.held());
    const auto busy = yours.try_acquire();
    BOOST_TEST(!busy.held());
    BOOST_TEST(guard.renew());
    BOOST_TEST(s.out.number("leasehold_held", {{"lease", "job"}}) == 1);
    BOOST_TEST(s.out.number("leasehold_fencing_token", {{"lease", "job"}}) == 1);
    guard.release();
    BOOST_TEST(s.out.number("leasehold_held", {{"lease", "job"}}) == 0);
    BOOST_TEST(s.out.number("leasehold_attempts_total", {{"lease", "job"}, {"outcome", "granted"}}) == 1);
    BOOST_TEST(s.out.number("leasehold_attempts_total", {{"lease", "job"}, {"outcome", "busy"}}) == 1);
    BOOST_TEST(s.out.number("leasehold_renewals_total", {{"lease", "job"}, {"outcome", "renewed"}}) == 1);
    BOOST_TEST(s.out.number("leasehold_releases_total", {{"lease", "job"}, {"outcome", "released"}}) == 1);
    BOOST_TEST(s.out.number("leasehold_store_call_duration_seconds", {{"operation", "try_acquire"}}) == 2);
    BOOST_TEST(s.out.number("leasehold_wait_duration_seconds", {{"lease", "job"}}) == 1);
    BOOST_TEST(s.out.number("leasehold_term_duration_seconds", {{"lease", "job"}}) == 1);
}

BOOST_AUTO_TEST_CASE(fires_have_the_names_and_labels_of_prometheus)
{
    constexpr lh::store_time noon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 25} + 12h;
    exported out;
    lh::manual_clock clock;
    lh::basic_memory_store store{clock, noon};
    lh::opentelemetry_hook telemetry{out.tracer(), out.meter()};
    lh::recurring job{store, "report", lh::every{.period = 1h}, telemetry.counting_fires("report"), clock, lh::no_renewal{}};
    const auto runs = [&](bool throws) {
        std::stop_source stop;
        job.run(stop.get_token(), [&](auto&) {
            stop.request_stop();
            if (throws) throw std::runtime_error{"fails"};
        });
    };
    {
        auto run = job.try_begin();
        BOOST_TEST(out.number("leasehold_fire_last_completed_timestamp_seconds", {{"lease", "report"}}) == -1);
        BOOST_TEST(run.complete());
    }
    for (const std::int64_t failures : {0, 1, 2}) {
        BOOST_TEST(out.number("leasehold_fire_failures_in_a_row", {{"lease", "report"}}) == failures);
        clock.advance(1h);
        runs(true);
    }
    BOOST_TEST(out.number("leasehold_fire_last_completed_timestamp_seconds", {{"lease", "report"}}) ==
               std::chrono::duration_cast<std::chrono::seconds>(noon.time_since_epoch()).count());
    clock.advance(1h);
    runs(false);
    BOOST_TEST(out.number("leasehold_fire_failures_in_a_row", {{"lease", "report"}}) == 0);
    BOOST_TEST(out.number("leasehold_fires_total", {{"lease", "report"}, {"outcome", "completed"}}) == 2);
    BOOST_TEST(out.number("leasehold_fires_total", {{"lease", "report"}, {"outcome", "failed"}}) == 3);
}

BOOST_AUTO_TEST_CASE(failed_calls_are_counted_by_their_error)
{
    scene s;
    const lh::store_call call{lh::store_operation::renew, "job"};
    s.telemetry(call, lh::store_call_report{.error = lh::errc::store_timeout});
    BOOST_TEST(s.out.number("leasehold_store_errors_total", {{"code", "store_timeout"}}) == 1);
    BOOST_TEST(s.out.number("leasehold_renewals_total", {{"lease", "job"}, {"outcome", "error"}}) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
