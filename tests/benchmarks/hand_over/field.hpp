// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_FIELD_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_FIELD_HPP

#include "record.hpp"
#include "taker.hpp"

#include <leasehold/store/memory_store.hpp>
#include <support/child_process.hpp>
#include <support/temporary_directory.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hand_over {

/// Takers that take part in one run: processes on a database, or threads on a store in memory.
class field {
public:
    /// Returns when all are ready. An empty connection string: the memory store.
    field(const std::string& connection_string, std::size_t takers, const way& how);
    field(const field&) = delete;
    field& operator=(const field&) = delete;
    ~field() { join(); }

    [[nodiscard]] record& run() const noexcept { return *record_; }
    void begin();
    /// Waits for all of them. Throws if their terms are no history that a lease can have; see check_terms() and check_apart().
    void end();
    void kill();

private:
    void join();
    /// Returns when all are ready, which they are when each has waited for a lease, had it and released it.
    template <class Store, class Start>
    void start(Store& store, std::size_t takers, Start each_of);
    void wait_for_all(const std::atomic<std::int64_t>& so_far, std::size_t takers);

    const way how_;
    leasehold_test::temporary_directory folder_;
    shared_record record_{folder_.path() / "record"};
    leasehold::memory_store memory_;
    std::vector<leasehold_test::child_process> processes_;
    std::vector<std::thread> threads_;
};

/// Throws what is wrong if there is no order in which one lease grants these terms and takes them back, each at an instant between the
/// begin and the end of its call.
void check_terms(const record& run);

/// Throws if two of the terms are at once: for terms of different names, whose tokens can't be compared.
void check_apart(const record& run);

/// Does a taker's work if that is what this process was started for; its exit status.
std::optional<int> serve_as_taker(int argc, char** argv);

}  // namespace hand_over

#endif
