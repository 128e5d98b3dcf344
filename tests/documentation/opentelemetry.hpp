// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_OPENTELEMETRY_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_OPENTELEMETRY_HPP

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

// What docs/metrics.md uses of OpenTelemetry's C++ API, in the shape that it has there: names, arguments, and what they convert from.
// Nothing is exported. Few systems have a package of that API.
namespace opentelemetry {

namespace context {
class Context {};
}  // namespace context

namespace metrics {

using attribute = std::pair<std::string_view, std::variant<bool, std::int64_t, double, const char*, std::string_view>>;

template <class T>
class Counter {
public:
    void Add(T, std::initializer_list<attribute>) noexcept {}
};

template <class T>
class Histogram {
public:
    void Record(T, std::initializer_list<attribute>, const context::Context&) noexcept {}
};

class Meter {
public:
    std::unique_ptr<Counter<std::uint64_t>> CreateUInt64Counter(std::string_view, std::string_view = "", std::string_view = "")
    {
        return std::make_unique<Counter<std::uint64_t>>();
    }
    std::unique_ptr<Histogram<double>> CreateDoubleHistogram(std::string_view, std::string_view = "", std::string_view = "")
    {
        return std::make_unique<Histogram<double>>();
    }
};

class MeterProvider {
public:
    std::shared_ptr<Meter> GetMeter(std::string_view, std::string_view = "", std::string_view = "") { return std::make_shared<Meter>(); }
};

struct Provider {
    static std::shared_ptr<MeterProvider> GetMeterProvider() { return std::make_shared<MeterProvider>(); }
};

}  // namespace metrics

}  // namespace opentelemetry

#endif
