// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_OPENTELEMETRY_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_OPENTELEMETRY_HPP

#include <leasehold/lease_event.hpp>
#include <leasehold/store/hooked_store.hpp>

// Stands in for <leasehold/opentelemetry.hpp> in the blocks of docs/metrics.md: few systems have a package of OpenTelemetry's C++ API. The
// real one is tested by opentelemetry/opentelemetry_test.cpp.
namespace leasehold::inline v0 {

class opentelemetry_hook {
public:
    void operator()(const store_call&, const store_call_report&) const noexcept {}
    void operator()(const lease_event&) const noexcept {}
};

}  // namespace leasehold::inline v0

#endif
