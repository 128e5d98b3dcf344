// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_MEMORY_ORDERS_MEMORY_MODEL_HPP
#define LEASEHOLD_TESTS_MEMORY_ORDERS_MEMORY_MODEL_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

// What the threads of a program may see of each other by the rules of C++20's memory orders, for exploration.hpp to try all
// of it.
//
// A location keeps all values that were ever stored to it, in its modification order. A thread has a view: for each location
// the oldest value that it may still read. A load takes any value from there on; an acquire takes over the view that a release
// left with the value. A store goes to any place of the modification order that the view allows. Sequentially consistent
// operations have a floor for each location besides. Accesses that must not happen at once (plain variables, the beginning and
// the end of a location) are checked with a clock for each thread.
//
// What it leaves out: executions in which happens-before, reads-from and the order of the sequentially consistent operations
// form a cycle (a load that reads what depends on it), fences, consume, and weak compare-exchanges that fail without a reason.
namespace orders {

inline constexpr std::size_t max_threads = 5;  // 0 is the one that sets up, and checks in the end
using clocks = std::array<std::uint32_t, max_threads>;

// Orders that are taken for weaker ones, to see that they are needed.
struct weakening {
    bool acquire = false;     // acquire is relaxed
    bool release = false;     // release is relaxed
    bool sequential = false;  // seq_cst is acquire and release
};

inline bool acquires(std::memory_order order) noexcept
{
    return order == std::memory_order_acquire || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
inline bool releases(std::memory_order order) noexcept
{
    return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

class location;

struct view {
    std::vector<std::uint16_t> seen;  // by location: the value, by its number there
    clocks known{};                   // of each thread: what happened before

    [[nodiscard]] std::uint16_t of(std::size_t place) const noexcept
    {
        return place < seen.size() ? seen[place] : std::uint16_t{0};
    }
    void see(std::size_t place, std::uint16_t what)
    {
        if (place >= seen.size()) seen.resize(place + 1);
        seen[place] = what;
    }
};

// One execution: who runs, what each has seen, and which of the alternatives it takes.
class execution {
public:
    virtual ~execution() = default;
    execution() = default;
    execution(const execution&) = delete;
    execution& operator=(const execution&) = delete;

    // One of `count` alternatives.
    virtual std::size_t choose(std::size_t count) = 0;
    // Other threads may come first. `free`, if it is not null, must be true to go on.
    virtual void give_way(const bool* free) = 0;

    void broken(std::string what)
    {
        if (failure.empty()) failure = std::move(what);
    }
    void require(bool holds, const char* what)
    {
        if (!holds) broken(what);
    }
    view& mine() noexcept { return views[running]; }
    void tick() noexcept { ++mine().known[running]; }
    [[nodiscard]] bool happened(const clocks& at) noexcept
    {
        return std::equal(at.begin(), at.end(), mine().known.begin(), [](auto its, auto known) { return its <= known; });
    }
    inline void join(const view& other);

    std::array<view, max_threads> views{};
    std::size_t running = 0;
    std::vector<location*> places;
    weakening weak;
    std::string failure;
};

inline execution* current = nullptr;

class location {
public:
    // The beginning is not atomic: a thread that uses it must know of that. A static one begins before any execution, and is
    // not explored.
    explicit location(std::uint64_t first) : place_{current ? current->places.size() : not_explored}
    {
        values_.push_back({first, {}, 0, false});
        order_.push_back(0);
        if (place_ == not_explored) return;
        current->places.push_back(this);
        current->tick();
        begun_[current->running] = current->mine().known[current->running];
    }
    location(const location&) = delete;
    location& operator=(const location&) = delete;
    ~location()
    {
        if (place_ == not_explored) return;
        if (!current->happened(touched_)) current->broken("an atomic is destroyed while it is used");
        current->places[place_] = nullptr;
    }

    std::uint64_t load(std::memory_order order)
    {
        if (place_ == not_explored) return values_.front().what;
        begin();
        return read(pick(order, [](const stored&) { return true; }), order);
    }

    void store(std::uint64_t what, std::memory_order order)
    {
        if (place_ == not_explored) {
            values_.front().what = what;
            return;
        }
        begin();
        // Between two values, unless the later one is the result of a read-modify-write of the earlier one.
        std::vector<std::size_t> ranks;
        for (std::size_t rank = order_.size(); rank > oldest(order); --rank)  // the last place first
            if (rank == order_.size() || !values_[order_[rank]].bound) ranks.push_back(rank);
        insert(ranks[current->choose(ranks.size())], what, order, nullptr);
    }

    // change(value, wanted) says whether the value is changed, and to what.
    template <class Change>
    std::uint64_t modify(Change change, std::memory_order order, std::memory_order otherwise)
    {
        std::uint64_t wanted = 0;
        if (place_ == not_explored) {
            const std::uint64_t before = values_.front().what;
            if (change(before, wanted)) values_.front().what = wanted;
            return before;
        }
        begin();
        // What changes a value comes directly after it, so no two change the same one.
        const std::uint16_t from = pick(order, [&](const stored& read) {
            return !change(read.what, wanted) || read.rank + 1 == order_.size() || !values_[order_[read.rank + 1]].bound;
        });
        const bool changed = change(values_[from].what, wanted);
        const std::uint64_t before = read(from, changed ? order : otherwise);
        if (changed) insert(values_[from].rank + 1, wanted, order, &from);
        return before;
    }

    [[nodiscard]] std::size_t rank(std::uint16_t of) const noexcept { return values_[of].rank; }

private:
    struct stored {
        std::uint64_t what;
        view left;  // by the release that stored it, or that it continues
        std::size_t rank;
        bool bound;  // to the one before
    };

    static bool sequential(std::memory_order order) noexcept
    {
        return order == std::memory_order_seq_cst && !current->weak.sequential;
    }

    void begin()
    {
        current->give_way(nullptr);
        current->tick();
        if (!current->happened(begun_)) current->broken("an atomic is used that another thread has not been seen to make");
        touched_[current->running] = current->mine().known[current->running];
    }

    [[nodiscard]] std::size_t oldest(std::memory_order order) const noexcept
    {
        const std::size_t seen = rank(current->mine().of(place_));
        return sequential(order) ? std::max(seen, rank(floor_)) : seen;
    }

    template <class Allowed>
    std::uint16_t pick(std::memory_order order, Allowed allowed)
    {
        std::vector<std::uint16_t> may;
        for (std::size_t rank = order_.size(); rank-- > oldest(order);)  // the newest first
            if (allowed(values_[order_[rank]])) may.push_back(order_[rank]);
        return may[current->choose(may.size())];
    }

    std::uint64_t read(std::uint16_t which, std::memory_order order)
    {
        current->mine().see(place_, which);
        if (acquires(order) && !current->weak.acquire) current->join(values_[which].left);
        raise_floor(which, order);
        return values_[which].what;
    }

    void insert(std::size_t rank, std::uint64_t what, std::memory_order order, const std::uint16_t* continued)
    {
        const auto number = static_cast<std::uint16_t>(values_.size());
        values_.push_back({what, continued ? values_[*continued].left : view{}, rank, continued != nullptr});
        order_.insert(std::next(order_.begin(), static_cast<std::ptrdiff_t>(rank)), number);
        for (std::size_t i = rank; i < order_.size(); ++i) values_[order_[i]].rank = i;
        current->mine().see(place_, number);
        if (releases(order) && !current->weak.release) {
            view& left = values_[number].left;
            const view continued_view = std::exchange(left, current->mine());
            join_views(left, continued_view);
        } else {
            values_[number].left.see(place_, number);
        }
        raise_floor(number, order);
    }

    void raise_floor(std::uint16_t which, std::memory_order order) noexcept
    {
        if (sequential(order) && rank(which) > rank(floor_)) floor_ = which;
    }

    friend class execution;
    static void join_views(view& into, const view& other)
    {
        for (std::size_t place = 0; place < other.seen.size(); ++place) {
            const location* const its = current->places[place];
            if (its && its->rank(other.seen[place]) > its->rank(into.of(place))) into.see(place, other.seen[place]);
        }
        for (std::size_t i = 0; i < max_threads; ++i) into.known[i] = std::max(into.known[i], other.known[i]);
    }

    static constexpr std::size_t not_explored = static_cast<std::size_t>(-1);

    const std::size_t place_;
    std::vector<stored> values_;
    std::vector<std::uint16_t> order_;
    std::uint16_t floor_ = 0;
    clocks begun_{};
    clocks touched_{};
};

inline void execution::join(const view& other) { location::join_views(mine(), other); }

}  // namespace orders

#endif
