// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_COST_ROUNDS_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_COST_ROUNDS_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cost {

inline constexpr int rounds = 21;
inline constexpr int warm_up_rounds = 2;

struct spread {
    double median = 0;
    double least = 0;
    double most = 0;
};

inline spread spread_of(std::vector<double> values)
{
    std::ranges::sort(values);
    return {values[values.size() / 2], values.front(), values.back()};
}

/// Several kinds of work that take turns in short rounds, so that a machine whose speed drifts slows all of them.
class alternating {
public:
    void add(std::string name, std::function<void()> work) { all_.push_back({std::move(name), std::move(work), {}}); }

    void run(int times)
    {
        for (int round = 0; round < rounds + warm_up_rounds; ++round)
            for (kind& each : all_) {
                const auto begun = std::chrono::steady_clock::now();
                for (int i = 0; i < times; ++i) each.work();
                const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
                if (round >= warm_up_rounds) each.us.push_back(took.count() / times);
            }
    }

    [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
    [[nodiscard]] const std::string& name(std::size_t of) const { return all_[of].name; }
    /// In microseconds a time.
    [[nodiscard]] spread time(std::size_t of) const { return spread_of(all_[of].us); }
    /// Of each round's ratio.
    [[nodiscard]] spread ratio(std::size_t of, std::size_t to) const
    {
        return combined(of, to, [](double a, double b) { return a / b; });
    }
    /// Of each round's difference, in microseconds a time.
    [[nodiscard]] spread difference(std::size_t of, std::size_t to) const
    {
        return combined(of, to, [](double a, double b) { return a - b; });
    }

private:
    struct kind {
        std::string name;
        std::function<void()> work;
        std::vector<double> us;
    };

    template <class Operation>
    [[nodiscard]] spread combined(std::size_t of, std::size_t to, Operation operation) const
    {
        std::vector<double> each;
        for (std::size_t i = 0; i < all_[of].us.size(); ++i) each.push_back(operation(all_[of].us[i], all_[to].us[i]));
        return spread_of(std::move(each));
    }

    std::vector<kind> all_;
};

}  // namespace cost

#endif
