// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_CROWD_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_CROWD_HPP

#include "contention.hpp"
#include "records.hpp"
#include "site.hpp"

#include <support/child_process.hpp>
#include <support/tcp_gate.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace campaign {

/// Many processes with many leases each, which they hold as long as they can: what contends must get along beside them.
class crowd {
public:
    static constexpr std::size_t count = crowd_size;

    /// Starts them all.
    crowd(site& at, const std::filesystem::path& records, const std::string& lease, const record_file& notes);

    /// One to each server.
    [[nodiscard]] leasehold_test::tcp_gate& gate(std::size_t server) { return *gates_.at(server); }
    [[nodiscard]] std::size_t server_of(std::size_t number) const { return number % gates_.size(); }
    [[nodiscard]] static std::string process(std::size_t number) { return "m" + std::to_string(number) + ".1"; }

    /// Asks them to end, waits for them, and notes those that end as they should not.
    void finish();

private:
    const record_file& notes_;
    std::vector<std::unique_ptr<leasehold_test::tcp_gate>> gates_;
    std::vector<leasehold_test::child_process> processes_;
};

}  // namespace campaign

#endif
