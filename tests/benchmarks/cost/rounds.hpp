// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_COST_ROUNDS_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_COST_ROUNDS_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>
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
///
/// Each on a thread of its own: where the system puts those who are woken depends on whom a thread has woken before, so one kind
/// would change the next.
class alternating {
public:
    void add(std::string name, std::function<void()> work) { all_.push_back({std::move(name), std::move(work), {}}); }

    /// `pause`: before each time, and not part of it.
    void run(int times, std::chrono::microseconds pause = {})
    {
        std::deque<worker> workers;
        for (kind& each : all_) workers.emplace_back(each, times, pause);
        for (int round = 0; round < rounds + warm_up_rounds; ++round)
            for (std::size_t i = 0; i < all_.size(); ++i) {
                const double us = workers[i].run_once();
                if (round >= warm_up_rounds) all_[i].us.push_back(us);
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

    class worker {
    public:
        worker(kind& does, int times, std::chrono::microseconds pause)
            : thread_{[this, &does, times, pause](const std::stop_token& stop) { serve(does, times, pause, stop); }}
        {
        }
        worker(const worker&) = delete;
        worker& operator=(const worker&) = delete;
        ~worker()
        {
            thread_.request_stop();
            begin_.release();
        }

        /// In microseconds a time. Throws what the work throws.
        double run_once()
        {
            begin_.release();
            end_.acquire();
            if (thrown_) std::rethrow_exception(thrown_);
            return us_;
        }

    private:
        void serve(kind& does, int times, std::chrono::microseconds pause, const std::stop_token& stop)
        {
            for (begin_.acquire(); !stop.stop_requested(); begin_.acquire()) {
                try {
                    us_ = (pause.count() > 0 ? with_pauses(does, times, pause) : in_one_go(does, times)) / times;
                } catch (...) {
                    thrown_ = std::current_exception();
                }
                end_.release();
            }
        }

        static double in_one_go(kind& does, int times)
        {
            const auto begun = std::chrono::steady_clock::now();
            for (int i = 0; i < times; ++i) does.work();
            return microseconds_since(begun);
        }

        static double with_pauses(kind& does, int times, std::chrono::microseconds pause)
        {
            double sum = 0;
            for (int i = 0; i < times; ++i) {
                std::this_thread::sleep_for(pause);
                const auto begun = std::chrono::steady_clock::now();
                does.work();
                sum += microseconds_since(begun);
            }
            return sum;
        }

        static double microseconds_since(std::chrono::steady_clock::time_point begun)
        {
            return std::chrono::duration<double, std::micro>{std::chrono::steady_clock::now() - begun}.count();
        }

        std::binary_semaphore begin_{0}, end_{0};
        std::exception_ptr thrown_;
        double us_ = 0;
        std::jthread thread_;
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
