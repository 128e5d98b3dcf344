// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_FAULTS_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_FAULTS_HPP

#include "contenders.hpp"
#include "crowd.hpp"
#include "records.hpp"
#include "site.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace campaign {

/// What a fault may touch, and where it is noted.
struct scene {
    site& database;
    contenders& processes;
    crowd* beside;  ///< or nullptr
    const record_file& notes;
    std::filesystem::path records;
    std::string only;  ///< the one kind of fault of the surroundings; empty: all
};

/// One fault, as drawn. A target is chosen when it begins, for then it is known who holds.
struct drawn_fault {
    std::size_t kind = 0;
    std::size_t target = 0;  ///< a contender, or a server
    instant lasts = 0;
    std::uint32_t variant = 0;
    instant in_force = 0;  ///< since when for certain
};

/// Faults of one sort, one after another: first those of the database and the network, or those of the contenders.
///
/// What comes when is decided by the seed alone; what it hits depends on how the processes ran.
class fault_lane {
public:
    enum class sort : std::uint8_t { surroundings, processes };

    /// Throws std::invalid_argument where no kind is left.
    fault_lane(sort which, scene on, std::uint32_t seed);

    /// Begins or ends what is due.
    void go_on();
    /// Ends what is under way, and begins nothing more.
    void stop();

private:
    void draw();
    void begin();
    void end();

    scene on_;
    std::mt19937 random_;
    std::vector<std::size_t> kinds_;
    drawn_fault next_;
    instant next_at_ = 0;
    bool under_way_ = false;
    instant began_ = 0;
    std::string hit_;
};

}  // namespace campaign

#endif
