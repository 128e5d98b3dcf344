// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_METRICS_FILE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_METRICS_FILE_HPP

#include <leasehold/lease_event.hpp>
#include <leasehold/metrics.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/shard_event.hpp>
#include <leasehold/store/hooked_store.hpp>
#include <leasehold/store/store_call.hpp>

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace tool {

/// The metrics of this process in a file, for the textfile collector of Prometheus' node_exporter.
///
/// It is replaced as a whole, so that nobody reads half of it: at once when a term begins or ends, within a second after
/// another call, otherwise every 15 s, so that its age shows a process that is gone, and by the destructor. Its thread does
/// it: no renewal waits for a disk.
class metrics_file {
public:
    /// Writes the file for the first time. Throws failure (exit_code::usage) if that can't be done.
    explicit metrics_file(std::string file);
    metrics_file(const metrics_file&) = delete;
    metrics_file& operator=(const metrics_file&) = delete;
    ~metrics_file();

    /// From any thread.
    void count(const leasehold::store_call& call, const leasehold::store_call_report& report) noexcept;
    void count(const leasehold::lease_event& event) noexcept;
    void count(const leasehold::shard_event& event) noexcept;
    /// The options with hooks that count fires. Must outlive the recurring.
    leasehold::recurring_options counting_fires(std::string_view name, leasehold::recurring_options with);

private:
    void changed(bool urgent) noexcept;
    void write_when_changed(const std::stop_token& stop);
    void write_or_complain() noexcept;
    void write() const;

    const std::string file_;
    const std::string beside_;  // what becomes the file
    leasehold::metrics metrics_;
    bool failing_ = false;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    bool changed_ = false;
    bool urgent_ = false;
    std::jthread thread_;
};

}  // namespace tool

#endif
