// SPDX-License-Identifier: BSL-1.0
#include "crowd.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>

namespace campaign {

using namespace std::chrono_literals;

crowd::crowd(site& at, const std::filesystem::path& records, const std::string& lease, const record_file& notes) : notes_{notes}
{
    for (std::size_t i = 0; i < at.size(); ++i)
        gates_.push_back(std::make_unique<leasehold_test::tcp_gate>(at.server(i).port()));
    for (std::size_t i = 0; i < count; ++i) {
        std::map<std::string, std::string> environment = at.environment();
        environment["LEASEHOLD_CAMPAIGN_STORE"] = at.connection_string(server_of(i), gate(server_of(i)).port());
        const std::string first = std::to_string(1 + i * leases_of_each_in_the_crowd);
        processes_.emplace_back(std::vector<std::string>{CAMPAIGN_WORKER, process(i), "many", "1", "lease", lease,
                                                         (records / (process(i) + std::string{records_extension})).string(), first},
                                leasehold_test::process_options{.environment = std::move(environment),
                                                                .output_file = records / "output"});
    }
    notes_.write({event::rules, "crowd", 0, crowd_terms.ttl.count(), crowd_terms.margin().count(), at.kind(), 1});
    notes_.write({event::limits, "crowd", 0, crowd_call_timeout.count(), crowd_pause.count(), "-", 1});
    constexpr std::int64_t leases = count * leases_of_each_in_the_crowd;
    notes_.write({event::circumstance, "crowd", leases, now(), 0, "leases_of_the_crowd", 1});
}

void crowd::finish()
{
    for (leasehold_test::child_process& each : processes_) each.signal(SIGTERM);
    const auto until = std::chrono::steady_clock::now() + 3 * crowd_call_timeout + 10s;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        const auto status = processes_[i].wait_for(std::max(left, 0ms));
        if (!status || !status->success())
            notes_.write({event::crashed, process(i), 0, now(), 0, status ? "leaving" : "did_not_end"});
    }
    processes_.clear();
}

}  // namespace campaign
