// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_WATCH_MODEL_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_WATCH_MODEL_HPP

#include <leasehold/duration.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/time_point.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tool {

/// What became of a lease between two looks at the store.
struct lease_change {
    enum class kind : std::uint8_t {
        held_at_first,  ///< in the first look
        taken,          ///< was free
        handed_over,    ///< another term, without having been seen free
        closed,         ///< released, and kept closed by min_hold
        freed           ///< released, or run out
    };
    kind what;
    leasehold::lease_record now;  ///< freed: as it was
    std::string before{};         ///< handed_over: the owner
};

/// A row of the table.
struct watched_lease {
    leasehold::lease_record record;
    leasehold::time_point seen_at{};
    leasehold::duration longest{};  ///< remaining time seen in this term: what a full bar stands for
    std::optional<leasehold::time_point> changed_at{};
    bool held = true;  ///< false: freed, and shown for a while yet

    [[nodiscard]] leasehold::duration remaining(leasehold::time_point now) const noexcept
    {
        const leasehold::duration left = record.remaining - (now - seen_at);
        return held && left > leasehold::duration::zero() ? left : leasehold::duration::zero();
    }
    /// Whether it changed hands a moment ago, which is shown.
    [[nodiscard]] bool fresh(leasehold::time_point now) const noexcept
    {
        return changed_at && now - *changed_at < highlight_for;
    }

    static constexpr leasehold::duration highlight_for = std::chrono::seconds{3};
};

/// Leases as they were seen, one look after another. No I/O.
class watch_model {
public:
    /// A look at the store; what is different from the one before.
    std::vector<lease_change> look(const std::vector<leasehold::lease_record>& held, leasehold::time_point now);

    /// In the order of the names. Freed ones stay for a few seconds.
    [[nodiscard]] const std::map<std::string, watched_lease>& leases() const noexcept { return leases_; }

    static constexpr leasehold::duration show_freed_for = std::chrono::seconds{5};

private:
    void see(const leasehold::lease_record& record, leasehold::time_point now, std::vector<lease_change>& changes);

    std::map<std::string, watched_lease> leases_;
    bool first_ = true;
};

/// One change as a line, without its time.
[[nodiscard]] std::string to_line(const lease_change& change);

}  // namespace tool

#endif
