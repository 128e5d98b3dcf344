// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_VISITED_HPP
#define LEASEHOLD_TESTS_SIMULATION_VISITED_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim {

// The fingerprints of states that have been seen: millions of them, eight bytes each.
class visited_states {
public:
    // False: it is there already.
    bool add(std::uint64_t print)
    {
        if (print == 0) print = 1;
        if ((count_ + 1) * 10 > slots_.size() * 7) grow();
        if (!put(print)) return false;
        ++count_;
        return true;
    }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
    bool put(std::uint64_t print)
    {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>(print) & mask;
        for (; slots_[at] != 0; at = (at + 1) & mask)
            if (slots_[at] == print) return false;
        slots_[at] = print;
        return true;
    }

    void grow()
    {
        std::vector<std::uint64_t> old(slots_.size() * 2);
        old.swap(slots_);
        for (const std::uint64_t print : old)
            if (print != 0) put(print);
    }

    std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1U << 12U);
    std::size_t count_ = 0;
};

}  // namespace sim

#endif
