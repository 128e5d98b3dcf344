// SPDX-License-Identifier: BSL-1.0
// Not a part of the library: what operators_test.py mutates. Its lines are of the forms that the library's have.
#ifndef TINY_MACHINE_HPP
#define TINY_MACHINE_HPP

#include <algorithm>
#include <cassert>
#include <chrono>
#include <string>

namespace tiny {

using instant = std::chrono::steady_clock::time_point;

// `<=` in place of `<` gives the same: nobody can kill that.
constexpr int at_least(int planned, int shortest) noexcept { return planned < shortest ? shortest : planned; }
static_assert(at_least(1, 2) == 2);

class machine {
public:
    explicit machine(instant end) : end_{end} {}

    template <class Asked>
    [[nodiscard]] bool over(instant now, const Asked& stopped)
    {
        assert(now != instant::max());
        if (stopped() || now >= end_) finished_ = true;
        return finished_;
    }

    [[nodiscard]] static std::string named(const std::string& name) { return "tiny " + name; }

private:
    instant end_;
    bool finished_ = false;
};

}  // namespace tiny

#endif
