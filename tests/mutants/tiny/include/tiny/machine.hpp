// SPDX-License-Identifier: BSL-1.0
// Not a part of the library: what operators_test.py mutates. Its lines are of the forms that the library's have.
#ifndef TINY_MACHINE_HPP
#define TINY_MACHINE_HPP

#include <cassert>
#include <compare>

namespace tiny {

struct instant {
    int ticks = 2;
    friend constexpr auto operator<=>(const instant&, const instant&) = default;
};

// Can be added, not subtracted.
struct count {
    int number = 2;
    friend constexpr count operator+(const count& a, const count& b) { return {a.number + b.number}; }
    friend constexpr bool operator==(const count&, const count&) = default;
};

// `<=` in place of `<` gives the same: nobody can kill that.
constexpr int at_least(int planned, int shortest) noexcept { return planned < shortest ? shortest : planned; }
static_assert(at_least(1, 2) == 2);

constexpr bool is_past(const auto& now, const auto& end) noexcept { return now > end; }
constexpr auto sum(auto a, auto b) noexcept { return a + b; }

class machine {
public:
    explicit machine(instant end) : end_{end} {}

    template <class Asked>
    [[nodiscard]] bool over(instant now, const Asked& stopped)
    {
        assert(now != instant{-3});
        if (stopped() || now >= end_) finished_ = true;
        return finished_;
    }

    [[nodiscard]] static count both(const count& a, const count& b) { return a + b; }

private:
    instant end_;
    bool finished_ = false;
};

}  // namespace tiny

#endif
