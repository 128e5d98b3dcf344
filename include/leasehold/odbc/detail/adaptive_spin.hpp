// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_ADAPTIVE_SPIN_HPP
#define LEASEHOLD_ODBC_DETAIL_ADAPTIVE_SPIN_HPP

#include <algorithm>
#include <chrono>

namespace leasehold::inline v0::odbc::detail {

// How long to look again and again for what another thread is about to do, before going to sleep for it: to be woken takes 20
// to 60 us where the processor has gone to sleep as well, which is as long as the statement itself. Where looking has been in
// vain it is tried ever more seldom. Not thread-safe.
class adaptive_spin {
public:
    static constexpr std::chrono::microseconds for_an_answer{500};
    // What a caller does between two calls takes longer, or hardly any time.
    static constexpr std::chrono::microseconds for_the_next_call{50};
    // Longer than this between two looks: somebody else wanted the processor.
    static constexpr std::chrono::microseconds undisturbed{300};
    // Waits looked at out of how many, once it has been in vain again and again.
    static constexpr unsigned most_seldom = 64;

    explicit adaptive_spin(std::chrono::microseconds longest = for_an_answer) noexcept : longest_{longest} {}

    // For how long, now.
    [[nodiscard]] std::chrono::microseconds next() noexcept
    {
        if (++skipped_ < every_) return std::chrono::microseconds::zero();
        skipped_ = 0;
        return longest_;
    }

    void hit() noexcept { every_ = 1; }
    void miss() noexcept { every_ = std::min(every_ * 2, most_seldom); }

private:
    std::chrono::microseconds longest_;
    unsigned every_ = 1;
    unsigned skipped_ = 0;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
