// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_MEMORY_ORDERS_EXPLORATION_HPP
#define LEASEHOLD_TESTS_MEMORY_ORDERS_EXPLORATION_HPP

#include <memory_orders/memory_model.hpp>
#include <simulation/fiber.hpp>

#include <boost/context/fiber.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Runs a small program of several threads once for each order of its steps, and for each value that each of its loads may read.
namespace orders {

struct exploration {
    std::uint64_t runs = 0;
    std::uint64_t cut = 0;  // of these: a thread took too many steps, so that the run says nothing
    std::string failure;    // of the first that broke something, which ended it
    bool complete = false;

    [[nodiscard]] bool holds() const noexcept { return complete && failure.empty() && runs > cut; }
};

// Its threads are fibers, which give way before each step that others can see.
class fiber_execution : public execution {
public:
    struct decision {
        std::size_t taken;
        std::size_t count;
    };

    fiber_execution(std::vector<decision>& path, const weakening& weaker) : path_{path}
    {
        weak = weaker;
        current = this;
    }
    ~fiber_execution() override { current = nullptr; }

    std::size_t choose(std::size_t count) override
    {
        if (count < 2 || cut) return 0;
        if (depth_ == path_.size()) path_.push_back({0, count});
        if (path_[depth_].count != count) throw std::logic_error{"a run is not repeatable"};
        return path_[depth_++].taken;
    }

    void give_way(const bool* free) override
    {
        if (!inside_) {
            if (free && !*free) throw std::logic_error{"a mutex is locked twice"};
            return;
        }
        task& self = *tasks_[running - 1];
        self.waits_for = free;
        self.outside = std::move(self.outside).resume();
    }

    // Runs them to their ends. What follows has seen all that they did.
    void threads(std::vector<std::function<void()>> bodies)
    {
        if (bodies.size() >= max_threads) throw std::logic_error{"too many threads"};
        for (std::size_t i = 0; i < bodies.size(); ++i) {
            views[i + 1] = views[0];
            tasks_.push_back(std::make_unique<task>(std::move(bodies[i])));
        }
        inside_ = true;
        for (std::size_t steps = 0; const std::optional<std::size_t> next = pick(); ++steps) {
            cut = cut || steps >= most_steps;
            running = *next + 1;
            task& one = *tasks_[*next];
            one.inside = std::move(one.inside).resume();
            last_ = *next;
        }
        inside_ = false;
        running = 0;
        for (std::size_t i = 1; i <= tasks_.size(); ++i) join(views[i]);
    }

    // Of all threads together, before a run is cut: programs with loops need fewer, since each turn can read an old value.
    std::size_t most_steps = 60;
    bool cut = false;

private:
    struct task {
        explicit task(std::function<void()> what)
            : body{std::move(what)}, inside{std::allocator_arg, sim::pooled_stack{&bottom},
                                            [this](boost::context::fiber&& from) {
                                                outside = std::move(from);
                                                body();
                                                done = true;
                                                return std::move(outside);
                                            }}
        {
        }

        const void* bottom = nullptr;
        std::function<void()> body;
        boost::context::fiber outside;
        boost::context::fiber inside;
        const bool* waits_for = nullptr;
        bool done = false;
    };

    std::optional<std::size_t> pick()
    {
        std::vector<std::size_t> able;
        bool all_done = true;
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            all_done = all_done && tasks_[i]->done;
            if (!tasks_[i]->done && (!tasks_[i]->waits_for || *tasks_[i]->waits_for)) able.push_back(i);
        }
        if (all_done) return std::nullopt;
        if (able.empty()) throw std::logic_error{"deadlock"};
        // A run that is cut only has to end: in turns, with the newest values.
        if (cut) {
            const auto next = std::find_if(able.begin(), able.end(), [this](std::size_t i) { return i > last_; });
            return next != able.end() ? *next : able.front();
        }
        return able[choose(able.size())];
    }

    std::vector<decision>& path_;
    std::size_t depth_ = 0;
    std::vector<std::unique_ptr<task>> tasks_;
    std::size_t last_ = 0;
    bool inside_ = false;
};

// `program(run)` makes what its threads share, calls run.threads() and then run.require().
template <class Program>
exploration explore(Program program, const weakening& weak = {}, std::uint64_t most = 3'000'000)
{
    exploration found;
    std::vector<fiber_execution::decision> path;
    while (found.runs < most) {
        fiber_execution run{path, weak};
        program(run);
        ++found.runs;
        if (run.cut)
            ++found.cut;
        else if (!run.failure.empty()) {
            found.failure = run.failure;
            return found;
        }
        while (!path.empty() && path.back().taken + 1 == path.back().count) path.pop_back();
        if (path.empty()) {
            found.complete = true;
            return found;
        }
        ++path.back().taken;
    }
    return found;
}

}  // namespace orders

#endif
