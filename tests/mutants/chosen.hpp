// SPDX-License-Identifier: BSL-1.0
// What the text that tests/mutants/operators writes calls: each place decides at run time whether it is mutated.
//
// LEASEHOLD_MUTANT is the number of the mutant, LEASEHOLD_MUTANTS_SEEN a file. Into that file goes the number of each mutant that
// would have made a difference where it stands: a condition that came out otherwise, another value, a statement that was reached.
// A run can notice no other mutant. What the compiler evaluates is never mutated.
#ifndef LEASEHOLD_TESTS_MUTANTS_CHOSEN_HPP
#define LEASEHOLD_TESTS_MUTANTS_CHOSEN_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace leasehold_mutants {

inline constexpr std::size_t most = 16384;

class run {
public:
    run() noexcept
    {
        if (const char* number = std::getenv("LEASEHOLD_MUTANT")) number_ = static_cast<unsigned>(std::strtoul(number, nullptr, 10));
        file_ = std::getenv("LEASEHOLD_MUTANTS_SEEN");
    }
    run(const run&) = delete;
    run& operator=(const run&) = delete;
    ~run()
    {
        std::FILE* out = file_ ? std::fopen(file_, "w") : nullptr;
        if (!out) return;
        for (std::size_t i = 0; i < most; ++i)
            if (seen_[i].load(std::memory_order_relaxed)) std::fprintf(out, "%zu\n", i);
        std::fclose(out);
    }

    bool is(unsigned number) noexcept
    {
        if (file_ && number < most) seen_[number].store(true, std::memory_order_relaxed);
        return number == number_;
    }

private:
    unsigned number_ = 0;  // 0 is no mutant's
    const char* file_ = nullptr;
    std::array<std::atomic<bool>, most> seen_{};
};

inline run this_run;

// Called where the mutant makes a difference.
constexpr bool is(unsigned number) noexcept
{
    if (std::is_constant_evaluated()) return false;
    return this_run.is(number);
}

template <class T>
constexpr T either(unsigned number, const T& value, const T& other)
{
    return value != other && is(number) ? other : value;
}

constexpr bool flipped(unsigned number, bool value) noexcept { return is(number) != value; }
constexpr bool always(unsigned number, bool value) noexcept { return value || is(number); }
constexpr bool never(unsigned number, bool value) noexcept { return value && !is(number); }
constexpr int zero_or_one(unsigned number, int value) noexcept { return is(number) ? 1 - value : value; }

// Two mutants each: with or without the bound, and negated.
template <class A, class B>
constexpr bool less(unsigned number, const A& a, const B& b)
{
    const bool value = a < b;
    return flipped(number + 1, either(number, value, static_cast<bool>(a <= b)));
}
template <class A, class B>
constexpr bool less_equal(unsigned number, const A& a, const B& b)
{
    const bool value = a <= b;
    return flipped(number + 1, either(number, value, static_cast<bool>(a < b)));
}
template <class A, class B>
constexpr bool greater(unsigned number, const A& a, const B& b)
{
    const bool value = a > b;
    return flipped(number + 1, either(number, value, static_cast<bool>(a >= b)));
}
template <class A, class B>
constexpr bool greater_equal(unsigned number, const A& a, const B& b)
{
    const bool value = a >= b;
    return flipped(number + 1, either(number, value, static_cast<bool>(a > b)));
}

// Constrained, so that the compiler complains where they stand: there the mutant is left out.
template <class A, class B>
    requires requires(const A& a, const B& b) { a - b; }
constexpr auto plus(unsigned number, const A& a, const B& b)
{
    using type = decltype(a + b);
    return either<type>(number, a + b, static_cast<type>(a - b));
}
template <class A, class B>
    requires requires(const A& a, const B& b) { a + b; }
constexpr auto minus(unsigned number, const A& a, const B& b)
{
    using type = decltype(a - b);
    return either<type>(number, a - b, static_cast<type>(a + b));
}
template <class A, class B>
    requires requires(const A& a, const B& b) { a / b; }
constexpr auto times(unsigned number, const A& a, const B& b)
{
    using type = decltype(a * b);
    if (b == B{}) return type(a * b);
    return either<type>(number, a * b, static_cast<type>(a / b));
}
template <class A, class B>
    requires requires(const A& a, const B& b) { a * b; }
constexpr auto divided(unsigned number, const A& a, const B& b)
{
    using type = decltype(a / b);
    return either<type>(number, a / b, static_cast<type>(a * b));
}

// Three mutants each: the other one, only the first argument, only the second.
template <class T>
constexpr T min(unsigned number, const T& a, const T& b)
{
    const T value = std::min(a, b);
    return either<T>(number + 2, either<T>(number + 1, either<T>(number, value, std::max(a, b)), a), b);
}
template <class T>
constexpr T max(unsigned number, const T& a, const T& b)
{
    const T value = std::max(a, b);
    return either<T>(number + 2, either<T>(number + 1, either<T>(number, value, std::min(a, b)), a), b);
}

}  // namespace leasehold_mutants

#endif
