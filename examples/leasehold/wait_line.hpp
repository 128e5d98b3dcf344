// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_WAIT_LINE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_WAIT_LINE_HPP

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/time_point.hpp>

#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace tool {

/// What somebody waits for.
struct awaited {
    std::string name;
    bool held = false;  ///< that somebody holds it; else that it is free, or ours
    std::optional<leasehold::duration> at_most{};
};

/// "waiting 3s of 10s for 'job': held by web-1/01234567… for 12s more". Pure.
/// `left`: of the record's remaining time, now; `waited`: so far.
[[nodiscard]] std::string describe_wait(const awaited& what, const std::optional<leasehold::lease_record>& record,
                                        leasehold::duration left, leasehold::duration waited);

/// Tells a person who waits why: a line at a terminal, kept up to date; with --verbose also a message for each new holder.
class wait_line {
public:
    explicit wait_line(awaited what) : what_{std::move(what)} {}
    wait_line(const wait_line&) = delete;
    wait_line& operator=(const wait_line&) = delete;
    ~wait_line();

    /// Whether there is anybody to tell.
    [[nodiscard]] static bool wanted() noexcept;
    /// What a look at the store has found.
    void seen(std::optional<leasehold::lease_record> record);
    void draw() const;
    /// How long what was seen is worth showing: until the lease ends, or somebody may have renewed it.
    [[nodiscard]] bool is_old() const;

private:
    [[nodiscard]] leasehold::duration left() const;

    awaited what_;
    leasehold::steady_clock clock_{};
    leasehold::time_point begun_ = clock_.now();
    leasehold::time_point seen_at_{};
    std::optional<leasehold::lease_record> record_{};
    leasehold::fencing_token told_{};
    bool looked_ = false;
};

/// The same beside a wait that is somewhere else, in a call: looks at the store by itself, and only where somebody is told.
class wait_notice {
public:
    /// Nothing: the store did not answer.
    using answer = std::optional<std::optional<leasehold::lease_record>>;

    wait_notice(awaited what, std::function<answer()> look);

private:
    std::jthread thread_;
};

}  // namespace tool

#endif
