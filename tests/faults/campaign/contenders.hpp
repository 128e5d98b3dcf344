// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_CONTENDERS_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_CONTENDERS_HPP

#include "records.hpp"
#include "site.hpp"

#include <support/child_process.hpp>
#include <support/tcp_gate.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace campaign {

/// The contending processes, each behind a gate of its own.
///
/// Thread safety: all functions from any thread.
class contenders {
public:
    static constexpr std::size_t count = 6;

    contenders(site& at, std::filesystem::path records, std::string lease, std::string right, std::uint32_t seed, const record_file& notes);

    void start(std::size_t number);
    /// SIGKILL.
    void kill(std::size_t number);
    void freeze(std::size_t number);
    void thaw(std::size_t number);
    /// SIGTERM; it has to end by itself, with status 0, which is seen to by reap().
    void ask_to_leave(std::size_t number);
    /// Waits for one that was asked to leave; says so in the records if it doesn't, or not well.
    void reap(std::size_t number);
    /// Notes those that have ended though nobody asked them to, and starts them again.
    void look_after();

    [[nodiscard]] bool runs(std::size_t number) const;
    [[nodiscard]] leasehold_test::tcp_gate& gate(std::size_t number) { return *each_.at(number).gate; }
    [[nodiscard]] std::string process(std::size_t number) const;
    /// The server that it talks to.
    [[nodiscard]] std::size_t server_of(std::size_t number) const { return number % site_.size(); }
    /// Who holds, by what it wrote last; if several do, that one first, or the next after it.
    [[nodiscard]] std::optional<std::size_t> holder(std::size_t first) const;

private:
    enum class phase : std::uint8_t { absent, running, frozen, leaving };
    struct contender {
        std::unique_ptr<leasehold_test::tcp_gate> gate;
        std::optional<leasehold_test::child_process> process{};
        phase state = phase::absent;
        int incarnation = 0;
        instant since = 0;  // frozen, or leaving
    };

    [[nodiscard]] std::string name(std::size_t number) const;
    [[nodiscard]] std::filesystem::path file(std::size_t number) const;
    void launch(std::size_t number);

    site& site_;
    std::filesystem::path records_;
    std::string lease_;
    std::string right_;
    std::mt19937 random_;
    const record_file& notes_;
    mutable std::mutex mutex_;
    std::vector<contender> each_;
};

}  // namespace campaign

#endif
